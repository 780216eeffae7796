package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/store"
)

// statsFlags are the flags of deft stats.
type statsFlags struct {
	since, by, forget string
	unused            bool
}

// everything is what --forget without a name deletes; no skill is called that.
const everything = "*"

func statsVerb() verb {
	var o statsFlags
	return verb{
		name: "stats", args: "[NAME]", max: 1, group: groupHouse, joins: true, effects: effects{reads: true, writes: true}, names: true,
		short: "which skills are used, by whom, and what they cost",
		long: "What is counted after each turn stays on this machine: by day, skill, kind of agent and client,\n" +
			"never who asked, or what. Own tokens are those of a skill's catalog entry, each time it was shown, and\n" +
			"of its text and files, each time they were loaded. `stats: off` in your settings, DEFT_STATS=off or\n" +
			"DO_NOT_TRACK=1 end the counting.",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.since, "since", "30d", "from the day of `T` on, as 7d or 2026-12-01")
			f.BoolVar(&o.unused, "unused", false, "only the skills that were never loaded in that time")
			f.StringVar(&o.by, "by", "skill", "add up by `WHAT`: skill, agent or client")
			f.StringVar(&o.forget, "forget", "", "delete what was counted, of all skills or of `NAME`")
			f.Lookup("forget").NoOptDefVal = everything
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.stats(ctx, o, args) },
	}
}

// statsJSON is the document of stats.
type statsJSON struct {
	Counting  bool         `json:"counting"` // whether turns are counted now
	Since     string       `json:"since"`    // the first day that is looked at
	By        string       `json:"by"`
	Rows      []useJSON    `json:"rows"`      // the most loaded first
	Unused    []unusedJSON `json:"unused"`    // never loaded since; the dearest first
	Forgotten int64        `json:"forgotten"` // rows that were deleted
}

// useJSON is one sum.
type useJSON struct {
	Name          string `json:"name"`   // of the skill, the kind of agent or the client
	Source        string `json:"source"` // of a skill: where it was found
	Shown         int64  `json:"shown"`
	Loaded        int64  `json:"loaded"`
	UserStarted   int64  `json:"user_started"`
	ModelStarted  int64  `json:"model_started"`
	Preloaded     int64  `json:"preloaded"`
	ResourceReads int64  `json:"resource_reads"`
	ToolCalls     int64  `json:"tool_calls"`
	ToolErrors    int64  `json:"tool_errors"`
	Denied        int64  `json:"denied"`
	CatalogTokens int64  `json:"catalog_tokens"`
	BodyTokens    int64  `json:"body_tokens"`
	OwnTokens     int64  `json:"own_tokens"` // both
	Milliseconds  int64  `json:"ms_total"`
	Last          string `json:"last_at"`
}

// unusedJSON is a skill that is there and was never loaded.
type unusedJSON struct {
	Name      string `json:"name"`
	Source    string `json:"source"`
	Location  string `json:"location"`
	Shown     int64  `json:"shown"`
	OwnTokens int64  `json:"own_tokens"`
}

func (r *run) stats(ctx context.Context, o statsFlags, args []string) error {
	if len(args) > 0 && o.forget != everything && o.forget != "" {
		return usage("stats --forget takes one name, not %q and %q", o.forget, args[0]).hinted("hint.see_help", "stats")
	}
	if o.forget != "" {
		return r.forget(ctx, o.forget, args)
	}
	since, ok := moment(o.since, r.proc.Now())
	switch {
	case len(args) > 0:
		return usage("stats takes a name only with --forget").hinted("hint.see_help", "stats")
	case !ok:
		return usage("--since %q is no time", o.since).hinted("hint.see_help", "stats")
	case !slices.Contains([]string{"skill", "agent", "client"}, o.by):
		return usage("--by %q: one of skill, agent, client", o.by).hinted("hint.see_help", "stats")
	}
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	rows, err := s.Usage(ctx, since)
	if err != nil {
		return err
	}
	doc := statsJSON{Counting: r.config.Stats, Since: store.UsageDay(since), By: o.by, Rows: summed(rows, o.by), Unused: []unusedJSON{}}
	if o.unused {
		doc.Rows = []useJSON{}
	}
	if doc.Unused, err = r.unused(ctx, rows); err != nil {
		return err
	}
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	r.showStats(doc, o.unused)
	return nil
}

// summed adds up by skill, kind of agent or client.
func summed(rows []store.Usage, by string) []useJSON {
	type key struct{ name, source string }
	type sum struct {
		store.Counts
		last time.Time
	}
	sums := map[key]sum{}
	for _, u := range rows {
		k := map[string]key{"skill": {u.Skill, u.Source}, "agent": {u.Agent, ""}, "client": {u.Client, ""}}[by]
		s := sums[k]
		s.Counts = s.Add(u.Counts)
		if u.Last.After(s.last) {
			s.last = u.Last
		}
		sums[k] = s
	}
	out := []useJSON{}
	for k, s := range sums {
		c := s.Counts
		out = append(out, useJSON{
			k.name, k.source, c.Shown, c.Loaded, c.UserStarted, c.ModelStarted, c.Preloaded, c.ResourceReads, c.ToolCalls, c.ToolErrors,
			c.Denied, c.CatalogTokens, c.BodyTokens, c.CatalogTokens + c.BodyTokens, c.Milliseconds, s.last.Format(time.RFC3339),
		})
	}
	slices.SortFunc(out, func(a, b useJSON) int {
		return cmp.Or(cmp.Compare(b.Loaded, a.Loaded), cmp.Compare(b.OwnTokens, a.OwnTokens), strings.Compare(a.Name, b.Name), strings.Compare(a.Source, b.Source))
	})
	return out
}

// unused are the skills that could be loaded and never were.
func (r *run) unused(ctx context.Context, rows []store.Usage) ([]unusedJSON, error) {
	e, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	sums := map[[2]string]store.Counts{}
	for _, u := range rows {
		k := [2]string{u.Skill, u.Source}
		sums[k] = sums[k].Add(u.Counts)
	}
	out := []unusedJSON{}
	for _, rec := range e.Snapshot().Winners {
		c := sums[[2]string{rec.Skill.Name, rec.Source.ID}]
		if c.Loaded > 0 || rec.State != registry.Available {
			continue
		}
		out = append(out, unusedJSON{rec.Skill.Name, rec.Source.ID, rec.Location, c.Shown, c.CatalogTokens + c.BodyTokens})
	}
	slices.SortFunc(out, func(a, b unusedJSON) int {
		return cmp.Or(cmp.Compare(b.OwnTokens, a.OwnTokens), strings.Compare(a.Name, b.Name), strings.Compare(a.Source, b.Source))
	})
	return out, nil
}

func (r *run) showStats(doc statsJSON, unused bool) {
	p := r.out
	if !doc.Counting {
		r.hintf("%s", r.words.Say("stats.off"))
	}
	if unused {
		for _, u := range doc.Unused {
			p.Printf("%-28s %s\n", u.Name, r.words.Say("stats.unused_row", u.Shown, u.OwnTokens, r.short(u.Location)))
		}
		p.Printf("%s\n", r.words.Say("stats.unused", len(doc.Unused), doc.Since))
		return
	}
	if len(doc.Rows) == 0 {
		p.Printf("%s\n", r.words.Say("stats.none", doc.Since))
	} else {
		p.Printf("%s\n", p.Paint(safetext.Bold, fmt.Sprintf("%-28s %7s %7s %7s %7s %9s  %s", r.words.Say("stats.by_"+doc.By), r.words.Say("stats.loads"),
			r.words.Say("stats.failed"), r.words.Say("stats.denied"), r.words.Say("stats.shown"), r.words.Say("stats.tokens"), r.words.Say("stats.last"))))
	}
	for _, u := range doc.Rows {
		p.Printf("%-28s %7d %7d %7d %7d %9d  %s\n", orElse(u.Name, "-"), u.Loaded, u.ToolErrors, u.Denied, u.Shown, u.OwnTokens, u.Last[:len(time.DateOnly)])
	}
	if len(doc.Unused) > 0 {
		r.hintf("%s", r.words.Say("stats.more_unused", len(doc.Unused)))
	}
}

// forget deletes what was counted.
func (r *run) forget(ctx context.Context, name string, args []string) error {
	if len(args) > 0 {
		name = args[0]
	}
	shown := name
	if name == everything {
		name = ""
	}
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	doc := statsJSON{Counting: r.config.Stats, By: "skill", Rows: []useJSON{}, Unused: []unusedJSON{}}
	rows, err := s.Usage(ctx, time.Time{})
	if err != nil {
		return err
	}
	for _, u := range rows {
		if name == "" || u.Skill == name {
			doc.Forgotten++
		}
	}
	if doc.Forgotten > 0 && !r.writing.dryRun { // state that does not exist is not made for it
		if doc.Forgotten, err = s.ForgetUsage(ctx, name); err != nil {
			return err
		}
	}
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	r.out.Printf("%s\n", r.words.Say(r.orDry("stats.forgot", "stats.would_forget"), int(doc.Forgotten), orElse(strings.Trim(shown, everything), r.words.Say("stats.all"))))
	return nil
}

// uses counts what a turn made of skills; nil = nothing is counted.
func (r *run) uses() func(ctx context.Context, uses []agent.Use) error {
	if !r.config.Stats {
		return nil
	}
	client := "cli"
	if slices.Contains([]string{"serve", "signal", "cron"}, strings.Fields(r.verb.path())[0]) {
		client = surfaceJob
	}
	return func(ctx context.Context, uses []agent.Use) error {
		s, err := r.openStore(ctx)
		if err != nil {
			return err
		}
		rows := make([]store.Usage, 0, len(uses))
		for _, u := range uses {
			rows = append(rows, store.Usage{
				UsageKey: store.UsageKey{Day: store.UsageDay(u.At), Skill: u.Skill, Source: u.Source, Digest: string(u.Digest), Agent: u.Agent, Client: client},
				Counts: store.Counts{
					Shown: int64(u.Shown), Loaded: int64(u.Loaded), UserStarted: int64(u.UserStarted), ModelStarted: int64(u.ModelStarted),
					Preloaded: int64(u.Preloaded), ResourceReads: int64(u.ResourceReads), ToolCalls: int64(u.ToolCalls), ToolErrors: int64(u.ToolErrors),
					Denied: int64(u.Denied), CatalogTokens: int64(u.CatalogTokens), BodyTokens: int64(u.BodyTokens), Milliseconds: u.Took.Milliseconds(),
				},
				Last: u.At,
			})
		}
		return s.CountUsage(ctx, rows...)
	}
}
