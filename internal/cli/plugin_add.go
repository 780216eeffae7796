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

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/fetch"
	"github.com/deftskills/deft/install/plugin"
	"github.com/deftskills/deft/source"
)

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
		dir := path.Join(o.got.Origin.Subpath, o.offer.Path)
		if dir == "." {
			dir = ""
		}
		return o.got, dir, nil
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
	if err := (carried{Plugin: p}).names(c.Scope.Plugin, agree); err != nil {
		return err
	}
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
