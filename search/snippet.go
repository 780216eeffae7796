package search

import (
	"context"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/skill"
)

const (
	window      = 12  // lines that a match may span
	snippetSize = 200 // grapheme clusters
	maxMatches  = 3
)

// excerpt is the best window of one text.
type excerpt struct {
	match  Match
	weight float64
}

// showing is what a query finds out while it shows its hits.
type showing struct {
	diags []skill.Diagnostic
	stale []*document // with references that are not as they were indexed
}

// matches shows where the hit's words stand: the best window of SKILL.md and of each
// reference, best first.
func (p *plan) matches(ctx context.Context, an *analyzer, ask question, f *found, sh *showing) []Match {
	idf := make(map[string]float64, len(p.terms))
	for i := range p.terms {
		idf[p.terms[i].term] = p.terms[i].idf
	}
	return matchesOf(ctx, an, idf, f.document, sh)
}

func matchesOf(ctx context.Context, an *analyzer, idf map[string]float64, d *document, sh *showing) []Match {
	var all []excerpt
	if d.Read != nil {
		raw, err := d.Read(ctx, "")
		if err != nil || d.Digest != "" && skill.FileDigest(raw) != d.Digest {
			sh.note(d, "SKILL.md")
			return []Match{{File: "SKILL.md", Snippet: safetext.Clip(shown(d.Description), snippetSize), Stale: true}}
		}
		all = append(all, fileExcerpts(an, idf, d, raw)...)
	}
	d.eachReference(ctx, func(r indexed, raw []byte) {
		if r.sum != unread && digestOf(raw) != r.sum {
			sh.note(d, r.Path)
			return
		}
		if e, ok := best1(an, idf, clean(string(raw))); ok {
			e.match.File = r.Path
			all = append(all, e)
		}
	})
	slices.SortStableFunc(all, func(a, b excerpt) int {
		switch {
		case a.weight > b.weight:
			return -1
		case a.weight < b.weight:
			return 1
		}
		return 0
	})
	out := make([]Match, 0, maxMatches)
	for _, e := range all[:min(len(all), maxMatches)] {
		out = append(out, e.match)
	}
	if i := slices.Index(sh.stale, d); len(out) == 0 && i >= 0 {
		return []Match{{File: "SKILL.md", Snippet: safetext.Clip(shown(d.Description), snippetSize), Stale: true}}
	}
	if len(out) == 0 {
		out = append(out, Match{File: "SKILL.md", StartLine: 1, EndLine: 1, Snippet: safetext.Clip(shown(d.Description), snippetSize)})
	}
	return out
}

// note notes that a file of d is not the one that was indexed.
func (sh *showing) note(d *document, rel string) {
	if rel != "SKILL.md" { // which counts as it was listed: the next update says what it is now
		sh.stale = append(sh.stale, d)
	}
	sh.diags = append(sh.diags, skill.Diagnostic{
		Code: "search_stale_hit", Level: skill.LevelInfo, File: d.Location, Offset: -1,
		Message: rel + " of " + d.Name + " is not the one that was indexed", Fix: "search again after a refresh",
	})
}

// fileExcerpts returns the best window of the header and the best of the body.
func fileExcerpts(an *analyzer, idf map[string]float64, d *document, raw []byte) (out []excerpt) {
	body, before := d.bodyOf(raw)
	header := string(raw[:min(max(d.Body.Start, 0), int64(len(raw)))])
	if e, ok := best1(an, idf, body); ok {
		e.match.File = "SKILL.md"
		e.match.StartLine += before
		e.match.EndLine += before
		out = append(out, e)
	}
	if e, ok := best1(an, idf, header); ok {
		e.match.File = "SKILL.md"
		out = append(out, e)
	}
	return out
}

// best1 finds the window of at most 12 lines with the most idf of distinct terms,
// shrunk to its first and last matching line; of equal ones the first.
func best1(an *analyzer, idf map[string]float64, text string) (excerpt, bool) {
	type place struct {
		line, start int
		term        string
	}
	var places []place
	line, at := 1, 0
	an.each(text, false, func(term []byte, start int) bool {
		if _, ok := idf[string(term)]; ok {
			line += strings.Count(text[at:max(start, at)], "\n")
			at = max(start, at)
			places = append(places, place{line, start, string(term)})
		}
		return true
	})
	if len(places) == 0 {
		return excerpt{}, false
	}
	counts, sum, from := map[string]int{}, 0.0, 0
	bestFrom, bestTo, bestSum := 0, 0, -1.0
	for to, pl := range places {
		if counts[pl.term]++; counts[pl.term] == 1 {
			sum += idf[pl.term]
		}
		for places[from].line <= pl.line-window {
			if counts[places[from].term]--; counts[places[from].term] == 0 {
				sum -= idf[places[from].term]
			}
			from++
		}
		if sum > bestSum+1e-9 {
			bestFrom, bestTo, bestSum = from, to, sum
		}
	}
	e := excerpt{weight: bestSum, match: Match{StartLine: places[bestFrom].line, EndLine: places[bestTo].line}}
	for _, pl := range places[bestFrom : bestTo+1] {
		if !slices.Contains(e.match.Terms, pl.term) {
			e.match.Terms = append(e.match.Terms, pl.term)
		}
	}
	e.match.Snippet = snippet(text, places[bestFrom].start, places[bestTo].start)
	return e, true
}

// snippet returns the lines from the one that holds byte first to the one that holds
// byte last as one printable line, centred on first where they are too long.
func snippet(text string, first, last int) string {
	from := strings.LastIndexByte(text[:first], '\n') + 1
	to := len(text)
	if n := strings.IndexByte(text[last:], '\n'); n >= 0 {
		to = last + n
	}
	lead, rest := shown(text[from:first]), shown(text[first:to])
	gap := ""
	if lead != "" && (text[first-1] == ' ' || text[first-1] == '\t') {
		gap = " "
	}
	if safetext.Clusters(lead)+safetext.Clusters(rest)+1 <= snippetSize {
		return lead + gap + rest
	}
	room := max(snippetSize/2, snippetSize-safetext.Clusters(rest)-1)
	if over := safetext.Clusters(lead) - room; over > 0 {
		lead = safetext.Ellipsis + dropClusters(lead, over+1)
	}
	return safetext.Clip(lead+gap+rest, snippetSize)
}
