package catalog

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

// filter hides a record from the model when hides returns true. The detail names what
// was missing, never a value of it.
type filter struct {
	name   string // by which dialects choose it
	reason string // the code; "" = name
	hides  func(*registry.Record, *lens) (detail string, yes bool)
}

// lens is a View prepared for many records.
type lens struct {
	View
	rules    []filter
	selected map[string]bool
}

// filters are all that a dialect may name.
var filters = []filter{
	{"invalid", "", func(r *registry.Record, _ *lens) (string, bool) {
		return "", r.State == registry.Invalid || !r.Skill.Valid
	}},
	{"denied", "", func(r *registry.Record, _ *lens) (string, bool) {
		return "", because(r, "denied") || r.Source.Trust == source.Denied && r.State != registry.Untrusted
	}},
	{"disabled", "", func(r *registry.Record, _ *lens) (string, bool) { return "", r.State == registry.Disabled }},
	{"pending", "untrusted", func(r *registry.Record, _ *lens) (string, bool) {
		return "", r.State == registry.Untrusted || r.Source.Trust == source.Pending
	}},
	{"manual", "", func(r *registry.Record, _ *lens) (string, bool) {
		return "", r.Skill.Meta.DisableModelInvocation || because(r, "manual")
	}},
	{"untrusted", "", func(r *registry.Record, v *lens) (string, bool) { return "", v.HideUntrusted && marked(r) }},
	{"unlisted", "", func(r *registry.Record, _ *lens) (string, bool) { return "", !r.Skill.Meta.Listed }},
	{"unmet", "", unmet},
	{"paths", "", func(r *registry.Record, v *lens) (string, bool) {
		return strings.Join(r.Skill.Meta.Paths, ", "), len(r.Skill.Meta.Paths) > 0 && v.Touched != nil && !v.Touched[r.Address]
	}},
	{"agent_scope", "", func(r *registry.Record, v *lens) (string, bool) {
		return "", v.selected != nil && !v.selected[selector(r.Skill.Name)] && !v.selected[selector(r.Address)] && !v.selected[selector(string(r.Skill.ID()))]
	}},
	{"beta", "", func(r *registry.Record, v *lens) (string, bool) {
		flag := r.Skill.Meta.RequiresBeta
		if v.Flags == nil {
			return flag, because(r, "beta")
		}
		return flag, flag != "" && !v.Flags[flag]
	}},
	{"mcp_duplicate", "", func(r *registry.Record, v *lens) (string, bool) {
		server, ok := strings.CutPrefix(r.Skill.Name, "mcp-")
		return "", ok && slices.Contains(v.Servers, server)
	}},
	{"name_too_long", "", func(r *registry.Record, _ *lens) (string, bool) {
		return "", len(r.Address) > limits.CatalogName && runes(shownName(r)) > limits.CatalogName
	}},
	{"negative_keyword", "", func(r *registry.Record, v *lens) (string, bool) { return "", slices.Contains(v.Negative, r.Address) }},
}

// rulesOf returns the filters of a dialect in its order.
func rulesOf(d *dialect) []filter {
	out := make([]filter, 0, len(d.filters))
	for _, name := range d.filters {
		out = append(out, filters[slices.IndexFunc(filters, func(f filter) bool { return f.name == name })])
	}
	return out
}

func unmet(r *registry.Record, v *lens) (string, bool) {
	if names, ok := v.Unmet[r.Address]; ok {
		return names, true
	}
	if r.State != registry.Unmet {
		return "", false
	}
	for _, why := range r.Reasons {
		if why.Code == "unmet" {
			return why.Message, true
		}
	}
	return "", true
}

func because(r *registry.Record, code string) bool {
	return slices.ContainsFunc(r.Reasons, func(why registry.Reason) bool { return why.Code == code })
}

// marked reports whether the list says that the skill's origin is not trusted.
func marked(r *registry.Record) bool {
	return r.Source.Trust == source.Untrusted || r.Source.Trust == source.Remote
}

// selector returns the form in which names of a selection compare.
func selector(s string) string {
	return strings.ToLower(norm.NFKC.String(strings.TrimSpace(s)))
}

// unseen is a record that is not in the catalog; reason "" means shadowed.
type unseen struct {
	rec    *registry.Record
	reason string
}

// sift parts the snapshot's records into those that the model may see, in the order of
// the Snapshot, and the others with the first reason that applies. What it returns may
// be the Snapshot's own list.
func sift(s *registry.Snapshot, d *dialect, v View) (seen []*registry.Record, hidden []unseen) {
	l := &lens{View: v, rules: rulesOf(d)}
	if v.Skills != nil {
		l.selected = make(map[string]bool, len(v.Skills))
		for _, name := range v.Skills {
			l.selected[selector(name)] = true
		}
	}
	for i, r := range s.Winners {
		reason, counted := "", candidate(r)
		if counted {
			if reason = l.judge(r); reason == "" {
				if seen != nil {
					seen = append(seen, r)
				}
				continue
			}
		}
		if seen == nil {
			seen = append(make([]*registry.Record, 0, len(s.Winners)), s.Winners[:i]...)
		}
		if counted { // else it is among All
			hidden = append(hidden, unseen{r, reason})
		}
	}
	if seen == nil {
		seen = s.Winners
	}
	return seen, append(hidden, l.others(s)...)
}

// candidate reports whether a winner competes for a place in the catalog.
func candidate(r *registry.Record) bool {
	return r.State == registry.Available || r.State == registry.Hidden || r.State == registry.Unmet
}

// others are the records that were never candidates.
func (l *lens) others(s *registry.Snapshot) (out []unseen) {
	var counted map[*registry.Record]bool
	for _, r := range s.All {
		if r.State == registry.Available {
			continue
		}
		if candidate(r) && counted == nil {
			counted = make(map[*registry.Record]bool)
			for _, w := range s.Winners {
				if w.State != registry.Available && candidate(w) {
					counted[w] = true
				}
			}
		}
		if counted[r] {
			continue
		}
		reason := ""
		if r.State != registry.Shadowed {
			if reason = l.judge(r); reason == "" {
				reason = "unlisted" // not offered under any name
			}
		}
		out = append(out, unseen{r, reason})
	}
	return out
}

// judge returns the first reason that hides a record, "" when none does. What the
// registry withheld for any other reason stays withheld: it would not load.
func (l *lens) judge(r *registry.Record) string {
	for _, f := range l.rules {
		if detail, yes := f.hides(r, l); yes {
			code := cmp.Or(f.reason, f.name)
			if detail != "" {
				return code + ": " + detail
			}
			return code
		}
	}
	if r.State != registry.Hidden && r.State != registry.Unmet {
		return ""
	}
	for _, why := range r.Reasons {
		switch why.Code {
		case "manual", "paths", "stale": // said of skills that are available too
		case "allow_only":
			return "disabled"
		case "unmet":
			return "unmet: " + why.Message
		default:
			return why.Code
		}
	}
	return ""
}
