package catalog

import (
	"cmp"
	"crypto/sha256"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// The levels of detail at which an entry can stand.
const (
	levelOmitted = iota - 1
	levelName
	levelShort
	levelMedium
	levelFull
	levels
)

// recipe is what decides an entry's text: the key under which its line is kept.
type recipe struct {
	name, description, whenToUse, location, source string
	marks, reasons                                 string
	builtin, protected                             bool
	shape                                          shapeID
	unit                                           Unit
}

// line is one entry, cleaned and escaped, with its cost at every level. Apart from the
// costs of cuts that it remembers it never changes after it was made.
type line struct {
	digest  [sha256.Size]byte
	name    string      // as the format shows it, markers included
	desc    string      // cleaned and capped, not escaped
	reasons string      // after the entry, escaped; "" = none
	loc     string      // as the format shows it; "" = the format has none
	source  string      // the kind of source, where the format shows one
	order   string      // what entries are sorted by in a collated dialect
	end     [levels]int // bytes of desc that each level shows
	shown   [levels]int // clusters of desc that each level shows
	cost    [levels]int // of the entry's text at each level, in the unit
	cuts    cuts

	clusters  int
	removed   int  // code points that cleaning took
	capped    bool // the description was longer than a catalog shows
	inexact   bool // a count fell back
	builtin   bool
	protected bool // by its name
}

// shownName returns the name under which a catalog shows a record.
func shownName(r *registry.Record) string {
	name := r.Address
	if name == "" && r.Skill != nil {
		name = r.Skill.Name // of a loser
	}
	name, _ = safetext.Field(name)
	return name
}

// locationOf returns where the skill's file is, with forward slashes: a path where
// there is one, else the address of the data.
func locationOf(r *registry.Record) string {
	if r.Dir == "" {
		return r.Location
	}
	return strings.TrimSuffix(filepath.ToSlash(r.Dir), "/") + "/" + cmp.Or(r.File, "SKILL.md")
}

func recipeOf(r *registry.Record, s *shape, u Unit, places map[string]string) recipe {
	k := recipe{
		name: s.d.names(r), description: r.Skill.Description, shape: s.id, unit: u,
		builtin: r.Source.Kind == source.Builtin, protected: s.d.protects(r),
	}
	if s.d.caps.whenToUse {
		k.whenToUse = r.Skill.Meta.WhenToUse
	}
	if s.located {
		if k.location = places[r.Address]; k.location == "" {
			k.location = locationOf(r)
			if s.d.inTree {
				k.location = r.Path() + "/SKILL.md"
			}
		}
	}
	if s.sourced {
		k.source = string(r.Source.Kind)
		if s.d.kinds != nil {
			k.source = cmp.Or(s.d.kinds[r.Source.Kind], s.d.kinds[""])
		}
	}
	switch {
	case s.d.marked && !s.sourced && !s.located:
		if marked(r) {
			k.marks = " (untrusted)"
		}
		if r.Address != r.Skill.Name && strings.Contains(r.Address, "@") {
			k.marks += " (from " + string(r.Source.Kind) + ")"
		}
	case s.d.hinted && r.Skill.Meta.ArgumentHint != "":
		hint, _ := safetext.Field(r.Skill.Meta.ArgumentHint)
		k.marks = " " + s.text(hint)
	}
	return k
}

// newLine makes the line of a recipe.
func newLine(k recipe, s *shape, m measure) *line {
	l := &line{reasons: k.reasons, source: k.source, builtin: k.builtin, protected: k.protected}
	name, cut := safetext.Field(k.name)
	l.removed = cut
	l.name = s.name(name) + k.marks
	l.describe(k, s.d.caps)
	if s.located {
		where, gone := safetext.Field(k.location)
		l.removed += gone
		l.loc = s.path(where)
	}
	if s.d.collated {
		l.order = order(name) + "\x00" + name + "\x00" + k.location
		if l.protected {
			l.order = "\x00" + l.order // before every name
		}
	}
	l.digest = sha256.Sum256([]byte(l.name + "\n" + l.desc + "\n" + l.loc + "\n" + l.source))
	l.levels(s.d.concede == nil)
	for level := range levels {
		if level > 0 && l.end[level] == l.end[level-1] {
			l.cost[level] = l.cost[level-1]
			continue
		}
		n, inexact := m(string(s.line(nil, l, l.part(level))))
		l.cost[level], l.inexact = n, l.inexact || inexact
	}
	return l
}

// describe sets the description: the skill's own, then when to use it unless that
// is said already, each within its bound.
func (l *line) describe(k recipe, c caps) {
	desc, gone := safetext.Field(k.description)
	l.removed += gone
	if c.description > 0 && !k.protected {
		desc, l.capped = capped(desc, c.description, c.mark)
	}
	if when, gone := safetext.Field(k.whenToUse); when != "" && !strings.Contains(desc, when) {
		l.removed += gone
		desc = joined(desc, when)
	}
	cut := false
	switch {
	case c.units > 0:
		desc, cut = unitsCut(desc, c.units, c.mark)
	case c.joined > 0:
		desc, cut = capped(desc, c.joined, c.mark)
	}
	l.desc, l.capped = desc, l.capped || cut
}

func joined(desc, when string) string {
	if desc == "" {
		return when
	}
	if end := []rune(desc); unicode.IsPunct(end[len(end)-1]) {
		return desc + " " + when
	}
	return desc + ". " + when
}

// capped returns s within limit code points, cut on a cluster's border and marked; an
// empty mark means a cut after exactly so many.
func capped(s string, limit int, mark string) (string, bool) {
	if len(s) <= limit || runes(s) <= limit {
		return s, false
	}
	if mark == "" {
		return s[:offset(s, limit)], true
	}
	end, n := 0, runes(mark)
	for it := graphemes.FromString(s); it.Next(); {
		n += runes(it.Value())
		if n > limit {
			break
		}
		end += len(it.Value())
	}
	return strings.TrimRight(s[:end], " ") + mark, true
}

// offset returns where the code point number n of s starts, len(s) where it has fewer.
func offset(s string, n int) int {
	for at := range s {
		if n == 0 {
			return at
		}
		n--
	}
	return len(s)
}

// unitsCut bounds s by UTF-16 code units, as programs do whose strings are made of
// them; a pair is never split.
func unitsCut(s string, limit int, mark string) (string, bool) {
	units, end := 0, -1
	for at, r := range s {
		if width := utf16.RuneLen(r); units+width > limit-len(mark) && end < 0 {
			end = at
		}
		units += utf16.RuneLen(r)
	}
	if units <= limit {
		return s, false
	}
	return s[:end] + mark, true
}

// levels sets what each level shows of the description. Without steps there is nothing
// between the name and all of it.
func (l *line) levels(steps bool) {
	b := borders(l.desc)
	l.clusters = len(b) - 1
	l.end[levelFull], l.shown[levelFull] = len(l.desc), l.clusters
	if !steps {
		return
	}
	for level, bound := range map[int]int{levelShort: limits.CatalogShort, levelMedium: limits.CatalogMedium} {
		n := wordCut(l.desc, b, bound)
		l.end[level], l.shown[level] = b[n], n
	}
}

// borders returns the byte offset of every cluster's start, and the length of s.
func borders(s string) []int {
	b := make([]int, 1, len(s)+1)
	for it := graphemes.FromString(s); it.Next(); {
		b = append(b, b[len(b)-1]+len(it.Value()))
	}
	return b
}

// wordCut returns how many clusters to show when at most bound may be: all, or up
// to the end of a word near the bound. Scripts without blanks are cut anywhere.
func wordCut(s string, b []int, bound int) int {
	if bound >= len(b)-1 {
		return len(b) - 1
	}
	if blank(s, b, bound) || wordless(s[b[bound-1]:]) {
		return trimmed(s, b, bound)
	}
	for n := bound - 1; n > bound-limits.CatalogBack && n > 0; n-- {
		if blank(s, b, n) {
			return trimmed(s, b, n)
		}
	}
	return bound
}

func blank(s string, b []int, n int) bool { return s[b[n]] == ' ' }

// trimmed moves a cut before the blanks that it would leave at the end.
func trimmed(s string, b []int, n int) int {
	for n > 0 && blank(s, b, n-1) {
		n--
	}
	return n
}

// wordless reports whether s starts with a letter of a script that writes no blanks.
func wordless(s string) bool {
	for _, r := range s {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	}
	return false
}

// part returns the description as a level shows it, not escaped.
func (l *line) part(level int) string {
	if level == levelName {
		return ""
	}
	return l.until(l.end[level])
}

func (l *line) until(end int) string {
	if end >= len(l.desc) {
		return l.desc
	}
	if end == 0 {
		return ""
	}
	return l.desc[:end] + safetext.Ellipsis
}

// removedDiagnostic tells that cleaning changed what a skill says of itself.
func removedDiagnostic(r *registry.Record, removed int) skill.Diagnostic {
	return skill.Diagnostic{
		Code: "catalog_text_cleaned", Level: skill.LevelInfo, File: locationOf(r), Offset: -1,
		Message: plural(removed, "invisible or invalid code point") + " removed from what the catalog shows",
		Fix:     "remove control and invisible characters from name and description",
	}
}
