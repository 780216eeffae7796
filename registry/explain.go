package registry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Explanation answers why a name is, or is not, what somebody expects.
type Explanation struct {
	Name        string
	State       State   // of the winner, else of the strongest candidate; "" = nobody has the name
	Winner      *Record // nil = nobody may use the name
	Candidates  []Candidate
	Reasons     []Reason // the primary one first; never empty
	Suggestions []string // addresses with close names, when nothing has this one
}

// Candidate is one record that claims the name.
type Candidate struct {
	Record *Record
	Rank   int    // 1 = first in the order of precedence
	Reason Reason // why it has its place
}

// Looker searches places outside of every source by names only; source.Look is one
// without places of its own.
type Looker func(ctx context.Context, name string, places []source.Place) []source.Skipped

// reasonKinds orders reasons: the first kind that speaks is the primary one. Inside a
// kind the more telling one stands first: unknown is what is left when no place is
// known to hide the skill, and a copy that is equal is a duplicate before it is
// shadowed. winner stands last because it says that nothing is in the way.
var reasonKinds = [...][]string{
	{"elsewhere", "dangling", "link_outside", "link_cycle", "too_deep", "ignored_directory", "nested", "stray", "root_unreadable", "incomplete", "unknown"}, // not found at all
	{"file_special", "limit", "case"},
	{"yaml", "header", "encoding", "stale"},
	{"untrusted", "untrusted_shadow"},
	{"denied", "allow_only", "profile", "off", "plugin_off", "source_off"},
	{"beta", "unmet", "paths", "agent_scope", "region", "mcp_duplicate"},
	{"ambiguous", "duplicate", "shadowed"},
	{"needs_setup"},
	{"fork_agent"}, // said by who knows the kinds of sub-agents
	{"manual", "menu", "unlisted"},
	{"budget"},
	{"winner"},
}

// ReasonCodes returns every code of a Reason, in the order in which they become primary.
func ReasonCodes() []string { return slices.Concat(reasonKinds[:]...) }

func reasonRank(code string) int {
	for i, kind := range reasonKinds {
		if j := slices.Index(kind, code); j >= 0 {
			return i<<8 | j
		}
	}
	return len(reasonKinds) << 8
}

// byCode turns a diagnostic's code into the reason that it is, where they differ.
var byCode = map[string]string{
	"file_special": "file_special", "file_unreadable": "file_special", "file_name": "case",
	"limit_file": "limit", "limit_header": "limit", "limit_nodes": "limit", "limit_depth": "limit",
	"not_utf8": "encoding", "nul_byte": "encoding",
	"yaml_syntax": "yaml", "yaml_tab": "yaml", "yaml_duplicate_key": "yaml", "yaml_not_mapping": "yaml",
	"yaml_documents": "yaml", "yaml_alias": "yaml", "yaml_merge": "yaml", "yaml_tag": "yaml",
}

// diagnosticReason turns the finding that stops a skill into a reason with its place.
func diagnosticReason(d skill.Diagnostic) Reason {
	code := byCode[d.Code]
	if code == "" {
		code = "header"
	}
	where := d.File
	if d.Line > 0 {
		where = fmt.Sprintf("%s:%d", d.File, d.Line)
	}
	return Reason{Code: code, Message: where + ": " + d.Message, Fix: d.Fix, Path: d.File, Line: d.Line, By: d.Message}
}

// Explain answers from the Snapshot alone. Places that discovery does not read are
// not looked at; see ExplainWith.
func (s *Snapshot) Explain(name string) Explanation {
	return s.ExplainWith(context.Background(), name, nil)
}

// ExplainWith is Explain with a look at ignored directories, at the inside of skills
// and at whatever else look adds.
func (s *Snapshot) ExplainWith(ctx context.Context, name string, look Looker) Explanation {
	e := Explanation{Name: name}
	found := s.claiming(name)
	for i, r := range found {
		e.Candidates = append(e.Candidates, Candidate{r, i + 1, primary(reasonsOf(r))})
	}
	for _, r := range found {
		if usable(r) && (e.Winner == nil || e.Winner.Address != e.Winner.Skill.Name) {
			e.Winner = r
		}
	}
	e.Reasons = append(e.Reasons, s.reasons(found, e.Winner)...)
	for _, sk := range s.missing(ctx, name, found, look) {
		e.Reasons = append(e.Reasons, Reason{
			Code: sk.Code, Message: sk.Path + ": " + sk.Message, Fix: fixes[sk.Code], Path: sk.Path, By: sk.Message,
		})
	}
	var several *AmbiguousError
	if _, err := s.Lookup(name); errors.As(err, &several) {
		by := strings.Join(several.Candidates, ", ")
		e.Reasons = append(e.Reasons, Reason{Code: "ambiguous", Message: "several skills are called so: " + by, Fix: "use one of the addresses", By: by})
	}
	if e.Winner != nil {
		e.State = e.Winner.State
		if e.State == Available && len(e.Winner.NeedsSetup()) > 0 {
			e.State = Unmet // its text is offered, its commands are not run
		}
	} else if len(found) > 0 {
		e.State = found[0].State
	}
	if len(found) == 0 {
		if len(e.Reasons) == 0 {
			e.Reasons = append(e.Reasons, s.notFound()...)
			// A person asks: what models may not see is named too.
			e.Suggestions = new(spelling).of(s.All).suggest(name, func(*Record) bool { return true })
		}
	}
	sortReasons(e.Reasons)
	return e
}

// Add adds a reason that only the caller knows, in its place.
func (e *Explanation) Add(why Reason) {
	e.Reasons = append(e.Reasons, why)
	sortReasons(e.Reasons)
}

// usable says whether the record can be used under its address.
func usable(r *Record) bool {
	return r.State == Available || r.State == Unmet || r.State == Hidden
}

// claiming returns every record that a name may mean, in order of precedence.
func (s *Snapshot) claiming(name string) []*Record {
	var out []*Record
	add := func(rs ...*Record) {
		for _, r := range rs {
			if r != nil && !slices.Contains(out, r) {
				out = append(out, r)
			}
		}
	}
	add(s.index().key.find(fold.Key(name))...)
	if h := fold.Handle(name); h != "" {
		add(s.index().handle.find(h)...)
	}
	add(s.index().dirName.find(name)...)
	if r, err := s.Lookup(name); err == nil {
		add(r)
	}
	return out
}

// reasonsOf returns what is to say about one record, not only what decided its state.
func reasonsOf(r *Record) []Reason {
	rs := slices.Clone(r.Reasons)
	for _, d := range r.Skill.Diagnostics {
		if d.Code == "file_name" {
			rs = append(rs, diagnosticReason(d))
		}
	}
	if usable(r) && !r.Skill.Meta.UserInvocable && r.Skill.Origin("user-invocable").File != "" {
		rs = append(rs, Reason{
			Code: "menu", Message: "it is not in a person's menu: user-invocable is false", Fix: "start it with /" + r.Skill.Handle,
			Path: place(r), By: "user-invocable",
		})
	}
	if usable(r) && !slices.ContainsFunc(rs, func(x Reason) bool { return x.Code == "untrusted_shadow" }) {
		rs = append(rs, Reason{
			Code: "winner", Message: fmt.Sprintf("%s of %s has the name", place(r), r.Source.ID), Path: place(r), By: r.Source.ID,
		})
	}
	return rs
}

func primary(rs []Reason) Reason {
	if len(rs) == 0 {
		return Reason{}
	}
	sortReasons(rs)
	return rs[0]
}

func sortReasons(rs []Reason) {
	slices.SortStableFunc(rs, func(a, b Reason) int { return reasonRank(a.Code) - reasonRank(b.Code) })
}

// reasons gathers those of the records. Where the name has a winner, what is wrong
// with other copies is told by the candidates.
func (s *Snapshot) reasons(found []*Record, winner *Record) []Reason {
	var out []Reason
	for _, r := range found {
		if winner != nil && r != winner && r.State != Shadowed {
			continue
		}
		for _, why := range reasonsOf(r) {
			if why.Code == "shadowed" {
				why.Message = place(r) + " is " + why.Message
			}
			if !slices.Contains(out, why) {
				out = append(out, why)
			}
		}
	}
	return out
}

// missing returns the places that look like the skill and are none. They are asked
// only where no usable record answers for the name.
func (s *Snapshot) missing(ctx context.Context, name string, found []*Record, look Looker) []source.Skipped {
	if len(found) > 0 {
		return nil
	}
	var out []source.Skipped
	var places []source.Place
	for _, sk := range s.Skipped {
		switch {
		case sk.Code == "ignored_directory":
			places = append(places, source.Place{Path: sk.Path, Code: sk.Code})
		case strings.EqualFold(sk.Name, name):
			out = append(out, sk)
		}
	}
	if len(out) > 0 || look == nil || name == "" || hostile(name) {
		return out
	}
	for _, r := range s.All {
		if r.Dir != "" {
			places = append(places, source.Place{Path: r.Dir, Code: "nested"})
		}
	}
	return look(ctx, name, places)
}

var fixes = map[string]string{
	"elsewhere":         "add the directory as a source or enable its client",
	"dangling":          "remove the link or restore its target",
	"link_outside":      "copy the target into the project or add its folder as a source",
	"link_cycle":        "remove the link",
	"too_deep":          "move the skill nearer to its root",
	"ignored_directory": "move it out of the ignored directory",
	"source_off":        "turn the source on in skills.external or skills.sources",
	"plugin_off":        "enable the plugin",
	"agent_scope":       "run as that agent, or move the skill to a folder that all agents read",
	"nested":            "move it beside the skill that holds it",
	"stray":             "move it into a folder of its own",
}

// notFound names the roots that were searched, in order, and what may hide there.
func (s *Snapshot) notFound() []Reason {
	var roots []string
	for _, r := range s.sources {
		at := r.Path
		if at == "" {
			at = r.ID
		}
		roots = append(roots, filepath.ToSlash(at))
	}
	searched := strings.Join(roots, ", ")
	out := []Reason{{
		Code: "unknown", Message: "no skill has this name; searched " + searched, Fix: "check the spelling or add a source", By: searched,
	}}
	for _, d := range s.Diagnostics {
		if d.Code == "root_unreadable" {
			out = append(out, Reason{
				Code: "root_unreadable", Message: "no skill that can be seen has this name, and a folder cannot be read: " + d.File + ": " + d.Message,
				Fix: d.Fix, Path: d.File, By: d.Message,
			})
		}
	}
	if !s.Complete && len(out) == 1 {
		out = append(out, Reason{
			Code: "incomplete", Message: "no skill that was listed has this name, and the list is incomplete: a limit was reached", Fix: "see the diagnostics",
		})
	}
	return out
}
