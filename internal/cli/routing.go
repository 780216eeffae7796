package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/internal/safetext"
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
	var doc struct {
		Source string   `json:"source"`
		Stages []string `json:"suggested_stages"`
		Asset  *struct {
			Symbol string `json:"symbol"`
			Class  string `json:"class"`
		} `json:"asset"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); err != nil {
		at := dec.InputOffset()
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at = syntax.Offset
		}
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		line := 1 + bytes.Count(data[:min(int(at), len(data))], []byte("\n"))
		return nil, usage("signal %s:%d: %s", path, line, err)
	}
	s := &route.Signal{Source: doc.Source, SuggestedStages: doc.Stages}
	if doc.Asset != nil {
		s.Asset = &route.Asset{Symbol: doc.Asset.Symbol, Class: doc.Asset.Class}
	}
	return s, nil
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
	if o.why != "" {
		return r.routeWhy(ctx, in, o.why)
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
		Stages: res.Stages.Names(), Entries: []routeEntryJSON{}, Hidden: []routeHiddenJSON{},
		Fit: res.Fit, Abstain: res.Abstain(), Triggers: orEmptyList(res.Triggers), Total: res.Total,
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
		reason := h.Code
		if h.Detail != "" {
			reason += " " + h.Detail
		}
		doc.Hidden = append(doc.Hidden, routeHiddenJSON{h.ID, h.Name, reason})
	}
	if w, ok := res.ClearWinner(); ok {
		doc.Winner = &w.Name
	}
	return doc
}

func (r *run) routeText(doc routeJSON) {
	p := r.out
	if len(doc.Stages) > 0 {
		p.Printf("stages: %s (%s)\n", strings.Join(doc.Stages, ", "), strings.Join(doc.Triggers, ", "))
	}
	for _, e := range doc.Entries {
		p.Printf("%5d  %-24s %s\n", e.Score, e.ID, strings.Join(e.Reasons, "; "))
	}
	for i, h := range doc.Hidden {
		if i == 0 {
			p.Printf("hidden:\n")
		}
		p.Printf("       %-24s %s\n", h.ID, h.Reason)
	}
	end := "abstains"
	if doc.Winner != nil {
		end = "clear winner " + *doc.Winner
	}
	p.Printf("fit: %s, %s\n", p.Paint(safetext.Bold, string(doc.Fit)), end)
}

func (r *run) routeWhy(ctx context.Context, in deft.Request, name string) error {
	e, err := r.open(ctx)
	if err != nil {
		return err
	}
	rec, err := find(e.Snapshot(), name)
	if err != nil {
		return err
	}
	why, err := e.ExplainRoute(ctx, in, rec.Address)
	if err != nil {
		return err
	}
	if !why.Known {
		reason := fmt.Sprintf("%s is not routed: %s", name, r.docWords().Say("state."+string(rec.State)))
		if rec.Skill.Meta.DisableModelInvocation {
			reason = fmt.Sprintf("%s is not routed: %s", name, r.docWords().Say("state.manual"))
		}
		if len(rec.Reasons) > 0 {
			reason += ": " + rec.Reasons[0].Message
		}
		if r.globals.json {
			r.printJSON(map[string]any{"name": name, "known": false, "reason": reason, "rows": []any{}})
		} else {
			r.out.Printf("%s\n", reason)
		}
		return nil
	}
	if r.globals.json {
		type row struct {
			Signal string `json:"signal"`
			Points int    `json:"points"`
			Detail string `json:"detail"`
		}
		rows := []row{}
		for _, x := range why.Rows {
			rows = append(rows, row{x.Signal, x.Points, x.Detail})
		}
		r.printJSON(map[string]any{"name": name, "known": true, "id": why.ID, "rank": why.Rank, "of": why.Of, "rows": rows})
		return nil
	}
	for _, x := range why.Rows {
		r.out.Printf("%-12s %4d  %s\n", x.Signal, x.Points, x.Detail)
	}
	for _, h := range why.Hidden {
		r.out.Printf("%-12s hidden  %s %s\n", "conditions", h.Code, h.Detail)
	}
	if why.Rank > 0 {
		r.out.Printf("rank %d of %d\n", why.Rank, why.Of)
	} else {
		r.out.Printf("no rank among %d\n", why.Of)
	}
	return nil
}
