package search

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deftskills/deft/skill"
)

// What a skill says about its own use. Sentences that say what it is not for would
// find it for exactly that; sections that say when to use it hold the words, often
// whole requests, that people will come with.
var (
	// notFor are parts of a sentence that send a request away.
	notFor = []string{
		"not for ", "not use ", "n't use ", "never use", "not trigger", "not activate", "not invoke", "not apply",
		"not intended", "不用于", "不用於", "不要用", "不适用", "不適用", "请勿", "請勿", "使わない",
	}
	// notForFirst are beginnings of such a sentence.
	notForFirst = []string{"does not ", "doesn't ", "not when ", "skip when ", "skip for ", "skip if "}
	// whenHeadings are parts of a heading over a section that says when to use the skill.
	whenHeadings = []string{
		"when to use", "when to activate", "when to trigger", "when to invoke", "when this skill", "use this skill when",
		"trigger", "activat", "use case", "example", "common questions",
		"何时使用", "何時使用", "使用场景", "使用場景", "适用", "適用", "触发", "觸發", "示例", "使う場面", "トリガー",
	}
	// notHeadings are parts of a heading over a section that says when not to.
	notHeadings = []string{
		"not use", "n't use", "not to use", "not for", "not do", "not cover", "not trigger", "not activate", "not fire",
		"non-activation", "out of scope", "when to avoid", "不适用", "不適用", "不要用", "何时不", "何時不", "使わない",
	}
)

func holds(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// sendsAway reports whether a sentence says what the skill is not for, or names the
// one to use instead ("Behavioral testing → dogfood").
func sendsAway(sentence string) bool {
	s := strings.ToLower(strings.Trim(sentence, " \t\n-*•\"'"))
	for _, p := range notForFirst {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	if _, to, ok := strings.Cut(s, "→"); ok {
		to = strings.Trim(to, " `.;*\"'")
		if to != "" && len(to) < 64 && !strings.ContainsAny(to, " ,\n") && isASCII(to) {
			return true
		}
	}
	return holds(s, notFor)
}

// purpose returns a description without the sentences that send requests away; the
// whole of it, if nothing else would be left.
func purpose(description string) string {
	var b strings.Builder
	rest := description
	for rest != "" {
		n := sentence(rest)
		if !sendsAway(rest[:n]) {
			b.WriteString(rest[:n])
		}
		rest = rest[n:]
	}
	if strings.TrimSpace(b.String()) == "" {
		return description
	}
	return b.String()
}

// sentence returns where the first sentence of s ends: at a full stop before a blank,
// at one of an unspaced script, at an empty line.
func sentence(s string) int {
	for i, r := range s {
		end := i + utf8.RuneLen(r)
		switch r {
		case '。', '；', '！', '？':
			return end
		case '.', ';', '!', '?':
			if end == len(s) || s[end] == ' ' || s[end] == '\n' {
				return end
			}
		case '\n':
			if end < len(s) && s[end] == '\n' {
				return end
			}
		}
	}
	return len(s)
}

// The text before the second heading counts beside the headings; where that is less
// than minOpening bytes, what follows does too, up to maxOpening.
const minOpening, maxOpening = 80, 600

// outline is where the walk over a Markdown body stands.
type outline struct {
	fence          string // what ends the open code block; "" outside
	heads, opening int    // headings so far, and bytes that count as the beginning
	when, not      int    // levels of the headings whose sections these are; 0: none
}

// eachLine hands the lines of a Markdown body to add, with the fields they belong to.
func eachLine(body string, add func(f Field, line string)) {
	var o outline
	for line := range strings.Lines(body) {
		text := strings.TrimLeft(line, " ")
		code := o.code(text)
		if code {
			add(Code, line)
		} else {
			add(Body, line)
		}
		if heading := strings.TrimLeft(text, "#"); !code && len(heading) < len(text) {
			o.heading(strings.ToLower(heading), len(text)-len(heading))
			add(Headings, heading)
		} else if (o.heads < 2 || o.opening < minOpening) && o.opening < maxOpening {
			o.opening += len(line)
			add(Headings, line)
		}
		if o.when > 0 && o.not == 0 && !sendsAway(line) {
			add(When, line)
		}
	}
}

// code reports whether a line belongs to a code block; the fences do.
func (o *outline) code(text string) bool {
	switch {
	case o.fence != "":
		if strings.HasPrefix(text, o.fence) {
			o.fence = ""
		}
	case strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~"):
		o.fence = text[:3]
	default:
		return false
	}
	return true
}

// heading ends the sections that are not above one of this level, and begins its own.
func (o *outline) heading(text string, level int) {
	o.heads++
	if level <= o.not {
		o.not = 0
	}
	if level <= o.when {
		o.when = 0
	}
	switch {
	case o.not == 0 && holds(text, notHeadings):
		o.not = level
	case o.when == 0 && holds(text, whenHeadings):
		o.when = level
	}
}

// headings returns the text of the heading lines of a Markdown body.
func headings(body string) (out []string) {
	var o outline
	for line := range strings.Lines(body) {
		text := strings.TrimLeft(line, " ")
		if heading := strings.TrimLeft(text, "#"); !o.code(text) && len(heading) < len(text) {
			out = append(out, strings.TrimLeft(heading, " "))
		}
	}
	return out
}

// listKeys are the keys, of the header or its metadata, that list words to find a skill
// by.
var listKeys = []string{"keywords", "tags", "triggers", "category"}

// lists reports whether a header has one of them: reading it again is only worth it then.
func lists(header []byte) bool {
	return slices.ContainsFunc(listKeys, func(k string) bool { return bytes.Contains(header, []byte(k)) })
}

// eachListed yields what the header's tree has under listKeys.
func eachListed(header *skill.Node, yield func(words string)) {
	for _, k := range listKeys {
		for _, n := range []*skill.Node{header.Get(k), header.Path("metadata", k)} {
			if words, ok := n.Text(); ok {
				yield(words)
			}
			if n != nil && n.Kind == skill.SequenceNode {
				for _, item := range n.Content {
					if words, ok := item.Text(); ok {
						yield(words)
					}
				}
			}
		}
	}
}
