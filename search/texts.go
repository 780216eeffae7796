package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/packed"
)

// Entry is one document of a Texts.
type Entry struct {
	ID       string
	Content  string
	Metadata map[string]string
}

// TextHit is one document that matches.
type TextHit struct {
	Entry
	Score float64
	// Start and End are the first and the last line, from 1, that hold a word of the
	// query; 0 when none does.
	Start, End int
}

// TextOptions are the parameters of a Texts. The zero value is what dialect mastra uses.
type TextOptions struct {
	K1, B       float64  // 0 = 1.5 and 0.75
	KeepCase    bool     // words in another case are other words
	KeepSigns   bool     // signs belong to words; else they separate
	MinLength   int      // in characters; 0 = 2
	Stop        []string // nil = 26 English words
	VectorShare float64  // of a hybrid score, 0 to 1; 0 = a half
	// Embed makes vectors; nil = only words count.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)
}

// mastraStop are the words that dialect mastra leaves out.
const mastraStop = "a an and are as at be by for from has he in is it its of on or that the to was were will with"

// Texts ranks whole texts by plain BM25, with no fields and no stems: the index of
// dialect mastra. It is not safe for concurrent use.
type Texts struct {
	o     TextOptions
	stop  map[string]bool
	docs  []*textEntry
	at    map[string]int
	holds map[string]int // documents with the word
	words int            // of all documents
}

// textEntry is a document and its words.
type textEntry struct {
	Entry
	count  map[string]int
	length int
	vec    []float32
}

// NewTexts returns an empty index.
func NewTexts(o TextOptions) *Texts {
	x := &Texts{o: o}
	if x.o.K1 == 0 {
		x.o.K1 = 1.5
	}
	if x.o.B == 0 {
		x.o.B = 0.75
	}
	if x.o.MinLength == 0 {
		x.o.MinLength = 2
	}
	if x.o.Stop == nil {
		x.o.Stop = strings.Fields(mastraStop)
	}
	if x.o.VectorShare == 0 {
		x.o.VectorShare = vectorWeight
	}
	x.Clear()
	return x
}

// Clear removes every document.
func (x *Texts) Clear() {
	x.docs, x.at, x.holds, x.words = nil, map[string]int{}, map[string]int{}, 0
	x.stop = map[string]bool{}
	for _, w := range x.o.Stop {
		x.stop[w] = true
	}
}

// Len is the number of documents.
func (x *Texts) Len() int { return len(x.docs) }

// Words returns the words of s as they are indexed.
func (x *Texts) Words(s string) (out []string) {
	if !x.o.KeepCase {
		s = strings.ToLower(s)
	}
	if !x.o.KeepSigns {
		s = strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || unicode.IsSpace(r) {
				return r
			}
			return ' '
		}, s)
	}
	for w := range strings.FieldsSeq(s) {
		if utf8.RuneCountInString(w) >= x.o.MinLength && !x.stop[w] {
			out = append(out, w)
		}
	}
	return out
}

// Add puts a document in, or replaces the one of the same ID. The error is Embed's.
func (x *Texts) Add(ctx context.Context, t Entry) error {
	d := &textEntry{Entry: t, count: map[string]int{}}
	for _, w := range x.Words(t.Content) {
		d.count[w]++
		d.length++
	}
	if x.o.Embed != nil {
		list, err := x.o.Embed(ctx, []string{t.Content})
		if err == nil {
			err = checkVectors(list, 1, 0)
		}
		if err != nil {
			return fmt.Errorf("document %q: %w", t.ID, err)
		}
		d.vec = unit(list[0])
	}
	x.Remove(t.ID)
	x.enter(d)
	return nil
}

func (x *Texts) enter(d *textEntry) {
	x.at[d.ID] = len(x.docs)
	x.docs = append(x.docs, d)
	x.words += d.length
	for w := range d.count {
		x.holds[w]++
	}
}

// Remove takes a document out and reports whether it was there.
func (x *Texts) Remove(id string) bool {
	i, ok := x.at[id]
	if !ok {
		return false
	}
	d := x.docs[i]
	x.words -= d.length
	for w := range d.count {
		if x.holds[w]--; x.holds[w] == 0 {
			delete(x.holds, w)
		}
	}
	delete(x.at, id)
	x.docs = slices.Delete(x.docs, i, i+1)
	for id, at := range x.at {
		if at > i {
			x.at[id] = at - 1
		}
	}
	return true
}

// TextQuery is a question to a Texts.
type TextQuery struct {
	Text     string
	TopK     int // 0 = 10
	MinScore float64
	Mode     Mode                      // BM25, Vector, Hybrid; "" and Auto = BM25, or Hybrid with Embed
	Only     func(t *Entry) bool       // nil = every document
	Vector   func() ([]float32, error) // nil = Embed of Text
}

// Search returns the best documents, best first; of equal ones the first that was
// added. Vector and Hybrid without Embed are ErrModeUnavailable.
func (x *Texts) Search(ctx context.Context, q TextQuery) ([]TextHit, error) {
	if q.TopK == 0 {
		q.TopK = 10
	}
	if q.Mode == "" || q.Mode == Auto {
		if q.Mode = BM25; x.o.Embed != nil {
			q.Mode = Hybrid
		}
	}
	asked := x.Words(q.Text)
	var scores map[*textEntry]float64
	var err error
	switch q.Mode {
	case BM25:
		scores = x.byWords(asked, q.Only)
	case Vector, Hybrid:
		if x.o.Embed == nil {
			return nil, fmt.Errorf("%w: %s search needs an embedder", ErrModeUnavailable, q.Mode)
		}
		if scores, err = x.byVectors(ctx, q); err == nil && q.Mode == Hybrid {
			scores = x.mix(scores, stretch(x.byWords(asked, q.Only)))
		}
	default:
		err = fmt.Errorf("%w: mode %q is unknown", ErrBadQuery, q.Mode)
	}
	if err != nil {
		return nil, err
	}
	var hits []TextHit
	for _, d := range x.docs {
		if s, ok := scores[d]; ok && s >= q.MinScore {
			hits = append(hits, TextHit{Entry: d.Entry, Score: s})
		}
	}
	slices.SortStableFunc(hits, func(a, b TextHit) int { return cmp.Compare(b.Score, a.Score) })
	hits = hits[:min(len(hits), q.TopK)]
	for i := range hits {
		hits[i].Start, hits[i].End = x.LineRange(hits[i].Content, asked)
	}
	return hits, nil
}

// byWords scores the documents that hold a word; one asked twice counts twice.
func (x *Texts) byWords(asked []string, only func(*Entry) bool) map[*textEntry]float64 {
	out := map[*textEntry]float64{}
	average := float64(x.words) / float64(max(len(x.docs), 1))
	for _, w := range asked {
		n := x.holds[w]
		if n == 0 {
			continue
		}
		rare := idf(n, len(x.docs))
		for _, d := range x.docs {
			tf := float64(d.count[w])
			if tf == 0 || only != nil && !only(&d.Entry) {
				continue
			}
			length := float64(1-x.o.B) + float64(x.o.B*float64(float64(d.length)/average))
			part := float64(tf*float64(x.o.K1+1)) / float64(tf+float64(x.o.K1*length))
			out[d] = float64(out[d] + float64(rare*part))
		}
	}
	return out
}

func (x *Texts) byVectors(ctx context.Context, q TextQuery) (map[*textEntry]float64, error) {
	if q.Vector == nil {
		q.Vector = func() ([]float32, error) {
			list, err := x.o.Embed(ctx, []string{q.Text})
			if err == nil {
				err = checkVectors(list, 1, 0)
			}
			if err != nil {
				return nil, err
			}
			return list[0], nil
		}
	}
	vec, err := q.Vector()
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	query, out := unit(vec), map[*textEntry]float64{}
	for _, d := range x.docs {
		if q.Only == nil || q.Only(&d.Entry) {
			out[d] = float64(dot(d.vec, query))
		}
	}
	return out, nil
}

// stretch brings scores to 0…1; when all are equal, all are 1.
func stretch(scores map[*textEntry]float64) map[*textEntry]float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range scores {
		low, high = min(low, s), max(high, s)
	}
	for d, s := range scores {
		scores[d] = 1
		if high > low {
			scores[d] = float64(s-low) / float64(high-low)
		}
	}
	return scores
}

// mix is the weighted sum of both sides; who is missing in one has 0 there.
func (x *Texts) mix(vectors, words map[*textEntry]float64) map[*textEntry]float64 {
	out := map[*textEntry]float64{}
	for d, s := range vectors {
		out[d] = float64(s * x.o.VectorShare)
	}
	for d, s := range words {
		out[d] = float64(out[d] + float64(s*float64(1-x.o.VectorShare)))
	}
	return out
}

// LineRange returns the first and the last line of content, from 1, that hold one of
// the words; 0, 0 when none does.
func (x *Texts) LineRange(content string, words []string) (start, end int) {
	for i, line := range strings.Split(content, "\n") {
		if slices.ContainsFunc(x.Words(line), func(w string) bool { return slices.Contains(words, w) }) {
			if end = i + 1; start == 0 {
				start = end
			}
		}
	}
	return start, end
}

// Lines returns lines start to end of content, from 1, and how many it has in all.
// 0 leaves a side open; bounds outside are moved inside.
func Lines(content string, start, end int) (text string, total int) {
	lines := strings.Split(content, "\n")
	total = len(lines)
	if start < 1 {
		start = 1
	}
	if end < 1 || end > total {
		end = total
	}
	if start > end {
		return "", total
	}
	return strings.Join(lines[start-1:end], "\n"), total
}

const textsMagic = "deft texts 1\n"

var errNoTexts = errors.New("search texts: not what a Texts has saved")

// MarshalBinary returns documents and parameters; Embed is not among them.
func (x *Texts) MarshalBinary() ([]byte, error) {
	c := packed.Writer([]byte(textsMagic))
	x.walk(&c)
	return sealed(c.Bytes()), nil
}

// UnmarshalBinary replaces everything but Embed by what MarshalBinary returned.
func (x *Texts) UnmarshalBinary(raw []byte) error {
	body, ok := unsealed(textsMagic, string(raw))
	if !ok {
		return errNoTexts
	}
	y := &Texts{}
	c := packed.Reader(body)
	if y.walk(&c); c.Bad || c.Rest() != "" {
		return errNoTexts
	}
	y.o.Embed = x.o.Embed
	docs := y.docs
	y.Clear()
	for _, d := range docs {
		d.count = map[string]int{}
		for _, w := range y.Words(d.Content) {
			d.count[w]++
			d.length++
		}
		y.enter(d)
	}
	*x = *y
	return nil
}

func (x *Texts) walk(c *packed.Codec) {
	for _, f := range []*float64{&x.o.K1, &x.o.B, &x.o.VectorShare} {
		n := int64(math.Float64bits(*f))
		c.Number(&n)
		*f = math.Float64frombits(uint64(n))
	}
	c.Flags(&x.o.KeepCase, &x.o.KeepSigns)
	c.Integer(&x.o.MinLength)
	c.Texts(&x.o.Stop)
	packed.List(c, &x.docs, func(at **textEntry) {
		if *at == nil {
			*at = &textEntry{}
		}
		d := *at
		c.Text(&d.ID)
		c.Text(&d.Content)
		packed.Table(c, &d.Metadata, c.Text)
		bits := make([]uint32, len(d.vec))
		for i, f := range d.vec {
			bits[i] = math.Float32bits(f)
		}
		words(c, &bits)
		if c.Reading() {
			d.vec = make([]float32, len(bits))
			for i, b := range bits {
				d.vec[i] = math.Float32frombits(b)
			}
		}
	})
}
