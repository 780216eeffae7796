package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds of a scan without an index.
const (
	maxScanFiles = 20_000
	maxScanTime  = 2 * time.Second
)

// tiers lift a hit by where its words stand: in what the skill says of itself, in its
// body, or in its references.
const tierStep = 256

// unread stands for the digest of a reference that no index has read.
var unread = digest16{1}

// scanDocuments looks for the query's words as parts of the texts. Skills with every
// word come alone; only when there is none do those with some.
func scanDocuments(ctx context.Context, docs []*document, an *analyzer, q Query) (Result, error) {
	ctx2, stop := context.WithTimeout(ctx, maxScanTime)
	defer stop()
	q.Filter = q.Filter.folded()
	ask := an.parse(q)
	res := Result{Mode: Text, Diagnostics: ask.diags}
	var words []string
	for _, t := range ask.terms {
		words = append(words, t.term)
	}
	var all, some []*found
	for n, d := range docs {
		if n == maxScanFiles || ctx2.Err() != nil {
			res.Degraded = fmt.Sprintf("scan stopped: %d of %d skills were read", n, len(docs))
			break
		}
		if !q.View.Has(d.Address) {
			continue
		}
		res.Searched++
		if len(words) == 0 || !q.Filter.admits(d) {
			continue
		}
		f := &found{document: d}
		held := f.scan(ctx2, words)
		switch {
		case held == len(words):
			all = append(all, f)
		case held > 0:
			some = append(some, f)
		}
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if len(all) == 0 {
		all = some
	}
	all = phrased(ctx, all, ask.phrases)
	slices.SortFunc(all, (*found).before)
	res.Total = len(all)
	var sh showing
	res.Hits = scanHits(ctx, an, all[:min(len(all), q.TopK)], words, q, &sh)
	res.Diagnostics = append(res.Diagnostics, sh.diags...)
	return res, nil
}

func scanHits(ctx context.Context, an *analyzer, list []*found, words []string, q Query, sh *showing) (hits []Hit) {
	flat := map[string]float64{}
	for _, w := range words {
		flat[w] = 1
	}
	for _, f := range list {
		hit := Hit{
			Address: f.Address, Skill: f.ID, Name: f.Name, Source: f.Source, Location: f.Location,
			Description: f.Description, Score: f.score, Strength: Normal,
			Coverage: 100 * int(f.units) / len(words),
		}
		if !q.Bare {
			hit.Matches = matchesOf(ctx, an, flat, f.document, sh)
		}
		hits = append(hits, hit)
	}
	return hits
}

// scan counts the words that the document holds and scores them: the share of words,
// then the strongest place where one stands.
func (f *found) scan(ctx context.Context, words []string) int {
	held := make([]bool, len(words))
	n := 0
	look := func(text string, tier int64) {
		text = strings.ToLower(text)
		for i, w := range words {
			if !held[i] && strings.Contains(text, w) {
				held[i] = true
				n++
				f.score = max(f.score, tier)
			}
		}
	}
	look(strings.Join(append([]string{f.Name, f.Description, f.When}, slices.Concat(f.Aliases, f.Keywords, f.Locales)...), "\n"), 2)
	if n < len(words) && f.Read != nil {
		if raw, err := f.Read(ctx, ""); err == nil {
			body, _ := f.bodyOf(raw)
			look(body, 1)
		}
	}
	if n < len(words) && f.List != nil {
		if f.refs == nil { // never seen by an index; the document may be shared
			own := *f.document
			list, _ := f.List(ctx)
			for _, r := range list {
				own.refs = append(own.refs, indexed{r, unread})
			}
			f.document = &own
		}
		f.eachReference(ctx, func(_ indexed, raw []byte) { look(string(raw), 0) })
	}
	f.score = int64(n)*(scale-2*tierStep)/int64(len(words)) + f.score*tierStep
	f.units = uint8(min(n, 255))
	return n
}
