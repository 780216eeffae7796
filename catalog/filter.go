package catalog

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// filter hides a record from the model when it returns true. The detail names what
// was missing, never a value of it.
type filter struct {
	reason string
	hides  func(*registry.Record, *lens) (detail string, yes bool)
}

// lens is a View prepared for many records.
type lens struct {
	View
	selected map[string]bool
}

// filters is the order of reasons: the first that applies is recorded.
func filters() []filter {
	return []filter{
		{"invalid", func(r *registry.Record, _ *lens) (string, bool) {
			return "", r.State == registry.Invalid || !r.Skill.Valid
		}},
		{"denied", func(r *registry.Record, _ *lens) (string, bool) {
			return "", because(r, "denied") || r.Source.Trust == source.Denied && r.State != registry.Untrusted
		}},
		{"disabled", func(r *registry.Record, _ *lens) (string, bool) { return "", r.State == registry.Disabled }},
		{"untrusted", func(r *registry.Record, _ *lens) (string, bool) {
			return "", r.State == registry.Untrusted || r.Source.Trust == source.Pending
		}},
		{"manual", func(r *registry.Record, _ *lens) (string, bool) {
			return "", r.Skill.Meta.DisableModelInvocation || because(r, "manual")
		}},
		{"untrusted", func(r *registry.Record, v *lens) (string, bool) { return "", v.HideUntrusted && marked(r) }},
		{"unlisted", func(r *registry.Record, _ *lens) (string, bool) { return "", !r.Skill.Meta.Listed }},
		{"unmet", unmet},
		{"paths", func(r *registry.Record, v *lens) (string, bool) {
			return strings.Join(r.Skill.Meta.Paths, ", "), len(r.Skill.Meta.Paths) > 0 && v.Touched != nil && !v.Touched[r.Address]
		}},
		{"agent_scope", func(r *registry.Record, v *lens) (string, bool) {
			return "", v.selected != nil && !v.selected[selector(r.Skill.Name)] && !v.selected[selector(r.Address)] && !v.selected[selector(string(r.Skill.ID()))]
		}},
		{"beta", func(r *registry.Record, v *lens) (string, bool) {
			flag := r.Skill.Meta.RequiresBeta
			if v.Flags == nil {
				return flag, because(r, "beta")
			}
			return flag, flag != "" && !v.Flags[flag]
		}},
		{"mcp_duplicate", func(r *registry.Record, v *lens) (string, bool) {
			server, ok := strings.CutPrefix(r.Skill.Name, "mcp-")
			return "", ok && slices.Contains(v.Servers, server)
		}},
		{"name_too_long", func(r *registry.Record, _ *lens) (string, bool) {
			return "", len(r.Address) > limits.CatalogName && runes(shownName(r)) > limits.CatalogName
		}},
	}
}

// filtersOf returns the filters of a dialect: the open standard knows only the
// first ones.
func filtersOf(d skill.Dialect) []filter {
	all := filters()
	if d == skill.AgentSkills {
		return all[:4]
	}
	return all
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

// sift parts the snapshot's records into those that the model may see, in display
// order, and the others with the first reason that applies.
func sift(s *registry.Snapshot, d skill.Dialect, v View) (seen []*registry.Record, hidden []unseen) {
	l := &lens{View: v}
	if v.Skills != nil {
		l.selected = make(map[string]bool, len(v.Skills))
		for _, name := range v.Skills {
			l.selected[selector(name)] = true
		}
	}
	rules := filtersOf(d)
	seen = make([]*registry.Record, 0, len(s.Winners))
	for _, r := range s.Winners {
		if r.State != registry.Available && r.State != registry.Hidden && r.State != registry.Unmet {
			continue // among All too
		}
		if reason := hiddenBecause(r, rules, l); reason != "" {
			hidden = append(hidden, unseen{r, reason})
			continue
		}
		seen = append(seen, r)
	}
	counted := make(map[*registry.Record]bool)
	for _, r := range s.Winners {
		if r.State == registry.Hidden || r.State == registry.Unmet {
			counted[r] = true
		}
	}
	for _, r := range s.All {
		if r.State == registry.Available || counted[r] {
			continue
		}
		reason := ""
		if r.State != registry.Shadowed {
			reason = hiddenBecause(r, rules, l)
			if reason == "" {
				reason = "unlisted" // not offered under any name
			}
		}
		hidden = append(hidden, unseen{r, reason})
	}
	return seen, hidden
}

func hiddenBecause(r *registry.Record, rules []filter, l *lens) string {
	for _, f := range rules {
		if detail, yes := f.hides(r, l); yes {
			if detail != "" {
				return f.reason + ": " + detail
			}
			return f.reason
		}
	}
	if r.State == registry.Hidden {
		if len(r.Reasons) > 0 && r.Reasons[0].Code != "manual" {
			return r.Reasons[0].Code
		}
	}
	return ""
}
