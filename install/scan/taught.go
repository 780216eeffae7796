package scan

import (
	"regexp"
	"strings"
)

// Text that warns of a danger or teaches to see it has to show it. A page says so in a
// heading, in the sentence before the sample, or on the line itself. Such text lowers
// what would block to a warning; it never makes a finding go away, since whoever writes
// an attack can write a warning above it.
var (
	teachingHeading = regexp.MustCompile(`avoid|anti-?patterns?|red flags?|attack|malicious|threat|vulnerab|dangerous|unsafe|insecure|injection|exploit|detect|denied|forbidden|blocked|prohibited|security (?:risk|check|rule|audit|review|scan|test)|never |don['’]?t|do not|bad |wrong|suspicious|indicator|bypass|payload|example of|不要|禁止|危险|攻击|漏洞|恶意|风险|安全`)
	teachingLine    = regexp.MustCompile(`(?:never|don['’]?t|do not|avoid|refuse to|must not|should not|shouldn['’]?t|instead of|rather than|no)\s+(?:\w+\s+){0,2}(?:runn?|us|execut|follow|obey|pip|past|read|send|upload|commit|hard-?cod|trust|install|expos|accept|download|curl|act)(?:e|es|ing|s|ning)?\b|❌|✗|🚫|⛔|\b(?:bad|wrong|unsafe|insecure|vulnerable|malicious|suspicious)\b|red flag|detect(?:s|ing|ion|ed)?\b|scan(?:s|ning)? for|look(?:s|ing)? for|check(?:s|ing)? for|search(?:es|ing)? for|flag(?:s|ged)? |reject|\bblock(?:s|ed|ing)?\b|attempts? to|attacker|prompt injection|jailbreak|social engineering|supply[- ]chain attack|不要|禁止|切勿|恶意|攻击者`)
	headingMark     = regexp.MustCompile(`^#{1,6}\s`)
)

// teach marks the lines of a page that are taught. It is done only for pages in which
// something blocks.
func teach(lines []line) {
	var t teaching
	for i := range lines {
		switch l := &lines[i]; l.where {
		case inCode:
			l.taught = t.see("", l.raw)
		case inProse, inQuote:
			l.taught = t.see(strings.TrimLeft(lower(l.raw), " \t"), "")
		}
	}
}

const teachingReach = 12 // lines after a sentence in which its sample stands

// teaching follows a page's headings and sentences.
type teaching struct {
	heading bool
	left    int // lines for which the last sentence counts
}

// see takes the next line, of prose or of code, and says whether it is taught.
func (t *teaching) see(prose, code string) bool {
	switch {
	case headingMark.MatchString(prose):
		t.heading, t.left = teachingHeading.MatchString(prose), 0
		return t.heading
	case prose != "" && teachingLine.MatchString(prose):
		if t.left = 1; strings.HasSuffix(strings.TrimRight(prose, "*_ `"), ":") {
			t.left = teachingReach
		}
		return true
	case code != "" && teachingLine.MatchString(lower(code)):
		return true
	}
	if t.left > 0 && (prose != "" || code != "") {
		t.left--
		return true
	}
	return t.heading
}
