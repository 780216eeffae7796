package scan

import (
	"regexp"
	"strings"

	"github.com/deftskills/deft/internal/safetext"
)

// Level says how a finding counts.
type Level string

// The levels.
const (
	Block Level = "block" // a policy refuses it unless a person accepts the rule by name
	Warn  Level = "warn"  // a person is asked
	Info  Level = "info"  // told, nothing more
)

// lowered returns the next lower level.
func (l Level) lowered() Level {
	if l == Block {
		return Warn
	}
	return Info
}

// Finding is one place of one file that a rule speaks about.
type Finding struct {
	Rule     string   `json:"rule"`     // as RX001; the letters are the family
	Class    string   `json:"class"`    // one of Classes
	Level    Level    `json:"level"`    // block, warn or info
	File     string   `json:"file"`     // "/" separated, relative to what was scanned
	Line     int      `json:"line"`     // from 1; 0 = the file as a whole
	Column   int      `json:"column"`   // in bytes, from 1; 0 = the line as a whole
	Evidence string   `json:"evidence"` // at most 160 code points, printable, secrets masked
	Why      string   `json:"why"`      // one sentence for people
	AST      []string `json:"ast"`      // tags of the OWASP list for agent skills
	By       string   `json:"by"`       // model = a language model said so; "" = a rule
}

// Classes returns the fixed classes of findings.
func Classes() []string {
	return []string{
		"execution", "instruction", "privilege", "disclosure", "resource", "credential",
		"persistence", "dependency", "integrity", "evasion", "discovery",
	}
}

// Family returns the letters of the finding's rule: RX of RX001.
func (f Finding) Family() string { return familyOf(f.Rule) }

func familyOf(rule string) string { return strings.TrimRight(rule, "0123456789") }

// secrets are tokens of well-known issuers; the issuer's prefix stays readable.
var secrets = regexp.MustCompile(`\b(sk-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|npm_|hf_|eyJ)[A-Za-z0-9_\-.]{10,}`)

const maxEvidence = 160 // code points

// evidence makes text of a stranger's file printable: one line, masked, short.
func evidence(s string) string {
	if len(s) > 4*maxEvidence {
		s = s[:4*maxEvidence]
	}
	s = secrets.ReplaceAllString(s, "${1}***")
	s = safetext.Line(strings.TrimSpace(s))
	if rs := []rune(s); len(rs) > maxEvidence {
		s = string(rs[:maxEvidence-1]) + safetext.Ellipsis
	}
	return s
}
