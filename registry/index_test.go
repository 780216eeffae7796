package registry_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// indexed is a root of enough skills to be kept in an index, and that index.
type indexed struct{ root, index string }

func newIndexed(t *testing.T, n int) indexed {
	t.Helper()
	s := indexed{filepath.Join(t.TempDir(), "root"), filepath.Join(t.TempDir(), "index")}
	writeSkills(t, s.root, n)
	return s
}

// start opens a registry the way a new process does, and closes it.
func (s indexed) start(t *testing.T, c registry.Config) *registry.Snapshot {
	t.Helper()
	if c.Sources == nil {
		c.Sources = []source.Source{source.Dir(s.root, source.DirOptions{Now: laterClock()})}
	}
	if c.Index == "" {
		c.Index = s.index
	}
	r, err := registry.Open(t.Context(), c)
	must(t, err)
	must(t, r.Close())
	return r.Snapshot()
}

func (s indexed) files(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.index, "*"))
	must(t, err)
	return files
}

func TestASecondStartReadsNoUnchangedFile(t *testing.T) {
	t.Parallel()
	s := newIndexed(t, 150)
	broken := filepath.Join(s.root, "skill-00003", "SKILL.md")
	must(t, os.WriteFile(broken, []byte("---\nname: [x\n---\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(s.root, "skill-00004", "SKILL.config.json"), []byte(`{"tags": ["a"]}`), 0o644))
	must(t, os.Symlink(filepath.Join(s.root, "skill-00005"), filepath.Join(s.root, "other")))
	cold := s.start(t, registry.Config{})
	want(t, "read", cold.Metrics.FilesRead, 150)
	warm := s.start(t, registry.Config{})
	want(t, "read", warm.Metrics.FilesRead, 0)
	want(t, "reused", warm.Metrics.FilesReused, 150)
	if d := cmp.Diff(string(cold.Dump()), string(warm.Dump())); d != "" {
		t.Error(d)
	}
	for i := range cold.All {
		a, b := *cold.All[i].Entry, *warm.All[i].Entry
		a.From, b.From = nil, nil
		if d := cmp.Diff(a, b, cmp.AllowUnexported(skill.Skill{}), cmp.AllowUnexported(source.Entry{})); d != "" {
			t.Fatal(d)
		}
	}
	must(t, os.RemoveAll(s.index))
	want(t, "without the index", s.start(t, registry.Config{}).Metrics.FilesRead, 150)
}

func TestWhatChangedBetweenStartsIsReadAgain(t *testing.T) {
	t.Parallel()
	s := newIndexed(t, 150)
	s.start(t, registry.Config{})
	file := func(n string) string { return filepath.Join(s.root, n, "SKILL.md") }

	st, err := os.Stat(file("skill-00001"))
	must(t, err)
	text, err := os.ReadFile(file("skill-00001"))
	must(t, err)
	text = []byte(string(text[:40]) + "X" + string(text[41:])) // same size, and the old times are put back
	must(t, os.WriteFile(file("skill-00001"), text, 0o644))
	must(t, os.Chtimes(file("skill-00001"), st.ModTime(), st.ModTime()))
	must(t, os.RemoveAll(filepath.Join(s.root, "skill-00002")))
	writeSkill(t, filepath.Join(s.root, "skill-new"), "skill-new", "New.")
	must(t, os.Rename(filepath.Join(s.root, "skill-00003"), filepath.Join(s.root, "moved")))

	warm := s.start(t, registry.Config{})
	cold := s.start(t, registry.Config{Index: filepath.Join(t.TempDir(), "none")})
	if d := cmp.Diff(string(cold.Dump()), string(warm.Dump())); d != "" {
		t.Error(d)
	}
	want(t, "read", warm.Metrics.FilesRead, 3)

	must(t, os.Rename(s.root, s.root+"2")) // a root with another name is another root
	s.root += "2"
	renamed := s.start(t, registry.Config{})
	want(t, "skills", len(renamed.All), 150)
	want(t, "read after the root was renamed", renamed.Metrics.FilesRead, 150)
}

// A file that was written while it was listed proves nothing by its times, and neither
// does one from the future.
func TestYoungFilesAreReadAgainAtTheNextStart(t *testing.T) {
	t.Parallel()
	for _, clock := range []func() time.Time{time.Now, func() time.Time { return time.Now().Add(-time.Hour) }} {
		s := newIndexed(t, 150)
		srcs := []source.Source{source.Dir(s.root, source.DirOptions{Now: clock})}
		s.start(t, registry.Config{Sources: srcs})
		want(t, "read", s.start(t, registry.Config{Sources: srcs}).Metrics.FilesRead, 150)
	}
}

func TestADamagedIndexIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := newIndexed(t, 150)
	s.start(t, registry.Config{})
	path := s.files(t)[0]
	good, err := os.ReadFile(path)
	must(t, err)
	for what, bad := range map[string][]byte{
		"cut":     good[:len(good)/2],
		"flipped": slices.Concat(good[:len(good)/2], []byte{good[len(good)/2] ^ 1}, good[len(good)/2+1:]),
		"longer":  append(slices.Clone(good), 0),
	} {
		must(t, os.WriteFile(path, bad, 0o600))
		var told []string
		snap := s.start(t, registry.Config{Report: func(d skill.Diagnostic) { told = append(told, d.Code) }})
		want(t, what+": skills", len(snap.Winners), 150)
		want(t, what+": read", snap.Metrics.FilesRead, 150)
		want(t, what+": told", told, []string{"index_rebuilt"})
		now, err := os.ReadFile(path)
		must(t, err)
		want(t, what+": made again", string(now) == string(good), true)
	}
	for what, other := range map[string][]byte{"empty": {}, "something else": []byte("not an index at all")} {
		must(t, os.WriteFile(path, other, 0o600))
		want(t, what, s.start(t, registry.Config{}).Metrics.FilesRead, 150)
	}
}

func TestAnIndexOfAnotherBuildIsNotRead(t *testing.T) {
	t.Parallel()
	s := newIndexed(t, 150)
	s.start(t, registry.Config{Stamp: "one"})
	var told []skill.Diagnostic
	snap := s.start(t, registry.Config{Stamp: "two", Report: func(d skill.Diagnostic) { told = append(told, d) }})
	want(t, "read", snap.Metrics.FilesRead, 150)
	want(t, "told", len(told), 0)
	want(t, "files", len(s.files(t)), 1)
	want(t, "read", s.start(t, registry.Config{Stamp: "two"}).Metrics.FilesRead, 0)
}

func TestFewSkillsAndUnwritableFoldersKeepNoIndex(t *testing.T) {
	t.Parallel()
	s := newIndexed(t, 10)
	s.start(t, registry.Config{})
	want(t, "files", len(s.files(t)), 0)
	s = newIndexed(t, 150)
	must(t, os.WriteFile(s.index, []byte("a file where the folder should be"), 0o600))
	want(t, "skills", len(s.start(t, registry.Config{}).Winners), 150)
}
