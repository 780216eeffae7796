package agentskills

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/skill"
)

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEdgeLinkedSkillFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "real.md"), []byte(named("x")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../real.md", filepath.Join(root, "x", "SKILL.md")); err != nil {
		t.Fatal(err)
	}
	passes(t, skill.ValidateDir(os.DirFS(root), "x", filepath.ToSlash(root)+"/x", skill.ProfileAgentskills))
}

func TestEdgeMixedCaseFile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"SKILL.MD", "Skill.md"} {
		files := fstest.MapFS{name: file(named("x"))}
		failsOnce(t, folder("x", files), "Missing required file: SKILL.md")
		fsys := fstest.MapFS{"x/" + name: file(named("x"))}
		r := skill.ValidateDir(fsys, "x/"+name, "", skill.ProfileAgentskills)
		failsOnce(t, r, "Missing required file: SKILL.md")
		if r.Path != "x" {
			t.Errorf("path %q, want the parent", r.Path)
		}
	}
}

// locked is a directory that an ordinary user may not enter.
type locked struct{ fstest.MapFS }

func (l locked) Stat(name string) (fs.FileInfo, error) {
	if strings.HasPrefix(name, "x/") {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrPermission}
	}
	return l.MapFS.Stat(name)
}

func TestEdgeUnreadableDirectory(t *testing.T) {
	t.Parallel()
	fsys := locked{fstest.MapFS{"x": {Mode: fs.ModeDir}}}
	failsOnce(t, skill.ValidateDir(fsys, "x", "/home/me/x", skill.ProfileAgentskills), "/home/me/x")
}

func TestEdgeNotUtf8(t *testing.T) {
	t.Parallel()
	text := named("x") + "caf\xe9\n"
	r := verdict("x", text)
	failsOnce(t, r, "")
	if want := int64(strings.IndexByte(text, 0xe9)); r.Diagnostics[0].Offset != want || r.Diagnostics[0].Code != "not_utf8" {
		t.Errorf("%+v, want offset %d", r.Diagnostics[0], want)
	}
}

func TestEdgeNulByte(t *testing.T) {
	t.Parallel()
	for _, text := range []string{header("name: x", "description: a\x00b"), named("x") + "a\x00b"} {
		r := verdict("x", text)
		failsOnce(t, r, "Invalid YAML")
		if r.Diagnostics[0].Code != "nul_byte" {
			t.Error(r.Diagnostics[0].Code)
		}
	}
}

func TestEdgePropertiesAbsentStayAbsent(t *testing.T) {
	t.Parallel()
	if got := asJSON(t, verdict("x", named("x")).Properties); got != `{"name":"x","description":"Says what it does."}` {
		t.Error(got)
	}
}

func TestEdgePathToFileMeansParent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"SKILL.md", "skill.md"} {
		fsys := fstest.MapFS{"my-skill/" + name: file(named("my-skill"))}
		r := skill.ValidateDir(fsys, "my-skill/"+name, "", skill.ProfileAgentskills)
		passes(t, r)
		if r.Path != "my-skill/"+name {
			t.Error(r.Path)
		}
	}
}

// The library's part of the exit codes: one verdict a path, and none hides another.
func TestEdgeExitCodes(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{"a/SKILL.md": file(named("a")), "b/SKILL.md": file(named("B")), "c/SKILL.md": file(named("c"))}
	var got []bool
	for _, dir := range []string{"a", "b", "c"} {
		got = append(got, skill.ValidateDir(fsys, dir, "", skill.ProfileAgentskills).OK)
	}
	if !got[0] || got[1] || !got[2] {
		t.Error(got)
	}
}
