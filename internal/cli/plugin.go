package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/plugin"
	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
)

// pluginFlags are the flags of deft plugin add and enable.
type pluginFlags struct {
	installFlags
	agree, accept     []string
	force, unlicensed bool
}

func pluginVerb() verb {
	var add, enable pluginFlags
	reads, writes, fetches := effects{reads: true}, effects{reads: true, writes: true}, effects{reads: true, writes: true, network: true}
	agree := func(f *pflag.FlagSet, o *pluginFlags) {
		f.StringArrayVar(&o.agree, "agree", nil, "let the hook or server `ID` count, as list shows it; may be repeated; all = each one")
	}
	return verb{
		name: "plugin", args: "list|add|remove|enable|disable|marketplace", max: -1, group: groupSkill, joins: true, effects: reads,
		short: "plugins: skills, commands, hooks and servers in one folder",
		long: "A plugin is addressed NAME@SOURCE, where SOURCE is a marketplace, and its skills NAME:SKILL.\n" +
			"Nothing of it is run. Its hooks and servers count when you agreed to each one, as it is.",
		below: []verb{
			{name: "list", effects: reads, short: "the plugins, what each carries, what is agreed to",
				run: func(ctx context.Context, r *run, _ []string) error { return r.pluginList(ctx) }},
			{name: "add", args: "NAME[@SOURCE]", min: 1, max: 1, effects: fetches, short: "install a plugin of a marketplace, or its newer version",
				flags: func(f *pflag.FlagSet) {
					add.bind(f)
					agree(f, &add)
					f.BoolVar(&add.force, "force", false, "move aside what is in the way")
					f.BoolVar(&add.unlicensed, "accept-unlicensed", false, "also a plugin without a licence")
					f.StringArrayVar(&add.accept, "accept-finding", nil, "take the scanner's findings of `RULE`; may be repeated")
				},
				run: func(ctx context.Context, r *run, args []string) error { return r.pluginAdd(ctx, add, args[0]) }},
			{name: "remove", args: "NAME[@SOURCE[/VERSION]]", min: 1, max: 1, effects: writes, short: "take a plugin away, and nothing else",
				run: func(ctx context.Context, r *run, args []string) error { return r.pluginRemove(ctx, args[0]) }},
			{name: "enable", args: "NAME[@SOURCE]", min: 1, max: 1, effects: writes, short: "let a plugin count, and ask about its hooks and servers",
				flags: func(f *pflag.FlagSet) { agree(f, &enable) },
				run:   func(ctx context.Context, r *run, args []string) error { return r.pluginEnable(ctx, enable, args[0]) }},
			{name: "disable", args: "NAME[@SOURCE]", min: 1, max: 1, effects: writes, short: "hide all that a plugin carries",
				run: func(ctx context.Context, r *run, args []string) error { return r.pluginDisable(ctx, args[0]) }},
			marketVerb(),
		},
	}
}

// pluginsJSON is the document of every verb below plugin but marketplace.
type pluginsJSON struct {
	Plugins  []pluginJSON       `json:"plugins"`
	Refused  []rejectedJSON     `json:"refused"`
	Warnings []skill.Diagnostic `json:"warnings"`
	Changed  bool               `json:"changed"`
	Written  bool               `json:"written"`
}

type pluginJSON struct {
	Name        string           `json:"name"`
	Source      string           `json:"source"` // the marketplace
	Version     string           `json:"version"`
	Format      string           `json:"format"` // whose manifest it has; "" = none
	Description string           `json:"description"`
	Dir         string           `json:"dir"`
	State       string           `json:"state"` // enabled, disabled, stale, other
	Files       string           `json:"files"` // ok, edited, unrecorded
	For         []string         `json:"for"`
	Digest      skill.Digest     `json:"digest"`
	Licence     string           `json:"license"`
	From        string           `json:"from"`
	Commit      string           `json:"commit"`
	Skills      []string         `json:"skills"`
	Commands    []string         `json:"commands"`
	Agents      []string         `json:"agents"`
	HooksDigest skill.Digest     `json:"hooks_digest"`
	Parts       []pluginPartJSON `json:"parts"` // hooks and servers
}

type pluginPartJSON struct {
	ID      string       `json:"id"`
	Text    string       `json:"text"`
	Digest  skill.Digest `json:"digest"`
	Agreed  bool         `json:"agreed"`
	Problem string       `json:"problem"`
}

// carried is one version of a plugin as it lies on this machine.
type carried struct {
	source.InstalledPlugin
	plugin.Plugin
	entry *install.Entry // nil = deft did not put it there
	tree  skill.Digest   // of what is there; "" = it can't be told
}

// key is what the lock file calls it, without the version.
func (c carried) key() string { return c.InstalledPlugin.Name + "@" + c.Market }

// sound reports whether it is what was installed.
func (c carried) sound() bool { return c.entry != nil && c.tree == c.entry.Tree }

// carriedAt reads a version of a plugin.
func carriedAt(ctx context.Context, p source.InstalledPlugin, lock *install.Lock) carried {
	c := carried{InstalledPlugin: p}
	if e, ok := lock.Plugins[p.Name+"@"+p.Market+"/"+p.Version]; ok {
		c.entry = &e
	}
	c.tree, _ = install.TreeAt(ctx, p.Dir) // "" is of no record
	c.Plugin = readPlugin(p.Dir)
	return c
}

// installedPlugins are the versions of plugins on this machine.
func (r *run) installedPlugins(ctx context.Context) ([]source.InstalledPlugin, []skill.Diagnostic) {
	if dir, own := r.pluginLayout(); own {
		return r.layoutPlugins(dir), nil
	}
	env := r.sourceEnv()
	env.Workspace, env.Plugins = r.cwd, r.registered(ctx)
	return source.InstalledPlugins(env)
}

// layoutPlugins are the plugins that deft put into the folders of another program, by the
// record: what that program has beside them is its own.
func (r *run) layoutPlugins(dir string) (out []source.InstalledPlugin) {
	lock, err := r.pluginLock()
	if err != nil {
		return nil // said by the verb, which reads it too
	}
	for _, key := range sortedKeys(lock.Plugins) {
		e := lock.Plugins[key]
		p := source.InstalledPlugin{Use: len(e.For) > 0, Off: e.Off, Removable: len(e.For) == 0}
		p.Name, p.Market, p.Version = install.SplitPluginKey(key)
		p.Dir = filepath.Join(dir, p.Market, p.Name, p.Version)
		out = append(out, p)
	}
	return out
}

// agreements are the ids of grants by what was agreed to.
type agreements map[string][]string

func agreementKey(plugin, id string, d skill.Digest) string {
	return plugin + "\x00" + id + "\x00" + string(d)
}

// pluginSource is where an agreement to a part of a plugin counts.
func pluginSource(key string) string { return "plugin:" + key }

// agreements reads what was agreed to. State that can't be read agrees to nothing.
func (r *run) agreements(ctx context.Context) agreements {
	out := agreements{}
	st, err := r.load(ctx)
	if err != nil {
		return out
	}
	for _, g := range st.Grants {
		if key, ok := strings.CutPrefix(g.Source, "plugin:"); ok {
			at := agreementKey(key, g.Name, g.Tree)
			out[at] = append(out[at], g.ID)
		}
	}
	return out
}

// parts are the hooks and servers of a plugin. None is agreed to where the plugin is not
// what was installed.
func (c carried) parts(have agreements) []pluginPartJSON {
	out := []pluginPartJSON{}
	add := func(id, text, problem string, d skill.Digest) {
		out = append(out, pluginPartJSON{id, text, d, c.sound() && len(have[agreementKey(c.key(), id, d)]) > 0, problem})
	}
	for _, h := range c.Hooks {
		add(h.ID, h.Text(), "", h.Digest(c.tree))
	}
	for _, s := range c.Servers {
		add(s.ID, s.Text(), s.Problem, s.Digest(c.tree))
	}
	return out
}

// names refuses ids that no hook or server of the plugin has, before anything is written.
func (c carried) names(key string, named []string) error {
	var ids []string
	for _, p := range c.parts(nil) {
		ids = append(ids, p.ID)
	}
	for _, id := range named {
		if id != "all" && !slices.Contains(ids, id) {
			return usage("%s has no hook or server %q", key, id).hinted("hint.one_of", strings.Join(ids, ", "))
		}
	}
	return nil
}

func (c carried) json(have agreements) pluginJSON {
	doc := pluginJSON{
		Name: c.InstalledPlugin.Name, Source: c.Market, Version: c.InstalledPlugin.Version, Format: string(c.Format), Description: c.Description,
		Dir: c.Dir, State: "other", Files: "unrecorded", For: []string{}, Digest: c.tree, Skills: []string{}, Commands: orEmptyList(c.Commands),
		Agents: orEmptyList(c.Agents), HooksDigest: c.HooksDigest(c.tree), Parts: c.parts(have),
	}
	switch {
	case c.Use && c.Off:
		doc.State = "disabled"
	case c.Use:
		doc.State = "enabled"
	case c.Removable:
		doc.State = "stale"
	}
	if e := c.entry; e != nil {
		doc.For, doc.Licence, doc.From, doc.Commit = orEmptyList(e.For), e.Licence, originURL(e.Source), e.Source.Commit
		doc.Files = "edited"
		if c.sound() {
			doc.Files = "ok"
		}
	}
	for _, s := range c.Skills {
		doc.Skills = append(doc.Skills, s.Name)
	}
	return doc
}

func newPluginsJSON() pluginsJSON {
	return pluginsJSON{Plugins: []pluginJSON{}, Refused: []rejectedJSON{}, Warnings: []skill.Diagnostic{}}
}

func (r *run) pluginList(ctx context.Context) error {
	lock, err := r.pluginLock()
	if err != nil {
		return err
	}
	list, diags := r.installedPlugins(ctx)
	r.report(append(r.diags, diags...))
	doc := newPluginsJSON()
	var all []carried
	var have agreements
	for _, p := range list {
		c := carriedAt(ctx, p, lock)
		if have == nil && len(c.Hooks)+len(c.Servers) > 0 {
			have = r.agreements(ctx)
		}
		doc.Warnings = append(doc.Warnings, c.Found...)
		if c.Use {
			doc.Warnings = append(doc.Warnings, clashes(c, all)...)
			all = append(all, c)
		}
		doc.Plugins = append(doc.Plugins, c.json(have))
	}
	if len(doc.Plugins) == 0 {
		r.hintf("%s", r.words.Say("plugin.none"))
	}
	r.pluginShow(doc, "")
	return nil
}

func (r *run) pluginLock() (*install.Lock, error) {
	return install.ReadLock(r.pluginScope("", "").Lock, false)
}

// clashes says what a plugin has in common with others: its prefix, or names of skills.
func clashes(c carried, others []carried) (out []skill.Diagnostic) {
	for _, o := range others {
		switch {
		case fold.Key(o.Prefix) != fold.Key(c.Prefix):
		case o.key() != c.key():
			out = append(out, skill.Finding("plugin_prefix_clash", c.Dir, "%s and %s are both called %q: their skills are addressed %s:… and %s:…",
				o.key(), c.key(), c.Prefix, o.key(), c.key()))
		}
		if o.key() == c.key() {
			continue
		}
		for _, s := range c.Skills {
			if slices.ContainsFunc(o.Skills, func(have plugin.Skill) bool { return fold.Key(have.Name) == fold.Key(s.Name) }) {
				out = append(out, skill.Finding("plugin_same_skill", c.Dir, "%s and %s both have a skill %q: say %s:%s or %s:%s",
					o.key(), c.key(), s.Name, o.Prefix, s.Name, c.Prefix, s.Name))
			}
		}
	}
	return out
}

// pluginShow prints a document. done is the key of what is said of each plugin; "" = the
// state of each is shown.
func (r *run) pluginShow(doc pluginsJSON, done string) {
	if r.globals.json {
		r.printJSON(doc)
		return
	}
	for _, p := range doc.Plugins {
		if done != "" {
			r.out.Printf("%s\n", r.words.Say(done, p.Name+"@"+p.Source, p.Version))
		} else {
			r.out.Printf("%s %s  %s  %s\n", r.out.Paint(safetext.Bold, p.Name+"@"+p.Source), p.Version, r.words.Say("plugin.state_"+p.State), r.short(p.Dir))
			if p.Files != "ok" {
				r.out.Printf("  %s\n", r.words.Say("plugin.files_"+p.Files))
			}
		}
		r.pluginCarries(p)
	}
	for _, ref := range doc.Refused {
		r.err.Printf("%s %s\n", r.err.Paint(safetext.Red, r.words.Say("add.refused", ref.Name)), r.reason(install.Reason{Code: ref.Code, Message: ref.Reason}))
		if slices.Contains(askedAbout, ref.Code) && r.person() == nil {
			r.hintf("hint: %s", r.words.Say("hint.yes"))
		}
	}
	r.report(doc.Warnings)
}

func (r *run) pluginCarries(p pluginJSON) {
	for _, row := range []struct {
		key   string
		names []string
	}{{"plugin.skills", p.Skills}, {"plugin.commands", p.Commands}, {"plugin.agents", p.Agents}} {
		if len(row.names) > 0 {
			r.out.Printf("  %s\n", r.words.Say(row.key, safetext.Line(strings.Join(row.names, ", "))))
		}
	}
	for _, part := range p.Parts {
		state := "plugin.not_agreed"
		if part.Agreed {
			state = "plugin.agreed"
		}
		r.out.Printf("  %-24s %s  %s\n", part.ID, r.words.Say(state), safetext.Line(part.Text))
		if part.Problem != "" {
			r.out.Printf("    %s\n", part.Problem)
		}
	}
}

// pluginsNamed finds the versions that NAME[@SOURCE[/VERSION]] means, of one plugin.
func (r *run) pluginsNamed(ctx context.Context, arg string) ([]carried, error) {
	lock, err := r.pluginLock()
	if err != nil {
		return nil, err
	}
	list, _ := r.installedPlugins(ctx)
	name, version, _ := strings.Cut(arg, "/")
	var out []carried
	var keys, known []string
	for _, p := range list {
		key := p.Name + "@" + p.Market
		known = append(known, key)
		if p.Name != name && key != name || version != "" && p.Version != version {
			continue
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		out = append(out, carriedAt(ctx, p, lock))
	}
	switch {
	case len(keys) > 1:
		return nil, fail(Usage, "plugin_ambiguous", "%d plugins are called %q", len(keys), name).hinted("hint.one_of", strings.Join(keys, ", "))
	case len(out) == 0:
		f := fail(Negative, "plugin_unknown", "no plugin %q is installed", arg)
		if near := closest(name, slices.Compact(known), 3); len(near) > 0 {
			return nil, f.hinted("hint.closest", near[0])
		}
		return nil, f
	}
	for _, c := range out {
		if c.entry == nil {
			return nil, fail(Refused, "plugin_unrecorded", "deft did not put %s there", c.Dir).hinted("hint.plugin_unrecorded")
		}
	}
	return out, nil
}

func (r *run) pluginRemove(ctx context.Context, arg string) error {
	list, err := r.pluginsNamed(ctx, arg)
	if err != nil {
		return err
	}
	i, err := r.installer()
	if err != nil {
		return err
	}
	doc := newPluginsJSON()
	scope := r.pluginScope(list[0].InstalledPlugin.Name, list[0].Market)
	var versions []string
	for _, c := range list {
		versions = append(versions, c.InstalledPlugin.Version)
		doc.Plugins = append(doc.Plugins, c.json(nil))
	}
	plan, err := i.PlanRemove(ctx, scope, nil, versions)
	if err != nil {
		return err
	}
	for _, p := range plan {
		if len(p.Edited) > 0 {
			if err := r.confirm(r.words.Say("remove.edited", scope.Plugin+"/"+p.Name, strings.Join(p.Edited, ", "))); err != nil {
				return err
			}
		}
	}
	doc.Changed = true
	if !r.writing.dryRun {
		// What was agreed to goes first: a run that ends here leaves less, not more.
		if err := r.disagree(ctx, list); err != nil {
			return err
		}
		if _, err := i.Remove(ctx, scope, nil, plan); err != nil {
			return err
		}
		_ = os.Remove(scope.Skills) // it stays where anything else is in it
		doc.Written = true
	}
	r.pluginGone(doc)
	return nil
}

func (r *run) pluginGone(doc pluginsJSON) {
	if r.globals.json {
		r.printJSON(doc)
		return
	}
	for _, p := range doc.Plugins {
		r.out.Printf("%s\n", r.words.Say(r.orDry("remove.done", "remove.dry"), p.Name+"@"+p.Source+" "+p.Version))
	}
}

// disagree takes back what was agreed to of versions of a plugin, and the grants of their
// skills.
func (r *run) disagree(ctx context.Context, list []carried) error {
	st, err := r.load(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for _, g := range st.Grants {
		if slices.ContainsFunc(list, func(c carried) bool { return g.Source == pluginSource(c.key()) || g.Source == pluginSource(c.Prefix) }) {
			ids = append(ids, g.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	return s.Revoke(ctx, "cli", ids...)
}

func (r *run) pluginDisable(ctx context.Context, arg string) error {
	return r.pluginSwitch(ctx, arg, true, pluginFlags{})
}

func (r *run) pluginEnable(ctx context.Context, o pluginFlags, arg string) error {
	return r.pluginSwitch(ctx, arg, false, o)
}

// pluginSwitch switches all versions of a plugin, and asks about what it carries where it
// is let count.
func (r *run) pluginSwitch(ctx context.Context, arg string, off bool, o pluginFlags) error {
	list, err := r.pluginsNamed(ctx, arg)
	if err != nil {
		return err
	}
	i, err := r.installer()
	if err != nil {
		return err
	}
	doc := newPluginsJSON()
	scope := r.pluginScope(list[0].InstalledPlugin.Name, list[0].Market)
	for _, c := range list {
		doc.Changed = doc.Changed || c.entry.Off != off
		if c.Use && !off {
			if err := c.names(c.key(), o.agree); err != nil {
				return err
			}
		}
	}
	if doc.Changed && !r.writing.dryRun {
		err := i.Edit(ctx, "plugin", scope, func(l *install.Lock) error {
			for key, e := range l.Plugins {
				if strings.HasPrefix(key, scope.Plugin+"/") {
					e.Off = off
					l.Plugins[key] = e
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		doc.Written = true
	}
	for _, c := range list {
		if !c.Use {
			continue
		}
		c.Off = off
		if !off {
			asked, err := r.agree(ctx, c, o.agree)
			if err != nil {
				return err
			}
			doc.Changed, doc.Written = doc.Changed || asked, doc.Written || asked && !r.writing.dryRun
		}
		doc.Plugins = append(doc.Plugins, c.json(r.agreements(ctx)))
	}
	word := map[bool]string{true: "plugin.disabled", false: "plugin.enabled"}[off]
	r.pluginShow(doc, word)
	return nil
}

// agree asks about each hook and server of a plugin that nobody agreed to yet, and saves
// each yes. Without a person only what was named by its id is agreed to: a yes to all
// questions of a verb is none to what strangers want to run.
func (r *run) agree(ctx context.Context, c carried, named []string) (changed bool, err error) {
	parts := c.parts(r.agreements(ctx))
	if len(parts) > 0 && !c.sound() {
		return false, fail(Refused, "plugin_edited", "%s is not what was installed", c.Dir).hinted("hint.plugin_edited")
	}
	for _, p := range parts {
		if p.Agreed || p.Problem != "" {
			continue
		}
		yes := slices.Contains(named, "all") || slices.Contains(named, p.ID)
		if person := r.person(); !yes && person != nil && !r.writing.yes && !r.writing.dryRun {
			person.Printf("%s\n", r.words.Say("plugin.head", c.key(), p.ID))
			prefixed(person, "│ ", "", p.Text)
			person.Printf("%s [y/N] ", r.words.Say("plugin.ask"))
			answer, err := r.readLine()
			yes = err == nil && (answer == "y" || answer == "yes")
		}
		if !yes {
			continue
		}
		changed = true
		if r.writing.dryRun {
			continue
		}
		s, err := r.openStore(ctx)
		if err == nil {
			err = r.recordAction(ctx, "trust", c.key()+" "+p.ID, map[string]string{pluginSource(c.key()): string(p.Digest)})
		}
		if err == nil {
			_, err = s.GrantSkill(ctx, store.Grant{Name: p.ID, Source: pluginSource(c.key()), Tree: p.Digest, Hooks: c.HooksDigest(c.tree), By: "cli"})
		}
		if err != nil {
			return changed, err
		}
	}
	return changed, nil
}
