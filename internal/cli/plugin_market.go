package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/fetch"
	"github.com/deftskills/deft/install/plugin"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/source"
)

// officialMarket is the marketplace whose address stands in the settings alone.
const officialMarket = "official"

func marketVerb() verb {
	var o installFlags
	var name string
	writes := effects{reads: true, writes: true, network: true}
	return verb{
		name: "marketplace", args: "add|list|remove|update", max: -1, effects: effects{reads: true}, short: "where plugins are found",
		long: "A marketplace is a git repository with a list of plugins (.claude-plugin/marketplace.json),\n" +
			"or a folder whose folders are plugins. The one called official stands in your settings:\n" +
			"install.official_plugins is the address of its list.",
		below: []verb{
			{name: "add", args: "SOURCE", min: 1, max: 1, effects: writes, short: "remember a folder or repository with plugins",
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&name, "name", "", "call it `NAME`; default: as it calls itself")
					f.BoolVar(&o.allowHTTP, "allow-http", false, "also addresses without TLS")
				},
				run: func(ctx context.Context, r *run, args []string) error { return r.marketAdd(ctx, o, args[0], name) }},
			{name: "list", effects: effects{reads: true}, short: "the marketplaces",
				run: func(_ context.Context, r *run, _ []string) error { return r.marketList() }},
			{name: "remove", args: "NAME", min: 1, max: 1, effects: effects{reads: true, writes: true}, short: "forget a marketplace; its plugins stay",
				run: func(ctx context.Context, r *run, args []string) error { return r.marketRemove(ctx, args[0]) }},
			{name: "update", args: "[NAME]", max: 1, effects: writes, short: "look what marketplaces offer now",
				run: func(ctx context.Context, r *run, args []string) error { return r.marketUpdate(ctx, args) }},
		},
	}
}

// marketsJSON is the document of every verb below plugin marketplace.
type marketsJSON struct {
	Markets []marketJSON   `json:"marketplaces"`
	Refused []rejectedJSON `json:"refused"`
	Changed bool           `json:"changed"`
	Written bool           `json:"written"`
}

type marketJSON struct {
	Name   string      `json:"name"`
	From   string      `json:"from"`
	Commit string      `json:"commit"` // where it stood when it was looked at last
	Offers []offerJSON `json:"plugins"`
}

type offerJSON struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	Problem     string `json:"problem"`
}

func marketDoc(name string, from install.Origin, m plugin.Market) marketJSON {
	doc := marketJSON{Name: name, From: originURL(from), Commit: from.Commit, Offers: []offerJSON{}}
	for _, o := range m.Offers {
		doc.Offers = append(doc.Offers, offerJSON{o.Name, o.Version, o.Description, o.Problem})
	}
	return doc
}

func (r *run) marketShow(doc marketsJSON, done string) {
	if doc.Refused == nil {
		doc.Refused = []rejectedJSON{}
	}
	if doc.Markets == nil {
		doc.Markets = []marketJSON{}
	}
	if r.globals.json {
		r.printJSON(doc)
		return
	}
	for _, m := range doc.Markets {
		if done != "" {
			r.out.Printf("%s\n", r.words.Say(done, m.Name, len(m.Offers)))
		} else {
			r.out.Printf("%-20s %s\n", m.Name, safetext.Line(m.From))
		}
		for _, o := range m.Offers {
			r.out.Printf("  %-24s %-10s %s\n", o.Name, o.Version, safetext.Clip(safetext.Line(orElse(o.Problem, o.Description)), 80))
		}
	}
	for _, ref := range doc.Refused {
		r.err.Printf("%s: %s\n", ref.Name, r.reason(install.Reason{Code: ref.Code, Message: ref.Reason}))
	}
}

// market is a marketplace as it was looked at.
type market struct {
	plugin.Market
	name string
	got  *install.Fetched // nil = a list alone
	tree fs.FS            // of got
}

// lookAt fetches what a marketplace offers.
func (r *run) lookAt(ctx context.Context, f *install.Fetcher, name string, ref install.SourceRef) (market, error) {
	ctx, done := r.watch(ctx, "fetch")
	defer done()
	switch ref.Kind {
	case install.Local, install.Git, install.Probe:
	default:
		return market{}, usage("a marketplace is a folder or a git repository, not a source of kind %s", string(ref.Kind))
	}
	got, err := f.Fetch(ctx, ref)
	if err != nil {
		return market{}, err
	}
	if got.Origin.Type == install.Local {
		got.Origin.URL = f.Path(got.Origin.URL)
	}
	m := market{name: name, got: got}
	if m.tree, err = got.FS(ctx); err != nil {
		return m, err
	}
	if dir := got.Origin.Subpath; dir != "" {
		if m.tree, err = fs.Sub(m.tree, dir); err != nil {
			return m, err
		}
	}
	if m.Market, err = plugin.Offers(m.tree); err != nil {
		return m, fail(Negative, "marketplace_invalid", "%s: %v", originURL(got.Origin), err)
	}
	return m, nil
}

// official looks at the list whose address the settings have.
func (r *run) official(ctx context.Context, f *install.Fetcher) (market, error) {
	ctx, done := r.watch(ctx, "fetch")
	defer done()
	b, err := f.HTTP.Document(ctx, r.config.Install.OfficialPlugins)
	if err != nil {
		return market{}, err
	}
	m, err := plugin.ReadMarket(b.Data)
	if err != nil {
		return market{}, fail(Negative, "marketplace_invalid", "%s: %v", fetch.Redacted(r.config.Install.OfficialPlugins), err)
	}
	for i, o := range m.Offers {
		if o.URL == "" && o.Problem == "" { // the list is no tree, and what is not digested is not taken from it
			m.Offers[i].Problem = "its entry has no address of an archive with a digest"
		}
	}
	return market{Market: m, name: officialMarket}, nil
}

// known looks at a marketplace by its name, as it stood when it was looked at last.
func (r *run) known(ctx context.Context, f *install.Fetcher, lock *install.Lock, name string) (market, error) {
	if name == officialMarket && r.config.Install.OfficialPlugins != "" {
		return r.official(ctx, f)
	}
	m, ok := lock.Markets[name]
	if !ok {
		f := fail(Usage, "marketplace_unknown", "no marketplace is called %q", name)
		if names := r.marketNames(lock); len(names) > 0 {
			return market{}, f.hinted("hint.one_of", strings.Join(names, ", "))
		}
		return market{}, f.hinted("hint.no_marketplace")
	}
	ref := m.Source.Source()
	ref.Dir = m.Source.Subpath
	if len(m.Source.Commit) == 40 {
		ref.Ref = m.Source.Commit
	}
	at, err := r.lookAt(ctx, f, name, ref)
	if err == nil {
		at.got.Origin.Ref = m.Source.Ref
	}
	return at, err
}

func (r *run) marketNames(lock *install.Lock) []string {
	names := sortedKeys(lock.Markets)
	if r.config.Install.OfficialPlugins != "" {
		names = append([]string{officialMarket}, names...)
	}
	return names
}

func (r *run) marketAdd(ctx context.Context, o installFlags, arg, name string) error {
	f, err := r.fetcher(o)
	if err != nil {
		return err
	}
	ref, err := r.parseSource(f, arg, o)
	if err != nil {
		return err
	}
	m, err := r.lookAt(ctx, f, name, ref)
	if err != nil {
		return err
	}
	if name == "" {
		if name = m.Name; name == "" {
			name = "local"
			if m.got.Origin.Type != install.Local {
				name = strings.TrimSuffix(path.Base(m.got.Origin.URL), ".git")
			}
		}
	}
	switch err := install.CheckPluginKey("x@" + name + "/1"); {
	case err != nil:
		return err
	case name == officialMarket:
		return fail(Usage, "marketplace_taken", "the marketplace %q stands in the settings alone", name).hinted("hint.marketplace_name")
	case len(m.Offers) == 0:
		return fail(Negative, "marketplace_empty", "%s offers no plugin", originURL(m.got.Origin))
	}
	doc := marketsJSON{Markets: []marketJSON{marketDoc(name, m.got.Origin, m.Market)}}
	if err := r.editMarkets(ctx, &doc, func(l *install.Lock) error {
		if have, ok := l.Markets[name]; ok && have.Source.URL != m.got.Origin.URL {
			return fail(Refused, "marketplace_taken", "%q is the marketplace %s", name, originURL(have.Source)).hinted("hint.marketplace_name")
		}
		l.Markets[name] = install.Market{Source: m.got.Origin}
		return nil
	}); err != nil {
		return err
	}
	r.marketShow(doc, r.orDry("marketplace.added", "marketplace.added_dry"))
	return nil
}

// editMarkets changes the list of marketplaces, unless nothing is to be written.
func (r *run) editMarkets(ctx context.Context, doc *marketsJSON, change func(*install.Lock) error) error {
	doc.Changed = true
	if r.writing.dryRun {
		return nil
	}
	i, err := r.installer()
	if err != nil {
		return err
	}
	if err := i.Edit(ctx, "plugin", r.userScope(), change); err != nil {
		return err
	}
	doc.Written = true
	return nil
}

func (r *run) marketList() error {
	lock, err := install.ReadLock(r.userScope().Lock, false)
	if err != nil {
		return err
	}
	doc := marketsJSON{}
	for _, name := range r.marketNames(lock) {
		if name == officialMarket {
			doc.Markets = append(doc.Markets, marketJSON{Name: name, From: fetch.Redacted(r.config.Install.OfficialPlugins), Offers: []offerJSON{}})
			continue
		}
		doc.Markets = append(doc.Markets, marketDoc(name, lock.Markets[name].Source, plugin.Market{}))
	}
	if len(doc.Markets) == 0 {
		r.hintf("%s", r.words.Say("marketplace.none"))
	}
	r.marketShow(doc, "")
	return nil
}

func (r *run) marketRemove(ctx context.Context, name string) error {
	lock, err := install.ReadLock(r.userScope().Lock, false)
	if err != nil {
		return err
	}
	m, ok := lock.Markets[name]
	if !ok {
		f := fail(Negative, "marketplace_unknown", "no marketplace is called %q", name)
		if names := sortedKeys(lock.Markets); len(names) > 0 {
			return f.hinted("hint.one_of", strings.Join(names, ", "))
		}
		return f
	}
	doc := marketsJSON{Markets: []marketJSON{marketDoc(name, m.Source, plugin.Market{})}}
	if err := r.editMarkets(ctx, &doc, func(l *install.Lock) error { delete(l.Markets, name); return nil }); err != nil {
		return err
	}
	r.marketShow(doc, r.orDry("marketplace.removed", "marketplace.removed_dry"))
	return nil
}

func (r *run) marketUpdate(ctx context.Context, args []string) error {
	lock, err := install.ReadLock(r.userScope().Lock, false)
	if err != nil {
		return err
	}
	f, err := r.fetcher(installFlags{})
	if err != nil {
		return err
	}
	names := r.marketNames(lock)
	if len(args) > 0 {
		names = args
	}
	doc := marketsJSON{}
	now := map[string]install.Market{}
	for _, name := range names {
		var m market
		if have, ok := lock.Markets[name]; ok {
			ref := have.Source.Source()
			ref.Dir = have.Source.Subpath
			m, err = r.lookAt(ctx, f, name, ref)
		} else {
			m, err = r.known(ctx, f, lock, name)
		}
		if err != nil {
			known := failureOf(err, true)
			if len(args) > 0 || ctx.Err() != nil {
				return err
			}
			r.note(Partial)
			doc.Refused = append(doc.Refused, rejectedJSON{name, known.code, known.message})
			continue
		}
		origin := install.Origin{URL: fetch.Redacted(r.config.Install.OfficialPlugins)}
		if m.got != nil {
			origin, now[name] = m.got.Origin, install.Market{Source: m.got.Origin}
		}
		doc.Markets = append(doc.Markets, marketDoc(name, origin, m.Market))
	}
	if err := r.editMarkets(ctx, &doc, func(l *install.Lock) error {
		for name, m := range now {
			if have, ok := l.Markets[name]; ok && have.Source.URL == m.Source.URL {
				l.Markets[name] = m
			}
		}
		return nil
	}); err != nil {
		return err
	}
	r.marketShow(doc, "marketplace.updated")
	return nil
}

// found is an offer with where it was found.
type found struct {
	market
	offer plugin.Offer
}

// findOffer looks for a plugin in the marketplace that its address names, or in all.
func (r *run) findOffer(ctx context.Context, f *install.Fetcher, arg string) (found, error) {
	lock, err := install.ReadLock(r.userScope().Lock, false)
	if err != nil {
		return found{}, err
	}
	name, in, named := strings.Cut(arg, "@")
	markets := []string{in}
	if !named {
		markets = r.marketNames(lock)
	}
	if len(markets) == 0 {
		return found{}, fail(Negative, "marketplace_unknown", "there is no marketplace to look for %q in", name).hinted("hint.no_marketplace")
	}
	var hits []found
	var names, where []string
	for _, at := range markets {
		m, err := r.known(ctx, f, lock, at)
		if err != nil {
			if named || ctx.Err() != nil {
				return found{}, err
			}
			r.hintf("%s: %s", at, failureOf(err, true).message)
			r.note(Partial)
			continue
		}
		for _, o := range m.Offers {
			names = append(names, o.Name)
		}
		if offers := m.Find(name); len(offers) > 0 {
			hits, where = append(hits, found{m, offers[0]}), append(where, name+"@"+at)
		}
	}
	switch {
	case len(hits) > 1:
		return found{}, fail(Usage, "plugin_ambiguous", "%d marketplaces have a plugin %q", len(hits), name).hinted("hint.one_of", strings.Join(where, ", "))
	case len(hits) == 0:
		f := fail(Negative, "plugin_unknown", "no marketplace has a plugin %q", name)
		if near := closest(name, names, 3); len(near) > 0 {
			return found{}, f.hinted("hint.one_of", strings.Join(near, ", "))
		}
		return found{}, f
	case hits[0].offer.Problem != "":
		return found{}, fail(Negative, "plugin_unavailable", "%s: %s", name, hits[0].offer.Problem)
	}
	return hits[0], nil
}

// fetchOffer gets the bytes of an offer, and the folder of the plugin in them.
func (r *run) fetchOffer(ctx context.Context, f *install.Fetcher, o found) (*install.Fetched, string, error) {
	if o.offer.Path != "" {
		return o.got, strings.TrimPrefix(path.Join(o.got.Origin.Subpath, o.offer.Path), "."), nil
	}
	ctx, done := r.watch(ctx, "fetch")
	defer done()
	text := orElse(o.offer.URL, o.offer.Text)
	ref, err := install.ParseSource(text, install.ParseOptions{})
	if err != nil {
		return nil, "", err
	}
	// A list of strangers names nothing on this machine, and nothing of it is trusted further.
	wanted := []install.Kind{install.Git, install.Probe}
	if o.offer.URL != "" {
		wanted = []install.Kind{install.Archive}
	}
	if !slices.Contains(wanted, ref.Kind) {
		return nil, "", fail(Usage, "source_bad_url", "the marketplace %s has %s as a %s source", o.name, fetch.Redacted(text), ref.Kind)
	}
	got, err := f.Fetch(ctx, ref)
	if err != nil {
		return nil, "", err
	}
	if want := o.offer.Digest; want != "" && got.Origin.Commit != want {
		return nil, "", fail(Network, "fetch_digest", "%s has the digest %s, the marketplace says %s", fetch.Redacted(text), got.Origin.Commit, want)
	}
	return got, got.Origin.Subpath, nil
}

// parseSource reads a source that a person typed.
func (r *run) parseSource(f *install.Fetcher, arg string, o installFlags) (install.SourceRef, error) {
	return install.ParseSource(arg, install.ParseOptions{
		Exists: func(p string) bool { return exists(f.Path(p)) }, DefaultHost: r.config.Install.DefaultHost, AllowHTTP: o.allowHTTP,
	})
}

// pluginScope is where the versions of a plugin lie: of dialects that have plugins of their
// own, in their layout.
func (r *run) pluginScope(name, market string) install.Scope {
	s := install.PluginScope(source.DataDir(r.sourceEnv()), name, market)
	s.Lock = filepath.Join(r.dirs.Data, install.LockFile)
	dir, own := r.pluginLayout()
	if own {
		s.Skills = filepath.Join(dir, market, name)
	}
	if own || s.Root != r.dirs.Data {
		s.Lock = filepath.Join(r.dirs.Data, r.globals.dialect+"-"+install.LockFile)
	}
	return s
}

// pluginLayout is the folder of MARKET/NAME/VERSION of a dialect that keeps plugins so.
func (r *run) pluginLayout() (string, bool) {
	at, ok := map[string]string{"claude-code": ".claude", "codex": ".codex"}[r.globals.dialect]
	return filepath.Join(r.dirs.Home, at, "plugins", "cache"), ok
}

func (r *run) pluginAdd(ctx context.Context, o pluginFlags, arg string) error {
	f, err := r.fetcher(o.installFlags)
	if err != nil {
		return err
	}
	hit, err := r.findOffer(ctx, f, arg)
	if err != nil {
		return err
	}
	got, dir, err := r.fetchOffer(ctx, f, hit)
	if err != nil {
		return err
	}
	p, got, err := readOffer(ctx, got, dir, hit.offer)
	if err != nil {
		return err
	}
	parts := []install.Part{{Dir: dir, Licence: licenceField(p)}}
	for _, s := range p.Skills {
		parts = append(parts, install.Part{Dir: path.Join(dir, s.Dir), Licence: s.Licence})
	}
	pack, err := got.Bundle(ctx, dir, "", parts)
	if err != nil {
		return err
	}
	name := plugin.PickName(p, hit.offer)
	pack.Version = plugin.PickVersion(p, hit.offer, orElse(got.Origin.Commit, string(pack.Digest)))
	scope := r.pluginScope(name, hit.name)
	if err := install.CheckPluginKey(scope.Plugin + "/" + pack.Version); err != nil {
		return err
	}
	whom := install.EveryProject
	if o.project {
		whom = r.projectRoot()
	}
	choice := install.Choice{Scope: scope, Force: o.force, Unlicensed: o.unlicensed, Accept: o.accept, For: []string{whom}}
	return r.pluginApply(ctx, got, p, pack, choice, o.agree)
}

// readOffer reads a fetched plugin. Where it has no manifest, what the marketplace says of
// its parts becomes one.
func readOffer(ctx context.Context, got *install.Fetched, dir string, o plugin.Offer) (plugin.Plugin, *install.Fetched, error) {
	tree := func() (fs.FS, error) {
		all, err := got.FS(ctx)
		if err != nil || dir == "" {
			return all, err
		}
		return fs.Sub(all, dir)
	}
	at, err := tree()
	if err != nil {
		return plugin.Plugin{}, nil, err
	}
	if _, err := fs.Stat(at, "."); errors.Is(err, fs.ErrNotExist) {
		return plugin.Plugin{}, nil, fail(Negative, "source_no_such_folder", "no folder %q in %s", dir, originURL(got.Origin))
	}
	if file, ok := o.Stand(at); ok {
		file.Path = path.Join(dir, file.Path)
		got = got.With(file)
		if at, err = tree(); err != nil {
			return plugin.Plugin{}, nil, err
		}
	}
	shown := "/" + orElse(dir, strings.TrimSuffix(path.Base(got.Origin.URL), ".git"))
	p := plugin.Read(at, shown)
	if d, bad := p.Bad(); bad {
		return p, nil, fail(Usage, d.Code, "%s", d.Message)
	}
	if p.Empty() && !p.MayBeEmpty() {
		return p, nil, fail(Usage, "plugin_empty", "%s brings neither skills nor servers nor hooks", fmt.Sprintf("%q", o.Name))
	}
	return p, got, nil
}

// licenceField is what a manifest says of its licence.
func licenceField(p plugin.Plugin) string { return p.Text("license") }

// pluginApply plans, carries out, and asks about what the plugin wants to run.
func (r *run) pluginApply(ctx context.Context, got *install.Fetched, p plugin.Plugin, pack install.Package, c install.Choice, agree []string) error {
	i, err := r.installer()
	if err != nil {
		return err
	}
	plan, err := i.Plan(ctx, got, []install.Package{pack}, c)
	if err != nil {
		return err
	}
	for _, n := range plan.Notes {
		r.hintf("%s", n)
	}
	item := plan.Items[0]
	if !r.writing.dryRun {
		done, err := i.Apply(ctx, plan, install.Answers{Accept: func(ctx context.Context, it install.Item, ask install.Reason) (bool, error) {
			it.Name = c.Scope.Plugin
			return r.answers().Accept(ctx, it, ask)
		}})
		if err != nil {
			return err
		}
		item = done[0].Item
	}
	doc := newPluginsJSON()
	if item.Refused != nil {
		r.note(reasonExit(item.Refused.Code))
		doc.Refused = append(doc.Refused, rejectedJSON{c.Scope.Plugin, item.Refused.Code, item.Refused.Message})
		r.pluginShow(doc, "")
		return errNegative
	}
	doc.Changed = item.Action != install.Same
	doc.Written = doc.Changed && !r.writing.dryRun
	at, others, err := r.pluginAdded(ctx, p, pack, c.Scope)
	if err != nil {
		return err
	}
	doc.Warnings = append(append(doc.Warnings, p.Found...), clashes(at, others)...)
	if at.entry != nil {
		asked, err := r.agree(ctx, at, agree)
		if err != nil {
			return err
		}
		doc.Changed, doc.Written = doc.Changed || asked, doc.Written || asked && !r.writing.dryRun
	}
	doc.Plugins = append(doc.Plugins, at.json(r.agreements(ctx)))
	r.pluginShow(doc, r.orDry("plugin.done_"+item.Action, "plugin.dry_"+item.Action))
	if doc.Written && len(p.Hooks)+len(p.Servers) > 0 && !r.globals.json {
		r.hintf("%s", r.words.Say("plugin.waits", c.Scope.Plugin))
	}
	return nil
}

// pluginAdded is the plugin that was just installed, or would be, and the others that
// count.
func (r *run) pluginAdded(ctx context.Context, p plugin.Plugin, pack install.Package, s install.Scope) (at carried, others []carried, err error) {
	lock, err := install.ReadLock(s.Lock, false)
	if err != nil {
		return at, nil, err
	}
	name, market, _ := install.SplitPluginKey(s.Plugin + "/" + pack.Version)
	at.Plugin, at.tree = p, pack.Digest
	at.Prefix = name
	at.InstalledPlugin.Name, at.Market, at.InstalledPlugin.Version, at.Dir = name, market, pack.Version, filepath.Join(s.Skills, pack.Version)
	list, _ := r.installedPlugins(ctx)
	for _, have := range list {
		switch {
		case have.Dir == at.Dir:
			at = carriedAt(ctx, have, lock)
		case have.Use && have.Name+"@"+have.Market != s.Plugin:
			others = append(others, carriedAt(ctx, have, lock))
		}
	}
	return at, others, nil
}
