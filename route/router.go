package route

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/registry"
)

// Fallback says what the priority does; see Options.
type Fallback string

// The fallbacks: Tiebreak compares priorities only between equal scores, Additive
// adds 100 - priority to the score.
const (
	Tiebreak Fallback = "tiebreak"
	Additive Fallback = "additive"
)

// Options change the router's rules. The zero value means dialect deft.
type Options struct {
	Fallback    Fallback // "" means Tiebreak
	MaxEntries  int      // hits kept after the sort, preloads never cut; 0 means all
	StrictStage bool     // hide skills whose declared stages do not meet a stage of the turn
	// NoImplicitKeywords switches off that a skill without routing keywords answers
	// to its own name.
	NoImplicitKeywords bool
	NoRetrieve         bool      // ignore Retrieved
	RetrieveMax        int       // points of the best retrieved skill, at most 60; 0 means 40
	ScanBytes          int       // bytes of the message that are matched, 1 KiB to 1 MiB; 0 means 64 KiB
	Triggers           *Triggers // stage words; nil means DefaultTriggers
	SignalSources      []string  // sources that a skill without a declaration answers to
}

func (o Options) withDefaults() Options {
	if o.RetrieveMax == 0 {
		o.RetrieveMax = maxRetrieve
	}
	o.RetrieveMax = min(max(o.RetrieveMax, 0), 60)
	if o.ScanBytes == 0 {
		o.ScanBytes = 64 << 10
	}
	o.ScanBytes = min(max(o.ScanBytes, 1<<10), 1<<20)
	if o.Triggers == nil {
		o.Triggers = DefaultTriggers()
	}
	return o
}

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
	removed  []int32 // by a negative keyword or a stage
	extra    []HiddenEntry
}

// begin makes the scratch ready for r.
func (t *turn) begin(r *Router) {
	if len(t.stamped) != len(r.skills) || len(t.seen) != len(r.patterns) || t.stamp == ^uint32(0) {
		*t = turn{stamped: make([]uint32, len(r.skills)), tallies: make([]tally, len(r.skills)), seen: make([]uint32, len(r.patterns))}
	}
	t.stamp++
	t.touched, t.stages, t.source = t.touched[:0], 0, ""
	t.triggers, t.removed, t.extra = nil, nil, nil
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
		if at, ok := r.byAddress[p.Address]; ok && !t.closed(at) {
			t.tally(at).preload = p.By
		}
	}
	for _, a := range in.Loaded {
		if at, ok := r.byAddress[a]; ok && t.stamped[at] == t.stamp {
			t.tally(at).loaded = true
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
				t.tally(u.skill).negative = -u.place
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
			if ta := t.tally(at); !t.closed(at) && ta.asset == "" {
				ta.asset = a.Class
			}
		}
	}
	return nil
}

// strike takes out the skills with a negative keyword, and with StrictStage those of
// other stages. A condition's victims never got a tally.
func (r *Router) strike(t *turn) {
	if r.opt.StrictStage && t.stages != 0 {
		for at := range r.skills {
			if s := r.skills[at].stages; s != 0 && s&t.stages == 0 && !t.closed(int32(at)) {
				t.extra = append(t.extra, r.skills[at].hidden("stage", s.String()))
				t.removed = append(t.removed, int32(at))
			}
		}
	}
	for _, at := range t.touched {
		if n := t.tallies[at].negative; n > 0 && !slices.Contains(t.removed, at) {
			t.extra = append(t.extra, r.skills[at].hidden("negative_keyword", r.skills[at].negative[n-1].word))
			t.removed = append(t.removed, at)
		}
	}
	for _, at := range t.removed {
		ta := t.tally(at)
		*ta = tally{negative: max(1, ta.negative)}
	}
}

// coActivate passes points on once, from skills with points of their own.
func (r *Router) coActivate(t *turn) {
	var sources []int32
	for _, at := range t.touched {
		if len(r.skills[at].co) > 0 && t.tallies[at].own() > 0 {
			sources = append(sources, at)
		}
	}
	slices.SortFunc(sources, func(a, b int32) int {
		if d := t.tallies[b].own() - t.tallies[a].own(); d != 0 {
			return d
		}
		return int(r.place[a] - r.place[b])
	})
	for _, from := range sources {
		for _, to := range r.skills[from].co {
			if t.closed(to) {
				continue
			}
			if ta := t.tally(to); ta.co == 0 && ta.negative == 0 {
				ta.co = from + 1
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
		if !ok || h.Score <= 0 || h.Coverage < admitCoverage && h.Evidence < admitEvidence || t.closed(at) {
			return 0, false
		}
		return at, t.stamped[at] != t.stamp || t.tallies[at].negative == 0
	}
	for _, h := range list {
		if _, ok := admitted(h); ok {
			top = max(top, h.Score)
		}
	}
	for _, h := range list {
		if at, ok := admitted(h); ok {
			ta := t.tally(at)
			ta.sure = h.sure()
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
	return h.Evidence >= strongEvidence || h.Share >= strongShare
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
