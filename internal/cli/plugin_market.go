package cli

import (
	"context"
	"io/fs"
	"path"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/fetch"
	"github.com/deftskills/deft/install/plugin"
	"github.com/deftskills/deft/internal/safetext"
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
		if have, ok := l.Markets[name]; ok && (have.Source.URL != m.got.Origin.URL || have.Source.Subpath != m.got.Origin.Subpath) {
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

// parseSource reads a source that a person typed.
func (r *run) parseSource(f *install.Fetcher, arg string, o installFlags) (install.SourceRef, error) {
	return install.ParseSource(arg, install.ParseOptions{
		Exists: func(p string) bool { return exists(f.Path(p)) }, DefaultHost: r.config.Install.DefaultHost, AllowHTTP: o.allowHTTP,
	})
}
