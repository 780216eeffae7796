package toolrule

import "strings"

// word is one shell word of a spec. Runes that were quoted are marked, so that a "*"
// in quotes is a star of the text and not a wildcard.
type word struct {
	text   []rune
	quoted []bool
}

func (w word) String() string { return string(w.text) }

// glob returns the word as a path glob in which quoted runes stand for themselves.
func (w word) glob() string {
	var b strings.Builder
	for i, c := range w.text {
		if w.quoted[i] && strings.ContainsRune(`*?[]{}\`, c) {
			b.WriteRune('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// bare reports whether the word is exactly an unquoted "*".
func (w word) bare() bool { return len(w.text) == 1 && w.text[0] == '*' && !w.quoted[0] }

// replace puts values into the word; what comes in counts as quoted.
func (w word) replace(r *strings.Replacer) word {
	next := r.Replace(string(w.text))
	if next == string(w.text) {
		return w
	}
	// Stars outside the placeholder keep their meaning: take the word apart around
	// each unquoted star, replace the pieces, and put it together again.
	var out word
	start := 0
	flush := func(end int) {
		for _, c := range r.Replace(string(w.text[start:end])) {
			out.text, out.quoted = append(out.text, c), append(out.quoted, true)
		}
	}
	for i, c := range w.text {
		if c == '*' && !w.quoted[i] {
			flush(i)
			out.text, out.quoted = append(out.text, c), append(out.quoted, false)
			start = i + 1
		}
	}
	flush(len(w.text))
	return out
}

// splitWords splits text as a shell does, without any expansion: blanks separate,
// '…' is literal, in "…" a backslash escapes a quote and a backslash, outside quotes
// it escapes one character. An unclosed quote runs to the end.
func splitWords(text string) []word {
	var out []word
	var w word
	in, open := false, rune(0)
	add := func(c rune, quoted bool) { w.text, w.quoted, in = append(w.text, c), append(w.quoted, quoted), true }
	rs := []rune(text)
	for i := 0; i < len(rs); i++ {
		c := rs[i]
		switch {
		case open != 0 && c == open:
			open = 0
		case open == '"' && c == '\\' && i+1 < len(rs) && strings.ContainsRune("\"\\$`", rs[i+1]):
			i++
			add(rs[i], true)
		case open != 0:
			add(c, true)
		case c == '\'' || c == '"':
			open, in = c, true
		case c == '\\' && i+1 < len(rs):
			i++
			add(rs[i], true)
		case c == ' ' || c == '\t':
			if in {
				out = append(out, w)
			}
			w, in = word{}, false
		default:
			add(c, false)
		}
	}
	if in {
		out = append(out, w)
	}
	return out
}

// joinWords writes words so that splitWords reads them back.
func joinWords(words []word) string {
	parts := make([]string, len(words))
	for i, w := range words {
		var b strings.Builder
		for j, c := range w.text {
			if c == '*' && !w.quoted[j] || c != '*' && !strings.ContainsRune(" \t'\"\\()`$", c) {
				b.WriteRune(c)
				continue
			}
			b.WriteRune('\\')
			b.WriteRune(c)
		}
		if len(w.text) == 0 {
			b.WriteString(`""`)
		}
		parts[i] = b.String()
	}
	return strings.Join(parts, " ")
}

// matchWords reports whether the words of a spec cover a simple command. " *" at the
// end is a word boundary and also matches no further word; a "*" inside a word
// matches any text of that word and, as the last character, everything after it.
func matchWords(spec []word, command []string) bool {
	for i, w := range spec {
		last := i == len(spec)-1
		switch {
		case w.bare() && last:
			return true
		case w.bare():
			for skip := range len(command) + 1 {
				if matchWords(spec[i+1:], command[skip:]) {
					return true
				}
			}
			return false
		case len(command) == 0:
			return false
		case last && endsInStar(w):
			return globRunes(w, []rune(strings.Join(command, " ")))
		case !globRunes(w, []rune(command[0])):
			return false
		}
		command = command[1:]
	}
	return len(command) == 0
}

func endsInStar(w word) bool {
	n := len(w.text)
	return n > 0 && w.text[n-1] == '*' && !w.quoted[n-1]
}

// globRunes matches a word with its unquoted stars, in linear space and without
// backtracking over more than the last star.
func globRunes(w word, s []rune) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(w.text) && w.text[p] == '*' && !w.quoted[p]:
			star, mark = p, i
			p++
		case p < len(w.text) && w.text[p] == s[i]:
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(w.text) && w.text[p] == '*' && !w.quoted[p] {
		p++
	}
	return p == len(w.text)
}
