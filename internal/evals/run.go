package evals

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/search"
)

// retrieved is how many hits the router is given.
const retrieved = 50

// ErrNoQueries says that Routing was not told which queries to ask.
var ErrNoQueries = errors.New("eval needs a file of queries")

// Routing measures. The error is for inputs that cannot be read at all and for a mode
// or parameter that does not exist; a bad line is counted and named in Diagnostics,
// and the rest runs.
func Routing(ctx context.Context, opt RoutingOptions) (Report, error) {
	r, err := newRun(opt)
	if err != nil {
		return Report{}, err
	}
	queries, bad, err := readLines(opt.Queries, checkQuery)
	if err != nil {
		return Report{}, err
	}
	r.report.Diagnostics = append(r.report.Diagnostics, bad...)
	equiv, bad, err := readEquiv(opt.Equiv)
	if err != nil {
		return Report{}, err
	}
	r.report.Diagnostics = append(r.report.Diagnostics, bad...)
	if err := r.build(ctx); err != nil {
		return Report{}, err
	}
	var list []ranking
	for _, q := range queries {
		got, err := r.ask(ctx, q)
		if err != nil {
			return Report{}, err
		}
		got.equiv = equiv[q.ID]
		list = append(list, got)
	}
	r.report.Queries = len(queries)
	r.summarise(list)
	if opt.Trigger != "" {
		if err := r.trigger(ctx); err != nil {
			return Report{}, err
		}
	}
	r.speed()
	r.report.BadCases = len(r.report.Diagnostics)
	return r.report, nil
}

// run is one measurement under way.
type run struct {
	opt    RoutingOptions
	index  *search.Index
	router *route.Router
	report Report
	times  []int64 // microseconds
}

func newRun(opt RoutingOptions) (*run, error) {
	if opt.Queries == "" {
		return nil, ErrNoQueries
	}
	if opt.TopK == 0 {
		opt.TopK = 50
	}
	switch opt.Mode {
	case "":
		opt.Mode = "bm25"
	case "bm25", "text", "route":
	case "vector", "hybrid":
		if opt.Search.Embedder != nil {
			break
		}
		return nil, fmt.Errorf("%w: %s search needs an embedder", search.ErrModeUnavailable, opt.Mode)
	default:
		return nil, fmt.Errorf("%w: mode %q is unknown", search.ErrBadQuery, opt.Mode)
	}
	r := &run{opt: opt}
	r.report.Mode = opt.Mode
	r.report.Set = filepath.Base(opt.Queries)
	r.report.Params = params(opt.Search)
	var err error
	r.index, err = search.Open(opt.Search)
	return r, err
}

// params names every parameter of the ranking that is in force.
func params(o search.Options) map[string]float64 {
	d := search.DefaultOptions()
	for f, p := range o.Fields {
		d.Fields[f] = p
	}
	if o.K1 == 0 {
		o.K1 = d.K1
	}
	m := map[string]float64{"k1": o.K1, "stem": count(!o.NoStem)}
	for f, p := range d.Fields {
		m["weight."+f.String()] = p.Weight
		m["b."+f.String()] = p.B
	}
	return m
}

func (r *run) build(ctx context.Context) (err error) {
	snap := r.opt.Snapshot
	r.report.Pool = "snapshot"
	if len(r.opt.Corpus) > 0 {
		r.report.Pool = filepath.Base(r.opt.Corpus[0])
		if snap, err = readCorpus(r.opt.Corpus, r.opt.Grow); err != nil {
			return err
		}
	}
	if snap == nil {
		return errors.New("eval has neither a corpus nor a snapshot")
	}
	began := time.Now()
	if _, err := r.index.Update(ctx, "", snap); err != nil {
		return err
	}
	if err := r.index.Warm(ctx, ""); err != nil {
		return err
	}
	r.report.IndexMS = time.Since(began).Milliseconds()
	if st := r.index.Stats(); st.Skills > 0 {
		r.report.BytesPer = st.Bytes / int64(st.Skills)
		r.report.Skills = st.Skills
	}
	r.router, _ = route.Compile(snap, r.opt.Route)
	return nil
}

// ask runs one query and hands its hits to the router.
func (r *run) ask(ctx context.Context, q query) (ranking, error) {
	order, top, res, err := r.rank(ctx, q.Query)
	if err != nil {
		return ranking{}, err
	}
	order = slices.DeleteFunc(order, func(a string) bool { return slices.Contains(q.Aux, a) && !slices.Contains(q.Gold, a) })
	got := ranking{query: q, order: order, top: top}
	if w, ok := res.ClearWinner(); ok {
		got.winner = r.counted(w.Address)
	}
	return got, nil
}

// place adds a hit to the order. A crowd of near-copies takes one place: what is
// measured is whether the skill is found, whichever copy stands for it.
func (r *run) place(order []string, address string) []string {
	if as := r.counted(address); r.opt.Grow == 0 || !slices.Contains(order, as) {
		order = append(order, as)
	}
	return order
}

// counted is the address that a hit counts as.
func (r *run) counted(address string) string {
	if r.opt.Grow > 0 {
		return origin(address)
	}
	return address
}

func (r *run) rank(ctx context.Context, text string) (order []string, top int64, res route.Result, err error) {
	began := time.Now()
	mode := search.BM25
	if r.opt.Mode != "route" {
		mode = search.Mode(r.opt.Mode)
	}
	found, err := r.index.Search(ctx, search.Query{Text: text, TopK: max(r.opt.TopK, retrieved), Mode: mode, Plain: true, Bare: true})
	if err != nil {
		return nil, 0, res, err
	}
	in := route.TurnRoutingContext{Message: text}
	for i, h := range found.Hits {
		if i < r.opt.TopK {
			order = r.place(order, h.Address)
		}
		if i < retrieved {
			in.Retrieved = append(in.Retrieved, route.Retrieved{Address: h.Address, Score: h.Score, Coverage: h.Coverage, Share: h.Share, Evidence: h.Evidence})
		}
		switch mode {
		case search.Vector, search.Hybrid: // fused ranks have no scale
			top = max(top, int64(h.Cosine))
		default:
			top = max(top, h.Score)
		}
	}
	if r.opt.Mode != "route" {
		r.times = append(r.times, time.Since(began).Microseconds())
	}
	if res, err = r.router.Route(ctx, in); err != nil {
		return nil, 0, res, err
	}
	if r.opt.Mode == "route" {
		r.times = append(r.times, time.Since(began).Microseconds())
		order, top = nil, 0
		for _, e := range res.Hits[:min(len(res.Hits), r.opt.TopK)] {
			order = r.place(order, e.Address)
			top = max(top, int64(e.Score))
		}
	}
	return order, top, res, nil
}

// summarise fills the figures of every query and group.
func (r *run) summarise(list []ranking) {
	r.report.Figures = figures(list, false)
	r.report.Lenient = figures(list, true)
	r.report.Groups = groups(list)
	r.report.Abstain = abstain(list)
	var positive, negative []int64
	for _, q := range list {
		if q.Source == "authored" && !q.negative() {
			positive = append(positive, q.top)
		} else if q.negative() {
			negative = append(negative, q.top)
		}
	}
	r.report.AUROC = auroc(positive, negative)
	if !r.opt.Misses {
		return
	}
	for _, q := range list {
		if at := rank(q.order, q.Gold); !q.negative() && at != 1 {
			r.report.Misses = append(r.report.Misses, Miss{
				ID: q.ID, Query: q.Query, Gold: q.Gold, Rank: at, Top: q.order[:min(5, len(q.order))],
			})
		}
	}
}

func groups(list []ranking) (out []Group) {
	for _, by := range []struct {
		name string
		of   func(ranking) string
	}{
		{"source", func(q ranking) string { return q.Source }},
		{"kind", func(q ranking) string { return q.Kind }},
		{"lang", func(q ranking) string { return q.Lang }},
	} {
		parts := map[string][]ranking{}
		var names []string
		for _, q := range list {
			v := by.of(q)
			if parts[v] == nil {
				names = append(names, v)
			}
			parts[v] = append(parts[v], q)
		}
		slices.Sort(names)
		for _, v := range names {
			if f := figures(parts[v], false); f.N > 0 {
				out = append(out, Group{By: by.name, Value: v, Figures: f, Lenient: figures(parts[v], true)})
			}
		}
	}
	return out
}

// abstain counts refusals over the negatives and the authored requests for one skill.
func abstain(list []ranking) (a Abstain) {
	for _, q := range list {
		refused := q.winner == ""
		switch {
		case q.negative():
			a.Negatives++
			if refused {
				a.Refused++
			}
		case q.Source == "authored" && q.Kind == "single":
			a.Positives++
			if refused {
				a.Wrongly++
			} else if slices.Contains(q.Gold, q.winner) || slices.Contains(q.equiv, q.winner) {
				a.Right++
			}
		}
	}
	a.Recall = share(float64(a.Refused), a.Negatives)
	a.Precision = share(float64(a.Refused), a.Refused+a.Wrongly)
	return a
}

// trigger measures how often the named skill comes first for its own cases.
func (r *run) trigger(ctx context.Context) error {
	cases, bad, err := readLines(r.opt.Trigger, checkTrigger)
	if err != nil {
		return err
	}
	r.report.Diagnostics = append(r.report.Diagnostics, bad...)
	t := &TriggerFigures{}
	for _, c := range cases {
		order, _, _, err := r.rank(ctx, c.Query)
		if err != nil {
			return err
		}
		at := rank(order, []string{c.Skill})
		n, top1, top5 := &t.Not, &t.NotTop1, &t.NotTop5
		if *c.Should {
			n, top1, top5 = &t.Should, &t.ShouldTop1, &t.ShouldTop5
		}
		*n++
		*top1 += count(at == 1)
		*top5 += count(at > 0 && at <= 5)
	}
	t.ShouldTop1, t.ShouldTop5 = share(t.ShouldTop1, t.Should), share(t.ShouldTop5, t.Should)
	t.NotTop1, t.NotTop5 = share(t.NotTop1, t.Not), share(t.NotTop5, t.Not)
	r.report.Trigger = t
	return nil
}

// speed fills the times, or takes out the one that is already there.
func (r *run) speed() {
	if r.opt.NoTiming {
		r.report.IndexMS = 0
		return
	}
	slices.Sort(r.times)
	r.report.P50US, r.report.P99US = percentile(r.times, 50), percentile(r.times, 99)
	total := int64(0)
	for _, t := range r.times {
		total += t
	}
	if total > 0 {
		r.report.PerSecond = float64(len(r.times)) * 1e6 / float64(total)
	}
}
