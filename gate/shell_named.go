package gate

import (
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/shellcmd"
	"github.com/deftskills/deft/internal/toolrule"
)

// named reports whether the entries of a restricting list name every command of the line,
// and Write entries every file that it writes. Naming asks for less proof than allowing:
// what is named still meets the gate's other rules. Commands that are proved to only read
// need no entry beside one that is named.
func (e *shellEval) named(rules []Rule) bool {
	e.rules = rules
	if slices.ContainsFunc(rules, func(r Rule) bool { return r.Err == nil && r.pattern.Names("bash") && r.pattern.Bare() }) {
		return true
	}
	if e.script == nil || len(e.script.Refused) > 0 {
		return false
	}
	for _, r := range e.script.Redirects {
		if why, _ := e.redirected(r); why != "" {
			return false
		}
	}
	some := false
	for _, c := range e.script.Commands {
		entry, ok := e.names(c)
		if !ok {
			return false
		}
		some = some || entry
	}
	return some
}

// names reports whether one command is named, and whether an entry does it.
func (e *shellEval) names(c shellcmd.Command) (entry, ok bool) {
	for _, a := range c.Assigns {
		if !a.Plain || !a.Value.Fixed || !harmlessVariable(a.Name) {
			return false, false
		}
	}
	words := c.Words
	for len(words) > 0 {
		if !words[0].Fixed || words[0].Tilde || words[0].Text == "" {
			return false, false
		}
		if e.wordsNamed(words) {
			return true, true
		}
		inner, known, wraps := unwrapForAllow(words)
		if !wraps || !known || inner == nil {
			break
		}
		words = inner
	}
	if len(words) == 0 {
		return false, true // a harmless assignment alone
	}
	return false, e.readsOnly() && e.unsafe(nil, words) == "" && e.readOnly(words)
}

func (e *shellEval) wordsNamed(words []shellcmd.Word) bool {
	fixed := make([]string, len(words))
	for i, w := range words {
		fixed[i] = w.Text
		if !w.Fixed {
			fixed[i] += unknownWord
		}
	}
	return slices.ContainsFunc(e.rules, func(r Rule) bool {
		if r.Err != nil || !r.pattern.Names("bash") {
			return false
		}
		words := fixed
		if program := r.pattern.Program(); e.absolute(program) != "" && e.absolute(program) == e.absolute(fixed[0]) {
			words = append([]string{program}, fixed[1:]...)
		}
		return r.pattern.Covers(toolrule.Call{Tool: "bash", Commands: [][]string{words}})
	})
}

// prefix is what a session remembers of a command that a person approved: its program and
// the first word that is no option. Commands that are proved to only read need no consent.
func (e *shellEval) prefix(c shellcmd.Command) string {
	words := c.Words
	for {
		if len(words) == 0 {
			return ""
		}
		inner, known, wraps := unwrapForAllow(words)
		if !wraps || !known || inner == nil {
			break
		}
		words = inner
	}
	if e.unsafe(c.Assigns, words) == "" && e.readOnly(words) {
		return ""
	}
	for _, w := range words[1:] {
		if !w.Fixed || w.Text != "" && !strings.HasPrefix(w.Text, "-") {
			return "command " + words[0].Text + " " + w.Text
		}
	}
	return "command " + words[0].Text
}
