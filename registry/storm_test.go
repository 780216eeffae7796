package registry_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fsnotify/fsnotify"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

// meanwhile runs a change again and again until the test's own work is done.
func meanwhile(change func(), work func()) {
	done := make(chan struct{})
	var other sync.WaitGroup
	other.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				change()
			}
		}
	})
	work()
	close(done)
	other.Wait()
}

// bodies are the texts of the available skills, by name; one whose file is another one by
// now has none.
func bodies(t *testing.T, s *registry.Snapshot) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, r := range s.Winners {
		if !r.Stale {
			out[r.Skill.Name] = r.Skill.Description
		}
		// The file may be another one by now: then the text says so of itself.
		l, err := source.Load(t.Context(), r.Entry)
		if body := strings.TrimSpace(l.Body); err == nil && (body != "Text of "+l.Skill.Description || strings.Contains(body, "Outside")) {
			t.Errorf("%s: header %q, text %q", r.Skill.Name, l.Skill.Description, body)
		}
	}
	return out
}

func writeTold(t *testing.T, dir, name, description string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: "+name+"\ndescription: "+description+"\n---\nText of "+description+"\n"), 0o644))
}

// A folder changes places with two others while it is scanned, one of them a link out of
// the project: a Snapshot holds what one of those inside says, whole, or nothing of it.
func TestAFolderReplacedDuringTheScanIsOneOfTheTruths(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	root := filepath.Join(top, "repo", "skills")
	must(t, os.MkdirAll(filepath.Join(top, "repo", ".git"), 0o755))
	writeTold(t, filepath.Join(root, "x"), "x", "One.")
	writeTold(t, filepath.Join(root, "y"), "y", "Still.")
	writeTold(t, filepath.Join(top, "repo", "two"), "x", "Two.")
	writeTold(t, filepath.Join(top, "outside"), "x", "Outside.")
	must(t, os.Symlink(filepath.Join(top, "outside"), filepath.Join(top, "repo", "link")))
	srcs, diags := source.Expand(t.Context(), []string{"skills"}, source.Env{Workspace: filepath.Join(top, "repo"), Project: true})
	want(t, "findings", len(diags), 0)
	r := opened(t, registry.Config{Sources: srcs, Trust: registry.ProjectAlways})
	at := func(name string) string { return filepath.Join(top, "repo", name) }
	x := filepath.Join(root, "x")
	seen := map[string]int{}
	meanwhile(func() {
		for _, move := range [][2]string{{x, at("one")}, {at("two"), x}, {x, at("two")}, {at("link"), x}, {x, at("link")}, {at("one"), x}} {
			if err := os.Rename(move[0], move[1]); err != nil {
				t.Error(err)
			}
		}
	}, func() {
		for range 300 {
			got := bodies(t, refreshed(t, r))
			if got["y"] != "Still." {
				t.Errorf("the neighbour is %q", got["y"])
			}
			seen[got["x"]]++
		}
	})
	for text := range seen {
		if text != "" && text != "One." && text != "Two." {
			t.Errorf("x was %q", text)
		}
	}
	want(t, "at the end", bodies(t, refreshed(t, r))["x"], "One.")
}

// A root that comes and goes while it is scanned is there with all that is in it, or
// said to be incomplete.
func TestARootThatVanishesDuringTheScanIsWholeOrSaidToBeIncomplete(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	root := filepath.Join(top, "skills")
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, n := range names {
		writeTold(t, filepath.Join(root, n), n, "Is "+n+".")
	}
	r := opened(t, registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{})}})
	meanwhile(func() {
		for _, move := range [][2]string{{root, root + "-away"}, {root + "-away", root}} {
			if err := os.Rename(move[0], move[1]); err != nil {
				t.Error(err)
			}
		}
	}, func() {
		for range 300 {
			s := refreshed(t, r)
			if n := len(bodies(t, s)); n != 0 && n != len(names) && s.Complete {
				t.Errorf("%d of %d skills in a Snapshot that is complete", n, len(names))
			}
		}
	})
	want(t, "at the end", len(bodies(t, refreshed(t, r))), len(names))
}

// After an overflow events are lost: everything is compared again.
func TestR10AfterAnOverflowEverythingIsLookedAt(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	writeSkill(t, filepath.Join(root, "x"), "x", "One.")
	r := opened(t, registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{})}})
	heard := make(chan registry.Change, 10)
	r.Subscribe(func(c registry.Change) { heard <- c })
	n := newFake(100)
	stop, err := r.Watch(t.Context(), n.options(registry.WatchOptions{}))
	must(t, err)
	defer stop()
	writeSkill(t, filepath.Join(root, "x"), "x", "Two.")
	writeSkill(t, filepath.Join(root, "y"), "y", "New.")
	n.errs <- fsnotify.ErrEventOverflow
	c := <-heard
	want(t, "heard", append(c.Added, c.Updated...), []string{"y", "x"})
}
