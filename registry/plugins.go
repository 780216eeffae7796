package registry

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/source"
)

// prefixes tells plugins apart that are called alike: each keeps its skills under
// NAME@MARKET, with a number behind it where two come from one market.
func (a *arbiter) prefixes() {
	ids := map[string][]source.Info{} // by folded prefix
	for _, r := range a.out.All {
		if ns := r.Source.Namespace; ns != "" {
			key := fold.Key(ns)
			if !slices.ContainsFunc(ids[key], func(i source.Info) bool { return i.ID == r.Source.ID }) {
				ids[key] = append(ids[key], r.Source)
			}
		}
	}
	longer := map[string]string{} // by source id
	for _, key := range slices.Sorted(maps.Keys(ids)) {
		same := ids[key]
		if len(same) < 2 {
			continue
		}
		slices.SortFunc(same, func(x, y source.Info) int {
			return cmp.Or(strings.Compare(x.Path, y.Path), strings.Compare(x.ID, y.ID))
		})
		taken := map[string]int{}
		var names, paths []string
		for _, i := range same {
			name := i.Namespace + "@" + cmp.Or(i.Market, "unknown")
			if taken[fold.Key(name)]++; taken[fold.Key(name)] > 1 {
				name += fmt.Sprintf("-%d", taken[fold.Key(name)])
			}
			longer[i.ID] = name
			names, paths = append(names, name), append(paths, cmp.Or(i.Path, i.ID))
		}
		a.out.Diagnostics = append(a.out.Diagnostics, finding("plugin_prefix_clash", paths[0],
			"%d plugins are called %q, in %s: their skills are addressed %s", len(same), same[0].Namespace,
			strings.Join(paths, ", "), strings.Join(names, ":…, ")+":…"))
	}
	if len(longer) == 0 {
		return
	}
	for _, r := range a.out.All {
		if ns, ok := longer[r.Source.ID]; ok && r.Source.Namespace != "" {
			e := *r.Entry
			e.Source.Namespace = ns
			r.Entry = &e
		}
	}
}

// atMost bounds what the trust of a folder gives a source in it: the packages and
// plugins that a project keeps are still somebody else's.
func atMost(i source.Info, t source.Trust) source.Trust {
	if i.Trust == source.Pending && t == source.Workspace && (i.Kind == source.Package || i.Kind == source.PluginK) {
		return source.Untrusted
	}
	return t
}

// sourceOff is the reason of a skill whose whole source is switched off.
func sourceOff(r *Record) Reason {
	i := r.Source
	why := Reason{Code: i.Off, Path: place(r)}
	if i.Off == source.PluginOff {
		why.By = i.Namespace
		why.Message, why.Fix = fmt.Sprintf("the plugin %s is switched off", i.Namespace), fmt.Sprintf("enable it in the settings: %s in skills.external.sources, or its entry of skills.plugins", i.ID)
		return why
	}
	why.By = i.ID
	why.Message, why.Fix = fmt.Sprintf("the source %s is switched off", i.ID), fmt.Sprintf("enable %s in the settings: skills.external.sources", i.ID)
	return why
}

// unprefixed returns the first record that no plugin prefixes, usable ones first.
func unprefixed(rs []*Record) *Record {
	var found *Record
	for _, r := range rs {
		if r.Source.Namespace == "" && (found == nil || usable(r) && !usable(found)) {
			found = r
		}
	}
	return found
}

// typed finds a record that no plugin prefixes by key, handle or id.
func (s *Snapshot) typed(sel string) (*Record, error) {
	if r := unprefixed(s.index().key.find(fold.Key(sel))); r != nil {
		return r, nil
	}
	if name := strings.TrimPrefix(sel, "/"); !strings.ContainsAny(name, `/\`) { // "/name" is how people start a skill; a path is no name
		if h := fold.Handle(name); h != "" {
			if r := unprefixed(s.index().handle.find(h)); r != nil {
				return r, nil
			}
		}
	}
	ids := slices.DeleteFunc(slices.Clone(s.index().id.find(sel)), func(r *Record) bool { return r.Source.Namespace != "" })
	if ids = usableFirst(ids); len(ids) > 1 {
		return nil, &AmbiguousError{Selector: sel, Candidates: addressesOf(ids)}
	}
	return first(ids), nil
}

// ofPlugin finds the one plugin's skill that a bare name or PLUGIN:SKILL may mean: one
// that can be used, or, where none can, what only a person may ask about.
func (s *Snapshot) ofPlugin(sel string, may func(*Record) bool) (*Record, error) {
	prefix, name := "", fold.Key(strings.TrimPrefix(sel, "/"))
	if p, n, ok := strings.Cut(name, ":"); ok {
		prefix, name = p, n
	}
	var found []*Record
	take := func(rs []*Record) {
		for _, r := range rs {
			if ns := r.Source.Namespace; ns != "" && may(r) && (prefix == "" || fold.Key(ns) == prefix) {
				found = append(found, r)
			}
		}
	}
	if take(s.index().key.find(name)); len(found) == 0 && !strings.ContainsAny(name, `/\`) && name != "" {
		take(s.index().handle.find(fold.Handle(name)))
	}
	if len(found) > 1 {
		return nil, &AmbiguousError{Selector: sel, Candidates: addressesOf(found)}
	}
	return first(found), nil
}

func unusable(r *Record) bool { return !usable(r) }
