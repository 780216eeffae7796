package command

import (
	"slices"
	"time"

	"github.com/deftskills/deft/skill"
)

// Mode is what one side says about commands.
type Mode string

// The modes. Everything else, "" too, counts as Deny.
const (
	Allow   Mode = "allow"
	Deny    Mode = "deny"
	Inherit Mode = "inherit" // of a source: allow where the skill is trusted, else deny
)

// Policy is what the host says of commands in general, or what it says of one source.
type Policy struct {
	Mode    Mode
	List    List
	Trusted bool   // of a source: by its kind, or by a grant on the skill's tree digest
	Off     string // why a Deny is one, for people; "" = the side's own words
}

// Why commands of a text stay as written.
const (
	OffHost      = "turned off"
	OffUntrusted = "untrusted skill"
	OffSource    = "source policy"
	OffData      = "data skill"
	OffDir       = "no working directory"
)

// sourceModes are the defaults by kind of source. A kind that is not here denies.
var sourceModes = map[string]Mode{
	"managed": Allow, "user": Allow, "builtin": Allow, "global": Allow,
	"project": Inherit, "workspace": Inherit, "agent": Inherit, "plugin": Inherit, "package": Inherit,
	"mcp": Deny, "data": Deny,
}

// Origin is where a skill came from, as far as its commands depend on it.
type Origin struct {
	Kind, Trust string // of the source
	Granted     bool   // a person granted this very content
	Data        bool   // the host's switch for a skill given in code
	Mode        Mode   // the source's own; "" = that of its kind
}

// SourcePolicy is the policy of a skill's source: its own or that of its kind, as far as
// the skill is trusted. A skill whose code nobody trusts is denied, whatever its source
// allows.
func SourcePolicy(o Origin) Policy {
	p := Policy{Mode: sourceModes[o.Kind], Trusted: o.Trust == "trusted" || o.Granted}
	switch {
	case o.Kind == "data" && o.Data:
		p.Mode = Inherit
	case o.Kind == "data":
		p.Off = OffData
	}
	if o.Mode != "" && p.Off == "" {
		p.Mode = o.Mode
	}
	if p.Mode == Allow && !p.Trusted {
		p.Mode = Inherit
	}
	switch o.Trust {
	case "untrusted", "pending", "denied", "":
		p.Mode, p.Trusted, p.Off = Deny, false, OffUntrusted
	}
	return p
}

// Rule is what may run: nothing where On is false, else what List admits.
type Rule struct {
	On          bool
	Why         string // of a rule that is off: one of the Off texts
	List        List   // unset and All: every command, by a shell; Limited: from words, without one
	Program     string // sh where nothing else is named
	OnError     OnError
	Timeout     time.Duration // 0 = the dialect's
	Parallel    bool
	Diagnostics []skill.Diagnostic
}

// Effective is the intersection of what host and source allow and what the skill
// declares: a skill can only narrow. It is pure.
func Effective(host, source Policy, d Decl) Rule {
	r := Rule{Program: d.Program, OnError: d.OnError, Timeout: d.Timeout, Parallel: d.Parallel}
	if r.Program == "" {
		r.Program = "sh"
	}
	if r.OnError == "" {
		r.OnError = Placeholder
	}
	declared := d.List
	if declared.All && source.Mode != Allow {
		declared = List{}
		r.Diagnostics = append(r.Diagnostics, skill.Finding("shell_all_ignored", "", "shell: all counts only where the source is allowed to run everything"))
	}
	switch {
	case host.Mode != Allow:
		r.Why = or(host.Off, OffHost)
	case source.Mode == Inherit && !source.Trusted:
		r.Why = or(source.Off, OffUntrusted)
	case source.Mode != Allow && source.Mode != Inherit:
		r.Why = or(source.Off, OffSource)
	case !d.Enabled:
		r.Why = OffHost
	default:
		r.On = true
	}
	if r.On {
		r.List = host.List.And(source.List).And(declared)
	}
	return r
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// limits reports whether a list admits only what its prefixes do.
func (l List) limits() bool { return l.Limited || len(l.Prefixes) > 0 }

// And is the intersection of two lists. Of two prefixes the longer one is left if the
// other is its beginning, word by word; else nothing is.
func (l List) And(m List) List {
	switch {
	case !l.limits() && !m.limits():
		return List{All: l.All || m.All}
	case !l.limits():
		return List{Limited: true, Prefixes: m.Prefixes}
	case !m.limits():
		return List{Limited: true, Prefixes: l.Prefixes}
	}
	out := List{Limited: true}
	add := func(p string) {
		if !slices.Contains(out.Prefixes, p) {
			out.Prefixes = append(out.Prefixes, p)
		}
	}
	for _, a := range l.Prefixes {
		for _, b := range m.Prefixes {
			wa, wb := prefixWords(a), prefixWords(b)
			switch {
			case begins(wa, wb):
				add(a)
			case begins(wb, wa):
				add(b)
			}
		}
	}
	return out
}

// admits reports whether some prefix's words are the first of a command.
func (l List) admits(words []string) bool {
	return !l.limits() || slices.ContainsFunc(l.Prefixes, func(p string) bool { return begins(words, prefixWords(p)) })
}

// begins reports whether words start with prefix. No words are no prefix.
func begins(words, prefix []string) bool {
	return len(prefix) > 0 && len(words) >= len(prefix) && slices.Equal(words[:len(prefix)], prefix)
}
