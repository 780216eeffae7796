package search

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/internal/packed"
)

// Which text of a skill gets vectors.
const (
	chunkBody    = 2000 // characters of the body in a skill's first chunk
	chunkSize    = 1200 // characters of any other
	chunkOverlap = 200
	embedAtOnce  = 256 // texts between two looks at whether to go on
)

// chunks returns the texts of d that get a vector: one of what it says of itself with
// the beginning of its body; when everything is asked for, pieces of the rest too.
func (d *document) chunks(ctx context.Context, full bool) []string {
	body := ""
	if d.Read != nil {
		if raw, err := d.Read(ctx, ""); err == nil {
			body, _ = d.bodyOf(raw)
		}
	}
	first := []string{d.Name, d.Description, d.When}
	first = append(first, headings(body)...)
	begin := body
	if n := cutAt(body, chunkBody); n < len(body) {
		begin = body[:n]
	}
	out := []string{strings.TrimSpace(strings.Join(append(first, begin), "\n"))}
	if full {
		out = append(out, pieces(body)...)
		d.eachReference(ctx, func(_ indexed, raw []byte) { out = append(out, pieces(clean(string(raw)))...) })
	}
	return out
}

// pieces cuts a text at line ends into chunks that overlap.
func pieces(s string) (out []string) {
	for s != "" {
		n := cutAt(s, chunkSize)
		if n < len(s) {
			if line := strings.LastIndexByte(s[:n], '\n'); line > n/2 {
				n = line + 1
			}
		}
		if t := strings.TrimSpace(s[:n]); t != "" {
			out = append(out, t)
		}
		if n == len(s) {
			break
		}
		back := n
		for c := 0; c < chunkOverlap && back > 0; c++ {
			_, size := utf8.DecodeLastRuneInString(s[:back])
			back -= size
		}
		s = s[max(back, 1):]
	}
	return out
}

// cutAt returns where the first n characters of s end.
func cutAt(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// vectorStore keeps the vectors of a scope by the digest of their text. Vectors have
// length 1 and never change.
type vectorStore struct {
	mu      sync.RWMutex
	loaded  bool
	rows    map[digest16][]float32
	dim     int
	version uint64 // grows when rows are added
	last    error  // of the latest attempt to add some
	tried   *generation
	busy    bool // an attempt is under way
	view    *rowSet
}

// rowSet is the vectors of one generation's documents.
type rowSet struct {
	g       *generation
	version uint64
	rows    []row
	without int // living documents that have none yet
}

type row struct {
	part int
	doc  uint32
	vec  []float32
}

// rowsOf returns the vectors of g.
func (v *vectorStore) rowsOf(g *generation) *rowSet {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.view != nil && v.view.g == g && v.view.version == v.version {
		return v.view
	}
	set := &rowSet{g: g, version: v.version}
	for p, part := range g.parts {
		for doc, d := range part.docs {
			if d == nil {
				continue
			}
			had := len(set.rows)
			for _, sum := range d.vectors {
				if vec, ok := v.rows[sum]; ok {
					set.rows = append(set.rows, row{p, uint32(doc), vec})
				}
			}
			if len(set.rows) == had {
				set.without++
			}
		}
	}
	v.view = set
	return set
}

// why says why there are no vectors.
func (v *vectorStore) why() error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.last != nil {
		return v.last
	}
	return errNotYet
}

var errNotYet = errors.New("no skill has a vector yet")

// missing returns the documents of g that lack a vector.
func (v *vectorStore) missing(g *generation) (out []*document) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, d := range g.documents() {
		for _, sum := range d.vectors {
			if v.rows[sum] == nil {
				out = append(out, d)
				break
			}
		}
	}
	return out
}

// put adds vectors, and refuses those of another length than the others have.
func (v *vectorStore) put(sums []digest16, list [][]float32) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.rows == nil {
		v.rows = map[digest16][]float32{}
	}
	for i, vec := range list {
		if v.dim == 0 {
			v.dim = len(vec)
		}
		if len(vec) != v.dim {
			return fmt.Errorf("%w: input %d: %d numbers, not %d", ErrBadVector, i, len(vec), v.dim)
		}
		v.rows[sums[i]] = unit(vec)
	}
	v.version++
	return nil
}

// unit returns a vector of length 1 with the direction of v.
func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum = float64(sum + float64(float64(x)*float64(x)))
	}
	length := math.Sqrt(sum)
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / length)
	}
	return out
}

// embed gets the vectors that the scope's documents lack. One runs at a time; a failure
// leaves what it got.
func (x *Index) embed(ctx context.Context, s *scope) error {
	s.embedding.Lock()
	defer s.embedding.Unlock()
	v, g := &s.vectors, s.gen.Load()
	x.loadVectors(s)
	missing := v.missing(g)
	var texts []string
	var sums []digest16
	queued := map[digest16]bool{}
	var err error
	flush := func() {
		if err == nil && len(texts) > 0 {
			var list [][]float32
			if list, err = x.vectorsOf(ctx, texts); err == nil {
				err = v.put(sums, list)
			}
		}
		texts, sums = nil, nil
	}
	for _, d := range missing {
		for _, text := range d.chunks(ctx, x.opt.FullVectors) {
			sum := digestOf([]byte(text))
			if v.has(sum) || queued[sum] {
				continue
			}
			queued[sum] = true
			texts, sums = append(texts, text), append(sums, sum)
		}
		if len(texts) >= embedAtOnce {
			flush()
		}
		if err != nil {
			break
		}
	}
	flush()
	v.mu.Lock()
	v.tried, v.last = g, err
	v.mu.Unlock()
	if len(queued) > 0 {
		x.saveVectors(s, err == nil)
	}
	return err
}

func (v *vectorStore) has(sum digest16) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.rows[sum] != nil
}

// vectorsOf asks the embedder, unless it has failed too often of late.
func (x *Index) vectorsOf(ctx context.Context, texts []string) ([][]float32, error) {
	if !x.breaker.closed(x.opt.Clock()) {
		return nil, errPaused
	}
	list, err := x.opt.Embedder.Embed(ctx, texts)
	if err == nil {
		err = checkVectors(list, len(texts), x.opt.Embedder.Dim())
	}
	if !errors.Is(err, context.Canceled) {
		x.breaker.note(err, x.opt.Clock())
	}
	return list, err
}

var errPaused = fmt.Errorf("paused after %d failures in a row", breakerFails)

// startEmbedding gets missing vectors in the background, once for each generation and
// again when the embedder may be asked after a failure.
func (x *Index) startEmbedding(s *scope, g *generation) {
	v := &s.vectors
	v.mu.Lock()
	due := !v.busy && (v.tried != g || v.last != nil && x.breaker.closed(x.opt.Clock()))
	v.busy = v.busy || due
	v.mu.Unlock()
	if !due {
		return
	}
	x.background(func(ctx context.Context) {
		_ = x.embed(ctx, s) // kept in vectors.last
		v.mu.Lock()
		v.busy = false
		v.mu.Unlock()
	})
}

// Vectors lie beside the index, one file for each model.
const (
	vectorMagic = "deft vectors 1\n"
	vectorBegin = "vec-"
)

func (x *Index) vectorHead() string {
	return fmt.Sprintf("%s%q %d\n", vectorMagic, x.opt.Embedder.Model(), x.opt.Embedder.Dim())
}

func (x *Index) vectorFile(s *scope) string {
	sum := sha256.Sum256([]byte(x.vectorHead()))
	return filepath.Join(x.folder(s), vectorBegin+hex.EncodeToString(sum[:12])+fileEnding)
}

// loadVectors reads what the disk has, once. Damage means to embed again.
func (x *Index) loadVectors(s *scope) {
	v := &s.vectors
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.loaded || x.opt.Dir == "" {
		return
	}
	v.loaded = true
	raw, err := readFile(x.vectorFile(s))
	if err != nil {
		return
	}
	body, ok := unsealed(x.vectorHead(), raw)
	if !ok {
		return
	}
	c := packed.Reader(body)
	list := vectorList{rows: map[digest16][]float32{}}
	list.walk(&c)
	if c.Bad || c.Rest() != "" {
		return
	}
	if v.rows == nil {
		v.rows, v.dim = list.rows, list.dim
		v.version++
	}
}

// saveVectors writes the scope's vectors; when they are complete, those of other
// models go.
func (x *Index) saveVectors(s *scope, complete bool) {
	if x.opt.Dir == "" || s.forked {
		return
	}
	wanted := map[digest16]bool{}
	for _, d := range s.gen.Load().documents() {
		for _, sum := range d.vectors {
			wanted[sum] = true
		}
	}
	v := &s.vectors
	v.mu.RLock()
	list := vectorList{dim: v.dim, rows: map[digest16][]float32{}}
	for sum, vec := range v.rows {
		if wanted[sum] {
			list.rows[sum] = vec
		}
	}
	v.mu.RUnlock()
	path := x.vectorFile(s)
	c := packed.Writer([]byte(x.vectorHead()))
	list.walk(&c)
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil || atomicfile.Write(path, sealed(c.Bytes()), 0o600) != nil || !complete {
		return // the next start embeds again
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), vectorBegin) && e.Name() != filepath.Base(path) {
			_ = os.Remove(filepath.Join(filepath.Dir(path), e.Name())) // the next save tries again
		}
	}
}

// vectorList is what is kept of a vectorStore.
type vectorList struct {
	dim  int
	rows map[digest16][]float32
}

func (l *vectorList) walk(c *packed.Codec) {
	c.Integer(&l.dim)
	keys := sortedSums(l.rows)
	packed.List(c, &keys, func(sum *digest16) {
		walkDigest(c, sum)
		bits := make([]uint32, len(l.rows[*sum]))
		for i, f := range l.rows[*sum] {
			bits[i] = math.Float32bits(f)
		}
		if words(c, &bits); !c.Reading() {
			return
		}
		vec := make([]float32, len(bits))
		for i, b := range bits {
			vec[i] = math.Float32frombits(b)
		}
		c.Bad = c.Bad || len(vec) != l.dim
		l.rows[*sum] = vec
	})
}

func sortedSums(m map[digest16][]float32) []digest16 {
	return slices.SortedFunc(maps.Keys(m), func(a, b digest16) int { return bytes.Compare(a[:], b[:]) })
}
