package gate

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/toolrule"
	"github.com/deftskills/deft/skill"
)

// Layer says whose word a rule is. The zero Layer is that of a rule that was given by
// itself, as on a command line: it counts like a person's.
type Layer string

// The layers of rules, strongest first. A deny of any of them wins over every allow.
const (
	ManagedRules Layer = "managed" // whoever runs the machine
	UserRules    Layer = "user"    // the person's own configuration
	ProjectRules Layer = "project" // a file of the folder that is worked in
	SessionRules Layer = "session" // said in the conversation
)

var layers = [...]Layer{"", ManagedRules, UserRules, ProjectRules, SessionRules}

// Rule is one rule of a person or an operator: "allow Bash(git:*)". The zero Rule is
// a rule that cannot be read.
type Rule struct {
	Verdict Verdict
	Text    string // as written
	// Err says why the rule cannot be read. Such a rule denies as a deny, asks as an
	// ask and allows nothing as an allow: a typo must not open a door.
	Err error

	Layer Layer
	File  string // where it is written; "" = nowhere
	Line  int    // 1-based; 0 = unknown
	// ModelOnly says of a rule for a skill that it binds models; a person may start the skill.
	ModelOnly bool
	Root      string // absolute; what relative paths of the rule count from; "" = the workspace

	pattern toolrule.Pattern
	skill   string // the active skill that brought it, "" = a person did

	// Of a granted skill's rule for a script of its own: the script's absolute path, and
	// where its links lead.
	script, target string
}

// ParseRule reads "allow|ask|deny Tool(specifier)". It always returns a Rule that can
// be used; its Err is set where the text is malformed. Text without one of the three
// words counts as a deny that cannot be read.
func ParseRule(text string) Rule {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch v := Verdict(word); v {
	case Allow, Ask, Deny:
		r := NewRule(v, rest)
		r.Text = strings.TrimSpace(text)
		return r
	}
	return Rule{Verdict: Deny, Text: strings.TrimSpace(text), Err: fmt.Errorf("rule %q: it begins with none of allow, ask, deny", clip(text))}
}

// NewRule reads Tool(specifier) as a rule of one verdict; see ParseRule.
func NewRule(v Verdict, pattern string) Rule {
	r := Rule{Verdict: v, Text: string(v) + " " + strings.TrimSpace(pattern)}
	r.pattern, r.Err = toolrule.Parse(pattern)
	if r.Err == nil && v == Allow && r.pattern.Name() == "*" {
		r.Err = fmt.Errorf("rule %q: * stands for every tool only where it forbids or asks", clip(r.Text))
	}
	return r
}

// ParseRules reads several rules, parted by ";".
func ParseRules(text string) []Rule {
	var out []Rule
	for part := range strings.SplitSeq(text, " ; ") {
		out = append(out, ParseRule(part))
	}
	return out
}

// String names the rule with its place, for messages.
func (r Rule) String() string {
	switch {
	case r.skill != "":
		return fmt.Sprintf("%q of skill %q", r.pattern.String(), clip(r.skill))
	case r.File != "":
		return fmt.Sprintf("%q (%s, %s:%d)", clip(r.Text), r.Layer, r.File, r.Line)
	case r.Layer != "":
		return fmt.Sprintf("%q (%s)", clip(r.Text), r.Layer)
	}
	return fmt.Sprintf("%q", clip(r.Text))
}

func (r Rule) same(o Rule) bool {
	return r.Text == o.Text && r.Layer == o.Layer && r.File == o.File && r.Line == o.Line && r.skill == o.skill
}

// sovereign reports a rule whose word on the whole shell counts.
func (r Rule) sovereign() bool {
	return r.skill == "" && r.Layer != ProjectRules && r.Layer != SessionRules
}

// aboutSkills reports a rule for single skills, which says who may start them. Calls are
// judged by those alone that ask.
func (r Rule) aboutSkills() bool {
	return r.Err == nil && toolrule.Canonical(r.pattern.Name()) == "skill" && !r.pattern.Bare()
}

// ForSkill is the name or glob of a rule Skill(NAME), "" for any other rule.
func (r Rule) ForSkill() string {
	if !r.aboutSkills() {
		return ""
	}
	return r.pattern.Spec()
}

// Strength says how strong the layer of a rule is: 0 is the strongest.
func (r Rule) Strength() int { return slices.Index(layers[:], r.Layer) }

// rooted is the call with relative paths of the rule counted from where it is written.
func (r Rule) rooted(c toolrule.Call) toolrule.Call {
	if r.Root != "" {
		c.Dir = filepath.ToSlash(r.Root)
	}
	return c
}

// TierRule sets or raises the tier of tools.
type TierRule struct {
	Tool   string // a name or a pattern of names, as in rules
	Tier   Tier
	Reason string // for people; an override counts only with one
	Layer  Layer
	File   string
	Line   int
}

// RuleSet is what managed, user, project and session configuration say of tools. The
// zero RuleSet says nothing.
type RuleSet struct {
	Rules []Rule
	// Raises lift the tier of a tool, whoever wrote them; one that is lower than the
	// tool's own says nothing.
	Raises []TierRule
	// Overrides take the place of a tool's own tier, lower ones too. They count in the
	// managed and user layers only, with a reason, and are recorded at each use. What a
	// call itself shows still raises.
	Overrides []TierRule
	// ProjectTrusted says that a person trusts the folder: else its allow rules count for
	// nothing.
	ProjectTrusted bool
	// Programs maps a program's name to absolute paths that are the same program.
	Programs map[string][]string
}

// Diagnostics tells what of the rules cannot count as it was meant: rules that cannot be
// read, addresses that prove nothing, tiers that may not be set there.
func (s RuleSet) Diagnostics() []skill.Diagnostic {
	var out []skill.Diagnostic
	add := func(code, file string, line int, format string, args ...any) {
		d := skill.Finding(code, file, format, args...)
		d.Line = line
		if line > 0 {
			d.Column = 1
		}
		out = append(out, d)
	}
	does := map[Verdict]string{Deny: "it denies every call", Ask: "every call is asked about", Allow: "it allows nothing"}
	for _, r := range s.Rules {
		switch {
		case r.Err != nil:
			add("gate_bad_rule", r.File, r.Line, "rule %q: %v; %s", clip(r.Text), r.Err, does[r.Verdict])
		case r.Verdict == Allow && r.webURL():
			add("gate_rule_url", r.File, r.Line, "rule %q: the beginning of an address proves nothing; it allows nothing", clip(r.Text))
		}
	}
	for _, o := range s.Overrides {
		if why := o.ignored(); why != "" {
			add("gate_tier_override", o.File, o.Line, "tier of %q: %s; it is not changed", clip(o.Tool), why)
		}
	}
	for _, list := range [][]TierRule{s.Raises, s.Overrides} {
		for _, o := range list {
			if _, err := toolrule.Parse(o.Tool); err != nil {
				add("gate_bad_rule", o.File, o.Line, "tier of %q: %v; it counts for every tool where it raises, else for none", clip(o.Tool), err)
			}
		}
	}
	return out
}

// ignored says why an override does not count, "" where it does.
func (o TierRule) ignored() string {
	switch {
	case o.Layer != ManagedRules && o.Layer != UserRules:
		return "only managed and user configuration may set it"
	case strings.TrimSpace(o.Reason) == "":
		return "it needs a reason"
	case o.Tier < ReadOnly || o.Tier > ManualOnly:
		return "it names no tier"
	}
	return ""
}

// fixed returns s with the rules that count, strongest layer first.
func (s RuleSet) fixed() RuleSet {
	s.Rules = slices.DeleteFunc(slices.Clone(s.Rules), func(r Rule) bool {
		return r.aboutSkills() && r.Verdict != Ask || !s.counts(r)
	})
	slices.SortStableFunc(s.Rules, func(a, b Rule) int {
		return a.Strength() - b.Strength()
	})
	s.Overrides = slices.DeleteFunc(slices.Clone(s.Overrides), func(o TierRule) bool { return o.ignored() != "" })
	return s
}

// counts reports whether a rule counts at all: what a folder allows waits for trust.
func (s RuleSet) counts(r Rule) bool {
	return r.Layer != ProjectRules || r.Verdict != Allow || s.ProjectTrusted
}

// ForSkills returns the rules about starting single skills, those that count.
func (s RuleSet) ForSkills() []Rule {
	return slices.DeleteFunc(slices.Clone(s.Rules), func(r Rule) bool {
		return !r.aboutSkills() || r.Verdict == Ask || !s.counts(r)
	})
}

// tier is a tool's own tier as the rules leave it, why it was raised, and the override
// that lowered it.
func (s *RuleSet) tier(tool string, own Tier) (t Tier, raised, lowered string) {
	t = own
	for _, o := range s.Overrides { // the first one counts: managed comes first
		if p, err := toolrule.Parse(o.Tool); err == nil && p.Names(tool) {
			if t = o.Tier; t < own {
				lowered = fmt.Sprintf("%s to %s: %s", own, t, o.Reason)
			} else if t > own {
				raised = "its tier is raised: " + o.Reason
			}
			break
		}
	}
	for _, o := range s.Raises {
		p, err := toolrule.Parse(o.Tool)
		if up := o.Tier.known(); up > t && (err != nil || p.Names(tool)) {
			t, raised = up, "its tier is raised"
			if o.Reason != "" {
				raised += ": " + o.Reason
			}
		}
	}
	return t, raised, lowered
}

// ReadDenied returns what tools that walk folders ask for each file they come to: p and
// every deny rule for reading files have a say.
func (s RuleSet) ReadDenied(p PathPolicy) func(path string) bool {
	var rules []Rule
	for _, r := range s.fixed().Rules {
		if r.Verdict == Deny && r.Err == nil && !r.pattern.Bare() && r.pattern.Names("read") {
			rules = append(rules, r)
		}
	}
	if len(rules) == 0 {
		return p.ReadDenied
	}
	call := toolrule.Call{Tool: "read", Dir: filepath.ToSlash(p.Workspace), Home: filepath.ToSlash(p.Home)}
	return func(file string) bool {
		plain, real, err := p.both(p.Workspace, file)
		if err != nil || p.denied(plain) || p.denied(real) {
			return true
		}
		c := call
		c.Paths = touched{plain: filepath.ToSlash(plain), real: filepath.ToSlash(real)}.forms()
		return slices.ContainsFunc(rules, func(r Rule) bool { return r.pattern.Denies(r.rooted(c)) })
	}
}
