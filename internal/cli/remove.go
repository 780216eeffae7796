package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/install"
)

func removeVerb() verb {
	var o installFlags
	var all bool
	return verb{
		name: "remove", args: "[NAME…]", max: -1, group: groupSkill, effects: effects{reads: true, writes: true}, names: true, joins: true,
		short: "take installed skills away, and nothing else",
		long: "What deft did not put there, and what no longer leads to where the record says, is left and\n" +
			"named. A skill that was edited is asked about, and kept aside below the state directory.",
		flags: func(f *pflag.FlagSet) {
			o.bind(f)
			f.StringArrayVar(&o.agents, "agent", nil, "what was added for agent `ID` alone: deft, or one of dialect minimax")
			f.BoolVar(&all, "all", false, "everything that deft installed")
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.remove(ctx, o, all, args) },
	}
}

// removeJSON is what deft remove tells.
type removeJSON struct {
	Removed []removedJSON `json:"removed"`
	Missing []string      `json:"missing"` // asked for, and not installed
	Written bool          `json:"written"`
}

type removedJSON struct {
	Name   string   `json:"name"`
	Links  []string `json:"links"`
	Left   []string `json:"left"`   // entries that are not deft's
	Edited []string `json:"edited"` // files that were changed; kept aside
	Needed []string `json:"needed"` // skills that stay and need it
}

func (r *run) remove(ctx context.Context, o installFlags, all bool, names []string) error {
	scope, err := r.scope(o)
	if err != nil {
		return err
	}
	switch {
	case all == (len(names) > 0):
		return usage("either names, or --all").hinted("hint.see_help", "remove")
	case all:
		entries, err := lockedEntries(scope)
		if err != nil {
			return err
		}
		names = sortedKeys(entries)
	}
	if err := r.removable(scope, names); err != nil {
		return err
	}
	i, err := r.installer()
	if err != nil {
		return err
	}
	plan, err := i.PlanRemove(ctx, scope, r.allAgents(), names)
	if err != nil {
		return err
	}
	there, err := r.askRemoval(plan)
	if err != nil {
		return err
	}
	doc := removeJSON{Removed: []removedJSON{}, Missing: []string{}}
	if !r.writing.dryRun && there {
		if plan, err = i.Remove(ctx, scope, r.allAgents(), plan); err != nil {
			return err
		}
		doc.Written = true
	}
	for _, p := range plan {
		if p.Missing {
			r.note(Negative)
			doc.Missing = append(doc.Missing, p.Name)
			continue
		}
		d := removedJSON{p.Name, []string{}, orEmptyList(p.Left), orEmptyList(p.Edited), orEmptyList(p.Needed)}
		for _, l := range p.Links {
			d.Links = append(d.Links, l.Path)
		}
		doc.Removed = append(doc.Removed, d)
	}
	r.removed(doc)
	return nil
}

// askRemoval puts the questions of a removal, and reports whether anything is there.
func (r *run) askRemoval(plan []install.Removal) (there bool, err error) {
	for _, p := range plan {
		there = there || !p.Missing
		if len(p.Needed) > 0 {
			if err := r.confirm(r.words.Say("remove.needed", p.Name, strings.Join(p.Needed, ", "))); err != nil {
				return there, err
			}
		}
		if len(p.Edited) > 0 {
			if err := r.confirm(r.words.Say("remove.edited", p.Name, strings.Join(p.Edited, ", "))); err != nil {
				return there, err
			}
		}
	}
	return there, nil
}

func (r *run) removed(doc removeJSON) {
	if r.globals.json {
		r.printJSON(doc)
		return
	}
	for _, d := range doc.Removed {
		r.out.Printf("%s\n", r.words.Say(r.orDry("remove.done", "remove.dry"), d.Name))
		for _, left := range d.Left {
			r.hintf("%s", r.words.Say("remove.left", left))
		}
	}
	for _, name := range doc.Missing {
		r.err.Printf("%s\n", r.words.Say("remove.missing", name))
	}
}

func verifyVerb() verb {
	var o installFlags
	var repair bool
	return verb{
		name: "verify", args: "[NAME…]", max: -1, group: groupSkill, effects: effects{reads: true, writes: true}, names: true, joins: true,
		short: "compare installed skills with what was installed",
		long: "Each is ok, or edited, missing_file, extra_file, mode, gone, stray, link_broken, link_foreign or\n" +
			"store_damaged. --repair restores missing files, broken links and lost contents, and nothing else.",
		flags: func(f *pflag.FlagSet) {
			o.bind(f)
			f.BoolVar(&repair, "repair", false, "restore what is missing")
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.verify(ctx, o, repair, args) },
	}
}

// verifyJSON is what deft verify tells.
type verifyJSON struct {
	Skills []statusJSON `json:"skills"`
	OK     bool         `json:"ok"`
}

type statusJSON struct {
	Name    string   `json:"name"`
	State   string   `json:"state"`
	Changed []string `json:"changed"`
	Missing []string `json:"missing"`
	Extra   []string `json:"extra"`
	Mode    []string `json:"mode"`
	Links   []string `json:"links"`
	Reason  string   `json:"reason"`
}

func (r *run) verify(ctx context.Context, o installFlags, repair bool, names []string) error {
	scope, err := r.scope(o)
	if err != nil {
		return err
	}
	i, err := r.installer()
	if err != nil {
		return err
	}
	agents := r.allAgents()
	list, err := i.Verify(ctx, scope, agents, names)
	if err != nil {
		return err
	}
	if repair && !r.writing.dryRun {
		if err := i.Repair(ctx, scope, agents, list); err != nil {
			return err
		}
		if list, err = i.Verify(ctx, scope, agents, names); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		r.hintf("%s", r.words.Say("install.nothing", r.short(scope.Lock)))
	}
	doc := verifyJSON{Skills: []statusJSON{}, OK: true}
	for _, st := range list {
		row := statusJSON{st.Name, st.State, orEmptyList(st.Diff.Changed), orEmptyList(st.Diff.Missing), orEmptyList(st.Diff.Extra), orEmptyList(st.Diff.Mode), []string{}, st.Why}
		for _, l := range st.Links {
			row.Links = append(row.Links, l.Path)
		}
		doc.OK = doc.OK && st.State == install.OK
		doc.Skills = append(doc.Skills, row)
		if !r.globals.json {
			r.out.Printf("%-14s %s %s\n", st.State, st.Name, orElse(st.Why, strings.Join(slices.Concat(row.Changed, row.Missing, row.Extra, row.Mode, row.Links), " ")))
		}
	}
	if r.globals.json {
		r.printJSON(doc)
	}
	if !doc.OK {
		return errNegative
	}
	return nil
}
