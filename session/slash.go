package session

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/deftskills/deft/skill"
)

// CleanName removes what models and people put around a name: blanks, one pair of
// quotes or backquotes, one leading "/" or "$".
func CleanName(name string) string {
	name = strings.TrimSpace(name)
	if n := len(name); n >= 2 && name[0] == name[n-1] && strings.ContainsRune("\"'`", rune(name[0])) {
		name = strings.TrimSpace(name[1 : n-1])
	}
	if len(name) > 1 && (name[0] == '/' || name[0] == '$') && !strings.ContainsAny(name[1:], `/\`) {
		name = name[1:] // "/deploy", but not "/home/me/skills/deploy"
	}
	return strings.TrimSpace(name)
}

// maxStacked is how many slash names one message may start.
const maxStacked = 6

// Slash takes the leading slash names off a message: "/a /b rest of the line". known
// says whether a name is a skill; the first word that is none ends the names. args
// is the rest of the first line, trimmed. names is nil where the message starts no
// skill, and unknown then holds the first slash word, if it has the form of a name.
func Slash(text string, known func(name string) bool) (names []string, args, unknown string) {
	line, _, _ := strings.Cut(strings.TrimLeftFunc(text, unicode.IsSpace), "\n")
	rest := strings.TrimRight(line, "\r")
	for len(names) < maxStacked && strings.HasPrefix(rest, "/") {
		word, after := rest[1:], ""
		if i := strings.IndexFunc(word, unicode.IsSpace); i >= 0 {
			word, after = word[:i], word[i:]
		}
		if word == "" || strings.Contains(word, "/") || !known(word) {
			if len(names) == 0 && word != "" && !strings.Contains(word, "/") {
				unknown = word
			}
			break
		}
		names = append(names, word)
		rest = strings.TrimLeftFunc(after, unicode.IsSpace)
	}
	if names == nil {
		return nil, "", unknown
	}
	return names, strings.TrimSpace(rest), ""
}

// reminded is a leading slash name as dialect minimax takes it: ASCII, with at most one
// plugin prefix, and nothing but white space behind it.
var reminded = regexp.MustCompile(`^\s*/([A-Za-z0-9._-]+(?::[A-Za-z0-9._-]+)?)(?:\s|$)`)

// Reminder is what precedes the message of a dialect that leaves slash names to the
// model: the first of the turn's messages that begins with one decides. find returns
// the skill's own name. "" where no message asks for a skill. tool is the name under
// which the model loads skills.
func Reminder(messages []string, tool string, find func(name string) (own string, ok bool)) string {
	for _, text := range messages {
		m := reminded.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		own, ok := find(m[1])
		if !ok {
			return ""
		}
		return fmt.Sprintf("<system-reminder>\nThe user explicitly requested the `%s` skill. Load it with the `%s` tool and follow it.\n</system-reminder>", own, tool)
	}
	return ""
}

// quotedNames finds text in quotes or code marks with the word for skill beside it.
var quotedNames = regexp.MustCompile("(?i)(?:(?:skill|技能)\\s*[:：]?\\s*[\"'`“‘「]([^\"'`”’」\n]+)[\"'`”’」])|(?:[\"'`“‘「]([^\"'`”’」\n]+)[\"'`”’」]\\s*(?:skill|技能))")

// Mentions reports whether a person's message asks for the skill by name: a name
// that holds a hyphen as a whole word, any name before or after the word skill, or
// as a leading slash name. Words of a model or a file must not be passed.
func Mentions(text, name string) bool {
	if text == "" || name == "" {
		return false
	}
	fold := strings.ToLower
	text, name = fold(text), fold(name)
	for _, m := range quotedNames.FindAllStringSubmatch(text, -1) {
		if m[1] == name || m[2] == name {
			return true
		}
	}
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(name)
		if wholeWord(text, start, end) && (strings.Contains(name, "-") || besideSkill(text[:start], text[end:])) {
			return true
		}
		at = end
	}
}

func wholeWord(text string, start, end int) bool {
	before, after := []rune(text[:start]), []rune(text[end:])
	return (len(before) == 0 || !nameRune(before[len(before)-1])) && (len(after) == 0 || !nameRune(after[0]))
}

// nameRune reports whether r would make a longer name of what stands beside it.
// Scripts without blanks between words end no name.
func nameRune(r rune) bool {
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
		return false
	}
	return r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

func besideSkill(before, after string) bool {
	before, after = strings.TrimSpace(before), strings.TrimSpace(after)
	for _, w := range []string{"skill", "技能"} {
		if strings.HasSuffix(before, w) || strings.HasPrefix(after, w) {
			return true
		}
	}
	return before == "/" || before == "$"
}

// Leading is Slash in the dialect of the session: in codex a first word $name starts a
// skill as well.
func (s *Session) Leading(text string, known func(name string) bool) (names []string, args, unknown string) {
	names, args, unknown = Slash(text, known)
	rest, dollar := strings.CutPrefix(strings.TrimLeftFunc(text, unicode.IsSpace), "$")
	if s.o.Dialect != skill.Codex || !dollar {
		return names, args, unknown
	}
	names, args, _ = Slash("/"+rest, known) // a variable that is no skill is plain text
	return names, args, ""
}
