package command

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deftskills/deft/skill"
)

// ScanOptions says how a body is read.
type ScanOptions struct {
	Dialect skill.Dialect // "" = Deft
	Line    int           // line of the file at which the body begins, from 1; 0 = 1
}

// Inline is one command of a body: the bytes [Start, End) with its mark and quotes, or
// with its fences. Text is what stands between them, as written. Line and Col count from
// 1, Col in code points.
type Inline struct {
	Start, End int
	Text       string
	Line, Col  int
	Block      bool // a whole fence, one script
}

// Scan finds the commands of a body that its author wants to have run while the text is
// loaded, in the order of the text and without overlaps: !`…`, the mark at the start of a
// line or after a blank, one backquote, and the next one on the same line. Code, comments
// of HTML and \! are never commands. Scan is pure: it runs nothing.
func Scan(body string, o ScanOptions) []Inline {
	m := mannerOf(o.Dialect)
	if !m.inline || strings.IndexByte(body, '!') < 0 {
		return nil
	}
	blocks := m.blocks && hasBlock(body)
	if !blocks && !strings.Contains(body, "!`") {
		return nil
	}
	s := scanner{body: body, m: m}
	s.forbid(skill.CodeRegions([]byte(body)))
	for i := 0; ; {
		next := strings.Index(body[i:], "!`")
		if next < 0 {
			break
		}
		i += next
		if end, ok := s.command(i); ok {
			s.found = append(s.found, Inline{Start: i, End: end, Text: body[i+2 : end-1]})
			i = end
			continue
		}
		i += 2
	}
	slices.SortFunc(s.found, func(a, b Inline) int { return a.Start - b.Start })
	s.number(o.Line)
	return s.found
}

// blockMarks are how a block command begins, once blanks are taken out.
var blockMarks = []string{"```!", "~~~!", "``` !", "~~~ !"}

func hasBlock(body string) bool {
	return slices.ContainsFunc(blockMarks, func(m string) bool { return strings.Contains(body, m) })
}

type span struct{ start, end int }

type scanner struct {
	body  string
	m     manner
	no    []span // where no command starts; sorted, without overlaps
	found []Inline

	start, looked int  // the line that holds the byte looked, and where it starts
	tildes        bool // this line may open a fence of tildes
}

// forbid notes where no command may start: code and comments. A comment that begins in
// code is none. Blocks of commands are taken on the way.
func (s *scanner) forbid(regions []skill.Region) {
	for _, r := range regions {
		closed := r.Kind == skill.FencedCode && s.closes(r.End)
		if s.m.fences && r.Kind != skill.FencedCode {
			continue
		}
		s.no = append(s.no, span{r.Start, r.End})
		if closed && s.m.blocks && r.Info == "!" {
			s.block(r)
		}
	}
	var comments []span
	for i, k := 0, 0; ; {
		open := strings.Index(s.body[i:], "<!--")
		if open < 0 {
			break
		}
		open += i
		for k < len(s.no) && s.no[k].end <= open {
			k++
		}
		if k < len(s.no) && s.no[k].start <= open {
			i = s.no[k].end
			continue
		}
		end := len(s.body)
		if shut := strings.Index(s.body[open+4:], "-->"); shut >= 0 {
			end = open + 4 + shut + 3
		}
		comments = append(comments, span{open, end})
		i = end
	}
	if len(comments) > 0 {
		s.no = append(s.no, comments...)
		slices.SortFunc(s.no, func(a, b span) int { return a.start - b.start })
		s.no = merge(s.no)
	}
}

// merge joins spans that overlap; they are sorted by start.
func merge(in []span) []span {
	out := in[:1]
	for _, n := range in[1:] {
		last := &out[len(out)-1]
		if n.start <= last.end {
			last.end = max(last.end, n.end)
			continue
		}
		out = append(out, n)
	}
	return out
}

// closes reports whether the line at the end of a fence's content ends the fence.
func (s *scanner) closes(at int) bool {
	line := strings.TrimLeft(s.line(at), " \t>")
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}

// line is the rest of the line at a byte.
func (s *scanner) line(at int) string {
	line, _, _ := strings.Cut(s.body[at:], "\n")
	return line
}

// block takes a fence as one command. A fence in a list or quote is none: its lines hold
// marks that no shell should see.
func (s *scanner) block(r skill.Region) {
	start := 0
	if r.Start > 1 {
		start = strings.LastIndexByte(s.body[:r.Start-1], '\n') + 1
	}
	fence := strings.TrimLeft(s.body[start:r.Start], " ")
	if r.Start-start-len(fence) > 3 || fence == "" || fence[0] != '`' && fence[0] != '~' || strings.TrimSpace(s.body[r.Start:r.End]) == "" {
		return
	}
	end := r.End + len(strings.TrimRight(s.line(r.End), "\r"))
	s.found = append(s.found, Inline{Start: start, End: end, Text: s.body[r.Start:r.End], Block: true})
}

// command reports whether a command starts at the mark at byte i, and where it ends.
func (s *scanner) command(i int) (end int, ok bool) {
	b := s.body
	if i > 0 && (b[i-1] == '\\' || !s.m.anywhere && strings.IndexByte(" \t\n\r", b[i-1]) < 0) {
		return 0, false
	}
	rest := b[i+2:]
	n := strings.IndexByte(rest, '`')
	switch {
	case n <= 0 || strings.TrimSpace(rest[:n]) == "",
		!s.m.lines && strings.ContainsAny(rest[:n], "\n\r"),
		s.m.lines && strings.HasPrefix(rest[n:], "```"): // that is a fence
		return 0, false
	}
	if s.forbidden(i) || s.fenceLine(i) || !s.m.anywhere && s.deep(i) {
		return 0, false
	}
	return i + 2 + n + 1, true
}

func (s *scanner) forbidden(at int) bool {
	i, exact := slices.BinarySearchFunc(s.no, at, func(n span, at int) int { return n.start - at })
	return exact || i > 0 && at < s.no[i-1].end
}

// fenceLine reports whether the line of the mark opens a fence of tildes, whose info
// string may hold backquotes. Marks are asked about in order: no line is read twice.
func (s *scanner) fenceLine(at int) bool {
	if i := strings.LastIndexByte(s.body[s.looked:at], '\n'); i >= 0 || s.looked == 0 {
		s.start = s.looked + i + 1
		before := strings.TrimLeft(s.body[s.start:at], " \t>-+*.)0123456789")
		s.tildes = strings.HasPrefix(before, "~~~")
	}
	s.looked = at
	return s.tildes
}

// deep reports whether nothing but four blanks or a tab stand before the mark. In a list
// item that need not be code, yet it is what people mean by it.
func (s *scanner) deep(at int) bool {
	before := s.body[s.start:at]
	return strings.Trim(before, " \t") == "" && (len(before) > 3 || strings.Contains(before, "\t"))
}

// number fills in lines and columns in one walk.
func (s *scanner) number(first int) {
	line, col, at := max(first, 1), 1, 0
	for k := range s.found {
		f := &s.found[k]
		between := s.body[at:f.Start]
		if n := strings.Count(between, "\n"); n > 0 {
			line, col = line+n, 1
			between = between[strings.LastIndexByte(between, '\n')+1:]
		}
		col += utf8.RuneCountInString(between)
		f.Line, f.Col, at = line, col, f.Start
	}
}

// ignoredBlocks finds the fences that another dialect would run as commands.
func ignoredBlocks(body string, o ScanOptions) []skill.Diagnostic {
	if m := mannerOf(o.Dialect); m.blocks || !hasBlock(body) {
		return nil
	}
	var out []skill.Diagnostic
	for _, r := range skill.CodeRegions([]byte(body)) {
		if r.Kind == skill.FencedCode && r.Info == "!" {
			d := skill.Finding("inline_block_ignored", "", "a fence of kind ! is text here, not a command")
			d.Line = max(o.Line, 1) + bytes.Count([]byte(body[:r.Start]), []byte("\n")) - 1
			out = append(out, d)
		}
	}
	return out
}
