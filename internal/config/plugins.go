package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Plugin says for whom a version of an installed plugin is there: one entry of
// skills.plugins.
type Plugin struct {
	Name    string `json:"name"`
	Market  string `json:"market"`  // "" = none
	Version string `json:"version"` // as its folder is called; "" = the folder without one
	Project string `json:"project"` // absolute, or below "~"; "" = the person's, everywhere
	Off     bool   `json:"off"`     // enabled: false
	From    From   `json:"from"`
}

// plugins takes the list of skills.plugins; an entry that is none is skipped alone.
func (l *loader) plugins(key string, _, v *yaml.Node) {
	if v.Kind != yaml.SequenceNode {
		l.bad(v, fmt.Sprintf("%s is %s, not a list; none is read", key, describe(v)), "write a list of NAME@MARKET/VERSION")
		return
	}
	l.config.Plugins = nil
	for i, n := range v.Content {
		if p, ok := l.plugin(fmt.Sprintf("%s[%d]", key, i), n); ok {
			l.config.Plugins = append(l.config.Plugins, p)
		}
	}
	l.config.Mark(key, l.from(v))
}

// plugin takes one entry: NAME, NAME@MARKET, NAME@MARKET/VERSION, or a mapping.
func (l *loader) plugin(key string, n *yaml.Node) (Plugin, bool) {
	p := Plugin{From: l.from(n)}
	const form = "write NAME@MARKET/VERSION, or {name, market, version, project, enabled}"
	enabled := true
	switch n.Kind {
	case yaml.ScalarNode:
		p.Name, p.Version, _ = strings.Cut(n.Value, "/")
		if at := strings.LastIndexByte(p.Name, '@'); at > 0 {
			p.Name, p.Market = p.Name[:at], p.Name[at+1:]
		}
	case yaml.MappingNode:
		one := "a name without a separator"
		l.mapping(n, key+".", func() table {
			return table{
				"name":    l.text(&p.Name, directoryName, one),
				"market":  l.text(&p.Market, directoryName, one),
				"version": l.text(&p.Version, directoryName, one),
				"project": l.text(&p.Project, func(s string) bool {
					return filepath.IsAbs(s) || s == "~" || strings.HasPrefix(s, "~/")
				}, "an absolute directory"),
				"enabled": l.boolean(&enabled),
			}
		})
	default:
		l.bad(n, fmt.Sprintf("%s is %s, not a plugin; it is skipped", key, describe(n)), form)
		return p, false
	}
	p.Off = !enabled
	if !directoryName(p.Name) || p.Version != "" && !directoryName(p.Version) {
		l.bad(n, fmt.Sprintf("%s names no plugin; it is skipped", key), form)
		return p, false
	}
	return p, true
}
