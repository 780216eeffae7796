package scan

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// file is one file while it is looked at.
type file struct {
	scan  *Scanner
	name  string
	work  int // what patterns may still look at; see maxWork
	room  int // bytes of decoded text that may still come
	whole bool
	out   []Finding

	matches matches
	told    int // encoded texts that are findings
}

// text looks at the text of a file. It reports false when a bound ended it early.
func (s *Scanner) text(name, text string) ([]Finding, bool) {
	f := &file{scan: s, name: name, work: maxWork, room: maxDecoded, whole: true}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	lines := textLines(name, text)
	f.header(text)
	found, tags := hidden(f, lines)
	f.out = append(f.out, found...)
	f.out = append(f.out, f.far(lines)...)
	f.packages(lines)
	f.match(lines, "")
	f.encoded(append(tags, decode(lines, lower(text))...), "", 1)
	return f.kept(), f.whole
}

// match applies the rules to lines; form names the encoding that they came out of.
func (f *file) match(lines []line, form string) int {
	if f.matches.set == nil {
		f.matches = matches{set: f.scan.set, seen: make([]int32, len(f.scan.set.holders))}
	}
	m := &f.matches
	m.lines, m.taught = lines, false
	if !m.run(&f.work) {
		f.whole = false
	}
	found := m.findings(f, form)
	f.out = append(f.out, found...)
	return len(found)
}

// encoded looks at decoded text as if it stood in the place where it was found.
func (f *file) encoded(list []decoded, outer string, level int) {
	for _, d := range list {
		if f.room -= len(d.text); f.room < 0 {
			f.whole = false
			return
		}
		form := strings.TrimPrefix(outer+" in "+d.form, " in ")
		var lines []line
		for l := range strings.Lines(d.text) {
			lines = appendLine(lines, line{no: d.no, start: d.column - 1, raw: strings.TrimRight(l, "\r\n"), where: d.where, lang: d.language()})
		}
		n := f.match(lines, form)
		if d.form != "joined" && d.form != "reversed" && d.form != "rot13" && d.form != "url" && (n > 0 || telling(d.text)) && f.told < maxPerText {
			f.told++
			f.out = append(f.out, f.built("OB101", d.no, d.column, form+": "+d.text))
		}
		if level < maxLevels {
			f.encoded(decode(lines, lower(d.text)), form, level+1)
		}
	}
}

// language is that of the line for words that were only split, else any.
func (d decoded) language() string {
	if d.form == "joined" {
		return d.lang
	}
	return anyLang
}

// telling reports whether a decoded text is one that nobody needs to encode.
func telling(text string) bool {
	low := lower(text)
	for _, word := range []string{"http://", "https://", "/bin/", "powershell", "curl ", "wget ", "import os", "import socket", "subprocess", "eval(", "exec("} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

// kept drops what conditions and bounds take away: rules that wait for another family,
// the same rule twice on a line, and more than a few findings of one rule.
func (f *file) kept() []Finding {
	waits := map[string][]string{}
	for _, r := range f.scan.set.rules {
		if len(r.Beside) > 0 {
			waits[r.ID] = r.Beside
		}
	}
	all := slices.DeleteFunc(f.out, func(g Finding) bool { return g.Rule == "" })
	rank := map[Level]int{Block: 0, Warn: 1, Info: 2}
	slices.SortStableFunc(all, func(a, b Finding) int { return rank[a.Level] - rank[b.Level] })
	type key struct {
		rule string
		line int
	}
	seen, count := map[key]bool{}, map[string]int{}
	var out []Finding
	for _, g := range all {
		families, waiting := waits[g.Rule]
		if waiting && !slices.ContainsFunc(all, func(o Finding) bool {
			return o.Rule != g.Rule && o.Level != Info && slices.Contains(families, o.Family())
		}) {
			continue
		}
		k := key{g.Rule, g.Line}
		if seen[k] || count[g.Rule] >= maxPerRule {
			continue
		}
		seen[k] = true
		count[g.Rule]++
		out = append(out, g)
	}
	return out
}

const (
	farRight = 200 // blank columns before text
	farBelow = 60  // blank lines before text
)

// far finds text that is pushed out of sight.
func (f *file) far(lines []line) (out []Finding) {
	last, wide := 0, strings.Repeat(" ", farRight)
	for i := range lines {
		l := &lines[i]
		text := strings.TrimSpace(l.raw)
		if last > 0 && l.no-last > farBelow+1 && l.where&inScript == 0 && text != "" {
			out = append(out, f.built("HC102", l.no, 1, text))
		}
		last = l.no
		if len(l.raw) <= farRight {
			continue
		}
		if gap := strings.Index(l.raw, wide); gap >= 0 && strings.TrimSpace(l.raw[gap:]) != "" && l.where&(inProse|inHeader|inComment|inScript) != 0 && !strings.HasPrefix(text, "|") {
			out = append(out, f.built("HC101", l.no, gap+1, strings.TrimSpace(l.raw[gap:])))
		}
	}
	return out
}
