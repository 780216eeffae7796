package session

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// place puts what its commands print, the request's arguments and the names of places
// into the body. Arguments that no placeholder took follow the text.
func (t *Turn) place(ctx context.Context, r Request, c *candidate) (*Refusal, error) {
	values := t.values(r, c)
	run, refusal, err := t.expand(ctx, r, c, values)
	if refusal != nil || err != nil {
		return refusal, err
	}
	o := skill.SubstituteOptions{
		Dialect: t.s.o.Dialect, Declares: values.Declares, Names: values.Names, SkipCode: t.s.o.Dialect != skill.ClaudeCode,
	}
	var used []skill.Used
	c.content = run.Place(func(text string) string {
		if !t.s.literal(c) {
			text, used = skill.Substitute(text, values.Values, o)
		}
		return text
	})
	if i := strings.IndexAny(c.rec.Dir, "\"$`\r\n"); i >= 0 && slices.ContainsFunc(used, func(u skill.Used) bool { return u.Name == "SKILL_DIR" }) {
		c.diags = append(c.diags, skill.Finding("dir_unquotable", "SKILL.md", "directory %q holds %q: a command with it in double quotes reads something else", field(c.rec.Dir), c.rec.Dir[i]))
	}
	taken := run.Argument || slices.ContainsFunc(used, func(u skill.Used) bool { return u.Argument })
	// A form that stays because its word is missing would take other arguments.
	c.act.placeholders = taken || slices.ContainsFunc(used, func(u skill.Used) bool { return !u.Known && isNumber(u.Name) })
	if strings.TrimSpace(r.Args) != "" && !taken && appends(t.s.o.Dialect) {
		c.appended = "ARGUMENTS: " + r.Args
	}
	c.act.TextDigest = digestOf(c.content)
	return nil, nil
}

// values are what the placeholders of the candidate's text stand for.
func (t *Turn) values(r Request, c *candidate) command.Arguments {
	meta := &c.rec.Skill.Meta
	a := command.Arguments{Values: t.s.facts(c), Declares: len(meta.Arguments) > 0 || meta.ArgumentHint != ""}
	if r.HasArgs {
		a.Values["ARGUMENTS"] = r.Args
	}
	words := Words(r.Args)
	for i, w := range words {
		a.Values[strconv.Itoa(i)] = w
	}
	for i, arg := range meta.Arguments {
		if skill.Reserved(arg.Name) {
			c.diags = append(c.diags, skill.Finding("argument_reserved", "SKILL.md", "argument %q: the name stands for something else already", field(arg.Name)))
			continue
		}
		a.Names = append(a.Names, arg.Name)
		a.Values[arg.Name] = arg.Default
		if i < len(words) {
			a.Values[arg.Name] = words[i]
		}
	}
	return a
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
	if from := c.rec.Source; from.Kind == source.PluginK && from.Path != "" {
		values["PLUGIN_ROOT"] = filepath.ToSlash(from.Path)
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
