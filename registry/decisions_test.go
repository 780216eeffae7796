package registry_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/deftskills/deft/internal/casetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

// elsewhere is a Decider whose decisions another process changes.
type elsewhere struct {
	mu    sync.Mutex
	now   registry.Decisions
	count int
}

func (e *elsewhere) Decide(context.Context) registry.Decisions {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now
}

func (e *elsewhere) Version(context.Context) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strconv.Itoa(e.count + 1)
}

func (e *elsewhere) set(s ...registry.Saved) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now.Switches.Saved = s
	e.count++
}

func TestATurnHearsWhatAnotherProcessDecided(t *testing.T) {
	t.Parallel()
	d := &elsewhere{}
	r, err := registry.Open(t.Context(), registry.Config{
		Decider: d, Cooldown: -1, // turns never look by themselves
		Sources: []source.Source{src("user", source.User, source.Trusted, named("surf", "lint")...)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	state := func(s *registry.Snapshot) string { return string(lookup(t, s, "lint").State) }
	first := r.ForTurn(t.Context())
	want(t, "before", state(first), "available")
	d.set(registry.Saved{Name: "lint", Switch: registry.SwitchOff})
	want(t, "until a turn", state(r.Snapshot()), "available")
	off := r.ForTurn(t.Context())
	want(t, "the next turn", state(off), "disabled")
	if again := r.ForTurn(t.Context()); again != off {
		t.Error("a turn that hears nothing has a Snapshot of its own")
	}

	// A watcher asks at every poll, whatever covers the folders.
	watching(t, r, quick)
	d.set()
	eventually(t, "the watcher hears it", func() bool { return state(r.Snapshot()) == "available" })
}

func TestTheOwnViewFollowsTheRegistry(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "023")
	r := viewed(t, env(c, c.Project), registry.ProjectAlways)
	v := r.Own()
	defer v.Close()
	forTurn := func(files ...string) *registry.Snapshot {
		t.Helper()
		s, err := v.ForTurn(t.Context(), files...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if forTurn() != r.Snapshot() || v.ID() != "" {
		t.Error("a view without packages is not the registry's own Snapshot")
	}
	s := forTurn("packages/shop/src/cart.txt")
	want(t, "with the package", lookup(t, s, "shop-rules").Source.Package, "packages/shop")
	if v.ID() == "" || r.Snapshot().Version == s.Version {
		t.Error("the package has no Snapshot of its own")
	}
	late := c.Path("project", ".agents/skills/late/SKILL.md")
	must(t, os.MkdirAll(filepath.Dir(late), 0o755))
	must(t, os.WriteFile(late, []byte("---\nname: late\ndescription: d\n---\nx\n"), 0o644))
	if _, err := r.Refresh(t.Context(), registry.RefreshOptions{}); err != nil {
		t.Fatal(err)
	}
	s = forTurn("packages/shop/src/cart.txt")
	lookup(t, s, "late")
	lookup(t, s, "shop-rules")
	want(t, "the registry", len(r.Snapshot().Winners), 2)

	// A watched registry's view hears of the packages at the next turn.
	watching(t, r, quick)
	watched := r.Own()
	defer watched.Close()
	if _, err := watched.ForTurn(t.Context(), "packages/shop/src/cart.txt"); err != nil {
		t.Fatal(err)
	}
	must(t, os.WriteFile(c.Path("project", "packages/shop/.agents/skills/shop-rules/SKILL.md"), []byte("---\nname: shop-rules\ndescription: Newer.\n---\nx\n"), 0o644))
	s, err := watched.ForTurn(t.Context(), "packages/shop/src/cart.txt")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "edited", lookup(t, s, "shop-rules").Skill.Description, "Newer.")
}
