package search

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

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
	Path        string // the skill's folder as its source lists it; "" = Address
	Description string
	Aliases     []string
	Keywords    []string
	Locales     []string // the description in other languages
	When        string
	Digest      skill.Digest // of the header's and body's file; "" is not compared
	Body        skill.Span   // of the body in SKILL.md
	// Header returns the header's tree, asked for the words it lists beside Keywords.
	// Nil: there are none.
	Header func() *skill.Node
	// Read returns one file of the skill whole; "" is SKILL.md. Nil: nothing to read.
	Read func(ctx context.Context, rel string) ([]byte, error)
	// List returns the files below references/; nil: none.
	List func(ctx context.Context) ([]Reference, error)
}

// Reference is a file below references/. One whose size and time are the same is taken
// for unchanged.
type Reference struct {
	Path string // in the skill
	Size int64
	Time int64 // of its last change, in nanoseconds; 0 = unknown, then its text is compared
}

// document is a Document in the index, with what building it found out. One that an
// index holds never changes.
type document struct {
	Document
	meta  uint64 // see metaOf; of what the index or the disk holds
	refs  []indexed
	notes []skill.Diagnostic // what was skipped
	torn  bool               // SKILL.md was not the one that was listed
	// vectors are the digests of the texts that get a vector, where there is an embedder.
	vectors []digest16
}

// indexed is a reference, and the digest of its text; skipped ones have none.
type indexed struct {
	Reference
	sum digest16
}

// digest16 is the first half of a SHA-256.
type digest16 [16]byte

func digestOf(raw []byte) digest16 {
	sum := sha256.Sum256(raw)
	return digest16(sum[:16])
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// metaOf tells two headers apart: a checksum of what is indexed of a Document beside
// its files, and its length.
func metaOf(d *Document) uint64 {
	sum, size := uint32(0), 0
	add := func(s string) {
		if s != "" {
			sum = crc32.Update(sum, castagnoli, unsafe.Slice(unsafe.StringData(s), len(s))) // which only reads
		}
		sum = crc32.Update(sum, castagnoli, separator)
		size += len(s) + 1
	}
	for _, s := range [...]string{d.Name, d.Source, d.Location, d.Description, d.When} {
		add(s)
	}
	for _, list := range [...][]string{d.Aliases, d.Keywords, d.Locales} {
		for _, s := range list {
			add(s)
		}
		add("")
	}
	return uint64(size)<<32 | uint64(sum)
}

var separator = []byte{0xff} // in no text

// documentOf describes a record without reading anything.
func documentOf(rec *registry.Record) Document {
	s, e := rec.Skill, rec.Entry
	d := Document{
		Address: rec.Address, ID: s.ID(), Name: s.Name, Description: s.Description,
		Kind: string(e.Source.Kind), Trust: string(e.Source.Trust), Source: e.Source.ID, Location: e.Location, Path: rec.Path(),
		When: s.Meta.WhenToUse, Digest: s.File, Body: s.Body,
		Keywords: slices.Concat(s.Meta.Tags, s.Meta.ModeSlugs),
	}
	d.Header = s.Raw
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
		d.List = func(ctx context.Context) ([]Reference, error) {
			return listReferences(func(rel string) (fs.File, error) { return e.From.Open(ctx, e, rel) })
		}
	}
	return d
}

func newDocument(d Document) *document { return &document{Document: d} }

// described reports whether two documents say the same of themselves beside their
// files. Between two Snapshots most texts are even the same memory.
func (d *Document) described(o *Document) bool {
	return d.Name == o.Name && d.Source == o.Source && d.Location == o.Location && d.Description == o.Description && d.When == o.When &&
		slices.Equal(d.Aliases, o.Aliases) && slices.Equal(d.Keywords, o.Keywords) && slices.Equal(d.Locales, o.Locales)
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// listReferences walks references/ and returns its regular files with a type that is
// text, by path; no link is followed here.
func listReferences(open func(rel string) (fs.File, error)) ([]Reference, error) {
	var found []Reference
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
				r := Reference{Path: rel}
				if st, err := e.Info(); err == nil {
					r.Size = st.Size()
					if !st.ModTime().IsZero() {
						r.Time = st.ModTime().UnixNano()
					}
				}
				found = append(found, r)
			}
		}
		return nil
	}
	err := walk("references", 0)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	slices.SortFunc(found, func(a, b Reference) int { return strings.Compare(a.Path, b.Path) })
	return found[:min(len(found), maxReferences)], err
}

// index reads d, counts its text and keeps it. What cannot be read costs that text
// only, and is noted.
func (b *builder) index(ctx context.Context, d *document) {
	own := &document{Document: d.Document, meta: metaOf(&d.Document)}
	b.text(Name, d.Name)
	for _, alias := range d.Aliases {
		b.text(Name, alias)
	}
	for _, k := range d.Keywords {
		b.text(Keywords, k)
	}
	b.text(Description, purpose(d.Description))
	for _, l := range d.Locales {
		b.text(Description, purpose(l))
	}
	b.text(When, d.When)
	if d.Read != nil {
		b.body(ctx, own)
	}
	if d.List != nil {
		b.references(ctx, own)
	}
	if b.opt.Embedder != nil {
		for _, text := range own.chunks(ctx, b.opt.FullVectors) {
			own.vectors = append(own.vectors, digestOf([]byte(text)))
		}
	}
	b.close(own)
}

func (b *builder) body(ctx context.Context, d *document) {
	raw, err := d.Read(ctx, "")
	if err != nil {
		d.skip("SKILL.md", err.Error())
		return
	}
	if d.Digest != "" && skill.FileDigest(raw) != d.Digest {
		d.torn = true
		d.skip("SKILL.md", "it has changed since it was listed")
		return
	}
	if at := min(max(d.Body.Start, 0), int64(len(raw))); d.Header != nil && lists(raw[:at]) {
		eachListed(d.Header(), func(words string) { b.text(Keywords, words) })
	}
	body, _ := d.bodyOf(raw)
	if len(body) > maxBody {
		body = clip(body, maxBody)
		d.notes = append(d.notes, skill.Diagnostic{
			Code: "search_body_truncated", Level: skill.LevelInfo, File: d.Location, Offset: -1,
			Message: fmt.Sprintf("body has %d bytes; the first %d are searched", d.Body.End-d.Body.Start, maxBody),
		})
	}
	eachLine(body, b.text)
}

func (b *builder) references(ctx context.Context, d *document) {
	list, err := d.List(ctx)
	if err != nil {
		d.skip("references", err.Error())
	}
	d.refs = make([]indexed, len(list))
	total := 0
	for i, r := range list {
		d.refs[i].Reference = r
		if total > maxRefBytes {
			continue
		}
		raw, err := d.Read(ctx, r.Path)
		switch {
		case err != nil:
			d.skip(r.Path, err.Error())
			continue
		case len(raw) > maxReference:
			d.skip(r.Path, fmt.Sprintf("larger than %d bytes", maxReference))
			continue
		case !utf8.Valid(raw):
			d.skip(r.Path, "not UTF-8")
			continue
		}
		if total += len(raw); total > maxRefBytes {
			d.skip(r.Path, fmt.Sprintf("references larger than %d bytes in all", maxRefBytes))
			continue
		}
		b.text(References, clean(string(raw)))
		d.refs[i].sum = digestOf(raw)
	}
}

// moved reports whether the references of d are no longer those that were indexed.
func (d *document) moved(ctx context.Context) bool {
	if d.List == nil {
		return false
	}
	list, _ := d.List(ctx)
	if len(list) != len(d.refs) {
		return true
	}
	for i, r := range list {
		switch was := d.refs[i]; {
		case r != was.Reference:
			return true
		case r.Time == 0 && was.sum != digest16{}:
			if raw, err := d.Read(ctx, r.Path); err != nil || digestOf(raw) != was.sum {
				return true
			}
		}
	}
	return false
}

// eachReference hands on the text of every reference that is indexed and can be read.
func (d *document) eachReference(ctx context.Context, f func(r indexed, raw []byte)) {
	for _, r := range d.refs {
		if r.sum == (digest16{}) {
			continue
		}
		if raw, err := d.Read(ctx, r.Path); err == nil {
			f(r, raw)
		}
	}
}

// skip notes that a file is not searched.
func (d *document) skip(rel, why string) {
	code := "search_reference_skipped"
	if rel == "SKILL.md" {
		code = "search_file_skipped"
	}
	d.notes = append(d.notes, skill.Diagnostic{
		Code: code, Level: skill.LevelInfo, File: d.Location, Offset: -1,
		Message: rel + " of " + d.Name + " is not searched: " + why,
	})
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
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if b[i] != '\n' {
				b[i] = ' '
			}
		}
	}
	each(b, "<!--", func(i int) int {
		end := bytes.Index(b[i:], []byte("-->"))
		if end < 0 {
			return len(b)
		}
		blank(i, i+end+3)
		return i + end + 3
	})
	each(b, "](", func(i int) int {
		end := bytes.IndexAny(b[i:], ")\n")
		if end < 0 {
			return len(b)
		}
		blank(i, i+end)
		return i + end
	})
	for i := 0; i+maxEncoded < len(b); {
		last := i + maxEncoded // backwards, so that most bytes are never looked at
		for last >= i && isEncoded(b[last]) {
			last--
		}
		if last >= i {
			i = last + 1
			continue
		}
		end := i
		for end < len(b) && isEncoded(b[end]) {
			end++
		}
		blank(i, end)
		i = end
	}
	return string(b)
}

// each calls f for every place of mark, from where f says that the search goes on.
func each(b []byte, mark string, f func(at int) (next int)) {
	for from := 0; from < len(b); {
		at := bytes.Index(b[from:], []byte(mark))
		if at < 0 {
			return
		}
		from = f(from + at)
	}
}

// isEncoded reports whether c belongs to the base64 alphabet.
func isEncoded(c byte) bool {
	return byteClass[c] != otherByte && byteClass[c] != joinByte || c == '+' || c == '/' || c == '='
}

// clip cuts s to at most n bytes, at the border of a character.
func clip(s string, n int) string {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:min(n, len(s))]
}
