package source_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/source"
)

// settled is a source whose files are all old enough to be trusted by their times.
func settled(root string) source.Source {
	return source.Dir(root, source.DirOptions{Now: func() time.Time { return time.Now().Add(time.Hour) }})
}

// rescan scans again: with the listing, and with what an index on disk keeps of it. Both
// find the same.
func rescan(t *testing.T, src source.Source, prev *source.Listing) *source.Listing {
	t.Helper()
	next, err := src.Scan(t.Context(), prev)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := source.WriteIndex(&b, prev); err != nil {
		t.Fatal(err)
	}
	kept, ok := source.ReadIndex(src, b.String())
	if !ok {
		t.Fatal("the index cannot be read")
	}
	started, err := src.Scan(t.Context(), kept)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "after a start", dirNames(started), dirNames(next))
	return next
}

func TestANameThatComesOrGoesIsSeenThoughFoldersAreTrustedByTheirTimes(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	addSkill(t, root, "a")
	addSkill(t, root, "group/c")
	src := settled(root)
	l := scan(t, src)
	equal(t, "first", dirNames(l), []string{"a", "c"})
	l = rescan(t, src, l)
	if equal(t, "unchanged", dirNames(l), []string{"a", "c"}); l.Stats.FilesRead != 0 {
		t.Errorf("%d files were read again", l.Stats.FilesRead)
	}
	was, err := os.Stat(filepath.Join(root, "group"))
	if err != nil {
		t.Fatal(err)
	}
	addSkill(t, root, "group/b")
	if err := os.Chtimes(filepath.Join(root, "group"), was.ModTime(), was.ModTime()); err != nil { // an archive restores times
		t.Fatal(err)
	}
	l = rescan(t, src, l)
	equal(t, "one came", dirNames(l), []string{"a", "b", "c"})
	if err := os.RemoveAll(filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	l = rescan(t, src, l)
	equal(t, "one went", dirNames(l), []string{"b", "c"})
	if err := os.Rename(filepath.Join(root, "group", "b"), filepath.Join(root, "d")); err != nil {
		t.Fatal(err)
	}
	l = rescan(t, src, l)
	equal(t, "one moved", dirNames(l), []string{"c", "d"})
	link(t, filepath.Join(root, "group", "c"), filepath.Join(root, "group", "b"))
	l = rescan(t, src, l)
	equal(t, "a link came", dirNames(l), []string{"c", "d"})
	if c := l.Entries[1]; len(c.Aliases) != 1 {
		t.Errorf("aliases of %s: %q", c.Dir, c.Aliases)
	}
}

func TestASidecarBelowIsSeenWhenItsFolderComes(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	dir := addSkill(t, root, "a")
	src := settled(root)
	l := scan(t, src)
	if l.Entries[0].Stamp.Sidecars != nil {
		t.Fatal("a sidecar out of nothing")
	}
	write(t, filepath.Join(dir, "agents", "openai.yaml"), "interface:\n  display_name: Alpha\n")
	l = rescan(t, src, l)
	if l.Entries[0].Stamp.Sidecars == nil {
		t.Error("the sidecar came and was not seen")
	}
	if err := os.RemoveAll(filepath.Join(dir, "agents")); err != nil {
		t.Fatal(err)
	}
	if l = rescan(t, src, l); l.Entries[0].Stamp.Sidecars != nil {
		t.Error("the sidecar went and was not missed")
	}
}
