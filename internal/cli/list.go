package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// listOptions are the flags of deft list.
type listOptions struct{ all, tokens bool }

func listVerb() verb {
	var o listOptions
	return verb{
		name: "list", args: "[FILTER]", max: 1, group: groupSkill, effects: effects{reads: true}, names: true,
		short: "every skill, by source, with its state",
		long:  "FILTER is part of a name or description, a kind or the id of a source.",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&o.all, "all", false, "also shadowed, invalid and withheld ones")
			f.BoolVar(&o.tokens, "tokens", false, "count the tokens of each catalog line and each body")
		},
		run: func(ctx context.Context, r *run, args []string) error {
			filter := ""
			if len(args) == 1 {
				filter = args[0]
			}
			return r.list(ctx, o, filter)
		},
	}
}

func (r *run) list(ctx context.Context, o listOptions, filter string) error {
	snap, err := r.snapshot(ctx)
	if err != nil {
		return err
	}
	show, shadowed, unusable := split(snap)
	if o.all {
		show = append(show, unusable...)
		slices.SortFunc(show, byName)
	} else {
		shadowed = nil
	}
	show, shadowed = matching(show, filter), matching(shadowed, filter)
	found := len(show) + len(shadowed)
	counts := map[*registry.Record]tokensJSON{}
	if o.tokens {
		if counts, err = r.countTokens(ctx, append(slices.Clone(show), shadowed...)); err != nil {
			return err
		}
	}
	if r.globals.json {
		r.printListing(snap, show, shadowed, counts)
	} else {
		r.listTable(show, shadowed, counts)
		if !o.all {
			show = append(slices.Clone(show), unusable...)
		}
		r.listNotes(snap, show)
	}
	if !snap.Complete {
		r.note(Partial)
	}
	if filter != "" && found == 0 {
		if !r.globals.json {
			r.hintf("%s", r.words.Say("list.none", filter))
		}
		return errNegative
	}
	return nil
}

func matching(list []*registry.Record, filter string) []*registry.Record {
	want := fold.Key(filter)
	if want == "" {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(rec *registry.Record) bool {
		s := rec.Skill
		if string(rec.Source.Kind) == filter || rec.Source.ID == filter {
			return false
		}
		return !strings.Contains(s.Key, want) && !strings.Contains(fold.Key(s.Description), want) && !strings.Contains(fold.Key(s.Title), want)
	})
}

// listTable shows skills under their sources, in order of search.
func (r *run) listTable(show, shadowed []*registry.Record, counts map[*registry.Record]tokensJSON) {
	type place struct {
		source  string
		records []*registry.Record
	}
	var places []*place
	at := map[string]*place{}
	for _, rec := range append(slices.Clone(show), shadowed...) {
		head := rec.Source.ID
		if rec.Source.Path != "" {
			head = fmt.Sprintf("%s · %s", rec.Source.Kind, r.short(rec.Source.Path))
			if v := rec.Source.Version; v != "" {
				head += " · " + v
			}
		}
		p := at[head]
		if p == nil {
			p = &place{source: head}
			at[head] = p
			places = append(places, p)
		}
		p.records = append(p.records, rec)
	}
	slices.SortFunc(places, func(a, b *place) int { return strings.Compare(a.source, b.source) })
	for _, p := range places {
		r.out.Printf("%s\n", r.out.Paint(safetext.Bold, p.source))
		for _, rec := range p.records {
			r.listRow(rec, counts[rec])
		}
	}
}

func (r *run) listRow(rec *registry.Record, count tokensJSON) {
	name := rec.Skill.Name
	if rec.State == registry.Available {
		name = rec.Address // the name, or name@source where that is needed to tell them apart
	}
	mark := ""
	switch {
	case rec.State == registry.Shadowed && rec.Winner != nil:
		mark = r.words.Say("list.shadowed", r.short(rec.Dir), r.short(rec.Winner.Dir))
	case rec.State != registry.Available:
		mark = r.words.Say("state." + string(rec.State))
		if len(rec.Reasons) > 0 {
			mark += ": " + r.sentence(rec.Reasons[0])
		}
	case len(rec.NeedsSetup()) > 0:
		mark = r.words.Say("list.needs_setup", strings.Join(rec.NeedsSetup(), ", "))
	case !rec.ForModel():
		mark = r.words.Say("state.manual")
	case string(rec.Source.Trust) == "untrusted" || string(rec.Source.Trust) == "remote":
		mark = r.words.Say("trust." + string(rec.Source.Trust))
	}
	if rec.Group != "" {
		name += " [" + rec.Group + "]"
	}
	if count.Catalog != nil && count.Body != nil {
		name += fmt.Sprintf(" %d+%d", *count.Catalog, *count.Body)
	}
	text := rec.Skill.Description
	if mark != "" {
		r.out.Printf("  %-24s %s %s\n", name, r.out.Paint(safetext.Yellow, "("+mark+")"), r.clip(text, utf8.RuneCountInString(mark)+4))
		return
	}
	r.out.Printf("  %-24s %s\n", name, r.clip(text, 0))
}

// clip cuts a description to what is left of the line, on a terminal; a file gets
// the whole line.
func (r *run) clip(text string, used int) string {
	width := r.out.Policy().Width
	if !r.out.Policy().Terminal || width == 0 {
		return text
	}
	return safetext.Clip(safetext.Line(text), max(width-28-used, 20))
}

// short shows a path below the home directory by "~".
func (r *run) short(path string) string {
	if rest, ok := strings.CutPrefix(path, r.dirs.Home+"/"); ok && r.dirs.Home != "" {
		return "~/" + rest
	}
	return path
}

// noticed bounds the diagnostics that a listing repeats; doctor has them all.
const noticed = 20

// listNotes says on standard error what a listing would hide: how many, what was
// repaired, and which skills are withheld.
func (r *run) listNotes(snap *registry.Snapshot, records []*registry.Record) {
	m := snap.Metrics
	_, shadowed, unusable := split(snap)
	invalid := slices.DeleteFunc(slices.Clone(unusable), func(rec *registry.Record) bool { return rec.State != registry.Invalid })
	r.hintf("%s", r.words.Say("list.sum", len(snap.Winners), m.Sources, m.ElapsedMS, len(shadowed), len(invalid)))
	r.withheld(snap)
	diags := slices.Clone(snap.Diagnostics)
	for _, rec := range records {
		diags = append(diags, rec.Skill.Diagnostics...)
	}
	diags = slices.DeleteFunc(diags, func(d skill.Diagnostic) bool { return d.Level == skill.LevelInfo && !r.globals.verbose })
	more := 0
	if len(diags) > noticed && !r.globals.verbose {
		diags, more = diags[:noticed], len(diags)-noticed
	}
	r.report(diags)
	if more > 0 {
		r.hintf("%s", r.words.Say("list.more", more))
	}
	if !snap.Complete {
		r.hintf("%s", r.words.Say("list.incomplete"))
	}
}

// withheld counts and names the skills of folders that nobody has trusted: once, on
// standard error, where no model reads it.
func (r *run) withheld(snap *registry.Snapshot) {
	var names []string
	for _, rec := range snap.All {
		if rec.State == registry.Untrusted {
			names = append(names, rec.Skill.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	n := len(names)
	if len(names) > 10 {
		names = append(names[:10], "…")
	}
	r.hintf("%s", r.words.Say("withheld", n, strings.Join(names, ", ")))
	r.hintf("hint: %s", r.words.Say("hint.trust"))
}
