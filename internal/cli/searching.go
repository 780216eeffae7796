package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/search"
)

// searchOptions are the flags of deft search.
type searchOptions struct {
	topK                       int
	kinds, names               []string
	mode                       string
	noReferences, explainScore bool
}

func searchVerb() verb {
	var o searchOptions
	return verb{
		name: "search", args: "QUERY…", min: 1, max: -1, group: groupModel, effects: effects{reads: true, network: true},
		short: "inside skills: names, descriptions, bodies, references",
		long: "A \"phrase in quotes\" must occur, a -word must not.\n" +
			"--source ID, the id of a source that is no path, narrows the search to that source.\n" +
			"With an embeddings endpoint in the settings (skills.search) meaning counts too, and the network is used.",
		flags: func(f *pflag.FlagSet) {
			f.IntVar(&o.topK, "topk", 5, "hits wanted, `N` of at most 100")
			f.StringArrayVar(&o.kinds, "kind", nil, "only skills of this `KIND` of source")
			f.StringArrayVar(&o.names, "name", nil, "only the skill of this `NAME`")
			f.StringVar(&o.mode, "mode", "auto", "`auto|bm25|vector|hybrid|text`")
			f.BoolVar(&o.noReferences, "no-references", false, "leave files below references/ out")
			f.BoolVar(&o.explainScore, "explain", false, "how each score comes about")
		},
		run: func(ctx context.Context, r *run, args []string) error {
			return r.search(ctx, o, strings.Join(args, " "))
		},
	}
}

type hitJSON struct {
	Skill    string             `json:"skill"`
	File     string             `json:"file"`
	Lines    [2]int             `json:"lines"`
	Score    float64            `json:"score"`
	Snippet  string             `json:"snippet"`
	Source   string             `json:"source"`
	Strength search.Strength    `json:"strength"`
	Coverage int                `json:"coverage"`
	Matches  []matchJSON        `json:"matches"`
	Stale    bool               `json:"stale"`
	Explain  []search.TermScore `json:"explain,omitempty"`
}

type matchJSON struct {
	File    string   `json:"file"`
	Lines   [2]int   `json:"lines"`
	Snippet string   `json:"snippet"`
	Terms   []string `json:"terms"`
	Stale   bool     `json:"stale"`
}

func (r *run) search(ctx context.Context, o searchOptions, text string) error {
	if o.topK < 1 || o.topK > 100 {
		return usage("--topk %d is not between 1 and 100", o.topK)
	}
	switch o.mode {
	case "bm25", "text":
	case "auto":
		if err := r.wantEmbedder(); err != nil {
			return err
		}
	case "vector", "hybrid":
		if err := r.needEmbedder(o.mode, "auto, bm25, text"); err != nil {
			return err
		}
	default:
		return usage("mode %q is not known here", o.mode).hinted("hint.one_of", "auto, bm25, vector, hybrid, text")
	}
	only := r.sourceFilter()
	e, err := r.open(ctx)
	if err != nil {
		return err
	}
	ctx, done := r.watch(ctx, "index")
	if r.vectors != nil {
		_ = e.Warm(ctx) // what is missing shows in the result
	}
	start := r.proc.Now()
	res, err := e.Search(ctx, search.Query{
		Text: text, TopK: o.topK, Mode: search.Mode(o.mode), Explain: o.explainScore,
		Filter: search.Filter{Names: o.names, Kinds: o.kinds, Sources: only, NoReferences: o.noReferences},
	})
	done()
	if err != nil {
		return err
	}
	took := r.proc.Now().Sub(start)
	hits := []hitJSON{}
	for _, h := range res.Hits {
		hits = append(hits, hitOf(h))
	}
	if r.globals.json {
		r.printJSON(struct {
			Mode    search.Mode `json:"mode"`
			Hits    []hitJSON   `json:"hits"`
			Total   int         `json:"total"`
			Elapsed int64       `json:"elapsed_us"`
			Less    string      `json:"degraded,omitempty"`
		}{res.Mode, hits, res.Total, took.Microseconds(), res.Degraded})
	} else {
		r.searchText(res, hits, took)
	}
	if len(hits) == 0 {
		return errNegative
	}
	return nil
}

func hitOf(h search.Hit) hitJSON {
	j := hitJSON{
		Skill: h.Address, File: "SKILL.md", Score: float64(h.Score) / 1024, Source: h.Source, Strength: h.Strength,
		Coverage: h.Coverage, Matches: []matchJSON{}, Explain: h.Explain, Snippet: h.Description,
	}
	for i, m := range h.Matches {
		mj := matchJSON{m.File, [2]int{m.StartLine, m.EndLine}, m.Snippet, orEmptyList(m.Terms), m.Stale}
		if i == 0 {
			j.File, j.Lines, j.Snippet, j.Stale = mj.File, mj.Lines, mj.Snippet, mj.Stale
		}
		j.Matches = append(j.Matches, mj)
	}
	return j
}

func (r *run) searchText(res search.Result, hits []hitJSON, took time.Duration) {
	if res.Degraded != "" {
		r.hintf("%s", r.words.Say("search.degraded", res.Degraded))
	}
	if len(hits) == 0 {
		r.out.Printf("no hit in %d skills\n", res.Searched)
		return
	}
	for i, h := range hits {
		place := h.File
		if h.Lines[0] > 0 {
			place = fmt.Sprintf("%s:%d-%d", h.File, h.Lines[0], h.Lines[1])
		}
		r.out.Printf("%s  %s  %.2f  %s  %s\n", r.out.Paint(safetext.Bold, h.Skill), h.Source, h.Score, string(h.Strength), place)
		r.out.Printf("    %s\n", r.marked(h))
		for _, t := range res.Hits[i].Explain {
			r.out.Printf("    %-16s idf %.3f  tf %v  %d\n", t.Term, t.IDF, t.TF, t.Contribution)
		}
	}
	r.hintf("%d of %d skills match, shown %d, %d us", res.Total, res.Searched, len(hits), took.Microseconds())
}

// marked shows a snippet with its matched words in a style, on a terminal.
func (r *run) marked(h hitJSON) any {
	if !r.out.Policy().Color || len(h.Matches) == 0 {
		return h.Snippet
	}
	var b strings.Builder
	for i, word := range strings.Split(h.Snippet, " ") {
		if i > 0 {
			b.WriteByte(' ')
		}
		low := strings.ToLower(word)
		hit := slices.ContainsFunc(h.Matches[0].Terms, func(t string) bool { return t != "" && strings.Contains(low, t) })
		if hit {
			b.WriteString(string(r.out.Paint(safetext.Yellow, word)))
		} else {
			b.WriteString(safetext.Line(word))
		}
	}
	return safetext.Safe(b.String())
}

// sourceFilter takes those values of --source that are ids of sources and no paths:
// a path has a separator, a metacharacter, a "=" or a "." at its start, or exists.
func (r *run) sourceFilter() []string {
	var ids, paths []string
	for _, s := range r.globals.sources {
		if strings.ContainsAny(s, `/\*?[{=~$`) || strings.HasPrefix(s, ".") || exists(r.abs(s)) {
			paths = append(paths, s)
		} else {
			ids = append(ids, s)
		}
	}
	r.globals.sources = paths
	return ids
}
