package route

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/registry"
)

// turn is the work on one message. It is reused; stamps say which tallies are of
// this turn.
type turn struct {
	stamp   uint32
	stamped []uint32 // by skill
	tallies []tally  // by skill
	touched []int32
	seen    []uint32 // by pattern

	gate     *gate
	stages   StageSet
	source   string
	triggers []string
	removed  []removal
	sources  []int32 // skills that co-activate others
	loaded   []int32
}

// removal is a skill that this turn takes out: by its negative keyword of that place,
// or, with a place below 0, by its stages.
type removal struct{ skill, place int32 }

// begin makes the scratch ready for r.
func (t *turn) begin(r *Router) {
	if len(t.stamped) != len(r.skills) || len(t.seen) != len(r.patterns) || t.stamp == ^uint32(0) {
		*t = turn{stamped: make([]uint32, len(r.skills)), tallies: make([]tally, len(r.skills)), seen: make([]uint32, len(r.patterns))}
	}
	t.stamp++
	t.touched, t.stages, t.source = t.touched[:0], 0, ""
	t.triggers, t.removed, t.loaded, t.sources = nil, nil, nil, t.sources[:0]
}

// tally returns the tally of a skill in this turn.
func (t *turn) tally(at int32) *tally {
	if t.stamped[at] != t.stamp {
		t.stamped[at] = t.stamp
		t.tallies[at] = tally{}
		t.touched = append(t.touched, at)
	}
	return &t.tallies[at]
}

func (t *turn) closed(at int32) bool { return t.gate.closed != nil && t.gate.closed[at] }

// out reports that a skill is removed, by a condition or by this turn.
func (t *turn) out(at int32) bool {
	return t.closed(at) || t.stamped[at] == t.stamp && t.tallies[at].removed
}

// ctxEvery is how many matches go by between looks at the context.
const ctxEvery = 4096

// Route ranks the skills for one turn. The error is the context's, or
// ErrContextInvalid.
func (r *Router) Route(ctx context.Context, in TurnRoutingContext) (Result, error) {
	t := r.scratch.Get().(*turn)
	defer r.scratch.Put(t)
	if err := r.tallyTurn(ctx, in, t); err != nil {
		return Result{}, err
	}
	return r.result(in, t), ctx.Err()
}

// tallyTurn does everything but the sort.
func (r *Router) tallyTurn(ctx context.Context, in TurnRoutingContext, t *turn) error {
	t.begin(r)
	if err := ctx.Err(); err != nil {
		return err
	}
	t.stages = in.Stages
	t.gate = r.gate(in.Env)
	if err := r.match(ctx, in, t); err != nil {
		return err
	}
	if err := r.signals(in, t); err != nil {
		return err
	}
	r.strike(t)
	r.coActivate(t)
	r.retrieve(in, t)
	for _, p := range in.Preload {
		if at, ok := r.byAddress[p.Address]; ok && !t.out(at) {
			t.tally(at).preload = p.By
		}
	}
	for _, a := range in.Loaded {
		if at, ok := r.byAddress[a]; ok {
			t.loaded = append(t.loaded, at)
		}
	}
	return ctx.Err()
}

// match finds keywords and triggers in the message.
func (r *Router) match(ctx context.Context, in TurnRoutingContext, t *turn) (err error) {
	text := Normalise(clip(in.Message, r.opt.ScanBytes))
	infer, n := in.Stages == 0, 0
	r.machine.matches(text, func(p int32, from, to int) bool {
		if n++; n%ctxEvery == 0 {
			if err = ctx.Err(); err != nil {
				return false
			}
		}
		if t.seen[p] == t.stamp || !whole(text, from, to) {
			return true
		}
		t.seen[p] = t.stamp
		if set := r.triggers[p]; set != 0 && infer {
			t.stages |= set
			for _, name := range set.Names() {
				t.triggers = append(t.triggers, name+":"+r.patterns[p])
			}
		}
		for _, u := range r.uses[r.useAt[p]:r.useAt[p+1]] {
			if t.closed(u.skill) {
				continue
			}
			if u.place < 0 {
				ta := t.tally(u.skill)
				if ta.negative == 0 || -u.place < ta.negative {
					ta.negative = -u.place
				}
			} else {
				ta := t.tally(u.skill)
				ta.keyword(u.place)
				ta.implicit = r.skills[u.skill].implicit
			}
		}
		return true
	})
	return err
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// signals gives the points for stages, asset classes and the signal's source.
func (r *Router) signals(in TurnRoutingContext, t *turn) error {
	assets := in.Assets
	if in.Signal != nil {
		for _, name := range in.Signal.SuggestedStages {
			s, ok := ParseStage(name)
			if !ok {
				return fmt.Errorf("%w: signal suggests unknown stage %q", ErrContextInvalid, name)
			}
			t.stages |= Stages(s)
		}
		if in.Signal.Asset != nil {
			assets = append(slices.Clone(assets), *in.Signal.Asset)
		}
		t.source = in.Signal.Source
		for _, at := range r.bySource[t.source] {
			if t.source != "" && !t.closed(at) {
				t.tally(at).signal = true
			}
		}
	}
	for s := range stageCount {
		if !t.stages.Has(s) {
			continue
		}
		for _, at := range r.byStage[s] {
			if !t.closed(at) {
				t.tally(at).stage = true
			}
		}
	}
	for _, a := range assets {
		for _, at := range r.byAsset[Normalise(a.Class)] {
			if t.closed(at) {
				continue
			}
			if ta := t.tally(at); ta.asset == "" {
				ta.asset = a.Class
			}
		}
	}
	return nil
}

// strike takes out the skills with a negative keyword, and with StrictStage those of
// other stages. A condition's victims never got a tally.
func (r *Router) strike(t *turn) {
	for _, at := range t.touched {
		if n := t.tallies[at].negative; n > 0 {
			t.removed = append(t.removed, removal{at, n - 1})
		}
	}
	if r.opt.StrictStage && t.stages != 0 {
		for _, at := range r.staged {
			if r.skills[at].stages&t.stages == 0 && !t.closed(at) && t.tally(at).negative == 0 {
				t.removed = append(t.removed, removal{at, -1})
			}
		}
	}
	for _, out := range t.removed {
		t.tallies[out.skill] = tally{removed: true}
	}
}

// coActivate passes points on once, from skills with points of their own. Which of
// several sources a reason names is decided by the final order.
func (r *Router) coActivate(t *turn) {
	for _, at := range t.touched {
		if len(r.skills[at].co) > 0 && t.tallies[at].own() > 0 {
			t.sources = append(t.sources, at)
		}
	}
	for _, from := range t.sources {
		for _, to := range r.skills[from].co {
			if !t.out(to) {
				t.tally(to).co = true
			}
		}
	}
}

// retrieve turns the ranks of a text search into bounded points.
func (r *Router) retrieve(in TurnRoutingContext, t *turn) {
	if r.opt.NoRetrieve {
		return
	}
	list := in.Retrieved[:min(len(in.Retrieved), admitRank)]
	top := int64(0)
	admitted := func(h Retrieved) (int32, bool) {
		at, ok := r.byAddress[h.Address]
		return at, ok && h.Score > 0 && (h.Coverage >= admitCoverage || h.Evidence >= admitEvidence) && !t.out(at)
	}
	for _, h := range list {
		if _, ok := admitted(h); ok {
			top = max(top, h.Score)
		}
	}
	for i, h := range list {
		if at, ok := admitted(h); ok {
			ta := t.tally(at)
			ta.sure = h.sure()
			if ta.rank == 0 {
				ta.rank = int32(i) + 1
			}
			ta.retrieve = max(ta.retrieve, 1, int32(share(int64(r.opt.RetrieveMax), h.Score, top)))
		}
	}
}

// sure reports evidence that is enough for a strong fit. A search that measures only
// coverage is judged by that.
func (h Retrieved) sure() bool {
	if h.Evidence == 0 && h.Share == 0 {
		return h.Coverage >= strongCoverage
	}
	return h.Evidence >= leastEvidence && h.Evidence+h.Share/2 >= strongTogether
}

// share is floor(n·part/whole) without overflow for any score.
func share(n, part, whole int64) int64 {
	for part > 1<<50 {
		part, whole = part>>1, whole>>1
	}
	return n * part / whole
}

// Explain says how the skill of that address, id or name fares in the turn.
func (r *Router) Explain(in TurnRoutingContext, name string) Explanation {
	return r.explain(in, strings.TrimSpace(name))
}

// BuildRoutedCatalog compiles and routes at once, for tests and small hosts.
func BuildRoutedCatalog(snap *registry.Snapshot, in TurnRoutingContext, opt Options) []RoutedCatalogEntry {
	r, _ := Compile(snap, opt)
	res, err := r.Route(context.Background(), in)
	if err != nil {
		return nil
	}
	return slices.Collect(res.All())
}
