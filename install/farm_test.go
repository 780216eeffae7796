package install_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/internal/race"
)

// farm is a machine whose agents' folders hold all that people put there.
type farm struct {
	*machine
	r    *rand.Rand
	ours map[string]bool // entries that a removal of "one" has to take
}

// spoil puts something of a person's at a place. It is never what deft put there.
func (f farm) spoil(at string) {
	f.t.Helper()
	f.must(os.RemoveAll(at))
	delete(f.ours, at)
	canonical := filepath.Join(f.scope.Skills, "one")
	links := []string{
		filepath.Join(f.dir, "outside"), filepath.Join(f.scope.Skills, "two"), filepath.Join(f.dir, "nowhere"), at, f.scope.Skills,
		canonical + "-of-mine", filepath.Join(canonical, "data.txt"), filepath.Join(f.dir, "way"), "../../outside",
	}
	switch kind := f.r.IntN(len(links) + 3); {
	case kind < len(links):
		f.must(os.Symlink(links[kind], at))
	case kind == len(links):
		f.must(os.WriteFile(at, []byte("a file"), 0o600))
	case kind == len(links)+1:
		f.must(os.MkdirAll(filepath.Join(at, "deep"), 0o755))
		f.must(os.WriteFile(filepath.Join(at, "SKILL.md"), []byte("---\nname: one\ndescription: By hand.\n---\n"), 0o644))
		f.must(os.Symlink(canonical, filepath.Join(at, "deep", "link")))
	default: // a copy of another installation
		f.must(os.MkdirAll(at, 0o755))
		f.must(os.WriteFile(filepath.Join(at, install.ProvenanceFile), []byte(`{"format":1,"id":"x","name":"two","source":{"type":"git","url":"https://example.org/x"}}`), 0o644))
	}
}

func (f farm) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// there is every file and link of the machine, by path; what deft keeps for itself is not
// looked at.
func (f farm) there() map[string]string {
	f.t.Helper()
	out := map[string]string{}
	f.must(filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (path == filepath.Join(f.dir, "state") || path == filepath.Join(f.dir, "data")):
			return fs.SkipDir
		case d.IsDir():
			out[path] = "folder"
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			out[path] = "-> " + to
			return err
		default:
			src, err := os.ReadFile(path)
			out[path] = string(src)
			return err
		}
		return nil
	}))
	return out
}

// below reports whether a path is one of some, or below one.
func below(path string, some map[string]bool) bool {
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		if some[at] {
			return true
		}
	}
	return false
}

// Whatever lies where a skill is removed: what deft put there goes, and not a byte of
// anything else.
func TestARemovalTouchesNothingForeign(t *testing.T) {
	t.Parallel()
	farms := uint64(16)
	switch {
	case os.Getenv("DEFT_TEST_FULL") != "":
		farms = 1000
	case race.Enabled:
		farms = 4
	}
	for seed := range farms {
		f := farm{newMachine(t), rand.New(rand.NewPCG(seed, 9)), map[string]bool{}}
		f.agents = nil
		for a := range 1 + f.r.IntN(3) {
			f.agents = append(f.agents, install.Agent{ID: fmt.Sprint("agent", a), User: filepath.Join(f.dir, "home", fmt.Sprint(".agent", a), "skills")})
		}
		f.write("outside/SKILL.md", "---\nname: one\ndescription: Elsewhere.\n---\n")
		f.must(os.Symlink(filepath.Join(f.scope.Skills, "one"), filepath.Join(f.dir, "way"))) // a link to ours, somebody's
		if f.r.IntN(4) == 0 {
			// An agent's folder may be a link itself: to the folder of the skills, or elsewhere.
			to := []string{f.scope.Skills, filepath.Join(f.dir, "outside")}[f.r.IntN(2)]
			f.must(os.MkdirAll(to, 0o755))
			f.must(os.MkdirAll(filepath.Dir(f.agents[0].User), 0o755))
			f.must(os.Symlink(to, f.agents[0].User))
		}
		f.must(f.add(t.Context(), "one", "two"))
		f.ours[filepath.Join(f.scope.Skills, "one")] = true
		for _, a := range f.agents {
			real, err := filepath.EvalSymlinks(a.User)
			f.must(err)
			if at := filepath.Join(real, "one"); real != f.scope.Skills {
				f.ours[at] = true
			}
		}
		for at := range f.ours {
			if f.r.IntN(2) == 0 {
				f.spoil(at)
			}
		}
		for n := range f.r.IntN(4) { // and beside them
			dir := append(f.agents, install.Agent{User: f.scope.Skills})[f.r.IntN(len(f.agents)+1)].User
			f.spoil(filepath.Join(dir, fmt.Sprint("mine", n)))
		}
		f.removesOurs(t, seed)
	}
}

func (f farm) removesOurs(t *testing.T, seed uint64) {
	t.Helper()
	before := f.there()
	if err := f.remove(t.Context(), "one"); err != nil {
		t.Errorf("farm %d: %v", seed, err)
		return
	}
	after := f.there()
	for path, was := range before {
		now, still := after[path]
		switch gone := below(path, f.ours); {
		case gone && still:
			t.Errorf("farm %d: %s is deft's, and still there", seed, path)
		case !gone && now != was && !(was == "folder" && !still && strings.HasSuffix(path, "/skills")):
			t.Errorf("farm %d: %s was %q, and is %q", seed, path, was, now)
		}
	}
	for path := range after {
		if _, was := before[path]; !was {
			t.Errorf("farm %d: %s is new", seed, path)
		}
	}
	lock, err := install.ReadLock(f.scope.Lock, false)
	if err != nil || lock.Names()[0] != "two" || len(lock.Names()) != 1 {
		t.Errorf("farm %d: the lock file has %q, %v", seed, lock.Names(), err)
	}
	if st, err := f.installer().Verify(t.Context(), f.scope, f.agents, []string{"two"}); err != nil || len(st) != 1 {
		t.Errorf("farm %d: two: %+v, %v", seed, st, err)
	}
}
