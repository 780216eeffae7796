package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/store"
)

func profileVerb() verb {
	var p store.Profile
	reads, writes := effects{reads: true}, effects{reads: true, writes: true}
	return verb{
		name: "profile", args: "list|show|use|clear|new|delete", max: -1, group: groupSkill, joins: true, effects: reads,
		short: "named selections of skills, one for each project",
		long: "A profile turns on what it includes, turns off what it excludes, and with an\n" +
			"include everything else too. Profiles of config.yaml go before saved ones.",
		below: []verb{
			{name: "list", effects: reads, short: "every profile, and which one is in use here",
				run: func(ctx context.Context, r *run, _ []string) error { return r.profileList(ctx) }},
			{name: "show", args: "[NAME]", max: 1, effects: reads, short: "what a profile says and which skills are on by it",
				run: func(ctx context.Context, r *run, args []string) error {
					return r.profileShow(ctx, strings.Join(args, ""))
				}},
			{name: "use", args: "NAME", min: 1, max: 1, effects: writes, short: "use a profile in this project from now on",
				run: func(ctx context.Context, r *run, args []string) error { return r.profileUse(ctx, args[0]) }},
			{name: "clear", effects: writes, short: "forget which profile this project uses",
				run: func(ctx context.Context, r *run, _ []string) error { return r.profileUse(ctx, "") }},
			{name: "new", args: "NAME", min: 1, max: 1, effects: writes, short: "save a profile",
				flags: func(f *pflag.FlagSet) {
					f.StringArrayVar(&p.Include, "include", nil, "what is on: a `NAME` or glob; may be repeated; none = all")
					f.StringArrayVar(&p.Exclude, "exclude", nil, "what is off: a `NAME` or glob; may be repeated")
					f.StringVar(&p.Extends, "extends", "", "the profile below it, by `NAME`")
					f.StringVar(&p.Title, "title", "", "`TEXT` for people")
				},
				run: func(ctx context.Context, r *run, args []string) error {
					p.Name = args[0]
					return r.profileNew(ctx, p)
				}},
			{name: "delete", args: "NAME", min: 1, max: 1, effects: writes, short: "forget a saved profile",
				run: func(ctx context.Context, r *run, args []string) error { return r.profileDelete(ctx, args[0]) }},
		},
	}
}

type profileJSON struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Origin  string   `json:"origin"` // config or saved
	Extends string   `json:"extends"`
	Include []string `json:"include"`
	Exclude []string `json:"exclude"`
	Active  bool     `json:"active"`
}

type profilesJSON struct {
	Profiles []profileJSON `json:"profiles"` // by name
	Active   string        `json:"active"`   // "" = none
	From     config.From   `json:"from"`     // who chose it
	Project  string        `json:"project"`  // the folder that the choice is for
	On       []string      `json:"on"`       // of show: addresses of the skills that are on
	Off      []string      `json:"off"`      // of show: skills that the profile turns off
	Written  bool          `json:"written"`  // of verbs that write
}

// profilesDocument tells of every profile.
func (r *run) profilesDocument(st store.State) profilesJSON {
	active := r.activeProfile(st)
	doc := profilesJSON{
		Profiles: []profileJSON{}, Active: active.name, From: active.from, Project: r.projectRoot(), On: []string{}, Off: []string{},
	}
	patterns := func(list []registry.Rule) []string {
		out := []string{}
		for _, rule := range list {
			out = append(out, rule.Pattern)
		}
		return out
	}
	all := r.profiles(st)
	for _, name := range sortedKeys(all) {
		p := all[name]
		one := profileJSON{
			Name: name, Origin: "saved", Extends: p.Extends, Include: patterns(p.Include), Exclude: patterns(p.Exclude), Active: name == active.name,
		}
		if _, written := r.config.Profiles[name]; written {
			one.Origin = "config"
		} else if i := slices.IndexFunc(st.Profiles, func(p store.Profile) bool { return p.Name == name }); i >= 0 {
			one.Title = st.Profiles[i].Title
		}
		doc.Profiles = append(doc.Profiles, one)
	}
	return doc
}

func (r *run) profileList(ctx context.Context) error {
	st, err := r.load(ctx)
	if err != nil {
		return err
	}
	doc := r.profilesDocument(st)
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	for _, p := range doc.Profiles {
		mark := " "
		if p.Active {
			mark = "*"
		}
		r.out.Printf("%s %-16s %s\n", mark, p.Name, profileLine(p))
	}
	r.sayActive(doc)
	return nil
}

func profileLine(p profileJSON) string {
	var parts []string
	for _, x := range []struct{ sign, text string }{
		{"+", strings.Join(p.Include, " +")}, {"-", strings.Join(p.Exclude, " -")}, {"< ", p.Extends}, {"", p.Title},
	} {
		if x.text != "" {
			parts = append(parts, x.sign+x.text)
		}
	}
	return strings.Join(parts, "  ")
}

func (r *run) sayActive(doc profilesJSON) {
	if doc.Active == "" {
		r.hintf("%s", r.words.Say("profile.none", r.short(doc.Project)))
		return
	}
	r.hintf("%s", r.words.Say("profile.active", doc.Active, place(doc.From)))
}

// profileShow shows one profile, the active one without a name, and what it does to
// the skills that are here.
func (r *run) profileShow(ctx context.Context, name string) error {
	st, err := r.load(ctx)
	if err != nil {
		return err
	}
	name = orElse(name, r.activeProfile(st).name)
	if name == "" {
		return fail(Negative, "profile_none", "no profile is in use here").hinted("hint.profile_list")
	}
	if err := r.profileThere(st, name); err != nil {
		return err
	}
	r.globals.profile = name // what follows shows the skills as they are with it
	snap, err := r.snapshot(ctx)
	if err != nil {
		return err
	}
	doc := r.profilesDocument(st)
	doc.Profiles = slices.DeleteFunc(doc.Profiles, func(p profileJSON) bool { return p.Name != name })
	for _, rec := range snap.All {
		switch {
		case rec.State == registry.Disabled && rec.Reasons[0].Code == "profile":
			doc.Off = append(doc.Off, rec.Skill.Name)
		case rec.State == registry.Available:
			doc.On = append(doc.On, rec.Address)
		}
	}
	slices.Sort(doc.On)
	slices.Sort(doc.Off)
	doc.Off = slices.Compact(doc.Off)
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	r.out.Printf("%s %s\n", r.out.Paint(safetext.Bold, name), profileLine(doc.Profiles[0]))
	r.out.Printf("%s\n", r.words.Say("profile.on", len(doc.On), strings.Join(doc.On, ", ")))
	r.out.Printf("%s\n", r.words.Say("profile.off", len(doc.Off), strings.Join(doc.Off, ", ")))
	return nil
}

// profileThere refuses a profile that cannot be used.
func (r *run) profileThere(st store.State, name string) error {
	all := r.profiles(st)
	_, err := registry.Chain(name, all)
	var p *registry.ProfileError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p) && p.Cycle:
		return fail(Usage, "profile_cycle", "%v", err)
	}
	f := fail(Usage, "profile_unknown", "%v", err)
	if near := closest(name, sortedKeys(all), 3); len(near) > 0 {
		return f.hinted("hint.closest", strings.Join(near, ", "))
	}
	return f.hinted("hint.profile_list")
}

// profileUse saves which profile the project uses; "" forgets it.
func (r *run) profileUse(ctx context.Context, name string) error {
	st, err := r.load(ctx)
	if err != nil {
		return err
	}
	if name != "" {
		if err := r.profileThere(st, name); err != nil {
			return err
		}
	}
	root := r.projectRoot()
	if !r.writing.dryRun {
		s, err := r.openStore(ctx)
		if err != nil {
			return err
		}
		if err := s.ChooseProfile(ctx, root, name, "cli"); err != nil {
			return err
		}
		if st, err = s.Load(ctx); err != nil {
			return err
		}
	}
	doc := r.profilesDocument(st)
	doc.Written = !r.writing.dryRun
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	switch {
	case r.writing.dryRun:
		r.out.Printf("%s\n", r.words.Say("profile.would_use", orElse(name, "-"), r.short(root)))
	case name == "":
		r.out.Printf("%s\n", r.words.Say("profile.cleared", r.short(root)))
		r.sayActive(doc)
	default:
		r.out.Printf("%s\n", r.words.Say("profile.used", name, r.short(root)))
	}
	return nil
}

func (r *run) profileNew(ctx context.Context, p store.Profile) error {
	st, err := r.load(ctx)
	if err != nil {
		return err
	}
	if from, taken := r.config.Profiles[p.Name]; taken {
		return fail(Refused, "profile_exists", "profile %q is written in %s, which wins over a saved one", p.Name, place(from.From))
	}
	there := slices.ContainsFunc(st.Profiles, func(other store.Profile) bool { return other.Name == p.Name })
	st.Profiles = append(slices.Clone(st.Profiles), p) // the later one of a name counts
	if err := r.profileThere(st, p.Name); err != nil {
		return err
	}
	if there {
		if err := r.confirm(r.words.Say("profile.replace", p.Name)); err != nil {
			return err
		}
	}
	p.UpdatedBy = "cli"
	return r.profileWrite(ctx, [2]string{"profile.saved", "profile.saved_dry"}, p.Name, func(s *store.Store) error { return s.SaveProfile(ctx, p) })
}

func (r *run) profileDelete(ctx context.Context, name string) error {
	st, err := r.load(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(st.Profiles, func(p store.Profile) bool { return p.Name == name }) {
		if from, written := r.config.Profiles[name]; written {
			return fail(Refused, "profile_in_config", "profile %q is written in %s: take it out there", name, place(from.From))
		}
		return r.profileThere(st, name)
	}
	if err := r.confirm(r.words.Say("profile.ask_delete", name)); err != nil {
		return err
	}
	return r.profileWrite(ctx, [2]string{"profile.deleted", "profile.deleted_dry"}, name, func(s *store.Store) error { return s.DeleteProfile(ctx, name) })
}

// profileWrite changes the saved profiles and tells the new list; said is what was
// done, and what would be.
func (r *run) profileWrite(ctx context.Context, said [2]string, name string, change func(*store.Store) error) error {
	if r.writing.dryRun {
		said[0] = said[1]
	} else {
		s, err := r.openStore(ctx)
		if err != nil {
			return err
		}
		if err := change(s); err != nil {
			return err
		}
	}
	if !r.globals.json {
		r.out.Printf("%s\n", r.words.Say(said[0], name))
		return nil
	}
	st, err := r.load(ctx)
	if err != nil {
		return err
	}
	doc := r.profilesDocument(st)
	doc.Written = !r.writing.dryRun
	r.printJSON(doc)
	return nil
}
