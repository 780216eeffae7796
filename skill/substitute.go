package skill

import (
	"slices"
	"strings"
)

// SubstituteOptions says which placeholders of a text are recognised.
type SubstituteOptions struct {
	// Dialect chooses the forms. "" means Deft. ClaudeCode and Blade have their own;
	// MiniMax, Minara, Mastra, AgentSkills and Codex have none.
	Dialect Dialect
	// Declares is true for a skill that declares arguments: only then are $N and
	// $name placeholders (ClaudeCode: $N always).
	Declares bool
	// Names are the declared argument names; a name without a value is empty.
	Names []string
	// SkipCode leaves $N and $name alone in CodeRegions; the other forms are not
	// touched by it. Callers of dialect Deft set it.
	SkipCode bool
	// Quote, when set, is applied to every inserted value: the quoting of a shell
	// around an inline command.
	Quote func(string) string
}

// Used is one placeholder that the text held.
type Used struct {
	Form   string // as written, e.g. "${SKILL_DIR}"
	Name   string // the key of values that it stands for, e.g. "SKILL_DIR", "ARGUMENTS", "0"
	Offset int    // byte offset in the text
	// Known is false for a form that names nothing known or set: it stays as written
	// and is reported as placeholder_unknown.
	Known bool
	// Argument is true when the form took the arguments or one of them.
	Argument bool
}

// Substitute replaces the placeholders of text in one pass from left to right.
// Inserted values are never looked at again.
//
// values holds "ARGUMENTS" (the raw text), the words as "0", "1", …, each declared
// name, and the facts SKILL_DIR, SKILL_NAME, SESSION_ID, PROJECT_DIR, EFFORT,
// PLUGIN_ROOT, PLUGIN_DATA and user_config.KEY. The spellings with CLAUDE_ or DEFT_
// in front find the same facts. Without "ARGUMENTS" the raw text is empty.
func Substitute(text string, values map[string]string, o SubstituteOptions) (string, []Used) {
	switch o.Dialect {
	case "", Deft, ClaudeCode, Blade:
	default:
		return text, nil
	}
	s := substitution{text: text, values: values, o: o}
	if o.Dialect == Blade && values["ARGUMENTS"] == "" {
		return text, nil
	}
	return s.run()
}

type substitution struct {
	text    string
	values  map[string]string
	o       SubstituteOptions
	out     strings.Builder
	done    int // text up to here is in out
	used    []Used
	regions []Region
	known   bool // regions are computed
}

// form is a placeholder found in the text.
type form struct {
	end   int
	used  Used
	value string
	keep  bool // recognised, but stays as written
}

func (s *substitution) run() (string, []Used) {
	t := s.text
	for i := 0; i < len(t); {
		next := nextForm(t[i:])
		if next < 0 {
			break
		}
		i += next
		f, ok := s.at(i)
		if !ok {
			i++
			continue
		}
		f.used.Form, f.used.Offset = t[i:f.end], i
		s.insert(i, f)
		i = f.end
	}
	if s.done == 0 {
		return t, s.used
	}
	s.out.WriteString(t[s.done:])
	return s.out.String(), s.used
}

// nextForm returns the index of the next byte that may start a placeholder.
func nextForm(t string) int {
	dollar := strings.IndexByte(t, '$')
	limit := t
	if dollar >= 0 {
		limit = t[:dollar]
	}
	if brace := strings.Index(limit, "{{"); brace >= 0 {
		return brace
	}
	return dollar
}

// insert writes one form: its value, or itself when it is escaped or stays.
func (s *substitution) insert(at int, f form) {
	slashes := 0
	for slashes < 2 && at-slashes > s.done && s.text[at-slashes-1] == '\\' {
		slashes++
	}
	if s.o.Dialect == Blade {
		slashes = 0
	}
	if f.keep && slashes == 0 {
		s.used = append(s.used, f.used)
		return
	}
	s.out.WriteString(s.text[s.done : at-slashes])
	s.done = f.end
	switch {
	case slashes == 1:
		s.out.WriteString(f.used.Form)
		return
	case slashes == 2:
		s.out.WriteByte('\\')
	}
	s.used = append(s.used, f.used)
	switch {
	case f.keep:
		s.out.WriteString(f.used.Form)
	case s.o.Quote != nil:
		s.out.WriteString(s.o.Quote(f.value))
	default:
		s.out.WriteString(f.value)
	}
}

// at recognises the form that starts at byte i.
func (s *substitution) at(i int) (form, bool) {
	t := s.text
	if t[i] == '{' {
		return s.braces(i)
	}
	if s.o.Dialect == Blade || i+1 == len(t) {
		return form{}, false
	}
	switch c := t[i+1]; {
	case c == '{':
		return s.named(i)
	case strings.HasPrefix(t[i+1:], "ARGUMENTS"):
		return s.arguments(i)
	case c >= '0' && c <= '9':
		return s.positional(i)
	case isWord(c):
		return s.bareName(i)
	}
	return form{}, false
}

// braces recognises {{args}} and {{args.raw}}, blanks inside allowed.
func (s *substitution) braces(i int) (form, bool) {
	if s.o.Dialect == ClaudeCode {
		return form{}, false
	}
	end := strings.Index(s.text[i:min(len(s.text), i+80)], "}}")
	if end < 0 {
		return form{}, false
	}
	switch strings.TrimSpace(s.text[i+2 : i+end]) {
	case "args", "args.raw":
		return s.raw(i + end + 2), true
	}
	return form{}, false
}

func (s *substitution) raw(end int) form {
	return form{end: end, value: s.values["ARGUMENTS"], used: Used{Name: "ARGUMENTS", Known: true, Argument: true}}
}

// arguments recognises $ARGUMENTS and $ARGUMENTS[N].
func (s *substitution) arguments(i int) (form, bool) {
	t := s.text
	end := i + len("$ARGUMENTS")
	if end < len(t) && t[end] == '[' {
		stop := end + 1
		for stop < len(t) && isDigit(t[stop]) {
			stop++
		}
		if stop > end+1 && stop < len(t) && t[stop] == ']' {
			return s.word(t[end+1:stop], stop+1), true
		}
	}
	if end < len(t) && isWord(t[end]) && s.o.Dialect != ClaudeCode {
		return s.bareName(i)
	}
	return s.raw(end), true
}

// word is the form for word number digits; a missing word stays as written.
func (s *substitution) word(digits string, end int) form {
	name := strings.TrimLeft(digits, "0")
	if name == "" {
		name = "0"
	}
	value, ok := s.values[name]
	return form{end: end, value: value, keep: !ok, used: Used{Name: name, Known: ok, Argument: ok}}
}

// facts are the names that ${…} knows beside arguments.
var facts = []string{"SKILL_DIR", "SKILL_NAME", "SESSION_ID", "PROJECT_DIR", "EFFORT", "PLUGIN_ROOT", "PLUGIN_DATA"}

// Reserved reports whether a key of Substitute's values is taken: the raw text, a word, or
// a fact. No argument can have it for its name, since its value would stand for that.
func Reserved(name string) bool {
	digits := name != "" && strings.Trim(name, "0123456789") == ""
	fact, _ := strings.CutPrefix(strings.TrimPrefix(name, "DEFT_"), "CLAUDE_")
	return digits || name == "ARGUMENTS" || slices.Contains(facts, fact) || strings.HasPrefix(name, "user_config.")
}

// named recognises ${NAME}: a fact, a user_config key, or a declared argument.
func (s *substitution) named(i int) (form, bool) {
	end := strings.IndexByte(s.text[i:min(len(s.text), i+160)], '}')
	if end < 0 {
		return form{}, false
	}
	inner := s.text[i+2 : i+end]
	if !isName(inner) {
		return form{}, false
	}
	end += i + 1
	if fact, ok := s.fact(inner); ok {
		value, set := s.values[fact]
		return form{end: end, value: value, keep: !set, used: Used{Name: fact, Known: set}}, true
	}
	if slices.Contains(s.o.Names, inner) {
		return form{end: end, value: s.values[inner], used: Used{Name: inner, Known: true, Argument: true}}, true
	}
	// An unknown form is shell or prose: it stays with its backslashes.
	s.used = append(s.used, Used{Form: s.text[i:end], Name: inner, Offset: i})
	return form{}, false
}

// fact returns the key of values that a name between ${ and } stands for.
func (s *substitution) fact(name string) (string, bool) {
	if strings.HasPrefix(name, "user_config.") {
		return name, true
	}
	neutral, vendor := strings.CutPrefix(name, "CLAUDE_")
	if !vendor && s.o.Dialect == ClaudeCode && !strings.HasPrefix(name, "PLUGIN_") {
		return "", false
	}
	if !vendor && name == "DEFT_SKILL_DIR" {
		neutral = "SKILL_DIR"
	}
	if vendor && neutral == "SKILL_NAME" {
		return "", false
	}
	return neutral, slices.Contains(facts, neutral)
}

// positional recognises $N.
func (s *substitution) positional(i int) (form, bool) {
	t := s.text
	end := i + 1
	for end < len(t) && isDigit(t[end]) {
		end++
	}
	if s.o.Dialect == ClaudeCode {
		return s.word(t[i+1:end], end), true
	}
	switch {
	case !s.o.Declares || end-i > 3 || i > 0 && t[i-1] == '$':
		return form{}, false
	case end < len(t) && (isWord(t[end]) || t[end] >= 0x80 && isLetterAt(t[end:])):
		return form{}, false
	case end+1 < len(t) && (t[end] == ',' || t[end] == '.') && isDigit(t[end+1]):
		return form{}, false
	case s.inCode(i):
		return form{}, false
	}
	return s.word(t[i+1:end], end), true
}

// bareName recognises $name of a declared argument.
func (s *substitution) bareName(i int) (form, bool) {
	t := s.text
	if len(s.o.Names) == 0 || !s.o.Declares && s.o.Dialect != ClaudeCode || i > 0 && t[i-1] == '$' {
		return form{}, false
	}
	// Names may hold hyphens and letters of any script, so the longest one that fits wins.
	best := ""
	for _, name := range s.o.Names {
		if len(name) > len(best) && strings.HasPrefix(t[i+1:], name) && !wordAt(t[i+1+len(name):]) {
			best = name
		}
	}
	if best == "" || s.o.Dialect != ClaudeCode && s.inCode(i) {
		return form{}, false
	}
	return form{end: i + 1 + len(best), value: s.values[best], used: Used{Name: best, Known: true, Argument: true}}, true
}

func (s *substitution) inCode(at int) bool {
	if !s.o.SkipCode {
		return false
	}
	if !s.known {
		s.regions, s.known = CodeRegions([]byte(s.text)), true
	}
	return inCode(s.regions, at)
}
