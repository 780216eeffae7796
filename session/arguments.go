package session

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// place puts the request's arguments and the names of places into the body. What no
// placeholder took follows the text.
func (t *Turn) place(r Request, c *candidate) {
	meta := &c.rec.Skill.Meta
	values := t.s.facts(c)
	if r.HasArgs {
		values["ARGUMENTS"] = r.Args
	}
	words := Words(r.Args)
	for i, w := range words {
		values[strconv.Itoa(i)] = w
	}
	o := skill.SubstituteOptions{
		Dialect:  t.s.o.Dialect,
		Declares: len(meta.Arguments) > 0 || meta.ArgumentHint != "",
		SkipCode: t.s.o.Dialect != skill.ClaudeCode,
	}
	for i, a := range meta.Arguments {
		o.Names = append(o.Names, a.Name)
		values[a.Name] = a.Default
		if i < len(words) {
			values[a.Name] = words[i]
		}
	}
	var used []skill.Used
	if c.content = c.body.Text; !t.s.literal(c) {
		c.content, used = skill.Substitute(c.body.Text, values, o)
	}
	taken := slices.ContainsFunc(used, func(u skill.Used) bool { return u.Argument })
	// A form that stays because its word is missing would take other arguments.
	c.act.placeholders = slices.ContainsFunc(used, func(u skill.Used) bool { return u.Argument || !u.Known && isNumber(u.Name) })
	if strings.TrimSpace(r.Args) != "" && !taken && appends(t.s.o.Dialect) {
		c.appended = "ARGUMENTS: " + r.Args
	}
	t.inline(c)
}

// literal reports whether what a skill says is taken as it stands: dialect blade renders
// nothing of a skill that was given in code.
func (s *Session) literal(c *candidate) bool {
	return s.o.Dialect == skill.Blade && c.rec.Source.Kind == source.DataDef
}

// appends reports whether arguments that nothing took follow the text.
func appends(d skill.Dialect) bool {
	switch d {
	case "", skill.Deft, skill.ClaudeCode, skill.AgentSkills, skill.Codex:
		return true
	}
	return false
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// facts are the values of placeholders that name a place, the session or the skill.
// A name without a value stays as it is written.
func (s *Session) facts(c *candidate) map[string]string {
	values := map[string]string{"SKILL_NAME": c.rec.Skill.Name, "SESSION_ID": s.id}
	if c.rec.Dir != "" {
		values["SKILL_DIR"] = filepath.ToSlash(c.rec.Dir)
	}
	if s.o.ProjectDir != "" {
		values["PROJECT_DIR"] = filepath.ToSlash(s.o.ProjectDir)
	}
	if effort := s.Effective().Effort; effort != "" {
		values["EFFORT"] = effort
	}
	return values
}

// places are the facts under every spelling that a tool pattern may use.
func places(values map[string]string) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"SKILL_DIR", "PROJECT_DIR"} {
		if v, ok := values[name]; ok {
			out[name], out["CLAUDE_"+name], out["DEFT_"+name] = v, v, v
		}
	}
	return out
}

// Words splits raw arguments: blanks separate, '…' is literal, in "…" a backslash
// escapes a quote and a backslash, outside quotes it escapes a blank, a quote or a
// backslash and is an ordinary character else. A quote that nothing closes is an
// ordinary character too.
func Words(raw string) []string {
	var out []string
	var w strings.Builder
	in := false
	end := func() {
		if in {
			out = append(out, w.String())
		}
		w.Reset()
		in = false
	}
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case isBlank(c):
			end()
			continue
		case c == '\\' && i+1 < len(raw) && (isBlank(raw[i+1]) || strings.IndexByte(`'"\`, raw[i+1]) >= 0):
			i++
			w.WriteByte(raw[i])
		case c == '\'' || c == '"':
			text, n := quoted(raw[i:])
			if n == 0 {
				w.WriteByte(c)
				break
			}
			w.WriteString(text)
			i += n - 1
		default:
			w.WriteByte(c)
		}
		in = true
	}
	end()
	return out
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// quoted reads a quoted part at the start of s and returns its text and its length
// with the quotes; 0 = nothing closes it.
func quoted(s string) (string, int) {
	var w strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return w.String(), i + 1
		case s[0] == '"' && s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
		}
		w.WriteByte(s[i])
	}
	return "", 0
}

// inline counts the commands that an author marked to be run while the text is
// loaded. They stay as written, and the load says so once.
func (t *Turn) inline(c *candidate) {
	switch t.s.o.Dialect {
	case "", skill.Deft, skill.ClaudeCode, skill.Blade:
	default:
		return
	}
	n := len(InlineCommands(c.body.Text))
	if n == 0 {
		return
	}
	why := "not supported yet"
	if trust := string(c.rec.Source.Trust); trust != trustTrusted {
		why = "untrusted skill"
	}
	noun := "inline commands were"
	if n == 1 {
		noun = "inline command was"
	}
	c.notes = append(c.notes, fmt.Sprintf("%d %s not run: %s; the text is as it was written", n, noun, why))
}

// InlineCommands returns the commands that a body asks to be run while it is loaded:
// !`…` outside of code, the mark at the start of a line or after a blank, one
// backquote, and another one on the same line.
func InlineCommands(body string) (commands []string) {
	if !strings.Contains(body, "!`") {
		return nil
	}
	regions := skill.CodeRegions([]byte(body))
	for i := 0; ; i++ {
		next := strings.Index(body[i:], "!`")
		if next < 0 {
			return commands
		}
		i += next
		if i > 0 && !isBlank(body[i-1]) || inRegion(regions, i) || inComment(body, i) {
			continue
		}
		rest := body[i+2:]
		line, _, _ := strings.Cut(rest, "\n")
		if command, _, ok := strings.Cut(line, "`"); ok && strings.TrimSpace(command) != "" {
			commands = append(commands, command)
		}
	}
}

func inRegion(regions []skill.Region, at int) bool {
	return slices.ContainsFunc(regions, func(r skill.Region) bool { return r.Start <= at && at < r.End })
}

func inComment(body string, at int) bool {
	open := strings.LastIndex(body[:at], "<!--")
	return open >= 0 && !strings.Contains(body[open:at], "-->")
}
