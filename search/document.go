package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// What of a skill is read for the index. More is noise, or somebody's archive.
const (
	maxBody       = 256 << 10
	maxReference  = 1 << 20
	maxReferences = 200
	maxRefBytes   = 8 << 20
	maxRefDepth   = 8
	maxEncoded    = 200 // characters of a run of base64
)

var referenceTypes = []string{".md", ".markdown", ".txt", ".rst", ".adoc", ".json", ".yaml", ".yml", ".csv", ".html"}

// Document is one skill as the index takes it. Update makes them from records; AddDocs
// takes any.
type Document struct {
	Address     string // unique in its scope
	ID          skill.ID
	Name        string
	Kind        string // source.Kind
	Trust       string // source.Trust
	Source      string // source.Info.ID
	Location    string
	Description string
	Aliases     []string
	Keywords    []string
	Locales     []string // the description in other languages
	When        string
	Digest      skill.Digest // of the header's and body's file; "" is not compared
	Body        skill.Span   // of the body in SKILL.md
	// Read returns one file of the skill whole; "" is SKILL.md. Nil: nothing to read.
	Read func(ctx context.Context, rel string) ([]byte, error)
	// List returns the paths of the files below references/; nil: none.
	List func(ctx context.Context) ([]string, error)
}

// document is a Document in the index, with what building it found out.
type document struct {
	Document
	refs []string // the references that are indexed
}

// documentOf describes a record without reading anything.
func documentOf(rec *registry.Record) *document {
	s, e := rec.Skill, rec.Entry
	d := Document{
		Address: rec.Address, ID: s.ID(), Name: s.Name, Description: s.Description,
		Kind: string(e.Source.Kind), Trust: string(e.Source.Trust), Source: e.Source.ID, Location: e.Location,
		When: s.Meta.WhenToUse, Digest: s.File, Body: s.Body,
		Keywords: slices.Concat(s.Meta.Tags, s.Meta.ModeSlugs),
	}
	if s.Title != s.Name && s.Title != "" {
		d.Aliases = append(d.Aliases, s.Title)
	}
	if r := s.Meta.Routing; r != nil {
		d.Keywords = slices.Concat(d.Keywords, r.Keywords, r.Stages)
	}
	for _, tag := range sortedKeys(s.Meta.Descriptions) {
		d.Locales = append(d.Locales, s.Meta.Descriptions[tag])
	}
	if e.From != nil {
		d.Read = func(ctx context.Context, rel string) ([]byte, error) {
			f, err := e.From.Open(ctx, e, rel)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			return io.ReadAll(io.LimitReader(f, maxReference+1))
		}
		d.List = func(ctx context.Context) ([]string, error) {
			return listReferences(func(rel string) (fs.File, error) { return e.From.Open(ctx, e, rel) })
		}
	}
	return &document{Document: d}
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// listReferences walks references/ and returns the paths of its regular files with a
// type that is text, sorted; no link is followed here.
func listReferences(open func(rel string) (fs.File, error)) ([]string, error) {
	var found []string
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		f, err := open(dir)
		if err != nil {
			return err
		}
		defer f.Close()
		list, ok := f.(fs.ReadDirFile)
		if !ok {
			return nil
		}
		entries, err := list.ReadDir(4 * maxReferences)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for _, e := range entries {
			rel := path.Join(dir, e.Name())
			switch {
			case e.IsDir() && depth < maxRefDepth:
				if err := walk(rel, depth+1); err != nil {
					return err
				}
			case e.Type().IsRegular() && slices.Contains(referenceTypes, strings.ToLower(path.Ext(rel))):
				found = append(found, rel)
			}
		}
		return nil
	}
	err := walk("references", 0)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	slices.Sort(found)
	return found[:min(len(found), maxReferences)], err
}

// index reads d and counts its text. What cannot be read costs that text only.
func (b *builder) index(ctx context.Context, d *document) (diags []skill.Diagnostic) {
	b.text(Name, d.Name)
	for _, alias := range d.Aliases {
		b.text(Name, alias)
	}
	for _, k := range d.Keywords {
		b.text(Keywords, k)
	}
	b.text(Description, d.Description)
	for _, l := range d.Locales {
		b.text(Description, l)
	}
	b.text(When, d.When)
	if d.Read != nil {
		diags = b.body(ctx, d, diags)
	}
	if d.List != nil {
		diags = b.references(ctx, d, diags)
	}
	b.close(d)
	return diags
}

func (b *builder) body(ctx context.Context, d *document, diags []skill.Diagnostic) []skill.Diagnostic {
	raw, err := d.Read(ctx, "")
	if err != nil {
		return append(diags, skipped(d, "SKILL.md", err.Error()))
	}
	body, _ := d.bodyOf(raw)
	if len(body) > maxBody {
		body = clip(body, maxBody)
		diags = append(diags, skill.Diagnostic{
			Code: "search_body_truncated", Level: skill.LevelInfo, File: d.Location, Offset: -1,
			Message: fmt.Sprintf("body has %d bytes; the first %d are searched", d.Body.End-d.Body.Start, maxBody),
		})
	}
	b.text(Body, body)
	for _, h := range headings(body) {
		b.text(Headings, h)
	}
	return diags
}

func (b *builder) references(ctx context.Context, d *document, diags []skill.Diagnostic) []skill.Diagnostic {
	list, err := d.List(ctx)
	if err != nil {
		diags = append(diags, skipped(d, "references", err.Error()))
	}
	total := 0
	for _, rel := range list {
		raw, err := d.Read(ctx, rel)
		switch {
		case err != nil:
			diags = append(diags, skipped(d, rel, err.Error()))
			continue
		case len(raw) > maxReference:
			diags = append(diags, skipped(d, rel, fmt.Sprintf("larger than %d bytes", maxReference)))
			continue
		case !utf8.Valid(raw):
			diags = append(diags, skipped(d, rel, "not UTF-8"))
			continue
		}
		if total += len(raw); total > maxRefBytes {
			return append(diags, skipped(d, rel, fmt.Sprintf("references larger than %d bytes in all", maxRefBytes)))
		}
		b.text(References, clean(string(raw)))
		d.refs = append(d.refs, rel)
	}
	return diags
}

func skipped(d *document, rel, why string) skill.Diagnostic {
	code := "search_reference_skipped"
	if rel == "SKILL.md" {
		code = "search_file_skipped"
	}
	return skill.Diagnostic{
		Code: code, Level: skill.LevelInfo, File: d.Location, Offset: -1,
		Message: rel + " of " + d.Name + " is not searched: " + why,
	}
}

// bodyOf returns the text of the body and how many lines of the file stand before
// it. Parts that are not for readers are blanked out, line for line.
func (d *Document) bodyOf(raw []byte) (body string, before int) {
	from := min(max(d.Body.Start, 0), int64(len(raw)))
	to := min(max(d.Body.End, from), int64(len(raw)))
	return clean(string(raw[from:to])), bytes.Count(raw[:from], []byte("\n"))
}

// clean blanks HTML comments, link targets and long encoded runs, and keeps every
// line where it is.
func clean(s string) string {
	if !strings.Contains(s, "<!--") && !strings.Contains(s, "](") && len(s) <= maxEncoded {
		return s
	}
	b := []byte(s)
	for i := 0; i < len(b); {
		end, blank := span(b, i)
		for ; i < end; i++ {
			if blank && b[i] != '\n' {
				b[i] = ' '
			}
		}
	}
	return string(b)
}

// span returns the end of the piece of text at i, and whether it is one to blank.
func span(b []byte, i int) (end int, blank bool) {
	switch {
	case b[i] == '<' && bytes.HasPrefix(b[i:], []byte("<!--")):
		if n := bytes.Index(b[i:], []byte("-->")); n > 0 {
			return i + n + 3, true
		}
	case b[i] == ']' && i+1 < len(b) && b[i+1] == '(':
		if n := bytes.IndexAny(b[i:], ")\n"); n > 0 {
			return i + n, true
		}
	case isEncoded(b[i]):
		for end = i; end < len(b) && isEncoded(b[end]); end++ {
		}
		return end, end-i > maxEncoded
	}
	return i + 1, false
}

// isEncoded reports whether c belongs to the base64 alphabet.
func isEncoded(c byte) bool {
	return byteClass[c] != otherByte && byteClass[c] != joinByte || c == '+' || c == '/' || c == '='
}

// headings returns the text of the heading lines of a Markdown body.
func headings(body string) (out []string) {
	fence := ""
	for line := range strings.Lines(body) {
		text := strings.TrimLeft(line, " ")
		switch {
		case fence != "":
			if strings.HasPrefix(text, fence) {
				fence = ""
			}
		case strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~"):
			fence = text[:3]
		case strings.HasPrefix(text, "#"):
			out = append(out, strings.TrimLeft(text, "# "))
		}
	}
	return out
}

// clip cuts s to at most n bytes, at the border of a character.
func clip(s string, n int) string {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:min(n, len(s))]
}
