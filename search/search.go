package search

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

const defaultTopK, maxTopK = 5, 100

func (q Query) check(vectors bool) (Query, error) {
	if q.TopK == 0 {
		q.TopK = defaultTopK
	}
	if q.TopK < 0 || q.TopK > maxTopK {
		return q, fmt.Errorf("%w: topk %d is not between 1 and %d", ErrBadQuery, q.TopK, maxTopK)
	}
	for _, f := range q.Filter.Fields {
		if f >= fieldCount {
			return q, fmt.Errorf("%w: %v is unknown", ErrBadQuery, f)
		}
	}
	switch q.Mode {
	case "", Auto:
		if q.Mode = BM25; vectors {
			q.Mode = Hybrid
		}
	case BM25, Text:
	case Vector, Hybrid:
		if vectors {
			break
		}
		return q, fmt.Errorf("%w: %s search needs an embedder", ErrModeUnavailable, q.Mode)
	default:
		return q, fmt.Errorf("%w: mode %q is unknown", ErrBadQuery, q.Mode)
	}
	return q, nil
}

// found is a candidate: a document of a part, with what the query found out.
type found struct {
	*document
	part   int
	number uint32
	acc
	named, phrased bool

	// Of a query with vectors:
	fused      bool
	fusedScore int64
	byWords    int64
	cosine     float32
}

// before is the order of hits: score, then name and location bytewise.
func (f *found) before(o *found) int {
	return cmp.Or(cmp.Compare(o.score, f.score), f.ahead(o.document))
}

// ahead is the order of hits with equal scores, and of documents in a segment.
func (d *document) ahead(o *document) int {
	return cmp.Or(strings.Compare(d.Name, o.Name), strings.Compare(d.Location, o.Location), strings.Compare(d.Address, o.Address))
}

// nearer is the order by vectors.
func (f *found) nearer(o *found) int {
	return cmp.Or(cmp.Compare(o.cosine, f.cosine), f.ahead(o.document))
}

// best keeps the first k in the order of hits; its root is the last of them.
type best []*found

func (b best) Len() int           { return len(b) }
func (b best) Less(i, j int) bool { return b[i].before(b[j]) > 0 }
func (b best) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *best) Push(x any)        { *b = append(*b, x.(*found)) }
func (b *best) Pop() any          { panic("search: a full heap only replaces its root") }

// offer adds f if it belongs to the first k, and reports that.
func (b *best) offer(f found, k int) bool {
	switch {
	case len(*b) < k:
		heap.Push(b, &f)
	case f.before((*b)[0]) < 0:
		(*b)[0] = &f
		heap.Fix(b, 0)
	default:
		return false
	}
	return true
}

// Search answers q. The error is ErrBadQuery, ErrModeUnavailable, ErrClosed or the
// context's; everything else is a diagnostic beside the hits.
func (x *Index) Search(ctx context.Context, q Query) (Result, error) {
	q, err := q.check(x.opt.Embedder != nil)
	if err != nil {
		return Result{}, err
	}
	if x.closed.Load() {
		return Result{}, ErrClosed
	}
	s := x.scope(q.Scope)
	if x.opt.Dialect == skill.Mastra {
		return x.mastra(ctx, s, q)
	}
	g, building, err := x.ready(ctx, s)
	if err != nil {
		return Result{}, err
	}
	if q.Mode == Text {
		return scanDocuments(ctx, append(g.documents(), g.pending...), x.an, q)
	}
	rank := x.ranked
	if q.Mode != BM25 {
		rank = x.fused
	}
	res, err := rank(ctx, s, g, q)
	if err == nil && building {
		err = x.rest(ctx, g, q, &res)
	}
	return res, err
}

// ranked answers q from what g holds.
func (x *Index) ranked(ctx context.Context, s *scope, g *generation, q Query) (Result, error) {
	q.Filter = q.Filter.folded()
	ask := x.an.parse(q)
	p := g.plan(x.opt, x.an, ask, q.Filter)
	res := Result{Mode: BM25, Generation: g.number, Diagnostics: ask.diags}
	top := p.collect(ctx, q, ask, &res)
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	top = phrased(ctx, top, ask.phrases)
	var sh showing
	for _, f := range top[:min(len(top), q.TopK)] {
		res.Hits = append(res.Hits, p.hit(ctx, q, ask, f, &sh))
	}
	if len(ask.phrases) > 0 {
		res.Total = len(top)
	}
	res.Diagnostics = append(res.Diagnostics, sh.diags...)
	x.requeue(s, sh.stale)
	return res, nil
}

// hit describes one candidate.
func (p *plan) hit(ctx context.Context, q Query, ask question, f *found, sh *showing) Hit {
	hit := Hit{
		Address: f.Address, Skill: f.ID, Name: f.Name, Source: f.Source, Location: f.Location,
		Description: f.Description, Score: f.score, Coverage: p.coverage(f.acc),
		Cosine: int(math.Round(float64(f.cosine) * 1000)),
	}
	hit.Share, hit.Evidence = p.evidence(f.acc, f.named)
	hit.Strength = p.strength(ask, f.acc, hit.Coverage, f.named, f.phrased)
	if q.Explain {
		hit.Explain = p.explain(f)
	}
	if !q.Bare {
		hit.Matches = p.matches(ctx, p.an, ask, f, sh)
	}
	return hit
}

// rest adds what a scan finds among the skills that are not in the index yet, behind
// the hits of the index: their scores cannot be compared.
func (x *Index) rest(ctx context.Context, g *generation, q Query, res *Result) error {
	wanted := q.TopK
	q.TopK = max(1, wanted-len(res.Hits))
	more, err := scanDocuments(ctx, g.pending, x.an, q)
	if err != nil {
		return err
	}
	res.Degraded = fmt.Sprintf("index building: %d of %d", g.live, g.live+len(g.pending))
	res.Hits = append(res.Hits, more.Hits...)
	res.Hits = res.Hits[:min(len(res.Hits), wanted)]
	res.Total += more.Total
	res.Searched += more.Searched
	return nil
}

// documents lists the living documents.
func (g *generation) documents() []*document {
	out := make([]*document, 0, g.live)
	for _, p := range g.parts {
		for i, d := range p.docs {
			if p.alive(uint32(i)) {
				out = append(out, d)
			}
		}
	}
	return out
}

// gather finds the best candidates by words, and those that were called by name.
func (p *plan) gather(ctx context.Context, q Query, ask question, res *Result) *collector {
	col := &collector{q: q, ask: ask, k: q.TopK, in: -1}
	if len(ask.phrases) > 0 {
		col.k = max(col.k, maxPhraseOf)
	}
	for i := range p.g.parts {
		p.walk(ctx, i, col)
	}
	res.Total, res.Searched = col.total, q.View.count(p.g)
	return col
}

// collect returns the candidates in order: the best TopK, or as many as a phrase is
// looked for in.
func (p *plan) collect(ctx context.Context, q Query, ask question, res *Result) []*found {
	col := p.gather(ctx, q, ask, res)
	list := []*found(col.top)
	slices.SortFunc(list, (*found).before)
	all := slices.Clone(list)
	for i := range col.named {
		all = append(all, &col.named[i])
	}
	p.judge(all)
	return promote(list, col.named, col.k)
}

// phrased keeps the candidates that hold every phrase in one of their texts.
func phrased(ctx context.Context, list []*found, phrases []string) []*found {
	if len(phrases) == 0 {
		return list
	}
	kept := list[:0:0]
	for _, f := range list[:min(len(list), maxPhraseOf)] {
		texts := f.texts(ctx)
		if !slices.ContainsFunc(phrases, func(p string) bool {
			return !slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, p) })
		}) {
			f.phrased = true
			kept = append(kept, f)
		}
	}
	return kept
}

// texts returns the document's fields, folded.
func (d *document) texts(ctx context.Context) []string {
	out := []string{folded(d.Name), folded(d.Description), folded(d.When)}
	for _, list := range [][]string{d.Aliases, d.Keywords, d.Locales} {
		for _, s := range list {
			out = append(out, folded(s))
		}
	}
	if d.Read == nil {
		return out
	}
	if raw, err := d.Read(ctx, ""); err == nil {
		body, _ := d.bodyOf(raw)
		out = append(out, folded(body))
	}
	d.eachReference(ctx, func(_ indexed, raw []byte) { out = append(out, folded(clean(string(raw)))) })
	return out
}

// Scan answers q from the skills' files alone: words as parts of the text, those
// with all words first. For a library that has no index, or a first answer while one
// is built.
func Scan(ctx context.Context, snap *registry.Snapshot, q Query) (Result, error) {
	q.Mode = Text
	q, err := q.check(false)
	if err != nil {
		return Result{}, err
	}
	return scanDocuments(ctx, documentsOf(snap), usualAnalyzer(), q)
}
