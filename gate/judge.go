package gate

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/toolrule"
	"github.com/deftskills/deft/skill"
)

// touched is one path that a call names, as given and with links followed.
type touched struct {
	write       bool
	plain, real string // absolute, slash-separated
}

// subject is one call as rules see it.
type subject struct {
	tool  string
	any   bool // the question is whether the tool could be called at all
	call  toolrule.Call
	files []touched
	shell *shellEval // of a shell tool with a command

	commands [][]string // that it counts as where something is asked or denied

	approved []Rule // by active skills, in advance
}

// subject describes a call to the rules.
func (e *engine) subject(f *facts, object map[string]any, anyArgs bool) *subject {
	c := f.call
	s := &subject{tool: c.Tool, any: anyArgs, files: f.files, approved: e.approved(c)}
	s.call = toolrule.Call{Tool: c.Tool, Dir: filepath.ToSlash(e.o.Paths.Workspace), Home: filepath.ToSlash(e.o.Paths.Home)}
	if s.call.Dir == "" {
		s.call.Dir = filepath.ToSlash(c.Dir)
	}
	for _, t := range f.files {
		s.call.Paths = append(s.call.Paths, t.forms()...)
	}
	if address, ok := object["url"].(string); ok && toolrule.Canonical(c.Tool) == "web_fetch" {
		if u, err := url.Parse(address); err == nil {
			s.call.Host = strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") // the same host
		}
	}
	if toolrule.Canonical(c.Tool) == "skill" {
		s.call.Skills = skillNames(object)
	}
	if f.tool.Commands != nil && !anyArgs && f.argsFault == nil {
		s.commands = f.tool.Commands(c)
	}
	if f.tool.Shell != "" && !anyArgs && f.argsFault == nil {
		command, _ := object[f.tool.Shell].(string)
		s.shell = readShell(command, e.shellEnv(c, object))
		for _, r := range s.approved {
			s.shell.knows(r.script, r.script)
			s.shell.knows(r.target, r.script)
		}
	}
	return s
}

// skillNames are the skills that a call would start, in whichever argument they stand.
func skillNames(object map[string]any) []string {
	name, _ := object["name"].(string)
	other, _ := object["skill"].(string)
	list, _ := object["ids"].([]any)
	var more []string
	for _, v := range list {
		if id, ok := v.(string); ok {
			more = append(more, id)
		}
	}
	return toolrule.Names(name, other, more)
}

func (t touched) forms() []string {
	if t.plain == t.real {
		return []string{t.plain}
	}
	return []string{t.plain, t.real}
}

// shellEnv is what a shell command of the call may know.
func (e *engine) shellEnv(c Call, object map[string]any) ShellEnv {
	p := e.o.Paths
	env := ShellEnv{Dir: startDir(c, object), Root: p.Workspace, Home: p.Home, Programs: e.rules.Programs, Proved: true}
	links := newFollower(p)
	env.Resolve = func(file string) string { return filepath.ToSlash(links.real(filepath.FromSlash(file))) }
	reads, writes := map[string]Tier{}, map[string]Tier{}
	tier := func(known map[string]Tier, file string, write bool) Tier {
		t, ok := known[file]
		if !ok {
			if t = p.tier(file, write, c.Skills); p.denied(file) {
				t = ManualOnly
			}
			known[file] = t
		}
		return t
	}
	env.Readable = func(file string) bool { return tier(reads, file, false) == ReadOnly }
	env.Writing = func(file string) Tier { return tier(writes, file, true) }
	return env
}

// startDir is where a shell command starts.
func startDir(c Call, object map[string]any) string {
	dir, given := object["dir"].(string)
	if !given {
		dir, _ = object["workdir"].(string)
	}
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(c.Dir, dir)
}

// matches reports whether a deny or ask rule is about the call: one form of one path, or
// one command of a line, is enough. What changes a file obeys the rules for Write and
// what reads one those for Read, whatever tool it is.
func (s *subject) matches(r Rule) bool {
	switch {
	case r.Err != nil:
		return true
	case s.any:
		return r.pattern.Bare() && r.pattern.Names(s.tool)
	case s.shell != nil:
		a := s.judgeShell([]Rule{r})
		return a.denied != nil || a.asked != nil
	case r.pattern.Denies(r.rooted(s.call)):
		return true
	case r.pattern.Bare():
		return false
	case len(s.commands) > 0 && r.pattern.Denies(toolrule.Call{Tool: "bash", Commands: s.commands}):
		return true
	}
	for _, t := range s.files {
		c := s.call
		c.Tool, c.Paths = "read", t.forms()
		if t.write {
			c.Tool = "write"
		}
		if r.pattern.Denies(r.rooted(c)) {
			return true
		}
	}
	return false
}

// Names implements Namer.
func (e *engine) Names(c Call, patterns []string) bool {
	tools := e.o.Tools.now.Load()
	f := &facts{call: c, tool: tools.tools[c.Tool]}
	object, args, bad := tools.checkArgs(c.Tool, c.Args)
	f.call.Args, f.argsFault = args, bad
	e.touches(f, object)
	s := e.subject(f, object, false)
	return slices.ContainsFunc(patterns, func(p string) bool { return s.matches(NewRule(Deny, p)) })
}

// covers reports whether an allow rule is about all of the call.
func (s *subject) covers(r Rule) bool {
	switch {
	case r.Err != nil:
		return false
	case s.any:
		return r.pattern.Bare() && r.pattern.Names(s.tool)
	}
	return r.pattern.Covers(r.rooted(s.call))
}

// answer is what all rules together say of a call.
type answer struct {
	denied, asked *Rule
	covered       bool
	bare          bool   // by a bare rule for the shell
	rule          []Rule // that cover it; none where it is proved to only read
	why           string // of denied and asked
	parts         []Part
}

// judge puts the call to rules, allow rules of skills among them.
func (s *subject) judge(rules []Rule) answer {
	if s.shell != nil {
		return s.judgeShell(rules)
	}
	var a answer
	for i := range rules {
		r := &rules[i]
		switch {
		case r.Verdict == Deny && a.denied == nil && s.matches(*r):
			a.denied = r
		case r.Verdict == Ask && a.asked == nil && s.matches(*r):
			a.asked = r
		case r.Verdict == Allow && !a.covered && s.covers(*r):
			a.covered, a.rule = true, []Rule{*r}
		}
	}
	return a
}

func (s *subject) judgeShell(rules []Rule) answer {
	// A rule may name the tool by a name of its own, or by a pattern of that.
	byName := func(v Verdict) *Rule {
		i := slices.IndexFunc(rules, func(r Rule) bool {
			return r.Verdict == v && r.Err == nil && r.pattern.Bare() && r.pattern.Names(s.tool)
		})
		if i < 0 {
			return nil
		}
		return &rules[i]
	}
	if r := byName(Deny); r != nil {
		return answer{denied: r}
	}
	v := s.shell.judge(rules)
	a := answer{parts: v.Parts, why: v.Reason}
	switch {
	case v.Verdict == Allow:
		a.covered, a.rule, a.bare = true, v.by, v.bare
	case len(v.by) == 0:
	case v.Verdict == Deny:
		a.denied = &v.by[0]
	default:
		a.asked = &v.by[0]
	}
	if r := byName(Ask); r != nil && a.denied == nil && a.asked == nil {
		return answer{asked: r, parts: a.parts}
	}
	return a
}

// leans are the rules of skills that cover the call, and those whose script it names.
func (s *subject) leans(a answer) []Rule {
	out := slices.DeleteFunc(slices.Clone(a.rule), func(r Rule) bool { return r.skill == "" })
	if s.shell == nil {
		return out
	}
	for _, r := range s.approved {
		if r.script != "" && s.shell.used[r.script] {
			out = append(out, r)
		}
	}
	return out
}

// Who covers a call.
const (
	fromRules = "rule"
	fromSkill = "skill"
)

// from says who covers the call: a skill where anything of it needs the skill's word, ""
// where nobody does.
func (a answer) from() string {
	switch {
	case !a.covered || len(a.rule) == 0:
		return ""
	case slices.ContainsFunc(a.rule, func(r Rule) bool { return r.skill != "" }):
		return fromSkill
	}
	return fromRules
}

func (a answer) by(who string) bool { return a.from() == who }

// rules names what covers the call.
func (a answer) rules() string {
	texts := make([]string, len(a.rule))
	for i, r := range a.rule {
		texts[i] = r.Text
	}
	return strings.Join(texts, " ; ")
}

// because names a rule that denies or asks, and what of the call it is about.
func (a answer) because(words string, r *Rule) string {
	if r.Err != nil {
		return words + r.String() + ", which cannot be read: " + r.Err.Error()
	}
	if a.why != "" {
		return words + r.String() + ": " + a.why
	}
	return words + r.String()
}

// noApproval says who spares the question; other is said where nobody has to.
func (a answer) noApproval(other string) string {
	switch a.from() {
	case fromRules:
		return "no approval needed by the rule " + a.rule[0].String()
	case fromSkill:
		for _, r := range a.rule {
			if r.skill != "" {
				return fmt.Sprintf("no approval needed while skill %q is active (rule %q)", clip(r.skill), r.pattern.String())
			}
		}
	}
	return other
}

// approved are the rules that active skills approve in advance.
func (e *engine) approved(c Call) []Rule {
	var out []Rule
	for _, s := range c.Skills {
		if s.Mode == PreApprove && s.Granted && s.Source != HostSource {
			out = append(out, e.preApprovals(c, s)...)
		}
	}
	return out
}

// preApprovals are the rules of a granted skill's header. One for every command of the
// shell is none: who wants that has to say so in their own configuration.
func (e *engine) preApprovals(c Call, s ActiveSkill) []Rule {
	var out []Rule
	for _, entry := range s.Allow.Entries {
		r := NewRule(Allow, entry)
		if r.Err != nil || BroadGrant(entry) {
			continue
		}
		r.skill = s.Name
		r.script, r.target = e.ownScript(c, s, r)
		out = append(out, r)
	}
	return out
}

// BroadGrant reports an entry of a skill's list that stands for every shell command: it
// approves nothing in advance, whoever granted the skill.
func BroadGrant(entry string) bool {
	p, err := toolrule.Parse(entry)
	return err == nil && p.Names("bash") && p.Everything()
}

// ownScript is the path of the script in the skill's own folder that a rule names as its
// program, "" if it names none. The grant is bound to the bytes in that folder, so the
// script is the one that a person saw.
func (e *engine) ownScript(c Call, s ActiveSkill, r Rule) (plain, real string) {
	word := r.pattern.Program()
	if s.Dir == "" || !strings.Contains(word, "/") || !r.pattern.Names("bash") {
		return "", ""
	}
	dir := e.o.Paths.Workspace
	if dir == "" {
		dir = c.Dir
	}
	plain, real, err := e.o.Paths.both(dir, filepath.FromSlash(word))
	if err != nil || !e.o.Paths.holds(s.Dir, plain) || !e.o.Paths.holds(s.Dir, real) {
		return "", ""
	}
	return filepath.ToSlash(plain), filepath.ToSlash(real)
}

// memoryParts are what a person's "for this session" stands for beside the tool: the
// directories of its files, program and first word of each command, or the host.
func (s *subject) memoryParts(dirs []string) []string {
	if s.call.Host != "" {
		dirs = append(dirs, "host "+s.call.Host)
	}
	if s.shell == nil || s.shell.script == nil {
		return dirs
	}
	dirs = append(dirs, s.shell.env.Dir)
	for _, c := range s.shell.script.Commands {
		if prefix := s.shell.prefix(c); prefix != "" && !slices.Contains(dirs, prefix) {
			dirs = append(dirs, prefix)
		}
	}
	return dirs
}

// refusal says which active skill refuses the call, "" if none does. Every deny list
// counts, and every restricting allow list must cover the call: which of several
// lists is in force is the session's to say, and it hands over no others.
func refusal(f *facts, s *subject) string {
	c := f.call
	if len(c.Skills) == 0 {
		return ""
	}
	steers := f.tool.Steers || toolrule.AlwaysCallable(c.Tool)
	for _, k := range c.Skills {
		if k.Source != HostSource && steers {
			continue
		}
		for _, entry := range k.Deny {
			if s.matches(NewRule(Deny, entry)) {
				return fmt.Sprintf("skill %q disallows %s (rule %q)", k.Name, c.Tool, entry)
			}
		}
		if k.Mode != Restrict || !k.Allow.Declared || len(k.Allow.Entries) == 0 {
			continue
		}
		if !s.within(k.Allow) {
			return fmt.Sprintf("%s is not among the tools of skill %q", c.Tool, k.Name)
		}
	}
	return ""
}

// within reports whether a restricting list names the call: all of it. What it names is
// not allowed by that; the other rules decide.
func (s *subject) within(list skill.ToolList) bool {
	if s.any {
		return toolrule.ParseList(list.Entries).Mentions(s.tool)
	}
	var rules []Rule
	for _, entry := range list.Entries {
		r := NewRule(Allow, entry)
		if s.shell == nil && s.covers(r) {
			return true
		}
		rules = append(rules, r)
	}
	return s.shell != nil && s.shell.named(rules)
}

// HostSource, as a Source, marks an ActiveSkill that speaks for the host: its word binds the tools
// that steer skills too.
const HostSource = "host"
