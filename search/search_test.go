package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/skill"
)

// doc makes a document of a SKILL.md in memory.
func doc(name, description, body string) Document {
	header := "---\nname: " + name + "\ndescription: " + description + "\n---\n"
	raw := []byte(header + body)
	return Document{
		Address: name, ID: skill.ID(name), Name: name, Source: "test", Kind: "user", Location: "mem:///" + name,
		Description: description, Digest: skill.FileDigest(raw),
		Body: skill.Span{Start: int64(len(header)), End: int64(len(raw))},
		Read: func(_ context.Context, rel string) ([]byte, error) {
			if rel != "" {
				return nil, fs.ErrNotExist
			}
			return raw, nil
		},
	}
}

func withReference(d Document, rel, text string) Document {
	size := int64(len(text))
	read := d.Read
	d.Read = func(ctx context.Context, p string) ([]byte, error) {
		if p == rel {
			return []byte(text), nil
		}
		return read(ctx, p)
	}
	d.List = func(context.Context) ([]Reference, error) { return []Reference{{rel, size, 1}}, nil }
	return d
}

func indexOf(t testing.TB, docs ...Document) *Index {
	t.Helper()
	x, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.AddDocs(context.Background(), "", docs); err != nil {
		t.Fatal(err)
	}
	return x
}

func find(t testing.TB, x *Index, q Query) Result {
	t.Helper()
	res, err := x.Search(context.Background(), q)
	if err != nil {
		t.Fatalf("search %q: %v", q.Text, err)
	}
	return res
}

func names(res Result) []string {
	out := []string{}
	for _, h := range res.Hits {
		out = append(out, h.Name)
	}
	return out
}

var cjkLibrary = []Document{
	doc("polish-zh", "润色中文稿件，读起来更自然。", "\n# polish-zh\n\nDo the thing, then report.\n"),
	doc("github-zh", "用GitHub管理问题和合并请求。", "\n# github-zh\n\nDo the thing, then report.\n"),
	doc("weekly-ja", "週報を下書きする。", "\n# weekly-ja\n\nDo the thing, then report.\n"),
	doc("translate-ko", "문서를 영어로 번역한다.", "\n# translate-ko\n\nDo the thing, then report.\n"),
	doc("weather", "Report the weather for a city.", "\n# weather\n\nDo the thing, then report.\n"),
}

func TestChineseJapaneseKoreanWordsAreFound(t *testing.T) {
	t.Parallel()
	x := indexOf(t, cjkLibrary...)
	for query, want := range map[string]string{
		"润色稿件": "polish-zh", "週報": "weekly-ja", "번역": "translate-ko", "weather": "weather", "合并请求": "github-zh", "管": "github-zh",
	} {
		if got := names(find(t, x, Query{Text: query})); len(got) == 0 || got[0] != want {
			t.Errorf("%s finds %v, want %s first", query, got, want)
		}
	}
	if got := names(find(t, x, Query{Text: "帮我让这篇中文读着顺一些", TopK: 3})); !slices.Contains(got, "polish-zh") {
		t.Errorf("paraphrase finds %v", got)
	}
}

func TestANameCalledExactlyComesFirst(t *testing.T) {
	t.Parallel()
	x := indexOf(t,
		doc("git", "Version control.", "commit"),
		doc("git-flow", "git git git git", "git git git git branch git"),
		doc("notes", "git notes git", "git"))
	for _, q := range []string{"git", "  GIT ", "git@test", "Git_Flow", "git flow"} {
		res := find(t, x, Query{Text: q, Explain: true})
		want := strings.TrimSuffix(foldName(q), "@test")
		if len(res.Hits) == 0 || res.Hits[0].Name != want || res.Hits[0].Strength != Strong {
			t.Errorf("%q finds %v", q, names(res))
		}
	}
}

func TestPhrasesMustOccurAndExclusionsMustNot(t *testing.T) {
	t.Parallel()
	x := indexOf(t,
		doc("a", "Cut the stop loss at ten.", "x"),
		doc("b", "Loss of the stop sign.", "y"),
		withReference(doc("c", "Trading.", "z"), "references/r.md", "a Stop\n  loss rule"))
	if got := names(find(t, x, Query{Text: `"stop loss"`})); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("phrase finds %v", got)
	}
	if got := names(find(t, x, Query{Text: "stop loss -sign"})); slices.Contains(got, "b") {
		t.Errorf("exclusion finds %v", got)
	}
	if got := names(find(t, x, Query{Text: `stop "loss -sign`, Plain: true})); !slices.Contains(got, "b") {
		t.Errorf("plain text finds %v", got)
	}
	if got := names(find(t, x, Query{Text: `stop "loss`})); len(got) != 3 {
		t.Errorf("a stray quote finds %v", got)
	}
}

func TestAViewNeverLosesAPlaceToASkillOutside(t *testing.T) {
	t.Parallel()
	docs := []Document{doc("mine", "about whales", "sea")}
	for i := range 50 {
		docs = append(docs, doc(fmt.Sprintf("other-%02d", i), "whales whales whales", "whales whales"))
	}
	x := indexOf(t, docs...)
	res := find(t, x, Query{Text: "whales", TopK: 1, View: NewView(func(a string) bool { return a == "mine" }), Explain: true})
	if !slices.Equal(names(res), []string{"mine"}) || res.Total != 1 || res.Searched != 1 {
		t.Errorf("view finds %v of %d in %d", names(res), res.Total, res.Searched)
	}
}

func TestFiltersNarrow(t *testing.T) {
	t.Parallel()
	a, b := doc("a", "whale", "x"), doc("b", "sea", "whale")
	b.Source, b.Kind = "other", "project"
	x := indexOf(t, a, b, withReference(doc("c", "sea", "x"), "references/r.txt", "whale"))
	for _, tt := range []struct {
		f    Filter
		want []string
	}{
		{Filter{}, []string{"a", "b", "c"}},
		{Filter{NoReferences: true}, []string{"a", "b"}},
		{Filter{Fields: []Field{Body}}, []string{"b"}},
		{Filter{Sources: []string{"other"}}, []string{"b"}},
		{Filter{Kinds: []string{"user"}, NoReferences: true}, []string{"a"}},
		{Filter{Names: []string{"C"}}, []string{"c"}},
	} {
		if got := names(find(t, x, Query{Text: "whale", Filter: tt.f})); !slices.Equal(got, tt.want) {
			t.Errorf("%+v finds %v, want %v", tt.f, got, tt.want)
		}
	}
}

func TestLinesAreThoseOfTheFile(t *testing.T) {
	t.Parallel()
	body := "\n# Title\n\nNothing here.\n\nThe zebra runs.\nIt is a fast zebra indeed.\n\nThe end.\n"
	x := indexOf(t, doc("animals", "About beasts.", body), doc("plants", "About trees.", "oak"))
	m := find(t, x, Query{Text: "zebra runs"}).Hits[0].Matches[0]
	if m.File != "SKILL.md" || m.StartLine != 10 || m.EndLine != 10 || m.Snippet != "The zebra runs." {
		t.Errorf("match is %+v", m)
	}
	m = find(t, x, Query{Text: "beasts"}).Hits[0].Matches[0]
	if m.StartLine != 3 || m.Snippet != "description: About beasts." {
		t.Errorf("match in the header is %+v", m)
	}
}

func TestSnippetsAreShortAndPrintable(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("filler words without sense ", 40) + "the \x1b[31m needle \x1b[0m " + strings.Repeat("more filler ", 40)
	x := indexOf(t, doc("hay", "stack", long))
	m := find(t, x, Query{Text: "needle"}).Hits[0].Matches[0]
	if !strings.Contains(m.Snippet, "needle") || strings.Contains(m.Snippet, "\x1b") || len([]rune(m.Snippet)) > snippetSize {
		t.Errorf("snippet has %d characters: %q", len([]rune(m.Snippet)), m.Snippet)
	}
}

func TestAChangedFileIsAStaleHit(t *testing.T) {
	t.Parallel()
	d := doc("moving", "A target.", "bullseye")
	read, changed := d.Read, false
	d.Read = func(ctx context.Context, rel string) ([]byte, error) {
		if changed {
			return []byte("something else"), nil
		}
		return read(ctx, rel)
	}
	x := indexOf(t, d)
	find(t, x, Query{Text: "bullseye"})
	changed = true
	res := find(t, x, Query{Text: "bullseye"})
	if len(res.Hits) != 1 || !res.Hits[0].Matches[0].Stale || res.Hits[0].Matches[0].StartLine != 0 {
		t.Fatalf("result is %+v", res)
	}
	if len(res.Diagnostics) != 1 || res.Diagnostics[0].Code != "search_stale_hit" {
		t.Errorf("diagnostics are %v", res.Diagnostics)
	}
}

func TestOneBadFileCostsOnlyItself(t *testing.T) {
	t.Parallel()
	bad := doc("bad", "Unreadable whales.", "")
	bad.Read = func(context.Context, string) ([]byte, error) { return nil, fs.ErrPermission }
	latin := withReference(doc("latin", "whales", "x"), "references/l.txt", "caf\xe9 whales")
	x := indexOf(t, bad, latin, doc("good", "whales", "x"))
	if got := find(t, x, Query{Text: "whales"}); len(got.Hits) != 3 {
		t.Errorf("finds %v", names(got))
	}
	var codes []string
	for _, d := range x.Diagnostics("") {
		codes = append(codes, d.Code)
	}
	if !slices.Equal(codes, []string{"search_file_skipped", "search_reference_skipped"}) {
		t.Errorf("diagnostics are %v", codes)
	}
}

func TestQueriesThatSayNothing(t *testing.T) {
	t.Parallel()
	x := indexOf(t, cjkLibrary...)
	for _, q := range []string{"", "  ", "what is it", "!!!"} {
		res := find(t, x, Query{Text: q})
		if len(res.Hits) != 0 || len(res.Diagnostics) != 1 || res.Diagnostics[0].Code != "search_empty_query" {
			t.Errorf("%q finds %v, %v", q, names(res), res.Diagnostics)
		}
	}
	res := find(t, x, Query{Text: "weather " + strings.Repeat("x", maxQuery)})
	if len(res.Hits) != 1 || res.Diagnostics[0].Code != "search_query_truncated" {
		t.Errorf("a long query finds %v, %v", names(res), res.Diagnostics)
	}
}

func TestBadQueriesAreRefused(t *testing.T) {
	t.Parallel()
	x := indexOf(t, cjkLibrary...)
	for _, tt := range []struct {
		q    Query
		want error
	}{
		{Query{TopK: 101}, ErrBadQuery}, {Query{TopK: -1}, ErrBadQuery}, {Query{Mode: "magic"}, ErrBadQuery},
		{Query{Filter: Filter{Fields: []Field{99}}}, ErrBadQuery}, {Query{Mode: Vector}, ErrModeUnavailable}, {Query{Mode: Hybrid}, ErrModeUnavailable},
	} {
		if _, err := x.Search(context.Background(), tt.q); !errors.Is(err, tt.want) {
			t.Errorf("%+v: %v, want %v", tt.q, err, tt.want)
		}
	}
	x.Close()
	if _, err := x.Search(context.Background(), Query{Text: "weather"}); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed index says %v", err)
	}
}

func TestExplanationSumsToTheScore(t *testing.T) {
	t.Parallel()
	x := indexOf(t, cjkLibrary...)
	for _, q := range []string{"weather", "report the weather 管理问题", "polish-zh"} {
		for _, h := range find(t, x, Query{Text: q, Explain: true}).Hits {
			sum := int64(0)
			for _, e := range h.Explain {
				sum += e.Contribution
			}
			if sum != h.Score {
				t.Errorf("%q: %s has score %d, explained %d", q, h.Name, h.Score, sum)
			}
		}
	}
}

func TestTextModeFindsPartsOfWords(t *testing.T) {
	t.Parallel()
	x := indexOf(t, doc("a", "Handles preprocessing.", "x"), doc("b", "y", "process it"), doc("c", "none", "z"))
	res := find(t, x, Query{Text: "process", Mode: Text})
	if got := names(res); !slices.Equal(got, []string{"a", "b"}) || res.Mode != Text {
		t.Errorf("text finds %v", got)
	}
}

func TestScopesDoNotTouch(t *testing.T) {
	t.Parallel()
	x := indexOf(t, doc("mine", "whales", "sea"))
	before := find(t, x, Query{Text: "whales"})
	if _, err := x.AddDocs(context.Background(), "other", []Document{doc("theirs", "whales whales", "whales")}); err != nil {
		t.Fatal(err)
	}
	find(t, x, Query{Text: "whales", Scope: "other"})
	if diff := cmp.Diff(before, find(t, x, Query{Text: "whales"})); diff != "" {
		t.Errorf("another scope changed the answer: %s", diff)
	}
}

func TestUpdatesEqualAFreshIndex(t *testing.T) {
	t.Parallel()
	words := strings.Fields("whale sea ship sail wind wave storm anchor harbour deck 港口 风暴")
	library := map[string]Document{}
	x := indexOf(t)
	for round := range 12 {
		for i := range 8 {
			n := (round*5 + i*3) % 20
			name := fmt.Sprintf("s%02d", n)
			if (round+i)%4 == 3 {
				delete(library, name)
				continue
			}
			library[name] = doc(name, words[(n+round)%12]+" "+words[(n*7+i)%12], strings.Join(words[n%6:n%6+round%5+1], " "))
		}
		docs := slices.Collect(maps.Values(library))
		slices.SortFunc(docs, func(a, b Document) int { return strings.Compare(a.Address, b.Address) })
		report, err := x.AddDocs(context.Background(), "", docs)
		if err != nil || report.Added+report.Changed+report.Unchanged != len(docs) {
			t.Fatalf("report %+v for %d documents, %v", report, len(docs), err)
		}
		fresh := indexOf(t, docs...)
		for _, q := range []string{"whale", "storm 风暴 ship", "anchor -deck", `"sea ship"`} {
			got, want := find(t, x, Query{Text: q, TopK: 20, Explain: true}), find(t, fresh, Query{Text: q, TopK: 20, Explain: true})
			got.Generation, want.Generation = 0, 0
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("round %d, %q: %s", round, q, diff)
			}
		}
	}
	if st := x.Stats(); st.Segments > 3 {
		t.Errorf("%d segments are left", st.Segments)
	}
}

func TestUnchangedSkillsAreNotReadAgain(t *testing.T) {
	t.Parallel()
	reads := 0
	d := doc("a", "whale", "sea")
	read := d.Read
	d.Read = func(ctx context.Context, rel string) ([]byte, error) { reads++; return read(ctx, rel) }
	x := indexOf(t, d)
	if reads != 0 {
		t.Errorf("adding read %d files", reads)
	}
	find(t, x, Query{Text: "whale", Bare: true})
	report, _ := x.AddDocs(context.Background(), "", []Document{d, doc("b", "new", "x")})
	find(t, x, Query{Text: "whale", Bare: true})
	if reads != 1 || report != (UpdateReport{Added: 1, Unchanged: 1}) {
		t.Errorf("%d reads, report %+v", reads, report)
	}
}

func TestSearchesRunBesideUpdates(t *testing.T) {
	t.Parallel()
	x := indexOf(t, cjkLibrary...)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 50 {
				if w == 0 {
					docs := append(slices.Clone(cjkLibrary), doc("extra", fmt.Sprint("weather ", i), "x"))
					if _, err := x.AddDocs(context.Background(), "", docs); err != nil {
						t.Error(err)
					}
					continue
				}
				if res, err := x.Search(context.Background(), Query{Text: "weather report"}); err != nil || res.Hits[0].Name != "weather" {
					t.Errorf("finds %v, %v", names(res), err)
				}
			}
		})
	}
	wg.Wait()
}

func TestACancelledBuildKeepsWhatItRead(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	first := doc("a", "whale", "x")
	read := first.Read
	first.Read = func(ctx context.Context, rel string) ([]byte, error) { cancel(); return read(ctx, rel) }
	x := indexOf(t, first, doc("b", "whale", "x"))
	if _, err := x.Search(ctx, Query{Text: "whale"}); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled search says %v", err)
	}
	if st := x.Stats(); st.Skills != 1 || st.Pending != 1 {
		t.Errorf("after a cancelled build: %+v", st)
	}
	if got := names(find(t, x, Query{Text: "whale"})); len(got) != 2 {
		t.Errorf("finds %v", got)
	}
}
