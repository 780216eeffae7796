package route

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/deftskills/deft/skill"
)

// A turn allocates for what it hits, and nothing for the other skills.
func TestAllocationsDependOnHitsAlone(t *testing.T) {
	for _, n := range []int{500, 5_000} {
		snap, in := library(n)
		r, _ := Compile(snap, Options{})
		hits := 0
		got := testing.AllocsPerRun(20, func() {
			res, err := r.Route(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			hits = len(res.Hits)
		})
		if limit := float64(32 + 4*hits); got > limit {
			t.Errorf("%d skills, %d hits: %.0f allocations, limit %.0f", n, hits, got, limit)
		}
		in.Message, in.Retrieved = "nothing of it", nil
		if got := testing.AllocsPerRun(20, func() { _, _ = r.Route(context.Background(), in) }); got > 32 {
			t.Errorf("%d skills, no hit: %.0f allocations", n, got)
		}
		res, err := r.Route(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		if got := testing.AllocsPerRun(5, func() {
			for range res.All() {
			}
		}); got > 8 {
			t.Errorf("%d skills: %.0f allocations for the whole order", n, got)
		}
	}
}

// ends is a context that is over after so many looks at it.
type ends struct {
	context.Context
	left int
}

func (e *ends) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestATurnEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r, _ := Compile(snapshot(record("a", keywords("x"))), Options{ScanBytes: 1 << 20})
	in := TurnRoutingContext{Message: strings.Repeat("x ", 100_000)}
	looks := 0
	for ; ; looks++ {
		res, err := r.Route(&ends{t.Context(), looks}, in)
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || len(res.Hits) > 0 && looks < 2 {
			t.Fatalf("after %d looks: %v, %+v", looks, err, res)
		}
	}
	if looks < 100_000/ctxEvery {
		t.Errorf("the context is looked at %d times", looks)
	}
}

func TestARouterIsUsedByMany(t *testing.T) {
	t.Parallel()
	snap, in := library(400)
	for i, rec := range snap.Winners {
		if i%3 == 0 {
			rec.Skill.Meta.Conditions = &skill.Conditions{RequiresEnv: []string{"KEY"}}
		}
	}
	r, _ := Compile(snap, Options{})
	envs := make([]skill.Environment, 6)
	want := make([]string, len(envs))
	for i := range envs {
		envs[i] = skill.Environment{Vars: skill.NewNameSet(fmt.Sprint("K", i), map[bool]string{true: "KEY", false: "NO"}[i%2 == 0])}
		in.Env = envs[i]
		res, err := r.Route(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		want[i] = strings.Join(lines(res), "\n")
	}
	if want[0] == want[1] || want[0] != want[2] {
		t.Fatal("the conditions make no difference, or another one")
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				turn := in
				turn.Env = envs[(w+i)%len(envs)]
				res, err := r.Route(t.Context(), turn)
				if err != nil || strings.Join(lines(res), "\n") != want[(w+i)%len(envs)] {
					t.Errorf("turn %d of %d differs: %v", i, w, err)
				}
				next, _ := r.Next(snap)
				_ = next.Explain(turn, "skill-00000")
			}
		})
	}
	wg.Wait()
}
