package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Dialect mastra ranks texts, not skills: the body of each skill and each of its
// references is a document of its own, under its location. Names and descriptions are
// not looked at. A hit is one document; a skill may have several.

// previewSize is how much of a document a hit shows, in characters.
const previewSize = 200

// Scores of the mode that looks for the query as it stands.
const bodyScore, referenceScore = 1.0, 0.8

// texts is a scope of dialect mastra.
type texts struct {
	mu    sync.Mutex
	index *Texts
	g     *generation          // that index holds
	held  map[string]string    // what index holds of each skill: its state by its address
	refs  map[string][]indexed // by address
	ids   map[string][]string  // by address
	owner map[string]*document // by the document's name
}

// textID is the name of a document of dialect mastra.
func textID(d *document, rel string) string { return "skill:" + cmp.Or(d.Path, d.Address) + ":" + rel }

// mastra answers q as hosts of dialect mastra do.
func (x *Index) mastra(ctx context.Context, s *scope, q Query) (Result, error) {
	g := s.gen.Load()
	docs := append(g.documents(), g.pending...)
	q.Filter = q.Filter.folded()
	res := Result{Mode: q.Mode, Generation: g.number}
	visible := func(d *document) bool { return q.View.Has(d.Address) && q.Filter.admits(d) }
	for _, d := range docs {
		if q.View.Has(d.Address) {
			res.Searched++
		}
	}
	if q.Mode == Text {
		return substrings(ctx, docs, q, visible, res)
	}
	t := &s.texts
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.moved.Swap(false) {
		t.g = nil
	}
	if err := t.sync(ctx, x, g, docs); err != nil {
		return Result{}, err
	}
	hits, err := t.index.Search(ctx, TextQuery{
		Text: q.Text, TopK: t.index.Len() + 1, Mode: q.Mode, MinScore: float64(q.MinScore) / scale,
		Only: func(text *Entry) bool {
			d := t.owner[text.ID]
			return visible(d) && !(q.Filter.NoReferences && text.Metadata["file"] != "SKILL.md")
		},
	})
	if err != nil {
		return Result{}, err
	}
	res.Total = len(hits)
	for _, h := range hits[:min(len(hits), q.TopK)] {
		d := t.owner[h.ID]
		hit := plainHit(d, h.Metadata["file"], h.Content, h.Score)
		hit.Matches[0].StartLine, hit.Matches[0].EndLine = h.Start, h.End
		res.Hits = append(res.Hits, hit)
	}
	return res, nil
}

func plainHit(d *document, rel, content string, score float64) Hit {
	preview := content
	if n := cutAt(content, previewSize); n < len(content) {
		preview = content[:n] + "..."
	}
	return Hit{
		Address: d.Address, Skill: d.ID, Name: d.Name, Source: d.Source, Location: d.Location, Description: d.Description,
		Score: int64(math.Round(float64(score * scale))), Strength: Normal, Matches: []Match{{File: rel, Snippet: preview}},
	}
}

// sync brings the texts up to a generation: skills that are gone or changed leave,
// new ones are read.
func (t *texts) sync(ctx context.Context, x *Index, g *generation, docs []*document) error {
	if t.index == nil {
		o := TextOptions{}
		if x.opt.Embedder != nil {
			o.Embed = x.vectorsOf
		}
		t.index, t.held, t.ids, t.owner = NewTexts(o), map[string]string{}, map[string][]string{}, map[string]*document{}
		t.refs = map[string][]indexed{}
	}
	if t.g == g {
		return nil
	}
	wanted := map[string]bool{}
	for _, d := range docs {
		wanted[d.Address] = true
	}
	for address := range t.held {
		if !wanted[address] {
			t.drop(address)
		}
	}
	for _, d := range docs {
		state := fmt.Sprintf("%s %x", d.Digest, metaOf(&d.Document))
		known := *d
		known.refs = t.refs[d.Address]
		if t.held[d.Address] == state && d.Digest != "" && !known.moved(ctx) {
			for _, id := range t.ids[d.Address] {
				t.owner[id] = d
			}
			continue
		}
		t.drop(d.Address)
		refs, err := d.eachText(ctx, func(rel, content string) error {
			id := textID(d, rel)
			t.ids[d.Address], t.owner[id] = append(t.ids[d.Address], id), d
			return t.index.Add(ctx, Entry{ID: id, Content: content, Metadata: map[string]string{"file": rel}})
		})
		if err != nil {
			return err
		}
		t.held[d.Address], t.refs[d.Address] = state, refs
	}
	t.g = g
	return nil
}

func (t *texts) drop(address string) {
	for _, id := range t.ids[address] {
		t.index.Remove(id)
		delete(t.owner, id)
	}
	delete(t.held, address)
	delete(t.refs, address)
	delete(t.ids, address)
}

// eachText hands on the body and each reference, and returns the references; what
// cannot be read is passed over.
func (d *document) eachText(ctx context.Context, f func(rel, content string) error) (refs []indexed, err error) {
	if d.Read != nil {
		if raw, err := d.Read(ctx, ""); err == nil {
			from := min(max(d.Body.Start, 0), int64(len(raw)))
			body := raw[from:min(max(d.Body.End, from), int64(len(raw)))]
			if err := f("SKILL.md", strings.TrimSpace(string(body))); err != nil {
				return nil, err
			}
		}
	}
	if d.List == nil {
		return nil, ctx.Err()
	}
	list, _ := d.List(ctx)
	for _, r := range list {
		raw, err := d.Read(ctx, r.Path)
		refs = append(refs, indexed{Reference: r, sum: digestOf(raw)})
		if err != nil || len(raw) > maxReference || !utf8.Valid(raw) {
			continue
		}
		if err := f(r.Path, string(raw)); err != nil {
			return nil, err
		}
	}
	return refs, ctx.Err()
}

// Documents returns the names of the documents that a scope of dialect mastra holds,
// sorted. Other dialects have none.
func (x *Index) Documents(scope string) (ids []string) {
	t := &x.scope(scope).texts
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, list := range t.ids {
		ids = append(ids, list...)
	}
	slices.Sort(ids)
	return ids
}

// substrings looks for the query as it stands, without regard to case: in bodies,
// then in references, until there are enough hits.
func substrings(ctx context.Context, docs []*document, q Query, visible func(*document) bool, res Result) (Result, error) {
	needle := strings.ToLower(q.Text)
	var later []Hit
	for _, d := range docs {
		if ctx.Err() != nil || len(res.Hits) == q.TopK {
			break
		}
		if !visible(d) {
			continue
		}
		_, _ = d.eachText(ctx, func(rel, content string) error { // only the context's, which is looked at
			switch {
			case !strings.Contains(strings.ToLower(content), needle):
			case rel == "SKILL.md":
				res.Hits = append(res.Hits, plainHit(d, rel, content, bodyScore))
			case !q.Filter.NoReferences:
				later = append(later, plainHit(d, rel, content, referenceScore))
			}
			return nil
		})
	}
	res.Hits = append(res.Hits, later...)
	res.Total = len(res.Hits)
	res.Hits = res.Hits[:min(len(res.Hits), q.TopK)]
	return res, ctx.Err()
}
