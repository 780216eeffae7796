package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/skill"
)

// catalogOptions are the flags of deft catalog.
type catalogOptions struct {
	window, budget                    int
	unit, format, mode, request, sort string
	text, check                       bool
}

func catalogVerb() verb {
	var o catalogOptions
	return verb{
		name: "catalog", max: 0, group: groupModel, effects: effects{reads: true},
		short: "the catalog as a model sees it, and what the budget cut",
		flags: func(f *pflag.FlagSet) {
			f.IntVar(&o.window, "window", 0, "the model's context in tokens, `N`")
			f.IntVar(&o.budget, "budget", 0, "an exact bound, `N` of --unit; default 2 % of the window, at most 5,000 tokens")
			f.StringVar(&o.unit, "unit", "", "`tokens|chars|bytes`; default tokens, or what the dialect counts")
			f.StringVar(&o.format, "format", "", "`list|xml|json|markdown|codex|minara`; default the dialect's")
			f.StringVar(&o.mode, "mode", "auto", "`auto|stable|routed|search`")
			f.StringVar(&o.request, "for", "", "adds the part that belongs to this `REQUEST`")
			f.StringVar(&o.sort, "sort", "name", "the table by `name|tokens|state`")
			f.BoolVar(&o.text, "text", false, "exactly the bytes for the model")
			f.BoolVar(&o.check, "check", false, "exit code 1 when anything is shortened or omitted")
		},
		run: func(ctx context.Context, r *run, _ []string) error { return r.catalog(ctx, o) },
	}
}

func (r *run) catalog(ctx context.Context, o catalogOptions) error {
	for _, x := range []struct {
		flag, value string
		list        []string
	}{
		{"unit", o.unit, []string{"", "tokens", "chars", "bytes"}}, {"format", o.format, []string{"", "list", "xml", "json", "markdown", "codex", "minara"}},
		{"mode", o.mode, []string{"auto", "stable", "routed", "search"}}, {"sort", o.sort, []string{"name", "tokens", "state"}},
	} {
		if !slices.Contains(x.list, x.value) {
			return usage("--%s %q is not known", x.flag, x.value).hinted("hint.one_of", strings.TrimPrefix(strings.Join(x.list, ", "), ", "))
		}
	}
	if o.budget < 0 || o.window < 0 {
		return usage("a bound below zero is none")
	}
	e, err := r.open(ctx)
	if err != nil {
		return err
	}
	in := deft.CatalogOptions{
		Format: catalog.Format(o.format), Mode: catalog.Mode(o.mode),
		Budget: &catalog.Budget{Window: o.window, Limit: o.budget, Unit: catalog.Unit(o.unit)},
	}
	if o.request != "" {
		in.For = &deft.Request{Text: o.request}
	}
	ctx, done := r.watch(ctx, "index")
	c, err := e.Catalog(ctx, in)
	done()
	var bad *catalog.OptionError
	switch {
	case errors.As(err, &bad):
		return usage("--%s %q is not known in dialect %s", bad.Option, bad.Value, cmp.Or(r.globals.dialect, string(skill.Deft))).hinted("hint.one_of", strings.Join(bad.Accepted, ", "))
	case err != nil:
		return err
	}
	switch {
	case r.globals.json:
		r.printJSON(catalogDocument(c))
	case o.text:
		r.out.Bytes([]byte(c.Prefix()))
		if c.Tail.Text != "" {
			r.out.Bytes([]byte("\n\n" + c.Tail.Text))
		}
	default:
		r.catalogTable(c, o.sort)
	}
	r.report(c.Report.Diagnostics)
	if !e.Snapshot().Complete {
		r.note(Partial)
		r.hintf("%s", r.words.Say("list.incomplete"))
	}
	if o.check && (c.Report.Full < c.Report.Shown || c.Report.Omitted > 0) {
		return errNegative
	}
	return nil
}

type catalogJSON struct {
	catalog.Report
	Tokens    int                   `json:"tokens"`
	Shortened []string              `json:"shortened"`
	Omitted   []string              `json:"omitted"`
	Text      string                `json:"text"`
	TailText  string                `json:"tail_text"`
	Entries   []catalog.EntryReport `json:"entries"`
}

func catalogDocument(c catalog.Catalog) catalogJSON {
	doc := catalogJSON{
		Report: c.Report, Tokens: c.Stable.Tokens, Shortened: []string{}, Omitted: []string{},
		Text: c.Stable.Text, TailText: c.Tail.Text, Entries: orEmptyList(c.Entries()),
	}
	for _, e := range doc.Entries {
		switch e.State {
		case catalog.Shortened, catalog.NameOnly:
			doc.Shortened = append(doc.Shortened, e.Name)
		case catalog.Omitted:
			doc.Omitted = append(doc.Omitted, e.Name)
		}
	}
	return doc
}

func (r *run) catalogTable(c catalog.Catalog, order string) {
	rep, p := c.Report, r.out
	bound := "of " + grouped(rep.Budget) + " "
	if rep.Budget == 0 {
		bound = ""
	}
	mode := ""
	if rep.Mode != catalog.ModeStable {
		mode = ", mode " + string(rep.Mode)
	}
	p.Printf("%d of %d full, %d shortened, %d omitted; %s %s%s (%s)%s\n", rep.Full, rep.Shown+rep.Omitted,
		rep.Shortened+rep.NameOnly, rep.Omitted, grouped(rep.Used), bound, string(rep.Unit), rep.Counter, mode)
	entries := c.Entries()
	rank := map[catalog.State]int{catalog.Hidden: 1, catalog.Shadowed: 2}
	slices.SortStableFunc(entries, func(a, b catalog.EntryReport) int {
		switch {
		case rank[a.State] != rank[b.State]:
			return rank[a.State] - rank[b.State]
		case order == "tokens":
			return b.Tokens - a.Tokens
		case order == "state":
			return strings.Compare(string(a.State), string(b.State))
		}
		return 0
	})
	p.Printf("%s\n", p.Paint(safetext.Bold, "SKILL                    SOURCE     STATE      TOKENS  FULL  WHY"))
	for _, e := range entries {
		p.Printf("%-24s %-10s %-10s %6d %5d  %s\n", e.Name, e.Source, string(e.State), e.Tokens, e.FullTokens, e.Reason)
	}
	hidden := 0
	for _, n := range rep.Hidden {
		hidden += n
	}
	p.Printf("%d definitions = %d shown + %d omitted + %d hidden + %d shadowed\n", rep.Total, rep.Shown, rep.Omitted, hidden, rep.Shadowed)
}
