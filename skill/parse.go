package skill

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/internal/limits"
)

// ParseOptions says whose rules apply and what stands around the file. The zero value
// reads by the rules of Deft, with the default limits, as a file without a directory.
type ParseOptions struct {
	Dialect       Dialect           // "" means Deft
	Limits        limits.Skill      // zero fields mean the defaults
	Path          string            // location shown in diagnostics
	DirName       string            // base name of the entry directory: the link's own name
	TargetDirName string            // base name of the real directory, for dialect MiniMax; "" means DirName
	DataDir       string            // value of {{DATA_DIR}}; "" leaves it literal
	Sidecars      map[string][]byte // contents by name: SidecarConfig, SidecarOpenAI
	Unvalidated   bool              // dialect Mastra: load what its profile refuses
}

// Parse reads one SKILL.md. It loads what can be loaded and attaches what is wrong as
// located diagnostics; it never fails, never returns nil and keeps no part of src. A
// skill that cannot be trusted to say what its author wrote has Valid false, its
// directory's name, its diagnostics and no fields. Parse is a pure function of its
// arguments and safe for concurrent use.
func Parse(src []byte, o ParseOptions) *Skill { return parse(src, o, nil) }

func parse(src []byte, o ParseOptions, record map[string]Origin) *Skill {
	if o.Dialect == "" {
		o.Dialect = Deft
	}
	if o.Dialect == MiniMax && o.TargetDirName != "" {
		o.DirName = o.TargetDirName
	}
	s := &Skill{Size: int64(len(src)), from: o.Dialect}
	if len(o.Sidecars) > 0 && record == nil {
		record = make(map[string]Origin)
	}
	b := builders.Get().(*builder)
	defer func() {
		b.forget()
		builders.Put(b)
	}()
	b.read(s, src, o, record)
	return s
}

// read fills s from src. The builder is new, or has forgotten what it read before.
func (b *builder) read(s *Skill, src []byte, o ParseOptions, record map[string]Origin) {
	b.s, b.o, b.limits, b.record = s, o, o.Limits.WithDefaults(), record
	b.blocks = b.room[:0]
	b.top.file, b.top.origin, b.top.place = o.Path, skillFile, atTop
	s.File = FileDigest(src)
	s.Digest = combine(s.File, o.Sidecars)
	b.file(src)
	b.finish()
}

// builders are kept for the next file: one is larger than most headers.
var builders = sync.Pool{New: func() any { return new(builder) }}

// forget makes a pooled builder hold on to no skill. Its fields are cleared one by one,
// and of its table of keys those that were there: clearing two kilobytes of pointers
// under a garbage collection costs more than reading a header.
func (b *builder) forget() {
	b.fast.forget()
	for _, id := range b.used {
		b.top.keys[id] = member{}
	}
	b.top.file, b.top.origin, b.top.prefix, b.top.place = "", "", "", 0
	b.s, b.o, b.limits, b.record, b.shown = nil, ParseOptions{}, limits.Skill{}, nil, ""
	b.used, b.blocks, b.notes, b.room = b.used[:0], nil, nil, [4]*block{}
	b.more, b.invalid, b.spare, b.conds = 0, false, Diagnostic{}, Conditions{}
}

const skillFile = "SKILL.md"

// file reads the whole of src; a return before the end leaves an invalid skill.
func (b *builder) file(src []byte) {
	s := b.s
	top := &Node{Line: 1, Column: 1}
	if limit := b.limits.File; s.Size > limit {
		b.note("limit_file", &b.top, top, "file has %d bytes, the limit is %d", s.Size, limit)
		return
	}
	if code, offset, reason := badByte(src); code != "" {
		b.note(code, &b.top, place(src, offset), "%s", reason).Offset = int64(offset)
		return
	}
	if len(bytes.TrimSpace(bytes.TrimPrefix(src, []byte(bomBytes)))) == 0 {
		b.note("file_empty", &b.top, top, "file is empty")
		if b.o.Dialect != MiniMax {
			return
		}
	}
	p := SplitDialect(src, b.o.Dialect)
	if p.BOM && b.o.Dialect != MiniMax && b.o.Dialect != AgentSkills {
		b.note("bom", &b.top, top, "file begins with a byte order mark").Offset = 0
	}
	s.Header, s.Body = p.Header, p.Body
	if !b.fences(src, p) {
		return
	}
	root, ok := b.header(src, p)
	if !ok {
		return
	}
	b.fill(&b.top, root)
	b.extend()
	if p.HasHeader {
		b.commentsCut(s.header, p.HeaderLine)
	}
	b.meta()
	b.name(p.HasHeader)
	body := src[p.Body.Start:p.Body.End]
	bodyLine := 1
	if p.HasHeader {
		bodyLine = p.HeaderLine + bytes.Count(src[p.Header.Start:p.Body.Start], []byte("\n"))
	}
	b.title(body)
	b.description(body, bodyLine)
	if p.HasHeader && len(bytes.TrimSpace(body)) == 0 && b.o.Dialect != MiniMax {
		last := bodyLine
		if p.Body.Start > 0 && src[p.Body.Start-1] == '\n' {
			last--
		}
		b.note("body_empty", &b.top, &Node{Line: last, Column: 1}, "body is empty")
	}
	b.host(src)
}

// host applies the profile of a dialect that loads nothing it refuses.
func (b *builder) host(src []byte) {
	var profile Profile
	switch {
	case b.invalid:
		return
	case b.o.Dialect == Blade:
		profile = ProfileBlade
	case b.o.Dialect == Mastra && !b.o.Unvalidated:
		profile = ProfileMastra
	default:
		return
	}
	verdict := Validate(Input{Source: src, Path: b.o.Path, DirName: b.o.DirName, Limits: b.limits}, profile)
	for _, d := range verdict.Diagnostics {
		if d.Level != LevelError || d.Code == "value_enum" || d.Code == "value_range" {
			continue // a load stops for header, name and description; the rest is the verdict's
		}
		b.invalid = true
		if i := slices.IndexFunc(b.notes, func(n Diagnostic) bool { return n.Code == d.Code && n.Line == d.Line }); i >= 0 {
			b.notes[i] = d
			continue
		}
		b.add(d)
	}
}

// place returns the line and column of a byte.
func place(src []byte, offset int) *Node {
	before := src[:min(offset, len(src))]
	line := bytes.LastIndexByte(before, '\n') + 1
	return &Node{Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[line:]) + 1}
}

// fences judges a missing or unclosed header by the dialect's rules.
func (b *builder) fences(src []byte, p Parts) bool {
	top := &Node{Line: 1, Column: 1}
	d := b.o.Dialect
	switch {
	case p.Unclosed && d == MiniMax:
		b.note("frontmatter_unclosed", &b.top, top, "header has no closing line")
		b.invalid = false
	case p.Unclosed:
		b.note("header_unclosed", &b.top, top, "header has no closing `---` line")
		return false
	case p.HasHeader:
		if n := p.Header.End - p.Header.Start; n > int64(b.limits.Header) {
			at := place(src, int(p.Header.Start)+b.limits.Header)
			b.note("limit_header", &b.top, at, "header has %d bytes, the limit is %d", n, b.limits.Header)
			return false
		}
	case d == MiniMax:
		b.note("frontmatter_missing", &b.top, top, "header is missing")
	case d == Mastra && p.Language != "":
		b.note("header_language", &b.top, top, "JavaScript frontmatter is not supported")
		return false
	case d == Mastra || d == Blade || d == AgentSkills || d == Codex:
		b.note("header_missing", &b.top, top, "header is missing").Level = LevelError
		b.invalid = true
		return false
	default:
		b.note("header_missing", &b.top, top, "header is missing")
	}
	return true
}

// header reads the header's tree; ok is false when that stops the load.
func (b *builder) header(src []byte, p Parts) (root *Node, ok bool) {
	s := b.s
	if !p.HasHeader {
		return emptyMapping(1), true
	}
	// One copy of the header holds every text of the skill; the body is not kept.
	s.header = NormaliseBody(string(src[p.Header.Start:p.Header.End]))
	s.headerLine = p.HeaderLine
	h := b.headerText()
	h.fast = &b.fast
	root, notes, why := h.tree()
	for _, n := range notes {
		n.File = b.o.Path
		b.add(n)
	}
	if why == nil {
		return root, true
	}
	if b.o.Dialect == MiniMax || b.o.Dialect == ClaudeCode {
		code := "frontmatter_invalid_yaml"
		if why.code == "yaml_not_mapping" {
			code = "frontmatter_not_mapping"
		}
		b.note(code, &b.top, &Node{Line: why.line, Column: why.column}, "%s", why.message)
		return emptyMapping(p.HeaderLine), true
	}
	b.add(why.diagnostic(b.o.Path))
	return nil, false
}

func (b *builder) headerText() headerText {
	return headerText{
		text: b.s.header, first: b.s.headerLine, limits: b.limits,
		aliases: b.o.Dialect == MiniMax,
		mend:    b.o.Dialect == Deft || b.o.Dialect == Minara,
	}
}

// finish settles validity and hands the notes over.
func (b *builder) finish() {
	s := b.s
	s.Valid = !b.invalid
	if b.o.Dialect == MiniMax {
		s.Valid = true
	}
	if b.o.Dialect == MiniMax && s.Name == "" || !s.Valid {
		b.settleName(fold.NFC(b.o.DirName))
		s.Title = s.Name
	}
	if !s.Valid {
		// What the header said is unknown: it may have been "not by the model".
		s.Meta = Meta{Priority: defaultPriority, DisableModelInvocation: true}
		s.Description = ""
	}
	if b.more > 0 {
		last := &b.notes[len(b.notes)-1]
		last.Message += fmt.Sprintf("; %d more findings", b.more)
	}
	if len(b.notes) > 0 {
		s.Diagnostics = make([]Diagnostic, len(b.notes))
		copy(s.Diagnostics, b.notes)
	}
	b.keepSides()
}

// keepSides keeps where sidecars wrote fields: their bytes are not kept, so that Origin
// could not find out later.
func (b *builder) keepSides() {
	if len(b.o.Sidecars) == 0 {
		return
	}
	for field, o := range b.record {
		if o.File == skillFile {
			continue
		}
		if b.s.sides == nil {
			b.s.sides = make(map[string]Origin)
		}
		b.s.sides[field] = o
	}
}

// combine returns file, or with sidecars a digest over the digests of all of them.
func combine(file Digest, sidecars map[string][]byte) Digest {
	if len(sidecars) == 0 {
		return file
	}
	h := sha256.New()
	_, _ = io.WriteString(h, skillFile+" "+string(file)+"\n")
	for _, name := range slices.Sorted(mapKeys(sidecars)) {
		_, _ = io.WriteString(h, name+" "+string(FileDigest(sidecars[name]))+"\n")
	}
	return digestOf([sha256.Size]byte(h.Sum(nil)))
}

func mapKeys(m map[string][]byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// Raw reads the kept header text again, within the default limits, and returns its
// tree, an empty mapping when there is no header, or nil when it cannot be read. The tree is the caller's own.
func (s *Skill) Raw() *Node {
	if s.header == "" {
		return emptyMapping(max(s.headerLine, 1))
	}
	b := builder{s: s, o: ParseOptions{Dialect: s.from}, limits: limits.DefaultSkill()}
	root, _, _ := b.headerText().tree()
	return root
}

// HeaderText returns the header between the fences, with CRLF read as LF; "" without
// a header. HeaderLine is the line of its first byte.
func (s *Skill) HeaderText() (text string, line int) { return s.header, s.headerLine }

// Origin says where a field was written: field is the documented key, with its parent
// for conditions and routing ("allowed-tools", "conditions.requires_env"). The zero
// Origin means that nothing wrote it. It reads the header again.
func (s *Skill) Origin(field string) Origin {
	if o, ok := s.sides[field]; ok {
		return o
	}
	if !s.Valid || s.header == "" {
		return Origin{}
	}
	record := make(map[string]Origin)
	parse([]byte("---\n"+strings.TrimSuffix(s.header, "\n")+"\n---\n"), ParseOptions{Dialect: s.from}, record)
	o := record[field]
	if o.Line > 0 {
		o.Line += s.headerLine - 2
	}
	return o
}
