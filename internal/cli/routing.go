package cli

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
)

// routeOptions are the flags of deft route.
type routeOptions struct {
	signal, why    string
	stages, assets []string
	limit          int
	all            bool
}

func routeVerb() verb {
	var o routeOptions
	return verb{
		name: "route", args: "REQUEST…", min: 1, max: -1, group: groupModel, effects: effects{reads: true},
		short: "which skills fit a request, with reasons, and which are hidden",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.signal, "signal", "", "the event behind the request, JSON in `FILE`")
			f.StringArrayVar(&o.stages, "stage", nil, "discover, evaluate, decide or manage, as `S`; may be repeated")
			f.StringArrayVar(&o.assets, "asset", nil, "what the request is about, as `SYM:CLASS`; may be repeated")
			f.IntVar(&o.limit, "limit", 20, "entries shown, `N`")
			f.BoolVar(&o.all, "all", false, "also skills without points")
			f.StringVar(&o.why, "why", "", "how the skill `NAME` fares, row by row")
		},
		run: func(ctx context.Context, r *run, args []string) error {
			return r.route(ctx, o, strings.Join(args, " "))
		},
	}
}

// routeInput reads the flags into what the router is asked.
func (r *run) routeInput(o routeOptions, text string) (deft.Request, error) {
	in := deft.Request{Text: text}
	for _, name := range o.stages {
		stage, ok := route.ParseStage(name)
		if !ok {
			return in, usage("stage %q is not known", name).hinted("hint.one_of", "discover, evaluate, decide, manage")
		}
		in.Stages |= route.Stages(stage)
	}
	for _, a := range o.assets {
		symbol, class, ok := strings.Cut(a, ":")
		if !ok || symbol == "" || class == "" {
			return in, usage("asset %q is not SYM:CLASS", a)
		}
		in.Assets = append(in.Assets, route.Asset{Symbol: symbol, Class: class})
	}
	if o.signal != "" {
		s, err := r.readSignal(o.signal)
		if err != nil {
			return in, err
		}
		in.Signal = s
	}
	return in, nil
}

// readSignal reads an event; what is wrong with the file is said with its place.
func (r *run) readSignal(path string) (*route.Signal, error) {
	f, err := openRegular(r.abs(path))
	if err != nil {
		return nil, usage("signal %q: %s", path, err)
	}
	defer f.Close()
	data, err := readAllUpTo(f, nil, 1<<20)
	if err != nil {
		return nil, usage("signal %q: %s", path, err)
	}
	s, err := route.ParseSignal(data)
	if err != nil {
		f := usage("signal %s:%s", path, err)
		f.code = route.CodeSignalInvalid
		return nil, f
	}
	return &s, nil
}

// preloads are the skills that a signal wants active; one that is not known costs the
// turn nothing but a note.
func (r *run) preloads(snap *registry.Snapshot, s *route.Signal) (out []route.Preload) {
	if s == nil {
		return nil
	}
	for _, name := range s.PreloadSkills {
		rec, err := snap.Lookup(name)
		if err != nil {
			r.hintf("%s", r.words.Say("route.no_preload", name))
			continue
		}
		out = append(out, route.Preload{Address: rec.Address, By: "signal"})
	}
	return out
}

type routeEntryJSON struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Score   int      `json:"score"`
	Reasons []string `json:"reasons"`
}

type routeHiddenJSON struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func hiddenJSON(h route.HiddenEntry) routeHiddenJSON {
	return routeHiddenJSON{h.ID, h.Name, strings.TrimSpace(h.Code + " " + h.Detail)}
}

type routeJSON struct {
	Stages  []string          `json:"stages"`
	Entries []routeEntryJSON  `json:"entries"`
	Hidden  []routeHiddenJSON `json:"hidden"`
	Fit     route.Fit         `json:"fit"`
	Abstain bool              `json:"abstain"`
	Elapsed int64             `json:"elapsed_us"`

	Triggers []string `json:"triggers"`
	Winner   *string  `json:"winner"`
	Total    int      `json:"total"`
	Removed  int      `json:"removed"`
	Cut      bool     `json:"truncated"` // the request was longer than is matched
}

func (r *run) route(ctx context.Context, o routeOptions, text string) error {
	if o.limit < 0 {
		return usage("--limit %d is below zero", o.limit)
	}
	in, err := r.routeInput(o, text)
	if err != nil {
		return err
	}
	e, err := r.open(ctx)
	if err != nil {
		return err
	}
	in.Preload = r.preloads(e.Snapshot(), in.Signal)
	if o.why != "" {
		return r.routeWhy(ctx, e, in, o.why)
	}
	start := r.proc.Now()
	ctx, done := r.watch(ctx, "index")
	res, err := e.Route(ctx, in)
	done()
	if err != nil {
		return err
	}
	doc := routeDocument(res, o)
	doc.Elapsed = r.proc.Now().Sub(start).Microseconds()
	if r.globals.json {
		r.printJSON(doc)
	} else {
		r.routeText(doc)
	}
	if res.Fit == route.FitNone {
		return errNegative
	}
	return nil
}

func routeDocument(res route.Result, o routeOptions) routeJSON {
	doc := routeJSON{
		Stages: res.Stages.Names(), Entries: []routeEntryJSON{},
		Fit: res.Fit, Abstain: res.Abstain(), Triggers: orEmptyList(res.Triggers), Total: res.Total,
		Removed: res.Removed, Cut: res.Truncated, Hidden: []routeHiddenJSON{},
	}
	add := func(h route.RoutedCatalogEntry) bool {
		if len(doc.Entries) < o.limit || o.all {
			doc.Entries = append(doc.Entries, routeEntryJSON{h.ID, h.Name, h.Score, orEmptyList(h.Reasons)})
		}
		return len(doc.Entries) < o.limit || o.all
	}
	if o.all {
		res.All()(add)
	} else {
		for _, h := range res.Hits {
			add(h)
		}
	}
	for h := range res.Hidden() {
		doc.Hidden = append(doc.Hidden, hiddenJSON(h))
	}
	if w, ok := res.ClearWinner(); ok {
		doc.Winner = &w.Name
	}
	return doc
}

func (r *run) routeText(doc routeJSON) {
	p := r.out
	switch stages := strings.Join(doc.Stages, ", "); {
	case len(doc.Triggers) > 0:
		p.Printf("%s\n", r.words.Say("route.stages", stages, strings.Join(doc.Triggers, ", ")))
	case len(doc.Stages) > 0:
		p.Printf("%s\n", r.words.Say("ask.stages", stages))
	}
	for _, e := range doc.Entries {
		p.Printf("%5d  %-24s %s\n", e.Score, e.ID, strings.Join(e.Reasons, "; "))
	}
	for i, h := range doc.Hidden {
		if i == 0 {
			p.Printf("%s\n", r.words.Say("route.hidden"))
		}
		p.Printf("       %-24s %s\n", h.ID, h.Reason)
	}
	fit := p.Paint(safetext.Bold, string(doc.Fit))
	if doc.Winner != nil {
		p.Printf("%s\n", r.words.Say("route.winner", fit, *doc.Winner))
	} else {
		p.Printf("%s\n", r.words.Say("route.abstains", fit))
	}
}
