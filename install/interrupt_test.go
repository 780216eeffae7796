package install_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// leaving is a store during whose n-th use the person who asked leaves.
type leaving struct {
	blobs.Store
	left  atomic.Int64
	leave context.CancelFunc
}

func (l *leaving) use() {
	if l.left.Add(-1) == 0 {
		l.leave()
	}
}

func (l *leaving) Put(ctx context.Context, b []byte) (skill.Digest, error) {
	l.use()
	return l.Store.Put(ctx, b)
}

func (l *leaving) Get(ctx context.Context, d skill.Digest) ([]byte, error) {
	l.use()
	return l.Store.Get(ctx, d)
}

// Whoever interrupts an install has the state of before or of after at once, with nothing
// for a next run to do.
func TestAnInterruptedInstallHasEndedOrGoneBack(t *testing.T) {
	t.Parallel()
	prepared := func() *machine {
		m := newMachine(t)
		m.write("home/.agents/.skill-lock.json", `{"version":3,"skills":{}}`)
		if err := m.add(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		m.source("second")
		return m
	}
	m := prepared()
	old := m.state("one")
	m.choice.Copy = true
	if err := m.add(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	after, seen := m.state("one"), map[string]int{}
	for n := int64(1); ; n++ {
		m := prepared()
		m.choice.Copy = true
		ctx, leave := context.WithCancel(t.Context())
		l := &leaving{leave: leave}
		l.left.Store(n)
		m.store = func(s blobs.Store) blobs.Store { l.Store = s; return l }
		err := m.add(ctx, "one")
		leave()
		got := m.state("one")
		seen[got]++
		if err != nil && got != old || err == nil && got != after {
			t.Errorf("left at use %d: %v, %s", n, err, got)
		}
		if rest := m.leftovers(); len(rest) > 0 {
			t.Errorf("left at use %d: behind is %q", n, rest)
		}
		m.store = nil
		list, err := m.installer().Verify(t.Context(), m.scope, m.agents, nil)
		if err != nil || len(list) != 1 || list[0].State != install.OK {
			t.Errorf("left at use %d: verify %+v %v", n, list, err)
		}
		if l.left.Load() > 0 {
			break
		}
	}
	if seen[old] < 3 || seen[after] < 3 {
		t.Errorf("seen %v", seen)
	}
}
