package install

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/source"
)

// EveryProject is for whom a plugin is there that a person has everywhere; see Entry.For.
const EveryProject = "user"

// Market is a place that plugins are found at, as the lock file keeps it.
type Market struct {
	Source Origin `json:"source"` // Commit is where a repository stood when it was looked at last
}

// PluginScope is where the versions of one plugin lie, below deft's data directory.
func PluginScope(data, name, market string) Scope {
	key := name + "@" + market
	return Scope{Name: "plugin", Root: data, Skills: filepath.Join(data, "plugins", key), Lock: filepath.Join(data, LockFile), Plugin: key}
}

// key is what a lock file calls the skill, or the version of a plugin, of a scope.
func (s Scope) key(name string) string {
	if s.Plugin != "" {
		return s.Plugin + "/" + name
	}
	return name
}

// part is where the lock file has what is installed in a scope.
func (l *Lock) part(s Scope) map[string]Entry {
	if s.Plugin != "" {
		return l.Plugins
	}
	return l.Skills
}

// record writes down what an intent does, or takes that back. A version of a plugin takes
// the place of another for those that it is for now.
func (l *Lock) record(n intent, undone bool) {
	part, key := l.part(n.Scope), n.Scope.key(n.Name)
	if n.Entry == nil {
		delete(part, key)
	} else {
		part[key] = *n.Entry
	}
	for other, whom := range n.Took {
		e, ok := part[other]
		if !ok {
			continue
		}
		e.For = slices.DeleteFunc(slices.Clone(e.For), func(f string) bool { return slices.Contains(whom, f) })
		if undone {
			e.For = slices.Sorted(slices.Values(slices.Concat(e.For, whom)))
		}
		part[other] = e
	}
}

// takes is for whom other versions of a plugin were that an intent installs for them.
func (l *Lock) takes(n intent) map[string][]string {
	if n.Scope.Plugin == "" || n.Entry == nil {
		return nil
	}
	out := map[string][]string{}
	for other, e := range l.Plugins {
		if other == n.Scope.key(n.Name) || !strings.HasPrefix(other, n.Scope.Plugin+"/") {
			continue
		}
		if whom := slices.DeleteFunc(slices.Clone(e.For), func(f string) bool { return !slices.Contains(n.Entry.For, f) }); len(whom) > 0 {
			out[other] = whom
		}
	}
	return out
}

// SplitPluginKey takes NAME@MARKET/VERSION apart.
func SplitPluginKey(key string) (name, market, version string) {
	name, version, _ = strings.Cut(key, "/")
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		name, market = name[:at], name[at+1:]
	}
	return name, market, version
}

// Registered says for whom the versions of plugins are there, by the lock file.
func (l *Lock) Registered() (out []source.RegisteredPlugin) {
	for _, key := range slices.Sorted(maps.Keys(l.Plugins)) {
		name, market, version := SplitPluginKey(key)
		for _, whom := range l.Plugins[key].For {
			r := source.RegisteredPlugin{Name: name, Market: market, Version: version, Project: whom, Off: l.Plugins[key].Off}
			if whom == EveryProject {
				r.Project = ""
			}
			out = append(out, r)
		}
	}
	return out
}

// Edit changes a lock file as the only process that installs, and writes it where it has
// changed. What is unfinished is ended before.
func (i *Installer) Edit(ctx context.Context, verb string, s Scope, change func(*Lock) error) error {
	return i.locked(ctx, verb, s, func() error {
		lock, err := ReadLock(s.Lock, s.Name == "project")
		if err != nil {
			return err
		}
		was, err := lock.Bytes()
		if err != nil {
			return err
		}
		if err := change(lock); err != nil {
			return err
		}
		now, err := lock.Bytes()
		if err != nil || bytes.Equal(was, now) {
			return err
		}
		return lock.Write(s.Lock)
	})
}

// CheckPluginKey holds the parts of NAME@MARKET/VERSION to the rules of names: each is part
// of a path. The error is ErrBadName.
func CheckPluginKey(key string) error {
	name, market, version := SplitPluginKey(key)
	for _, part := range []string{name, market, version} {
		if err := CheckName(part); err != nil {
			return err
		}
		if strings.HasPrefix(part, ".") || strings.Contains(part, "@") {
			return fmt.Errorf("%w: %q begins with a dot or holds an @", ErrBadName, part)
		}
	}
	return nil
}

// readMarkets takes the places of plugins, each held to the rules of sources.
func (l *Lock) readMarkets() error {
	src, ok := l.extra["marketplaces"]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(src, &l.Markets); err != nil {
		return fmt.Errorf("marketplaces: %w", err)
	}
	if l.Markets == nil { // null
		l.Markets = map[string]Market{}
	}
	for name, m := range l.Markets {
		if err := CheckName(name); err != nil {
			return fmt.Errorf("marketplace: %w", err)
		}
		if err := l.check(Entry{Source: m.Source}); err != nil {
			return fmt.Errorf("marketplace %q: %w", name, err)
		}
	}
	return nil
}
