package scan

import (
	"regexp"
	"slices"
)

// rule is one rule as its file says it. Patterns are RE2 over lines in lower case
// (ASCII letters only); emphasis marks of prose are taken out first.
type rule struct {
	ID    string   `yaml:"id"`
	Class string   `yaml:"class"`
	Level Level    `yaml:"level"`
	Title string   `yaml:"title"`
	Why   string   `yaml:"why"`
	AST   []string `yaml:"ast"`

	Where  []string `yaml:"where"`  // places; none = any
	Lang   []string `yaml:"lang"`   // languages of scripts and fences; none = any
	Decode []string `yaml:"decode"` // forms whose decoded text counts; none = any

	Any    []string `yaml:"any"`    // one of them matches: there the finding stands
	All    []string `yaml:"all"`    // each matches within near of it
	Not    []string `yaml:"not"`    // none matches within near of it
	Except []string `yaml:"except"` // none matches the finding's own line
	Near   int      `yaml:"near"`   // lines; -1 = anywhere in the file
	Lower  []string `yaml:"lower"`  // one that matches within near lowers the level
	Softer []string `yaml:"softer"` // places in which the level is lower
	Firm   bool     `yaml:"firm"`   // text that warns or teaches does not lower the level
	Beside []string `yaml:"beside"` // families of which a finding stands in the same file

	Match   []string `yaml:"match"`    // texts with the finding
	NoMatch []string `yaml:"no_match"` // texts without it

	added                         bool // not shipped: its texts are checked when it is read
	where, softer                 place
	any, all, not, except, lowers []int // indices of patterns
}

// pattern is one expression of any rule; equal ones are one.
type pattern struct {
	source string
	expr   func() *regexp.Regexp // compiled when it is first tried: most never are
	weight int                   // how much a byte costs, in 128ths
	need   [][]int               // literals: of each list one must stand on the line
	where  place                 // of the rules that have it
}

// place is where a line stands; a set of them is an or.
type place uint8

const (
	inHeader  place = 1 << iota
	inProse         // text of a Markdown file
	inCode          // fenced or indented code in it
	inQuote         // a quotation in it
	inComment       // what a reader of the page does not see
	inScript        // a program's file
	inData          // any other text file
	anywhere  = 0xFF
)

// anyLang is the language of decoded text: what it is written in is not known.
const anyLang = "*"

// places are the words of a rule for sets of places.
func places() map[string]place {
	return map[string]place{
		"any": anywhere, "header": inHeader, "body": inProse | inCode | inQuote, "prose": inProse,
		"code": inCode, "quote": inQuote, "comment": inComment, "script": inScript, "data": inData,
	}
}

// speaksOf reports whether the rule looks at a line of this place and language.
func (r *rule) speaksOf(l *line) bool {
	return r.where&l.where != 0 && (len(r.Lang) == 0 || l.lang == anyLang || slices.Contains(r.Lang, l.lang))
}

// level returns the rule's level for a finding on the line, were it not taught.
func (r *rule) level(l *line, lowered bool) Level {
	level := r.Level
	if lowered {
		level = level.lowered()
	}
	if r.softer&l.where != 0 {
		level = level.lowered()
	}
	return level
}
