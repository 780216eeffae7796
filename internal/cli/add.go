package cli

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/licence"
	"github.com/deftskills/deft/install/scan"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/skill"
)

// addFlags are the flags of deft add.
type addFlags struct {
	installFlags
	skills, accept                                                     []string
	all, list, listAgents, copy, nested, flat, internal, frozen, force bool
	unlicensed, trust                                                  bool
}

func addVerb() verb {
	var o addFlags
	return verb{
		name: "add", args: "[SOURCE]", max: 1, group: groupSkill, effects: effects{reads: true, writes: true, network: true},
		short: "install skills, or what deft.lock says", brief: "come and go",
		long: "SOURCE is a folder or archive, a git repository (OWNER/REPO, https://…, git@…), what a browser\n" +
			"shows of one, the address of an archive or a SKILL.md, or a host with an index of skills. With\n" +
			"#REF or #REF:DIR that branch, tag or commit. Nothing of it is run. An installed skill is text\n" +
			"until deft trust grants its code.\n" +
			"Without SOURCE what deft.lock names is installed, by commit and digest.",
		flags: func(f *pflag.FlagSet) {
			o.bind(f)
			f.StringArrayVar(&o.skills, "skill", nil, "only the skill `NAME`, or those of a glob; may be repeated")
			f.BoolVar(&o.all, "all", false, "every skill of the source")
			f.BoolVar(&o.list, "list", false, "only show what the source has")
			f.StringArrayVar(&o.agents, "agent", nil, "link into the folder of agent `ID`, or all; may be repeated; deft = for deft alone")
			f.BoolVar(&o.listAgents, "list-agents", false, "show the agents and their folders")
			f.BoolVar(&o.copy, "copy", false, "copies in agents' folders, not links")
			f.BoolVar(&o.flat, "flat", false, "single files skills/NAME.md are skills too")
			f.BoolVar(&o.nested, "with-nested", false, "the skill at the top brings those below it along, as its files")
			f.BoolVar(&o.internal, "internal", false, "also what its author marks as internal")
			f.BoolVar(&o.frozen, "frozen", false, "exactly what deft.lock says, or nothing")
			f.BoolVar(&o.force, "force", false, "move aside what is in the way")
			f.BoolVar(&o.trust, "trust", false, "ask whether its code counts; with --yes it does")
			f.BoolVar(&o.unlicensed, "accept-unlicensed", false, "also skills without a licence")
			f.StringArrayVar(&o.accept, "accept-finding", nil, "take the scanner's findings of `RULE`; may be repeated")
			o.bindNetwork(f)
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.add(ctx, o, args) },
	}
}

// addJSON is what deft add tells.
type addJSON struct {
	Installed []installedJSON `json:"installed"`
	Refused   []rejectedJSON  `json:"refused"`
	Found     []foundJSON     `json:"found"` // of --list
	Written   bool            `json:"written"`
}

type installedJSON struct {
	Name    string          `json:"name"`
	Version string          `json:"version"`
	Digest  skill.Digest    `json:"digest"`
	Licence licence.Verdict `json:"license"`
	Source  string          `json:"source"`
	Commit  string          `json:"commit"`
	Subpath string          `json:"subpath"`
	Target  string          `json:"target"`
	Action  string          `json:"action"` // install, replace or same
	Links   []string        `json:"links"`
	Needs   []string        `json:"needs"` // other skills
	Unmet   []unmetJSON     `json:"unmet"` // what it needs and is not there
	Notes   []string        `json:"notes"`
	Trusted bool            `json:"trusted"` // its code counts, by the answer to this command

	skill    *skill.Skill
	findings []scan.Finding
}

type rejectedJSON struct {
	Name   string `json:"name"`
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

type foundJSON struct {
	Name        string `json:"name"`
	Dir         string `json:"dir"`
	Description string `json:"description"`
	Problem     string `json:"problem"`
}

func (r *run) add(ctx context.Context, o addFlags, args []string) error {
	err := r.bringIn(ctx, o, args)
	if err == nil || err == errNegative || r.hub("") == nil {
		return err
	}
	f := failureOf(err, true)
	f.host = r.hub(f.code)
	return f
}

func (r *run) bringIn(ctx context.Context, o addFlags, args []string) error {
	if o.listAgents {
		return r.listAgents()
	}
	scope, err := r.scope(o.installFlags)
	if err != nil {
		return err
	}
	agents, err := r.chosenAgents(o.agents)
	if err != nil {
		return err
	}
	i, err := r.installer()
	if err != nil {
		return err
	}
	f, err := r.fetcher(o.installFlags)
	if err != nil {
		return err
	}
	r.bounded(f)
	doc := addJSON{Installed: []installedJSON{}, Refused: []rejectedJSON{}, Found: []foundJSON{}}
	choice := install.Choice{Scope: scope, Agents: agents, Copy: o.copy, Force: o.force, Unlicensed: o.unlicensed, Accept: o.accept}
	if len(args) == 0 {
		if err := r.addLocked(ctx, i, f, choice, &doc); err != nil {
			return err
		}
		return r.addedAndTrusted(ctx, o.trust, doc)
	}
	return r.addSource(ctx, i, f, o, args[0], choice, doc)
}

// addSource installs what a person named.
func (r *run) addSource(ctx context.Context, i *install.Installer, f *install.Fetcher, o addFlags, arg string, choice install.Choice, doc addJSON) error {
	ref, err := install.ParseSource(arg, install.ParseOptions{
		Exists: func(p string) bool { return exists(f.Path(p)) }, DefaultHost: r.config.Install.DefaultHost, AllowHTTP: o.allowHTTP,
	})
	if err != nil {
		return err
	}
	if ref.Punycode != "" {
		if err := r.confirm(r.words.Say("add.host", ref.Punycode)); err != nil {
			return err
		}
	}
	if ref.Skill != "" {
		o.skills = append(o.skills, ref.Skill)
	}
	f.Choose = o.wanted
	got, err := r.fetch(ctx, f, ref, choice.Scope)
	if err != nil {
		return err
	}
	packs, err := install.Find(ctx, got, install.FindOptions{Nested: o.nested, Flat: o.flat})
	if err != nil {
		return err
	}
	if o.list {
		return r.listFound(doc, got, packs, o)
	}
	failed := r.notHad(got, &doc)
	if len(packs) > 0 || failed == 0 {
		if packs, err = r.choose(got, packs, o, arg); err != nil {
			return err
		}
	}
	if o.frozen {
		if choice.Expected, err = lockedEntries(choice.Scope); err != nil {
			return err
		}
	}
	if !o.frozen {
		if packs, err = r.bringNeeds(ctx, i, f, got, packs, choice, &doc); err != nil {
			return err
		}
	}
	if err := r.carryOut(ctx, i, got, packs, choice, &doc); err != nil {
		return err
	}
	if err := r.judgeNeeds(ctx, &doc); err != nil {
		return err
	}
	return r.addedAndTrusted(ctx, o.trust, doc)
}

// fetch gets a source. Of a project's own folders the record keeps a path that holds in
// every checkout.
func (r *run) fetch(ctx context.Context, f *install.Fetcher, ref install.SourceRef, s install.Scope) (*install.Fetched, error) {
	ctx, done := r.watch(ctx, "fetch")
	defer done()
	got, err := f.Fetch(ctx, ref)
	if err == nil {
		err = r.pages(got)
	}
	if err != nil {
		return nil, asPage(ref, err)
	}
	if got.Origin.Type == install.Local {
		at := f.Path(got.Origin.URL)
		if got.Origin.URL = at; s.Name == "project" {
			if got.Origin.URL, err = relative(s.Root, at); err != nil {
				return nil, err
			}
		}
	}
	return got, nil
}

// wanted is what is fetched of a source that lists its skills: what is named, all, or the
// only one. To list them none is.
func (o addFlags) wanted(list []install.Offer) []install.Offer {
	switch {
	case o.list, len(o.skills) == 0 && !o.all && len(list) > 1:
		return nil
	case len(o.skills) == 0:
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(have install.Offer) bool {
		return !slices.ContainsFunc(o.skills, func(want string) bool { return named(want, have.Name) })
	})
}

// named reports whether a name is the one that is wanted, or one of a glob.
func named(want, name string) bool {
	ok, err := path.Match(want, name)
	return want == name || err == nil && ok
}

// notHad tells which skills could not be had though their source lists them.
func (r *run) notHad(got *install.Fetched, doc *addJSON) int {
	for _, dir := range sortedKeys(got.Failed) {
		f := installFailure(got.Failed[dir])
		if f == nil {
			f = fail(Network, "source_unknown", "%s", got.Failed[dir])
		}
		r.note(f.exit)
		doc.Refused = append(doc.Refused, rejectedJSON{dir, f.code, f.message})
	}
	return len(got.Failed)
}

// choose is what of a source a person wants.
func (r *run) choose(got *install.Fetched, packs []install.Package, o addFlags, arg string) ([]install.Package, error) {
	var names []string
	for _, p := range packs {
		names = append(names, p.Skill.Name)
	}
	if len(got.Offers) > 0 {
		names = nil
		for _, have := range got.Offers {
			names = append(names, have.Name)
		}
	}
	if len(o.skills) > 0 {
		var out []install.Package
		for _, want := range o.skills {
			hits := 0
			for _, p := range packs {
				if named(want, p.Skill.Name) || len(got.Offers) > 0 && named(want, path.Base(p.Dir)) {
					hits++
					if !slices.ContainsFunc(out, func(have install.Package) bool { return have.Dir == p.Dir }) {
						out = append(out, p)
					}
				}
			}
			if hits == 0 {
				return nil, fail(Negative, "install_no_such_skill", "%s has no skill %q", arg, want).
					hinted("hint.one_of", strings.Join(closest(want, names, 3), ", "))
			}
		}
		return out, nil
	}
	if !o.internal {
		packs = slices.DeleteFunc(packs, func(p install.Package) bool { return p.Internal })
	}
	switch {
	case len(packs) > 1 && !o.all, len(packs) == 0 && len(got.Offers) > 1 && !o.all:
		return nil, fail(Usage, "install_choose", "%s has %d skills: %s", arg, len(names), strings.Join(names, ", ")).hinted("hint.choose")
	case len(packs) == 0:
		return nil, fail(Negative, "install_no_skill", "%s has no skill: no SKILL.md was found in it", arg)
	}
	return packs, nil
}

// carryOut plans, shows the plan, and does it.
func (r *run) carryOut(ctx context.Context, i *install.Installer, got *install.Fetched, packs []install.Package, c install.Choice, doc *addJSON) error {
	plan, err := i.Plan(ctx, got, packs, c)
	if err != nil {
		return err
	}
	return r.applyPlan(ctx, i, plan, c.Expected != nil, doc)
}

// applyPlan does what a plan says, or nothing of it where a lock has to be kept to and
// one skill does not.
func (r *run) applyPlan(ctx context.Context, i *install.Installer, plan *install.Plan, exactly bool, doc *addJSON) (err error) {
	for _, n := range plan.Notes {
		r.hintf("%s", n)
	}
	done := make([]install.Done, 0, len(plan.Items))
	frozen := exactly && slices.ContainsFunc(plan.Items, func(it install.Item) bool { return it.Refused != nil })
	if r.writing.dryRun || frozen {
		for _, it := range plan.Items {
			done = append(done, install.Done{Item: it})
		}
	} else if done, err = i.Apply(ctx, plan, r.answers()); err != nil && (ctx.Err() != nil || !someStopped(done)) {
		return err
	}
	for _, d := range done {
		if d.Err != nil {
			f := failureOf(d.Err, false)
			r.note(f.exit)
			doc.Refused = append(doc.Refused, rejectedJSON{d.Name, f.code, f.message})
			continue
		}
		if d.Refused != nil {
			r.note(reasonExit(d.Refused.Code))
			doc.Refused = append(doc.Refused, rejectedJSON{d.Name, d.Refused.Code, d.Refused.Message})
			continue
		}
		doc.Written = doc.Written || d.Written
		in := installedJSON{
			Name: d.Name, Version: d.Skill.Meta.Version, Digest: d.Digest, Licence: d.Licence, Source: originURL(plan.Origin), Commit: plan.Origin.Commit,
			Subpath: d.Dir, Target: d.Target, Action: d.Action, Links: []string{}, Notes: orEmptyList(d.Notes),
			Needs: orEmptyList(install.NeedsOf(d.Skill)), Unmet: []unmetJSON{}, skill: d.Skill, findings: d.Scan.Findings,
		}
		for _, l := range d.Links {
			in.Links = append(in.Links, l.Path)
		}
		doc.Installed = append(doc.Installed, in)
	}
	return nil
}

// someStopped reports whether an error is of some skills alone, and others are told of.
func someStopped(done []install.Done) bool {
	n := 0
	for _, d := range done {
		if d.Err != nil {
			n++
		}
	}
	return n > 0 && n < len(done)
}

// addLocked installs what a lock file names, each source once.
func (r *run) addLocked(ctx context.Context, i *install.Installer, f *install.Fetcher, c install.Choice, doc *addJSON) error {
	entries, err := lockedEntries(c.Scope)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		if done, err := r.addPublic(ctx, i, f, c, doc); done || err != nil {
			return err
		}
		return fail(Negative, "install_nothing", "%s names no skill", r.short(c.Scope.Lock))
	}
	f.Dir = c.Scope.Root
	c.Expected = entries
	all := r.allAgents()
	for _, name := range sortedKeys(entries) {
		e := entries[name]
		choice := c
		choice.Copy = e.Mode == "copy"
		choice.Agents = slices.DeleteFunc(slices.Clone(all), func(a install.Agent) bool { return !slices.Contains(e.Agents, a.ID) })
		got, err := i.FromStore(ctx, e)
		if err != nil {
			f.Choose = install.ByDir(e.Source.Subpath)
			if got, err = r.fetch(ctx, f, e.Source.Exactly(), c.Scope); err != nil {
				return err
			}
			got.Origin = e.Source
			if r.notHad(got, doc) > 0 {
				continue
			}
		}
		packs, err := install.Find(ctx, got, install.FindOptions{Nested: true})
		if err != nil {
			return err
		}
		packs = slices.DeleteFunc(packs, func(p install.Package) bool { return p.Dir != e.Source.Subpath })
		if len(packs) == 0 {
			r.note(Negative)
			doc.Refused = append(doc.Refused, rejectedJSON{name, "lock_frozen", "the source has no skill in " + e.Source.Subpath})
			continue
		}
		if err := r.carryOut(ctx, i, got, packs, choice, doc); err != nil {
			return err
		}
	}
	return nil
}

func lockedEntries(s install.Scope) (map[string]install.Entry, error) {
	lock, err := install.ReadLock(s.Lock, s.Name == "project")
	if err != nil {
		return nil, err
	}
	return lock.Skills, nil
}

// addedAndTrusted tells what was installed, and asks about its code: before the one document
// of --json, after what a person reads.
func (r *run) addedAndTrusted(ctx context.Context, trust bool, doc addJSON) error {
	if r.globals.json {
		if err := r.trustAdded(ctx, trust, &doc); err != nil {
			return err
		}
		return r.added(doc)
	}
	err := r.added(doc)
	if err != nil {
		return err
	}
	return r.trustAdded(ctx, trust, &doc)
}

func (r *run) added(doc addJSON) error {
	if r.globals.json {
		r.printJSON(doc)
	} else {
		r.tellAdded(doc)
	}
	if len(doc.Installed) == 0 && len(doc.Refused) > 0 {
		return errNegative
	}
	return nil
}

// tellAdded says to a person what was installed, and what was not.
func (r *run) tellAdded(doc addJSON) {
	for _, in := range doc.Installed {
		r.out.Printf("%s\n", r.words.Say(r.orDry("add.done_"+in.Action, "add.dry_"+in.Action), in.Name, r.short(in.Target), orElse(in.Licence.SPDX, r.words.Say("add.no_licence"))))
		for _, l := range in.Links {
			r.out.Printf("  → %s\n", r.short(l))
		}
		for _, n := range in.Notes {
			r.hintf("%s", n)
		}
		for _, u := range in.Unmet {
			r.hintf("%s", r.words.Say("add.unmet", in.Name, u.Code, strings.Join(u.Names, ", "), u.Fix))
		}
	}
	for _, ref := range doc.Refused {
		r.err.Printf("%s %s\n", r.err.Paint(safetext.Red, r.words.Say("add.refused", ref.Name)), r.reason(install.Reason{Code: ref.Code, Message: ref.Reason}))
		if slices.Contains(askedAbout, ref.Code) && r.person() == nil {
			r.hintf("hint: %s", r.words.Say("hint.yes"))
		}
		if ref.Code == "scan_blocked" {
			r.hintf("hint: %s", r.words.Say("hint.accept"))
		}
	}
	if doc.Written {
		r.hintf("%s", r.words.Say("add.untrusted"))
	}
}

func (r *run) listFound(doc addJSON, got *install.Fetched, packs []install.Package, o addFlags) error {
	for _, have := range got.Offers {
		doc.Found = append(doc.Found, foundJSON{have.Name, have.Dir, have.Description, ""})
		if !r.globals.json {
			r.out.Printf("%-28s %s\n", have.Name, safetext.Clip(safetext.Line(have.Description), 80))
		}
	}
	for _, p := range packs {
		if p.Internal && !o.internal {
			continue
		}
		doc.Found = append(doc.Found, foundJSON{p.Skill.Name, p.Dir, p.Skill.Description, p.Problem})
		if r.globals.json {
			continue
		}
		r.out.Printf("%-28s %s\n", p.Skill.Name, orElse(p.Problem, safetext.Clip(safetext.Line(p.Skill.Description), 80)))
	}
	if r.globals.json {
		r.printJSON(doc)
	}
	if len(doc.Found) == 0 {
		return errNegative
	}
	return nil
}

func (r *run) listAgents() error {
	type agentJSON struct {
		ID      string `json:"id"`
		Project string `json:"project"`
		User    string `json:"user"`
	}
	list := []agentJSON{}
	for _, a := range r.allAgents() {
		list = append(list, agentJSON(a))
		if !r.globals.json {
			r.out.Printf("%-24s %-28s %s\n", a.ID, a.Project, r.short(a.User))
		}
	}
	if r.globals.json {
		r.printJSON(map[string]any{"agents": list})
	}
	return nil
}

func originURL(o install.Origin) string { return fmt.Sprint(o.Source()) }
