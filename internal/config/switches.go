package config

import (
	"fmt"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"
)

// lists are the keys of switches, which the user's and a project's file have alike.
func (l *loader) lists(into *Lists) table {
	return table{
		"deny": l.entries(&into.Deny), "default_off": l.entries(&into.DefaultOff),
		"enable": l.entries(&into.Enable), "allow_only": l.entries(&into.AllowOnly),
		"profile": l.text(&into.Profile, named, "the name of a profile"),
	}
}

func (l *loader) with(keys, more table) table {
	maps.Copy(keys, more)
	return keys
}

func named(s string) bool { return strings.TrimSpace(s) != "" }

// entries takes a list of names and globs, or one of them alone. A list that cannot be
// read leaves the default; an entry that cannot, its neighbours.
func (l *loader) entries(into *[]Entry) setter {
	return func(key string, _, v *yaml.Node) {
		nodes := []*yaml.Node{v}
		if v.Kind == yaml.SequenceNode {
			nodes = v.Content
		} else if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
			l.bad(v, fmt.Sprintf("%s is %s, not a list of names; it is not read", key, describe(v)), "write a list, as in [surf, docs-*]")
			return
		}
		list := []Entry{}
		for i, n := range nodes {
			if n.Kind != yaml.ScalarNode || !named(n.Value) {
				l.bad(n, fmt.Sprintf("%s[%d] is %s, not a name; it is skipped", key, i, describe(n)), "write the name of a skill or a glob")
				continue
			}
			list = append(list, Entry{Pattern: strings.TrimSpace(n.Value), From: l.from(n)})
		}
		*into = list
		l.config.Mark(key, l.from(v))
	}
}

func (l *loader) profile(key string, k, v *yaml.Node) {
	p := Profile{From: l.from(k)}
	l.mapping(v, key+".", func() table {
		return table{
			"include": l.entries(&p.Include), "exclude": l.entries(&p.Exclude),
			"extends": l.text(&p.Extends, named, "the name of a profile"),
		}
	})
	l.config.Profiles[k.Value] = p
	l.config.Mark("skills.profiles", l.from(k))
}
