package mcpskills

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shelf is a folder of skills: alpha with a file beside it, beta.
func shelf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"alpha/SKILL.md": "A\r\n", "alpha/refs/a b.bin": "\x00\xff", "beta/SKILL.md": "B"} {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func openSkills(t *testing.T, s Server) *SkillSource {
	t.Helper()
	on, err := newHouse(t, s).host.OpenSkills(t.Context(), s.Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(on.Close)
	return on
}

func TestTheSkillsOfAServerAreListedAndReadByEitherRoad(t *testing.T) {
	t.Parallel()
	dir := shelf(t)
	for _, kind := range []string{"skills", "resources"} {
		s := process(t, kind)
		s.Args = append(s.Args, dir)
		on := openSkills(t, s)
		list, err := on.List(t.Context())
		if err != nil || len(list) != 2 || list[0].URI != "skill://alpha/SKILL.md" || list[0].Name != "alpha" || len(list[0].Files) != 2 || len(list[1].Files) != 1 {
			t.Fatalf("%s: %+v %v", kind, list, err)
		}
		if digests := list[0].Files[0].Digest != ""; digests != (kind == "skills") {
			t.Errorf("%s: %+v", kind, list[0].Files)
		}
		at := slices.IndexFunc(list[0].Files, func(f ServedFile) bool { return strings.HasSuffix(f.URI, ".bin") })
		data, err := on.Read(t.Context(), list[0].Files[at].URI)
		if err != nil || string(data) != "\x00\xff" {
			t.Errorf("%s: %q %v", kind, data, err)
		}
		if _, err := on.Read(t.Context(), "skill://none/SKILL.md"); err == nil {
			t.Errorf("%s: what is not there was read", kind)
		}
	}
}

func TestAServerWithoutSkillsSaysSo(t *testing.T) {
	t.Parallel()
	if list, err := openSkills(t, process(t, "good")).List(t.Context()); err == nil || !strings.Contains(err.Error(), "serves no skills") {
		t.Errorf("%v %v", list, err)
	}
	h := newHouse(t, process(t, "exit"))
	if _, err := h.host.OpenSkills(t.Context(), "srv"); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a server that ends: %v", err)
	}
	if _, err := h.host.OpenSkills(t.Context(), "other"); err == nil {
		t.Error("a server that is not there was reached")
	}
}
