package gate

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/shellcmd"
	"github.com/deftskills/deft/internal/toolrule"
)

// Rule is one rule of a person or an operator: "allow Bash(git:*)". The zero Rule is
// a rule that cannot be read.
type Rule struct {
	Verdict Verdict
	Text    string // as written
	// Err says why the rule cannot be read. Such a rule denies as a deny, asks as an
	// ask and allows nothing as an allow: a typo must not open a door.
	Err     error
	pattern toolrule.Pattern
}

// ParseRule reads "allow|ask|deny Tool(specifier)". It always returns a Rule that can
// be used; its Err is set where the text is malformed. Text without one of the three
// words counts as a deny that cannot be read.
func ParseRule(text string) Rule {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	r := Rule{Verdict: Verdict(word), Text: strings.TrimSpace(text)}
	switch r.Verdict {
	case Allow, Ask, Deny:
		r.pattern, r.Err = toolrule.Parse(rest)
	default:
		r.Verdict, r.Err = Deny, fmt.Errorf("rule %q: it begins with none of allow, ask, deny", clip(text))
	}
	if r.Err == nil && r.Verdict == Allow && r.pattern.Name() == "*" {
		r.Err = fmt.Errorf("rule %q: * stands for every tool only where it forbids or asks", clip(text))
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

// ShellEnv is what a judgement of a shell command may know of its surroundings.
type ShellEnv struct {
	Dir  string // where it would run: absolute; "" = no relative path is judged
	Home string // "" = "~/" stands for nothing
	// Programs maps a program's name to absolute paths that are the same program.
	Programs map[string][]string
	// Resolve follows the links of a path; nil = paths are taken as they are.
	Resolve func(string) string
	// Proved counts commands that are proved to read only as covered; Readable says
	// of a path argument whether it may be read without a question, nil = of none.
	Proved   bool
	Readable func(path string) bool
}

// Part is one simple command of a shell command, with its own verdict.
type Part struct {
	Text    string // its words, joined by blanks, unknown ones as "…"
	Verdict Verdict
	Rule    string // the rule that decided, "" = none
	Reason  string // why it is not allowed, "" where it is
}

// BashVerdict is what rules say of a shell command.
type BashVerdict struct {
	Verdict Verdict
	Rule    string // the deciding rule, "" = none matched or several allowed together
	Reason  string
	Parts   []Part
}

// EvalBash judges a command by rules alone; it is pure and starts nothing. Deny beats
// ask beats allow, whatever their length. One command anywhere in the tree is enough
// to deny or to ask; to allow, every command has to be covered, and nothing may stand
// in the line that a rule cannot prove. Without a matching rule the answer is Ask.
// Rules for other tools than the shell count for the files that redirections write.
func EvalBash(rules []Rule, command string, env ShellEnv) BashVerdict {
	script, err := shellcmd.Parse(command)
	e := &shellEval{rules: rules, env: env, script: script}
	if err != nil {
		return e.unread(command, err)
	}
	views := e.views(script, 0)
	for _, v := range []Verdict{Deny, Ask} {
		if rule, why := e.forbids(v, script, views); why != "" {
			return BashVerdict{Verdict: v, Rule: rule, Reason: why}
		}
	}
	if rule, ok := e.everything(); ok && len(script.Commands) > 0 {
		return BashVerdict{Verdict: Allow, Rule: rule}
	}
	out := BashVerdict{Verdict: Allow}
	for _, c := range script.Commands {
		p := e.covered(c)
		if p.Verdict != Allow {
			out.Verdict = Ask
			if out.Reason == "" {
				out.Reason = p.Reason
			}
		}
		out.Parts = append(out.Parts, p)
	}
	if why := e.unproved(script); why != "" {
		out.Verdict, out.Reason = Ask, why
	}
	if len(script.Commands) == 1 && out.Verdict == Allow {
		out.Rule = out.Parts[0].Rule
	}
	return out
}

type shellEval struct {
	rules  []Rule
	env    ShellEnv
	script *shellcmd.Script
}

// unread judges a line that is no shell command: only what is certain without a tree.
func (e *shellEval) unread(command string, err error) BashVerdict {
	call := toolrule.Call{Tool: "bash", Line: command}
	for _, v := range []Verdict{Deny, Ask} {
		for _, r := range e.rules {
			if r.Verdict == v && (r.Err != nil || r.pattern.Denies(call)) {
				return BashVerdict{Verdict: v, Rule: r.Text, Reason: "the rule matches a part of it"}
			}
		}
	}
	if rule, ok := e.everything(); ok {
		return BashVerdict{Verdict: Allow, Rule: rule}
	}
	return BashVerdict{Verdict: Ask, Reason: err.Error()}
}

// everything reports a bare rule for the shell with no deny or ask rule beside it:
// a person who wrote that wants no judgement of parts.
func (e *shellEval) everything() (string, bool) {
	bare := ""
	for _, r := range e.rules {
		switch {
		case r.Err != nil || r.Verdict != Allow && r.pattern.Names("bash"):
			return "", false
		case r.Verdict == Allow && r.pattern.Bare() && r.pattern.Names("bash"):
			bare = r.Text
		}
	}
	return bare, bare != ""
}

// forbids finds a rule of one verdict that matches any view of any command, or the
// target of any redirection.
func (e *shellEval) forbids(v Verdict, script *shellcmd.Script, views [][]string) (rule, why string) {
	for _, r := range e.rules {
		if r.Verdict != v {
			continue
		}
		if r.Err != nil {
			return r.Text, "the rule cannot be read"
		}
		for _, words := range views {
			if r.pattern.Denies(toolrule.Call{Tool: "bash", Commands: [][]string{words}}) {
				return r.Text, fmt.Sprintf("the rule matches %q", clip(strings.Join(words, " ")))
			}
		}
		if len(views) == 0 && r.pattern.Bare() && r.pattern.Names("bash") {
			return r.Text, "the rule matches every command"
		}
		for _, redirect := range script.Redirects {
			if redirect.Copies || !redirect.Target.Fixed {
				continue
			}
			tool := "read"
			if redirect.Writes {
				tool = "write"
			}
			if call, ok := e.fileCall(tool, redirect.Target); ok && r.pattern.Denies(call) {
				return r.Text, fmt.Sprintf("the rule matches the file %q", clip(redirect.Target.Text))
			}
		}
	}
	return "", ""
}

// fileCall describes the target of a redirection as the file tool would be asked.
func (e *shellEval) fileCall(tool string, target shellcmd.Word) (toolrule.Call, bool) {
	p := target.Text
	switch {
	case target.Tilde && strings.HasPrefix(p, "~/") && e.env.Home != "":
		p = path.Join(filepath.ToSlash(e.env.Home), p[2:])
	case target.Tilde || p == "":
		return toolrule.Call{}, false
	case !path.IsAbs(p):
		if e.env.Dir == "" || e.script.Moves {
			return toolrule.Call{}, false
		}
		p = path.Join(filepath.ToSlash(e.env.Dir), p)
	}
	p = path.Clean(p)
	call := toolrule.Call{
		Tool: tool, Paths: []string{p}, Dir: filepath.ToSlash(e.env.Dir), Home: filepath.ToSlash(e.env.Home),
	}
	if e.env.Resolve != nil {
		if real := filepath.ToSlash(e.env.Resolve(p)); real != p {
			call.Paths = append(call.Paths, real)
		}
	}
	return call, true
}

// unproved names what in the whole line no rule can cover.
func (e *shellEval) unproved(script *shellcmd.Script) string {
	if len(script.Refused) > 0 {
		return "it holds " + script.Refused[0]
	}
	for _, r := range script.Redirects {
		if why := e.redirected(r); why != "" {
			return why
		}
	}
	if len(script.Commands) == 0 {
		return "there is no command in it"
	}
	return ""
}

// redirected says why a redirection needs a question, "" where it needs none.
func (e *shellEval) redirected(r shellcmd.Redirect) string {
	switch target := r.Target.Text; {
	case r.Copies:
		return ""
	case !r.Target.Fixed:
		return fmt.Sprintf("the target of %s is not a fixed name", r.Op)
	case strings.HasPrefix(path.Clean(target), "/dev/tcp"), strings.HasPrefix(path.Clean(target), "/dev/udp"):
		return "it opens a connection by a file name"
	case !r.Writes || target == "/dev/null":
		return ""
	}
	call, ok := e.fileCall("write", r.Target)
	if ok {
		for _, rule := range e.rules {
			if rule.Verdict == Allow && rule.Err == nil && !rule.pattern.Bare() && rule.pattern.Covers(call) {
				return ""
			}
		}
	}
	return fmt.Sprintf("it writes %q and no rule for Write covers that", clip(r.Target.Text))
}

// covered judges one simple command for allow.
func (e *shellEval) covered(c shellcmd.Command) Part {
	p := Part{Text: shown(c), Verdict: Ask}
	words := c.Words
	for {
		if p.Reason = e.unsafe(c.Assigns, words); p.Reason != "" {
			return p
		}
		if len(words) == 0 {
			p.Verdict = Allow
			return p
		}
		inner, ok, wraps := unwrapForAllow(words)
		if !wraps {
			break
		}
		if !ok {
			p.Reason = fmt.Sprintf("%s with these options hides what runs", words[0].Text)
			return p
		}
		if inner == nil { // a wrapper without a command: a rule for it is enough
			break
		}
		words, c.Assigns = inner, nil
	}
	fixed := e.fixedWords(words)
	if e.env.Proved && e.readOnly(words) {
		p.Verdict = Allow
		return p
	}
	for _, r := range e.rules {
		if r.Verdict != Allow || r.Err != nil || r.webURL() {
			continue
		}
		if r.pattern.Names("bash") && r.pattern.Covers(toolrule.Call{Tool: "bash", Commands: [][]string{fixed}}) {
			p.Verdict, p.Rule = Allow, r.Text
			return p
		}
	}
	p.Reason = fmt.Sprintf("no rule covers %q", clip(p.Text))
	return p
}

// webURL reports a rule that would take the beginning of an address for a proof. An
// option, a redirect or a user-info part changes where such a command goes.
func (r Rule) webURL() bool {
	spec := strings.ToLower(r.Text)
	return (strings.Contains(spec, "(curl") || strings.Contains(spec, "(wget")) && strings.Contains(spec, "://")
}

// unknownWord stands for a word whose value is not known. No rule can hold it, since
// no shell word holds a NUL.
const unknownWord = "\x00"

func (e *shellEval) fixedWords(words []shellcmd.Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Text
		if !w.Fixed {
			out[i] = w.Text + unknownWord
		}
	}
	if name := e.programName(words[0].Text); name != "" {
		out[0] = name
	}
	return out
}

// programName maps an absolute path that the host vouches for to its program's name.
func (e *shellEval) programName(word string) string {
	if !strings.Contains(word, "/") {
		return word
	}
	for name, paths := range e.env.Programs {
		if slices.Contains(paths, word) {
			return name
		}
	}
	return ""
}

// harmlessVariable reports the few variables that may be set in front of a command.
func harmlessVariable(name string) bool {
	return name == "LANG" || name == "TZ" || name == "NO_COLOR" || strings.HasPrefix(name, "LC_")
}

// unsafe says why no rule can cover a command as it stands, "" where one can.
func (e *shellEval) unsafe(assigns []shellcmd.Assign, words []shellcmd.Word) string {
	for _, a := range assigns {
		if !a.Plain || !a.Value.Fixed || !harmlessVariable(a.Name) {
			return fmt.Sprintf("it sets %q", clip(a.Name))
		}
	}
	if len(words) == 0 {
		return ""
	}
	first := words[0]
	name := e.programName(first.Text)
	switch {
	case !first.Fixed || first.Tilde:
		return "the name of the program is not a fixed word"
	case first.Text == "":
		return "the name of the program is empty"
	case name == "":
		return fmt.Sprintf("%q is a path, and no program of that path is known", clip(first.Text))
	}
	if option, never := shellTables().Never[name]; never && (option == "" || hasOption(words[1:], option)) {
		return fmt.Sprintf("%s runs what no rule can see", name)
	}
	return shellTables().options(name, words[1:])
}

func hasOption(words []shellcmd.Word, option string) bool {
	return slices.ContainsFunc(words, func(w shellcmd.Word) bool { return !w.Fixed || strings.HasPrefix(w.Text, option) })
}

func shown(c shellcmd.Command) string {
	var parts []string
	for _, a := range c.Assigns {
		parts = append(parts, a.Name+"="+a.Value.Text)
	}
	for _, w := range c.Words {
		if !w.Fixed {
			parts = append(parts, w.Text+"…")
			continue
		}
		parts = append(parts, w.Text)
	}
	return strings.Join(parts, " ")
}
