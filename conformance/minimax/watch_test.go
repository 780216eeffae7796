package minimax

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

func TestX06LateRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.open()
	defer r.Close()
	w.skill(filepath.Join(w.home, ".claude/skills/late"))
	equal(t, "before a refresh", names(r.Snapshot()), nil)
	s, err := r.Refresh(t.Context(), registry.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "after it", names(s), []string{"late"})
}

// In deft a watcher waits for roots that are not there: nobody has to refresh.
func TestX06LateRootDeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.Format.Dialect, w.env.DataDir = skill.Deft, w.data
	r := w.open()
	defer r.Close()
	heard := make(chan registry.Change, 10)
	r.Subscribe(func(c registry.Change) { heard <- c })
	stop, err := r.Watch(t.Context(), registry.WatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	w.skill(filepath.Join(w.home, ".claude/skills/late"))
	c := <-heard
	equal(t, "heard", append(c.Added, c.Reason), []string{"late", "watch"})
}

func TestX09RegistryLru(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.config
	c.Dialect = skill.MiniMax
	c.Views = registry.Views{Env: w.env, Sources: func(ctx context.Context, _ registry.Scope, e source.Env) ([]source.Source, []skill.Diagnostic) {
		return source.Roots(ctx, e)
	}}
	r, err := registry.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var kept []*registry.Registry
	for i := range 17 {
		agent := fmt.Sprint("agent-", i)
		w.skill(filepath.Join(w.data, "agents", agent, "skills", agent))
		v, err := r.View(t.Context(), registry.Scope{Agent: agent})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, agent, names(v.Snapshot()), []string{agent})
		if _, err := v.Registry().Watch(t.Context(), registry.WatchOptions{}); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, v.Registry())
		v.Close()
	}
	for i, r := range kept {
		if s := r.WatchStatus(); (s.Watches > 0) == (i == 0) {
			t.Errorf("registry %d of 17: %+v", i, s)
		}
	}
}
