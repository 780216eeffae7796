package mastra

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/skill"
)

// engine is the dialect's index over a Snapshot.
func engine(t *testing.T, s *registry.Snapshot) *search.Index {
	t.Helper()
	x, err := search.Open(search.Options{Dialect: skill.Mastra})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	update(t, x, s)
	return x
}

func update(t *testing.T, x *search.Index, s *registry.Snapshot) {
	t.Helper()
	if _, err := x.Update(t.Context(), "", s); err != nil {
		t.Fatal(err)
	}
}

func found(t *testing.T, x *search.Index, q search.Query) []search.Hit {
	t.Helper()
	res, err := x.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return res.Hits
}

// places lists hits as name and file.
func places(hits []search.Hit) (out []string) {
	for _, h := range hits {
		out = append(out, h.Name+" "+h.Matches[0].File)
	}
	return out
}

// library is a workspace with words in every kind of file.
func library() *memory {
	m := inMemory("tides", "ships")
	m.put("skills/tides/references/moon.md", "# Moon\n\nA syzygy makes a spring tide.\n")
	m.put("skills/tides/scripts/run.sh", "echo marlinspike")
	m.put("skills/tides/assets/rope.txt", "marlinspike")
	return m
}

func TestW021_RefreshLeavesExactlyTheRightDocuments(t *testing.T) {
	t.Parallel()
	m := inMemory("a", "b")
	m.put("skills/a/references/doc.md", "x")
	v := open(t, setup{fsys: m}).view()
	x := engine(t, v.Snapshot())
	found(t, x, search.Query{Text: "body"})
	m.drop("skills/b")
	m.put("skills/c/SKILL.md", text("c"))
	update(t, x, refresh(t, v))
	found(t, x, search.Query{Text: "body"})
	want(t, "documents", x.Documents(""), []string{"skill:skills/a:SKILL.md", "skill:skills/a:references/doc.md", "skill:skills/c:SKILL.md"})
}

func TestW022_WithoutAnEngineAWordOfABodyIsFound(t *testing.T) {
	t.Parallel()
	x := engine(t, open(t, setup{fsys: library()}).view().Snapshot())
	hits := found(t, x, search.Query{Text: "Body of ships", Mode: search.Text})
	want(t, "hits", places(hits), []string{"ships SKILL.md"})
	want(t, "location", strings.Contains(hits[0].Location, "skills/ships"), true)
}

func TestW023_SkillsAreIndexedAtFirstUse(t *testing.T) {
	t.Parallel()
	x := engine(t, open(t, setup{fsys: library()}).view().Snapshot())
	want(t, "before", len(x.Documents("")), 0)
	hits := found(t, x, search.Query{Text: "syzygy"})
	want(t, "hits", places(hits), []string{"tides references/moon.md"})
	want(t, "documents carry the path", slices.Contains(x.Documents(""), "skill:skills/tides:references/moon.md"), true)
}

func TestW024_NamesNarrow(t *testing.T) {
	t.Parallel()
	x := engine(t, open(t, setup{fsys: library()}).view().Snapshot())
	want(t, "hits", places(found(t, x, search.Query{Text: "body", Filter: search.Filter{Names: []string{"ships"}}})), []string{"ships SKILL.md"})
}

func TestW025_TopKOfOneIsOneHit(t *testing.T) {
	t.Parallel()
	x := engine(t, open(t, setup{fsys: library()}).view().Snapshot())
	for _, mode := range []search.Mode{search.Auto, search.Text} {
		want(t, string(mode), len(found(t, x, search.Query{Text: "body", TopK: 1, Mode: mode})), 1)
	}
}

func TestW026_AliasPathsAreOneHit(t *testing.T) {
	t.Parallel()
	ws := pair(t)
	dir := filepath.Join(ws, "alpha", "x", "references")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "moon.md"), []byte("A syzygy."), 0o644); err != nil {
		t.Fatal(err)
	}
	x := engine(t, snapshot(t, ws, "zeta", "alpha"))
	for word, file := range map[string]string{"body": "SKILL.md", "syzygy": "references/moon.md"} {
		hits := found(t, x, search.Query{Text: word})
		want(t, word, places(hits), []string{"x " + file})
		want(t, "path", strings.Contains(hits[0].Location, "/alpha/x"), true)
	}
}

func TestW099_RemoveDropsItsDocuments(t *testing.T) {
	t.Parallel()
	m := inMemory("a", "b")
	m.put("skills/a/references/doc.md", "x")
	v := open(t, setup{fsys: m}).view()
	x := engine(t, v.Snapshot())
	found(t, x, search.Query{Text: "body"})
	want(t, "before", x.Documents(""), []string{"skill:skills/a:SKILL.md", "skill:skills/a:references/doc.md", "skill:skills/b:SKILL.md"})
	update(t, x, remove(t, v, "a"))
	found(t, x, search.Query{Text: "body"})
	want(t, "after", x.Documents(""), []string{"skill:skills/b:SKILL.md"})
}

func TestW126_ScriptsAndAssetsAreNotSearched(t *testing.T) {
	t.Parallel()
	x := engine(t, open(t, setup{fsys: library()}).view().Snapshot())
	for _, mode := range []search.Mode{search.Auto, search.Text} {
		want(t, string(mode), len(found(t, x, search.Query{Text: "marlinspike", Mode: mode})), 0)
	}
}

func TestW127_WithoutAnEngineCaseDoesNotMatter(t *testing.T) {
	t.Parallel()
	x := engine(t, open(t, setup{fsys: library()}).view().Snapshot())
	want(t, "case", places(found(t, x, search.Query{Text: "BODY OF TIDES", Mode: search.Text})), []string{"tides SKILL.md"})
	hits := found(t, x, search.Query{Text: "SYZYGY", Mode: search.Text})
	want(t, "reference", places(hits), []string{"tides references/moon.md"})
	want(t, "score", hits[0].Score, int64(math.Round(0.8*1024)))
}

func textsOf(t *testing.T, o search.TextOptions, contents ...string) *search.Texts {
	t.Helper()
	x := search.NewTexts(o)
	for i, c := range contents {
		if err := x.Add(t.Context(), search.Entry{ID: fmt.Sprint(i), Content: c, Metadata: map[string]string{"n": fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func ids(t *testing.T, x *search.Texts, q search.TextQuery) (out []string) {
	t.Helper()
	hits, err := x.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		out = append(out, h.ID)
	}
	return out
}

func TestI001_Words(t *testing.T) {
	t.Parallel()
	x := search.NewTexts(search.TextOptions{})
	for in, out := range map[string][]string{
		"Hello, World!":              {"hello", "world"},
		"snake_case kebab-case":      {"snake_case", "kebab", "case"},
		"a I x1 to the for whale":    {"x1", "whale"},
		"润色中文稿件 next":                {"润色中文稿件", "next"},
		"":                           nil,
		"...":                        nil,
		strings.Repeat("whale ", 2):  {"whale", "whale"},
		"an and are as at be by has": nil,
	} {
		want(t, in, x.Words(in), out)
	}
	loose := search.NewTexts(search.TextOptions{KeepCase: true, KeepSigns: true, MinLength: 1, Stop: []string{}})
	want(t, "options", loose.Words("The a-B!"), []string{"The", "a-B!"})
}

func TestI002_AddAndUpdate(t *testing.T) {
	t.Parallel()
	x := textsOf(t, search.TextOptions{}, "whale", "ship")
	if err := x.Add(t.Context(), search.Entry{ID: "0", Content: "boat", Metadata: map[string]string{"k": "v"}}); err != nil {
		t.Fatal(err)
	}
	want(t, "documents", x.Len(), 2)
	want(t, "old words", ids(t, x, search.TextQuery{Text: "whale"}), []string(nil))
	hits, _ := x.Search(t.Context(), search.TextQuery{Text: "boat"})
	want(t, "metadata", hits[0].Metadata, map[string]string{"k": "v"})
}

func TestI003_Remove(t *testing.T) {
	t.Parallel()
	x := textsOf(t, search.TextOptions{}, "whale one", "whale two", "ship")
	want(t, "there", x.Remove("0"), true)
	want(t, "again", x.Remove("0"), false)
	want(t, "hits", ids(t, x, search.TextQuery{Text: "whale"}), []string{"1"})
}

func TestI004_Clear(t *testing.T) {
	t.Parallel()
	x := textsOf(t, search.TextOptions{}, "whale", "ship")
	x.Clear()
	want(t, "documents, hits", []any{x.Len(), len(ids(t, x, search.TextQuery{Text: "whale"}))}, []any{0, 0})
}

func TestI005_Search(t *testing.T) {
	t.Parallel()
	x := textsOf(t, search.TextOptions{}, "one whale in the sea of words", "whale whale whale", "a ship", "ship and whale too")
	for name, tt := range map[string]struct {
		q   search.TextQuery
		ids []string
	}{
		"finds":           {search.TextQuery{Text: "sea"}, []string{"0"}},
		"frequency first": {search.TextQuery{Text: "whale", TopK: 1}, []string{"1"}},
		"topK":            {search.TextQuery{Text: "whale", TopK: 2}, []string{"1", "3"}},
		"minScore":        {search.TextQuery{Text: "whale", MinScore: 100}, nil},
		"no hits":         {search.TextQuery{Text: "zebra"}, nil},
		"empty":           {search.TextQuery{Text: ""}, nil},
		"stop words":      {search.TextQuery{Text: "the and of"}, nil},
		"several words":   {search.TextQuery{Text: "ship whale", TopK: 1}, []string{"3"}},
	} {
		want(t, name, ids(t, x, tt.q), tt.ids)
	}
	hits, _ := x.Search(t.Context(), search.TextQuery{Text: "sea"})
	want(t, "content and metadata", []any{hits[0].Content, hits[0].Metadata["n"]}, []any{"one whale in the sea of words", "0"})
}

func TestI006_ParametersAreHonoured(t *testing.T) {
	t.Parallel()
	contents := []string{"whale whale whale and more words to make it long", "whale", "ship"}
	score := func(o search.TextOptions) float64 {
		hits, _ := textsOf(t, o, contents...).Search(t.Context(), search.TextQuery{Text: "whale"})
		return hits[0].Score
	}
	usual := score(search.TextOptions{})
	want(t, "defaults", usual, score(search.TextOptions{K1: 1.5, B: 0.75}))
	want(t, "k1, b change it", []bool{usual == score(search.TextOptions{K1: 0.5}), usual == score(search.TextOptions{B: 0.1})}, []bool{false, false})
	// N 3, n 2, tf 1, length 1, average (7 + 1 + 1)/3: by hand.
	idf := math.Log(1 + 1.5/2.5)
	short := idf * 2.5 / (1 + 1.5*(0.25+0.75*1/3))
	hits, _ := textsOf(t, search.TextOptions{}, contents...).Search(t.Context(), search.TextQuery{Text: "whale"})
	got := hits[slices.IndexFunc(hits, func(h search.TextHit) bool { return h.ID == "1" })].Score
	if math.Abs(got-short) > 1e-9 {
		t.Errorf("score %v, want %v", got, short)
	}
}

func TestI007_SaveAndLoad(t *testing.T) {
	t.Parallel()
	x := textsOf(t, search.TextOptions{K1: 2, B: 0.5, Stop: []string{"ship"}}, "whale ship", "whale whale sea")
	raw, err := x.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	y := search.NewTexts(search.TextOptions{})
	if err := y.UnmarshalBinary(raw); err != nil {
		t.Fatal(err)
	}
	q := search.TextQuery{Text: "whale sea ship"}
	a, _ := x.Search(t.Context(), q)
	b, _ := y.Search(t.Context(), q)
	want(t, "hits", b, a)
	want(t, "damage", y.UnmarshalBinary(raw[:len(raw)-2]) != nil, true)
}

func TestI008_LineRange(t *testing.T) {
	t.Parallel()
	content := "alpha\nbeta whale\ngamma\nWhale ship\nomega"
	x := search.NewTexts(search.TextOptions{})
	for _, tt := range []struct {
		words      []string
		start, end int
	}{
		{[]string{"alpha"}, 1, 1}, {[]string{"whale"}, 2, 4}, {[]string{"gamma", "ship"}, 3, 4}, {[]string{"zebra"}, 0, 0}, {nil, 0, 0},
	} {
		start, end := x.LineRange(content, tt.words)
		want(t, fmt.Sprint(tt.words), []int{start, end}, []int{tt.start, tt.end})
	}
	start, end := x.LineRange("one line of whale", []string{"whale"})
	want(t, "one line", []int{start, end}, []int{1, 1})
	start, end = x.LineRange("", []string{"whale"})
	want(t, "empty", []int{start, end}, []int{0, 0})
	start, end = search.NewTexts(search.TextOptions{KeepCase: true}).LineRange(content, []string{"whale"})
	want(t, "case", []int{start, end}, []int{2, 2})
}

func TestI009_Lines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		start, end int
		text       string
	}{
		{0, 0, "a\nb\nc"}, {2, 3, "b\nc"}, {2, 0, "b\nc"}, {0, 2, "a\nb"}, {2, 2, "b"}, {-4, 99, "a\nb\nc"}, {3, 2, ""},
	} {
		got, total := search.Lines("a\nb\nc", tt.start, tt.end)
		want(t, fmt.Sprint(tt.start, tt.end), []any{got, total}, []any{tt.text, 3})
	}
	got, total := search.Lines("", 0, 0)
	want(t, "empty", []any{got, total}, []any{"", 1})
}

func TestI010_Hybrid(t *testing.T) {
	t.Parallel()
	vectors := map[string][]float32{"whale": {1, 0}, "whale whale ship": {0, 1}, "orca": {0.8, 0.6}, "query whale": {1, 0}}
	x := textsOf(t, search.TextOptions{Embed: func(_ context.Context, texts []string) ([][]float32, error) {
		return [][]float32{vectors[texts[0]]}, nil
	}}, "whale", "whale whale ship", "orca")
	score := func(mode search.Mode) map[string]float64 {
		hits, err := x.Search(t.Context(), search.TextQuery{Text: "query whale", Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]float64{}
		for _, h := range hits {
			out[h.ID] = math.Round(1e4*h.Score) / 1e4
		}
		return out
	}
	want(t, "vector", score(search.Vector), map[string]float64{"0": 1, "1": 0, "2": 0.8})
	// By words the second is best (1) and the first last (0); half of each side.
	words := score(search.BM25)
	first, second := 0.0, 1.0
	if words["0"] > words["1"] {
		first, second = 1, 0
	}
	want(t, "hybrid", score(search.Hybrid), map[string]float64{"0": 0.5 + 0.5*first, "1": 0.5 * second, "2": 0.4})
	equal := textsOf(t, search.TextOptions{Embed: func(context.Context, []string) ([][]float32, error) { return [][]float32{{1, 0}}, nil }}, "whale a", "whale b")
	hits, _ := equal.Search(t.Context(), search.TextQuery{Text: "whale"})
	want(t, "all equal", []float64{hits[0].Score, hits[1].Score}, []float64{1, 1})
	_, err := textsOf(t, search.TextOptions{}, "x").Search(t.Context(), search.TextQuery{Text: "x", Mode: search.Hybrid})
	want(t, "not configured", errors.Is(err, search.ErrModeUnavailable), true)
}
