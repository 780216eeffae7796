package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/internal/lockfile"
)

func outdatedVerb() verb {
	var o installFlags
	return verb{
		name: "outdated", args: "[NAME…]", max: -1, group: groupSkill, effects: effects{reads: true, network: true}, names: true, joins: true,
		short: "which installed skills are newer at their source",
		long: "Looks exactly where the record says. A source that is not reached is unknown, never removed.\n" +
			"Exit code 1 means that something is newer; 4, that a source was not reached or is gone.",
		flags: func(f *pflag.FlagSet) { o.bind(f); o.bindNetwork(f) },
		run:   func(ctx context.Context, r *run, args []string) error { return r.outdated(ctx, o, args) },
	}
}

// outdatedJSON is what deft outdated tells.
type outdatedJSON struct {
	Skills []outdatedRow `json:"skills"`
}

type outdatedRow struct {
	Name   string   `json:"name"`
	State  string   `json:"state"`
	Commit string   `json:"commit"`
	Files  []string `json:"files"`
	Reason string   `json:"reason"`
}

func (r *run) outdated(ctx context.Context, o installFlags, names []string) error {
	list, _, _, err := r.sources(ctx, o, names)
	if err != nil {
		return err
	}
	doc := outdatedJSON{Skills: []outdatedRow{}}
	newer := false
	for _, s := range list {
		doc.Skills = append(doc.Skills, outdatedRow{s.Name, s.State, s.Commit, orEmptyList(s.Files), s.Why})
		switch s.State {
		case install.Unknown, install.SourceMissing:
			r.note(Partial)
		case install.Newer, install.Moved, install.RemovedUpstream:
			newer = true
		}
		if !r.globals.json {
			r.out.Printf("%-16s %s %s\n", s.State, s.Name, orElse(s.Why, strings.Join(s.Files, " ")))
		}
	}
	if r.globals.json {
		r.printJSON(doc)
	}
	if newer {
		return errNegative
	}
	return nil
}

// sources compares the installed skills of a scope with where they came from.
func (r *run) sources(ctx context.Context, o installFlags, names []string) ([]install.Outdated, *install.Installer, install.Scope, error) {
	scope, err := r.scope(o)
	if err != nil {
		return nil, nil, scope, err
	}
	i, err := r.installer()
	if err != nil {
		return nil, nil, scope, err
	}
	f, err := r.fetcher(o)
	if err != nil {
		return nil, nil, scope, err
	}
	f.Dir = scope.Root
	entries, err := lockedEntries(scope)
	if err != nil {
		return nil, nil, scope, err
	}
	for _, name := range names {
		if _, ok := entries[name]; !ok {
			return nil, nil, scope, fail(Negative, "install_unknown", "skill %q is not installed", name).
				hinted("hint.one_of", strings.Join(closest(name, sortedKeys(entries), 3), ", "))
		}
	}
	if len(entries) == 0 {
		r.hintf("%s", r.words.Say("install.nothing", r.short(scope.Lock)))
	}
	ctx, done := r.watch(ctx, "fetch")
	defer done()
	list, err := i.Outdated(ctx, f, scope, names)
	return list, i, scope, err
}

// updateFlags are the flags of deft update.
type updateFlags struct {
	installFlags
	all, resume bool
	onEdit      string
	unlicensed  bool
	accept      []string
}

func updateVerb() verb {
	var o updateFlags
	return verb{
		name: "update", args: "[NAME…]", max: -1, group: groupSkill, effects: effects{reads: true, writes: true, network: true}, names: true, joins: true,
		short: "bring what is newer at the source of installed skills",
		long: "A skill that was edited is kept, unless --on-edit says otherwise: theirs takes the source's files\n" +
			"and keeps the edited ones aside; merge makes both changes where they touch different lines. After a\n" +
			"conflict the files with both sides lie below the state directory; --continue takes them from there.\n" +
			"Files that a person added stay. Each skill goes through all checks of deft add again.",
		flags: func(f *pflag.FlagSet) {
			o.bind(f)
			f.BoolVar(&o.all, "all", false, "every installed skill; the default without names")
			f.StringVar(&o.onEdit, "on-edit", "ask", "what happens to edited skills: `ask|keep|theirs|merge`")
			f.BoolVar(&o.resume, "continue", false, "take the resolved files of a conflict")
			f.BoolVar(&o.unlicensed, "accept-unlicensed", false, "also skills without a licence")
			f.StringArrayVar(&o.accept, "accept-finding", nil, "take the scanner's findings of `RULE`; may be repeated")
			o.bindNetwork(f)
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.update(ctx, o, args) },
	}
}

// updateJSON is what deft update tells.
type updateJSON struct {
	Skills []updateRow `json:"skills"`
	// What skills need since, and others were not there.
	Installed []installedJSON `json:"installed"`
	Refused   []rejectedJSON  `json:"refused"`
}

type updateRow struct {
	Name      string   `json:"name"`
	State     string   `json:"state"`
	Edited    []string `json:"edited"`
	Conflicts []string `json:"conflicts"`
	Dir       string   `json:"dir"`
	Reason    string   `json:"reason"`
}

func (r *run) update(ctx context.Context, o updateFlags, names []string) error {
	if !slices.Contains([]string{"ask", install.KeepEdits, install.TakeTheirs, install.MergeBoth}, o.onEdit) {
		return usage("--on-edit %s is not known", o.onEdit).hinted("hint.one_of", "ask, keep, theirs, merge")
	}
	if o.resume && len(names) != 1 {
		return usage("--continue wants one name").hinted("hint.see_help", "update")
	}
	list, i, scope, err := r.sources(ctx, o.installFlags, names)
	if err != nil {
		return err
	}
	choice := install.Choice{Unlicensed: o.unlicensed, Accept: o.accept}
	doc, brought := updateJSON{Skills: []updateRow{}}, addJSON{Installed: []installedJSON{}, Refused: []rejectedJSON{}}
	for _, s := range list {
		u, err := r.updateOne(ctx, i, scope, s, o, choice)
		if err != nil {
			if len(list) == 1 || ctx.Err() != nil || errors.Is(err, lockfile.ErrBusy) {
				return err
			}
			// The others are brought all the same.
			f := failureOf(err, false)
			r.note(f.exit)
			u = install.Updated{Name: s.Name, State: "refused", Why: &install.Reason{Code: f.code, Message: f.message}}
		}
		doc.Skills = append(doc.Skills, r.updated(u))
		if u.State == "updated" || u.State == "merged" {
			if err := r.updateNeeds(ctx, o, i, scope, s, &brought); err != nil {
				return err
			}
		}
	}
	if !r.globals.json {
		r.tellAdded(brought)
		return nil
	}
	doc.Installed, doc.Refused = brought.Installed, brought.Refused
	r.printJSON(doc)
	return nil
}

// updateNeeds brings along what a skill needs of others since it was updated. It asks as
// deft add does: nobody has named them.
func (r *run) updateNeeds(ctx context.Context, o updateFlags, i *install.Installer, scope install.Scope, s install.Outdated, doc *addJSON) error {
	got, pack, ok := s.Bring()
	if !ok {
		return nil
	}
	entries, err := lockedEntries(scope)
	if err != nil {
		return err
	}
	f, err := r.fetcher(o.installFlags)
	if err != nil {
		return err
	}
	f.Dir = scope.Root
	e := entries[s.Name]
	agents := slices.DeleteFunc(slices.Clone(r.allAgents()), func(a install.Agent) bool { return !slices.Contains(e.Agents, a.ID) })
	_, err = r.bringNeeds(ctx, i, f, got, []install.Package{pack}, install.Choice{Scope: scope, Agents: agents, Copy: e.Mode == "copy"}, doc)
	return err
}

func (r *run) updateOne(ctx context.Context, i *install.Installer, scope install.Scope, s install.Outdated, o updateFlags, c install.Choice) (install.Updated, error) {
	switch {
	case r.writing.dryRun:
		return install.Updated{Name: s.Name, State: s.State}, nil
	case o.resume:
		return i.Continue(ctx, scope, r.allAgents(), s, c, r.answers())
	}
	update := func(onEdit string) (install.Updated, error) {
		return i.Update(ctx, scope, r.allAgents(), s, onEdit, c, r.answers())
	}
	if o.onEdit != "ask" {
		return update(o.onEdit)
	}
	u, err := update(install.KeepEdits)
	if p := r.person(); err == nil && u.State == "kept" && p != nil {
		p.Printf("%s ", r.words.Say("update.ask", u.Name, strings.Join(u.Edited, ", ")))
		if answer, err := r.readLine(); err == nil && (answer == install.TakeTheirs || answer == install.MergeBoth) {
			return update(answer)
		}
	}
	return u, err
}

// updated tells of one skill and notes what it means for the exit code.
func (r *run) updated(u install.Updated) updateRow {
	row := updateRow{u.Name, u.State, orEmptyList(u.Edited), orEmptyList(u.Conflicts), u.Dir, ""}
	if u.Why != nil {
		row.Reason = r.reason(*u.Why)
	}
	switch u.State {
	case "kept", install.Unknown, install.SourceMissing, install.Gone:
		r.note(Partial)
	case "conflict", install.RemovedUpstream:
		r.note(Negative)
	case "refused":
		r.note(reasonExit(u.Why.Code))
	}
	if r.globals.json {
		return row
	}
	switch u.State {
	case "kept":
		r.err.Printf("%s\n", r.words.Say("update.kept", u.Name, strings.Join(u.Edited, ", ")))
	case "conflict":
		r.err.Printf("%s\n", r.words.Say("update.conflict", u.Name, strings.Join(u.Conflicts, ", "), r.short(filepath.Clean(u.Dir))))
	default:
		r.out.Printf("%-16s %s %s\n", u.State, u.Name, row.Reason)
	}
	return row
}
