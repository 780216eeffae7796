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

// ShellEnv is what a judgement of a shell command may know of its surroundings.
type ShellEnv struct {
	Dir  string // where it would run: absolute; "" = no relative path is judged
	Root string // what relative paths of rules count from; "" = Dir
	Home string // "" = "~/" stands for nothing
	// Programs maps a program's name to absolute paths that are the same program.
	Programs map[string][]string
	// Resolve follows the links of a path, "" = it leads nowhere; nil = paths are taken as
	// they are.
	Resolve func(string) string
	// Proved counts commands that are proved to read only as covered; Readable says
	// of a path argument whether it may be read without a question, nil = of none.
	Proved   bool
	Readable func(path string) bool
	// Writing is the tier of writing to a path; nil = AlwaysConfirm.
	Writing func(path string) Tier
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

	by   []Rule // every rule that decided; of an Ask: the ask rule, none where nothing covered
	bare bool   // allowed by a bare rule for the shell
}

// EvalBash judges a command by rules alone; it is pure and starts nothing. Deny beats
// ask beats allow, whatever their length. One command anywhere in the tree is enough
// to deny or to ask; to allow, every command has to be covered, and nothing may stand
// in the line that a rule cannot prove. Without a matching rule the answer is Ask.
// Rules for other tools than the shell count for the files that redirections write.
func EvalBash(rules []Rule, command string, env ShellEnv) BashVerdict {
	return readShell(command, env).judge(rules)
}

// shellEval is one command, read once, and what is asked about it.
type shellEval struct {
	env     ShellEnv
	command string
	script  *shellcmd.Script  // nil where the command cannot be read
	err     error             // why not
	seen    [][]string        // what a deny or ask rule sees of it
	scripts map[string]string // absolute paths of programs that granted skills name, and their one name
	rules   []Rule

	// What was found out about commands and, in wrappers, about those that they run.
	odd      map[*shellcmd.Word]string
	harmless map[*shellcmd.Word]bool
	used     map[string]bool // scripts of granted skills that the command names
}

func readShell(command string, env ShellEnv) *shellEval {
	e := &shellEval{env: env, command: command}
	if e.script, e.err = shellcmd.Parse(command); e.err != nil {
		e.script = nil
		return e
	}
	e.seen = e.views(e.script, 0)
	return e
}

// judge says what rules say of the command.
func (e *shellEval) judge(rules []Rule) BashVerdict {
	e.rules = rules
	if e.script == nil {
		return e.unread()
	}
	for _, v := range []Verdict{Deny, Ask} {
		if rule, why := e.forbids(v); why != "" {
			return BashVerdict{Verdict: v, Rule: rule.Text, Reason: why, by: []Rule{rule}}
		}
	}
	if rule, ok := e.everything(); ok && len(e.script.Commands) > 0 {
		return BashVerdict{Verdict: Allow, Rule: rule.Text, by: []Rule{rule}, bare: true}
	}
	out := BashVerdict{Verdict: Allow}
	for _, c := range e.script.Commands {
		p := e.covered(c)
		if p.Verdict != Allow {
			out.Verdict = Ask
			if out.Reason == "" {
				out.Reason = p.Reason
			}
		}
		out.Parts = append(out.Parts, p.Part)
		out.by = addRule(out.by, p.by)
	}
	why, writes := e.unproved()
	if why != "" {
		out.Verdict, out.Reason = Ask, why
	}
	if out.Verdict != Allow {
		out.by = nil
		return out
	}
	out.by = append(out.by, writes...)
	if len(e.script.Commands) == 1 {
		out.Rule = out.Parts[0].Rule
	}
	return out
}

func addRule(list []Rule, r *Rule) []Rule {
	if r == nil || slices.ContainsFunc(list, func(had Rule) bool { return had.same(*r) }) {
		return list
	}
	return append(list, *r)
}

// unread judges a line that is no shell command: only what is certain without a tree.
func (e *shellEval) unread() BashVerdict {
	call := toolrule.Call{Tool: "bash", Commands: shellcmd.Rough(e.command)}
	for _, v := range []Verdict{Deny, Ask} {
		for _, r := range e.rules {
			if r.Verdict == v && (r.Err != nil || r.pattern.Denies(call)) {
				return BashVerdict{Verdict: v, Rule: r.Text, Reason: "the rule matches a part of it", by: []Rule{r}}
			}
		}
	}
	if rule, ok := e.everything(); ok {
		return BashVerdict{Verdict: Allow, Rule: rule.Text, by: []Rule{rule}, bare: true}
	}
	return BashVerdict{Verdict: Ask, Reason: e.err.Error()}
}

// everything reports a bare rule for the shell with no deny or ask rule beside it:
// a person who wrote that wants no judgement of parts. Neither a project nor a skill
// can say so.
func (e *shellEval) everything() (bare Rule, ok bool) {
	for _, r := range e.rules {
		switch {
		case r.Verdict != Allow && (r.Err != nil || r.pattern.Names("bash")):
			return Rule{}, false
		case r.Verdict == Allow && r.Err == nil && r.sovereign() && r.pattern.Bare() && r.pattern.Names("bash") && !ok:
			bare, ok = r, true
		}
	}
	return bare, ok
}

// forbids finds a rule of one verdict that matches any view of any command, or the
// target of any redirection.
func (e *shellEval) forbids(v Verdict) (rule Rule, why string) {
	for _, r := range e.rules {
		if r.Verdict != v {
			continue
		}
		if r.Err != nil {
			return r, "the rule cannot be read"
		}
		for _, words := range e.seen {
			if r.pattern.Denies(toolrule.Call{Tool: "bash", Commands: [][]string{words}}) {
				return r, fmt.Sprintf("the rule matches %q", clip(strings.Join(words, " ")))
			}
		}
		if len(e.seen) == 0 && r.pattern.Bare() && r.pattern.Names("bash") {
			return r, "the rule matches every command"
		}
		for _, redirect := range e.script.Redirects {
			if redirect.Copies || !redirect.Target.Fixed {
				continue
			}
			tool := "read"
			if redirect.Writes {
				tool = "write"
			}
			if call, _ := e.fileCall(tool, redirect.Target); call.Paths != nil && r.pattern.Denies(r.rooted(call)) {
				return r, fmt.Sprintf("the rule matches the file %q", clip(redirect.Target.Text))
			}
		}
	}
	return Rule{}, ""
}

// fileCall describes the target of a redirection as the file tool would be asked. ok is
// false where nobody can say which file it is; what is known of it stands in the Call.
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
	call := toolrule.Call{Tool: tool, Paths: []string{p}, Dir: filepath.ToSlash(e.env.Root), Home: filepath.ToSlash(e.env.Home)}
	if call.Dir == "" {
		call.Dir = filepath.ToSlash(e.env.Dir)
	}
	if e.env.Resolve != nil {
		switch real := filepath.ToSlash(e.env.Resolve(p)); real {
		case p:
		case "":
			return call, false
		default:
			call.Paths = append(call.Paths, real)
		}
	}
	return call, true
}

// unproved names what in the whole line no rule can cover, and returns the rules that
// cover its redirections.
func (e *shellEval) unproved() (why string, by []Rule) {
	if len(e.script.Refused) > 0 {
		return "it holds " + e.script.Refused[0], nil
	}
	for _, r := range e.script.Redirects {
		why, rule := e.redirected(r)
		if why != "" {
			return why, nil
		}
		by = addRule(by, rule)
	}
	if len(e.script.Commands) == 0 {
		return "there is no command in it", nil
	}
	return "", by
}

// redirected says why a redirection needs a question, "" where it needs none, and which
// rule covers it.
func (e *shellEval) redirected(r shellcmd.Redirect) (string, *Rule) {
	if why := oddTarget(r); why != "" || !writesFile(r) {
		return why, nil
	}
	if call, ok := e.fileCall("write", r.Target); ok {
		for i := range e.rules {
			rule := &e.rules[i]
			if rule.Verdict == Allow && rule.Err == nil && !rule.pattern.Bare() && rule.pattern.Covers(rule.rooted(call)) {
				return "", rule
			}
		}
	}
	return fmt.Sprintf("it writes %q and no rule for Write covers that", clip(r.Target.Text)), nil
}

// oddTarget says what of a redirection's target no rule can cover.
func oddTarget(r shellcmd.Redirect) string {
	switch target := path.Clean(r.Target.Text); {
	case r.Copies:
		return ""
	case !r.Target.Fixed:
		return fmt.Sprintf("the target of %s is not a fixed name", r.Op)
	case strings.HasPrefix(target, "/dev/tcp"), strings.HasPrefix(target, "/dev/udp"):
		return "it opens a connection by a file name"
	}
	return ""
}

func writesFile(r shellcmd.Redirect) bool {
	return r.Writes && !r.Copies && r.Target.Text != "/dev/null"
}

// coverage is a Part with the rule behind it.
type coverage struct {
	Part
	by *Rule
}

// covered judges one simple command for allow.
func (e *shellEval) covered(c shellcmd.Command) coverage {
	p := coverage{Part: Part{Text: shown(c), Verdict: Ask}}
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
	if e.env.Proved && e.readsOnly() && e.readOnly(words) {
		p.Verdict = Allow
		return p
	}
	if p.by = e.ruleFor(words); p.by != nil {
		p.Verdict, p.Rule = Allow, p.by.Text
		return p
	}
	p.Reason = fmt.Sprintf("no rule covers %q", clip(p.Text))
	return p
}

// ruleFor returns the first allow rule whose words are those of the command.
func (e *shellEval) ruleFor(words []shellcmd.Word) *Rule {
	fixed := e.fixedWords(words)
	for i := range e.rules {
		r := &e.rules[i]
		if r.Verdict != Allow || r.Err != nil || r.webURL() || !r.pattern.Names("bash") {
			continue
		}
		words := fixed
		if r.script != "" && fixed[0] == r.script {
			words = append([]string{r.pattern.Program()}, fixed[1:]...)
		}
		if r.pattern.Covers(toolrule.Call{Tool: "bash", Commands: [][]string{words}}) {
			return r
		}
	}
	return nil
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

// programName maps a path that the host vouches for to its program's name, and that of
// a granted skill's script to its absolute path.
func (e *shellEval) programName(word string) string {
	if !strings.Contains(word, "/") {
		return word
	}
	for name, paths := range e.env.Programs {
		if slices.Contains(paths, word) {
			return name
		}
	}
	script := e.scripts[e.absolute(word)]
	if script != "" {
		if e.used == nil {
			e.used = map[string]bool{}
		}
		e.used[script] = true
	}
	return script
}

// absolute is a path of a program as an absolute, clean one, "" where the line does not
// say where it starts from, and for a word that is no path.
func (e *shellEval) absolute(word string) string {
	switch {
	case !strings.Contains(word, "/"):
		return ""
	case path.IsAbs(word):
		return path.Clean(word)
	case e.script.Moves || e.env.Dir == "":
		return ""
	}
	return path.Join(filepath.ToSlash(e.env.Dir), word)
}

// knows lets a path stand for the script of a granted skill.
func (e *shellEval) knows(form, script string) {
	if form == "" {
		return
	}
	if e.scripts == nil {
		e.scripts = map[string]string{}
	}
	e.scripts[form] = script
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
	why, known := e.odd[&words[0]]
	if !known {
		why = e.unsafeWords(words)
		if e.odd == nil {
			e.odd = map[*shellcmd.Word]string{}
		}
		e.odd[&words[0]] = why
	}
	return why
}

func (e *shellEval) unsafeWords(words []shellcmd.Word) string {
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
