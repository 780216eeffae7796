package evals

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/skill"
)

// TriggerOptions say which cases to try, over which skills, and how.
type TriggerOptions struct {
	Snapshot *registry.Snapshot // the pool; used without Corpus
	Corpus   string             // the pool as a tar, tar.gz or directory
	Pool     string             // what the report calls the pool
	File     string             // a file of cases for many skills, by the path shown; "" = those of the skills
	Source   []byte             // its content
	Skills   []string           // whose cases; empty = all
	Mode     string             // l0, hybrid (also "") or model
	K        int                // a skill triggers among the first K; 0 = 1
	Search   search.Options
	Route    route.Options
	// Ask puts one request to a model and returns the skills that it starts, in order;
	// for mode model.
	Ask      func(ctx context.Context, query string) ([]string, error)
	NoTiming bool // leave every time at 0
}

// Confusion counts outcomes. Precision is null when nothing was triggered, Recall when
// nothing should have been.
type Confusion struct {
	TP        int      `json:"tp"`
	FP        int      `json:"fp"`
	FN        int      `json:"fn"`
	TN        int      `json:"tn"`
	Precision *float64 `json:"precision"`
	Recall    *float64 `json:"recall"`
	F1        *float64 `json:"f1"`
}

func (c *Confusion) count(should, did bool) {
	switch {
	case should && did:
		c.TP++
	case should:
		c.FN++
	case did:
		c.FP++
	default:
		c.TN++
	}
	ratio := func(part, whole int) *float64 {
		if whole == 0 {
			return nil
		}
		v := share(float64(part), whole)
		return &v
	}
	c.Precision, c.Recall, c.F1 = ratio(c.TP, c.TP+c.FP), ratio(c.TP, c.TP+c.FN), ratio(2*c.TP, 2*c.TP+c.FP+c.FN)
}

// SkillTriggers are the outcomes of one skill.
type SkillTriggers struct {
	Name string `json:"name"` // its address
	Confusion
}

// TriggerOutcome is what became of one case. Rank is where the skill stood; 0 is
// nowhere. Winner is the skill that stood first, whether it was started or not.
type TriggerOutcome struct {
	Skill     string   `json:"skill"`
	Query     string   `json:"query"`
	Should    bool     `json:"should_trigger"`
	Triggered bool     `json:"triggered"`
	Abstained bool     `json:"abstained"`
	Rank      int      `json:"rank"`
	Winner    string   `json:"winner"`
	Reasons   []string `json:"reasons"`
	WinnerFor []string `json:"winner_reasons"`
	File      string   `json:"file"`
	Line      int      `json:"line"`
	US        int64    `json:"elapsed_us"`
}

// OK reports that the case came out as it should.
func (o TriggerOutcome) OK() bool { return o.Should == o.Triggered }

// TriggerReport is what Triggers found, in the order of the files. Equal input gives
// an equal report except times.
type TriggerReport struct {
	Set     string  `json:"set"`
	Pool    string  `json:"pool"`
	Mode    string  `json:"mode"`
	K       int     `json:"k"`
	Size    int     `json:"pool_skills"`
	Queries int     `json:"queries"`
	Hit1    float64 `json:"hit1"` // of the requests that should trigger, whether anything was started or not
	Hit5    float64 `json:"hit5"`
	MRR10   float64 `json:"mrr10"`
	// Abstain is about requests that should trigger nothing.
	Abstain     AbstainShares      `json:"abstain"`
	All         Confusion          `json:"all"`
	Skills      []SkillTriggers    `json:"skills"`
	Failures    []TriggerOutcome   `json:"failures"`
	P50US       int64              `json:"p50_us"`
	P99US       int64              `json:"p99_us"`
	Diagnostics []skill.Diagnostic `json:"diagnostics"`
	BadCases    int                `json:"bad_cases"`

	Outcomes []TriggerOutcome `json:"-"` // all of them
}

// AbstainShares: Precision is the share of refusals that were right, Recall the share
// of should-not requests that were refused.
type AbstainShares struct {
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
}

// Triggers tries every case. The error is for a pool that cannot be read, a mode that
// does not exist, ErrNoCases, and *UnknownSkillError.
func Triggers(ctx context.Context, o TriggerOptions) (TriggerReport, error) {
	rep := TriggerReport{
		Set: "evals", Pool: o.Pool, Mode: o.Mode, K: max(o.K, 1),
		Skills: []SkillTriggers{}, Failures: []TriggerOutcome{}, Diagnostics: []skill.Diagnostic{},
	}
	if o.File != "" {
		rep.Set = filepath.Base(o.File)
	}
	if rep.Mode == "" {
		rep.Mode = "hybrid"
	}
	snap := o.Snapshot
	if o.Corpus != "" {
		var err error
		if snap, err = readCorpus([]string{o.Corpus}, 0); err != nil {
			return rep, err
		}
	}
	p := newPool(snap)
	cases, bad, err := p.cases(ctx, o)
	if err != nil {
		return rep, err
	}
	rep.Diagnostics = append(rep.Diagnostics, bad...)
	rep.BadCases, rep.Size, rep.Queries = len(bad), len(snap.Winners), len(cases)
	try, err := o.tryer(ctx, rep.Mode, snap)
	if err != nil {
		return rep, err
	}
	for _, c := range cases {
		began := time.Now()
		got, err := try(ctx, c)
		if err != nil {
			return rep, fmt.Errorf("%s:%d: %w", c.file, c.line, err)
		}
		out := got.outcome(c, p.by[c.Skill].Address, rep.K)
		if !o.NoTiming {
			out.US = time.Since(began).Microseconds()
		}
		rep.Outcomes = append(rep.Outcomes, out)
	}
	rep.summarise()
	return rep, nil
}

// answer is an order of skills, and whether anything was started.
type answer struct {
	order     []string
	reasons   map[string][]string
	abstained bool
}

func (a answer) outcome(c TriggerCase, address string, k int) TriggerOutcome {
	out := TriggerOutcome{
		Skill: address, Query: c.Query, Should: *c.Should, Abstained: a.abstained, File: c.file, Line: c.line,
		Rank: 1 + slices.Index(a.order, address), Reasons: a.why(address), WinnerFor: []string{},
	}
	if len(a.order) > 0 {
		out.Winner, out.WinnerFor = a.order[0], a.why(a.order[0])
	}
	out.Triggered = !a.abstained && out.Rank > 0 && out.Rank <= k
	return out
}

func (a answer) why(address string) []string {
	if why := a.reasons[address]; why != nil {
		return why
	}
	return []string{}
}

// tryer returns how a mode answers one case.
func (o TriggerOptions) tryer(ctx context.Context, mode string, snap *registry.Snapshot) (func(context.Context, TriggerCase) (answer, error), error) {
	switch {
	case mode == "model" && o.Ask != nil:
		return o.askModel, nil
	case mode != "l0" && mode != "hybrid":
		return nil, fmt.Errorf("%w: mode %q is unknown", search.ErrBadQuery, mode)
	}
	opt := o.Route
	opt.NoRetrieve = opt.NoRetrieve || mode == "l0"
	router, _ := route.Compile(snap, opt)
	var index *search.Index
	var view *search.View
	if router.Retrieves() {
		var err error
		if index, err = search.Open(o.Search); err != nil {
			return nil, err
		}
		if _, err := index.Update(ctx, "", snap); err != nil {
			return nil, err
		}
		view = search.ModelView(snap)
	}
	return func(ctx context.Context, c TriggerCase) (answer, error) {
		in := route.TurnRoutingContext{Message: c.Query}
		for _, name := range c.Stages {
			s, _ := route.ParseStage(name)
			in.Stages |= route.Stages(s)
		}
		if index != nil {
			found, err := index.Search(ctx, search.Query{Text: c.Query, TopK: retrieved, Plain: true, Bare: true, View: view})
			if err != nil {
				return answer{}, err
			}
			for _, h := range found.Hits {
				in.Retrieved = append(in.Retrieved, route.Retrieved{Address: h.Address, Score: h.Score, Coverage: h.Coverage, Share: h.Share, Evidence: h.Evidence})
			}
		}
		res, err := router.Route(ctx, in)
		a := answer{reasons: map[string][]string{}, abstained: res.Abstain()}
		for _, h := range res.Hits {
			a.order = append(a.order, h.Address)
			a.reasons[h.Address] = h.Reasons
		}
		return a, err
	}, nil
}

// modelRuns is how often a model is asked the same: the majority counts.
const modelRuns = 3

// askModel orders skills by how many runs started them.
func (o TriggerOptions) askModel(ctx context.Context, c TriggerCase) (answer, error) {
	votes := map[string]int{}
	var seen []string
	for range modelRuns {
		started, err := o.Ask(ctx, c.Query)
		if err != nil {
			return answer{}, err
		}
		slices.Sort(started)
		for _, address := range slices.Compact(started) {
			if votes[address]++; votes[address] == 1 {
				seen = append(seen, address)
			}
		}
	}
	a := answer{reasons: map[string][]string{}}
	for _, address := range seen {
		a.reasons[address] = []string{fmt.Sprintf("model:%d of %d", votes[address], modelRuns)}
		if 2*votes[address] > modelRuns {
			a.order = append(a.order, address)
		}
	}
	slices.SortStableFunc(a.order, func(x, y string) int { return votes[y] - votes[x] })
	a.abstained = len(a.order) == 0
	return a, nil
}

func (rep *TriggerReport) summarise() {
	at := map[string]int{}
	var times []int64
	var should, not, refused, rightly int
	for _, out := range rep.Outcomes {
		i, ok := at[out.Skill]
		if !ok {
			i = len(rep.Skills)
			at[out.Skill], rep.Skills = i, append(rep.Skills, SkillTriggers{Name: out.Skill})
		}
		rep.Skills[i].count(out.Should, out.Triggered)
		rep.All.count(out.Should, out.Triggered)
		if !out.OK() {
			rep.Failures = append(rep.Failures, out)
		}
		times = append(times, out.US)
		if out.Abstained {
			refused++
		}
		if !out.Should {
			not++
			if out.Abstained {
				rightly++
			}
			continue
		}
		should++
		rep.Hit1 += count(out.Rank == 1)
		rep.Hit5 += count(out.Rank > 0 && out.Rank <= 5)
		if out.Rank > 0 && out.Rank <= 10 {
			rep.MRR10 += 1 / float64(out.Rank)
		}
	}
	rep.Hit1, rep.Hit5, rep.MRR10 = share(rep.Hit1, should), share(rep.Hit5, should), share(rep.MRR10, should)
	rep.Abstain = AbstainShares{Precision: share(float64(rightly), refused), Recall: share(float64(rightly), not)}
	slices.Sort(times)
	rep.P50US, rep.P99US = percentile(times, 50), percentile(times, 99)
}
