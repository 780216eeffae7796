package skill

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/deftskills/deft/internal/fold"
)

// lintDescriptionText judges the text by which a model selects the skill.
func lintDescriptionText(r *lintRun) {
	text := r.s.Description
	line, col := r.at("description")
	if text == "" {
		return // description_missing is the reader's
	}
	n := runes(text)
	switch {
	case n > r.o.Limits.Description:
		r.add("description_long", LevelError, line, col, "shorten", "description has %d characters, the limit is %d", n, r.o.Limits.Description) // as the reader words it
	case r.o.Builtin && n > lintBuiltin:
		r.add("description_long", LevelError, line, col, "shorten", "description of %d code points, limit %d for skills that ship with deft", n, lintBuiltin)
	case n > lintDescription:
		r.add("description_long", LevelInfo, line, col, "shorten; say what and when", "description of %d code points, more than %d", n, lintDescription)
	}
	if why := vague(text); why != "" {
		r.add("description_vague", LevelWarning, line, col, "name the action and the trigger", "description %s", why)
	}
	if strings.ContainsAny(text, "<>") {
		r.add("description_angle", LevelInfo, line, col, "one upload host refuses it", "description holds `<` or `>`")
	}
	switch {
	case strings.Contains(text, "</"):
		r.add("description_markup", LevelWarning, line, col, "write a plain sentence", "description holds markup")
	case strings.ContainsAny(text, "\n\r"):
		r.add("description_markup", LevelWarning, line, col, "write a plain sentence", "description holds a line break")
	case strings.ContainsFunc(text, unicode.IsControl):
		r.add("description_markup", LevelWarning, line, col, "write a plain sentence", "description holds a control character")
	}
}

// vagueWords say nothing about what a skill does, in English.
var vagueWords = wordSet(`a an and any anything are as at be better by can do does each every everything
	for from general generic good great handle handles handling have help helper helpers helpful helps helping
	how i in into is it its just make makes many me more my need needs of on or other our out provide provides
	providing skill skills some something stuff support supports task tasks that the their them these thing
	things this those to tool tools use used useful user users uses using utilities utility various via want
	wants way ways we what when whenever which will with work working works you your`)

func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// vague says why a description is too thin to select by, "" when it is not. A letter
// of a script that is written without blanks counts for two, and each as a word.
func vague(text string) string {
	weight, content := 0, 0
	var word strings.Builder
	flush := func() {
		if w := word.String(); w != "" && !vagueWords[w] {
			content++
		}
		word.Reset()
	}
	for _, c := range fold.Key(text) {
		weight++
		switch {
		case unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai):
			flush()
			weight++
			content++
		case unicode.IsLetter(c) || unicode.IsNumber(c) || unicode.IsMark(c):
			word.WriteRune(c)
		case c == '\'' || c == '’':
		default:
			flush()
		}
	}
	flush()
	switch {
	case weight < lintVague:
		return "is shorter than 20 code points"
	case content < 2:
		return "names no action and object"
	}
	return ""
}

func lintUnreachable(r *lintRun) {
	if r.s.Description != "" {
		return
	}
	if t := r.s.Meta.Routing; t != nil && len(t.Keywords)+len(t.Stages)+len(t.SignalSources) > 0 {
		return
	}
	r.add("unreachable", LevelError, 1, 1, "add one", "skill without keyword, stage, signal or description")
}

var envName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

func lintEnv(r *lintRun) {
	check := func(line, col int, names []string) {
		for _, name := range names {
			if !envName.MatchString(name) {
				r.add("env_name", LevelWarning, line, col, "rename", "variable %q is not capitals, digits and `_`", clip(name, 60))
			}
		}
	}
	if c := r.s.Meta.Conditions; c != nil && len(c.RequiresEnv) > 0 {
		line, col := r.field("requires_env", "conditions.requires_env")
		check(line, col, c.RequiresEnv)
	}
	secrets, _ := find(r.raw.Get("metadata"), "requires-env")
	if secrets.key != nil {
		check(secrets.key.Line, secrets.key.Column, r.s.Meta.Secrets)
	}
}

// keywordForm is what stays of a keyword when the router has normalised it.
func keywordForm(k string) string {
	return strings.TrimFunc(fold.Key(k), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsNumber(c) && !unicode.IsMark(c)
	})
}

func lintKeywords(r *lintRun) {
	t := r.s.Meta.Routing
	if t == nil {
		return
	}
	line, col := r.field("routing.keywords", "routing.negative_keywords")
	negative := map[string]bool{}
	for _, k := range t.NegativeKeywords {
		negative[keywordForm(k)] = true
	}
	for _, k := range t.Keywords {
		form := keywordForm(k)
		switch {
		case form == "":
			r.add("keyword_empty", LevelWarning, line, col, "remove the keyword", "keyword %q has no letter or digit", clip(k, 60))
		case negative[form]:
			r.add("keyword_negated", LevelError, line, col, "keep it in one list", "keyword %q is negative too, which wins", clip(k, 60))
		case len(form) == 1 && unicode.IsLetter(rune(form[0])):
			r.add("keyword_single", LevelWarning, line, col, "choose a longer word", "keyword %q is one letter", form)
		}
	}
}

func lintToolNames(r *lintRun) {
	names := r.s.Meta.ToolNames
	if len(names) == 0 {
		return
	}
	line, col := r.field("tool_names")
	if len(names) >= lintTools {
		r.add("tools_many", LevelWarning, line, col, "two skills in one", "%d tool names, %d or more", len(names), lintTools)
	}
	for _, name := range names {
		if !namesWord(r.body, name) {
			r.add("tool_unused", LevelInfo, line, col, "list only the tools it uses", "tool %q is not named in the body", clip(name, 60))
		}
	}
}

// namesWord reports whether text holds name as a word of its own.
func namesWord(text, name string) bool {
	part := func(b byte) bool {
		return b == '_' || b == '-' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
	}
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 || name == "" {
			return false
		}
		start, end := at+i, at+i+len(name)
		if (start == 0 || !part(text[start-1])) && (end == len(text) || !part(text[end])) {
			return true
		}
		at = start + 1
	}
}

// keyShapes are the shapes of keys that providers document; none is a key by itself.
var keyShapes = []struct {
	kind  string
	shape *regexp.Regexp
}{
	{"Anthropic key", regexp.MustCompile(`\bsk-ant-[A-Za-z0-9_-]{24,}`)},
	{"OpenAI key", regexp.MustCompile(`\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,}`)},
	{"AWS key id", regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`)},
	{"GitHub token", regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{36,}`)},
	{"GitHub token", regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{40,}`)},
	{"GitLab token", regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`)},
	{"Google key", regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`)},
	{"Slack token", regexp.MustCompile(`\bxox[abeprs]-[0-9A-Za-z-]{20,}`)},
	{"Stripe key", regexp.MustCompile(`\b[rs]k_live_[0-9A-Za-z]{20,}`)},
	{"npm token", regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}\b`)},
	{"Hugging Face token", regexp.MustCompile(`\bhf_[A-Za-z0-9]{34}\b`)},
	{"SendGrid key", regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`)},
	{"private key", regexp.MustCompile(`-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{32}`)},
}

// lintSecrets reports key shapes in header and body. The message never repeats the
// key: diagnostics end in logs.
func lintSecrets(r *lintRun) {
	for _, k := range keyShapes {
		for _, m := range k.shape.FindAllStringIndex(r.s.header, -1) {
			if !sample(r.s.header[m[0]:m[1]]) {
				line := 2 + strings.Count(r.s.header[:m[0]], "\n")
				r.add("secret_in_text", LevelError, line, 1, "remove it and revoke the key", "text with the shape of a %s", k.kind)
			}
		}
		for _, m := range k.shape.FindAllStringIndex(r.body, -1) {
			if !r.full() && !sample(r.body[m[0]:m[1]]) {
				line, col := r.place(m[0])
				r.add("secret_in_text", LevelError, line, col, "remove it and revoke the key", "text with the shape of a %s", k.kind)
			}
		}
	}
}

// sample reports whether a key is plainly made up: documentation has many.
func sample(key string) bool {
	lower := strings.ToLower(key)
	for _, word := range []string{"example", "xxxx", "your", "placeholder", "redacted", "1234567890", "abcdef"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	distinct := map[rune]bool{}
	for _, c := range lower {
		distinct[c] = true
	}
	return len(distinct) < 8
}

var (
	positional = regexp.MustCompile(`\$([0-9]+)`)
	// amount is what follows the digits of a price: more of the number, or a unit.
	amount = regexp.MustCompile(`^(?:[.,][0-9]|[kKmMbB]\b|(?i:\s*(?:/\s?(?:mo|month|yr|year|day|hour|hr|h|user|seat)\b|per\b|usd\b|dollars?\b|cents?\b|million\b|billion\b|thousand\b)))`)
)

// lintArguments judges `$digit` outside code: an argument to a skill that declares
// some, an amount or a slip elsewhere.
func lintArguments(r *lintRun) {
	declares := len(r.s.Meta.Arguments) > 0 || r.s.Meta.ArgumentHint != ""
	first, zero := -1, false
	for _, m := range positional.FindAllStringSubmatchIndex(r.body, -1) {
		if r.full() {
			return
		}
		if m[0] > 0 && (r.body[m[0]-1] == '\\' || r.body[m[0]-1] == '$') || inCode(r.code, m[0]) {
			continue
		}
		digits := r.body[m[2]:m[3]]
		price := len(digits) > 2 || amount.MatchString(r.body[m[1]:])
		switch {
		case !declares && !price && len(digits) == 1: // nobody counts to ten arguments; prices do
			line, col := r.place(m[0])
			r.add("arguments_undeclared", LevelInfo, line, col, "declare or escape", "`$%s` in a skill that declares no arguments", digits)
		case declares && price:
			line, col := r.place(m[0])
			r.add("args_position", LevelWarning, line, col, `write \$`+digits, "`$%s` looks like an amount and is replaced by an argument", digits)
		case declares && digits == "0":
			zero = true
		case declares && digits == "1" && first < 0:
			first = m[0]
		}
	}
	if first >= 0 && !zero {
		line, col := r.place(first)
		r.add("args_base", LevelInfo, line, col, "check the base", "`$1` is the second argument: counting starts at `$0`, which is never used")
	}
}
