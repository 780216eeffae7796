package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/internal/limits"
)

// folder is a skill in memory whose files can be changed.
type folder struct {
	mu    sync.Mutex
	files map[string]string // of references
	time  int64
	reads int
}

func (f *folder) set(rel, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.time++; text == "" {
		delete(f.files, rel)
	} else {
		f.files[rel] = text
	}
}

func (f *folder) document(d Document) Document {
	read := d.Read
	d.Read = func(ctx context.Context, rel string) ([]byte, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.reads++
		if text, ok := f.files[rel]; ok {
			return []byte(text), nil
		}
		return read(ctx, rel)
	}
	d.List = func(context.Context) (out []Reference, err error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for rel, text := range f.files {
			out = append(out, Reference{rel, int64(len(text)), f.time})
		}
		slices.SortFunc(out, func(a, b Reference) int { return strings.Compare(a.Path, b.Path) })
		return out, nil
	}
	return d
}

func opened(t testing.TB, o Options) *Index {
	t.Helper()
	x, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func add(t testing.TB, x *Index, docs ...Document) UpdateReport {
	t.Helper()
	report, err := x.AddDocs(context.Background(), "", docs)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestAChangedReferenceIsReadAgain(t *testing.T) {
	t.Parallel()
	f := &folder{files: map[string]string{"references/a.md": "perigee"}}
	d := f.document(doc("tides", "The sea.", "Ebb."))
	x := opened(t, Options{})
	add(t, x, d, doc("other", "x", "y"))
	find(t, x, Query{Text: "perigee"})
	f.set("references/a.md", "apogee")
	if res := find(t, x, Query{Text: "perigee"}); len(res.Hits) != 1 || !res.Hits[0].Matches[0].Stale || len(res.Diagnostics) != 1 {
		t.Errorf("before an update the hit is %+v, %v", res.Hits, res.Diagnostics)
	}
	for _, step := range []struct {
		change     func()
		word, gone string
	}{
		{func() {}, "apogee", "perigee"}, // a stale hit is read again
		{func() { f.set("references/a.md", "syzygy") }, "syzygy", "apogee"},
		{func() { f.set("references/b.md", "perigee") }, "perigee", "apogee"},
		{func() { f.set("references/a.md", "") }, "perigee", "syzygy"},
	} {
		step.change()
		x.Recheck("")
		if got := names(find(t, x, Query{Text: step.word})); !slices.Equal(got, []string{"tides"}) {
			t.Errorf("%s finds %v", step.word, got)
		}
		if got := names(find(t, x, Query{Text: step.gone})); len(got) != 0 {
			t.Errorf("%s finds %v", step.gone, got)
		}
	}
	reads := f.reads
	if report := add(t, x, d); report.Unchanged != 1 || report.Removed != 1 {
		t.Errorf("report %+v", report)
	}
	find(t, x, Query{Text: "ebb", Bare: true})
	if f.reads != reads {
		t.Errorf("%d files of an unchanged skill were read", f.reads-reads)
	}
}

func TestAFileThatChangesWhileItIsListedIsReadNextTime(t *testing.T) {
	t.Parallel()
	d := doc("torn", "A target.", "bullseye")
	read, other := d.Read, []byte("something else")
	d.Read = func(context.Context, string) ([]byte, error) { return other, nil }
	x := opened(t, Options{})
	add(t, x, d)
	if res := find(t, x, Query{Text: "target", Bare: true}); len(res.Hits) != 1 || len(x.Diagnostics("")) != 1 {
		t.Errorf("finds %v, %v", names(res), x.Diagnostics(""))
	}
	d.Read = read
	if report := add(t, x, d); report.Changed != 1 {
		t.Errorf("report %+v", report)
	}
	if got := names(find(t, x, Query{Text: "bullseye"})); len(got) != 1 || len(x.Diagnostics("")) != 0 {
		t.Errorf("finds %v, %v", got, x.Diagnostics(""))
	}
}

// answers are what an index says to several queries.
func answers(t *testing.T, x *Index) (out []Result) {
	t.Helper()
	for _, q := range []string{letters(3), letters(9) + " " + letters(40), "skill-7", letters(2) + " -" + letters(5), "two " + letters(200)} {
		res := find(t, x, Query{Text: q, TopK: 20, Explain: true})
		res.Generation = 0
		out = append(out, res)
	}
	return out
}

func TestAnIndexFromDiskAnswersTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	docs := library(300)
	reads := 0
	for i := range docs {
		read := docs[i].Read
		docs[i].Read = func(ctx context.Context, rel string) ([]byte, error) { reads++; return read(ctx, rel) }
	}
	o := Options{Dir: dir, Stamp: "one"}
	start := func(o Options) (*Index, UpdateReport) {
		x := opened(t, o)
		report := add(t, x, docs[10:]...)
		if err := x.Warm(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
		return x, report
	}
	x := opened(t, o)
	add(t, x, docs...)
	if err := x.Warm(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	reads = 0
	again, report := start(o)
	if report != (UpdateReport{Unchanged: 290}) || reads != 0 {
		t.Errorf("after a start: %+v, %d reads", report, reads)
	}
	fresh, _ := start(Options{})
	want := answers(t, fresh)
	if diff := cmp.Diff(want, answers(t, again)); diff != "" {
		t.Errorf("the kept index answers otherwise: %s", diff)
	}
	_ = again.Close()

	for name, damage := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"flipped": func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"empty":   func([]byte) []byte { return nil },
		"foreign": func([]byte) []byte { return []byte("hello") },
	} {
		files, _ := filepath.Glob(filepath.Join(dir, "*", "gen-*.seg"))
		if len(files) != 1 {
			t.Fatalf("%s: files are %v", name, files)
		}
		raw, _ := os.ReadFile(files[0])
		if err := os.WriteFile(files[0], damage(raw), 0o600); err != nil {
			t.Fatal(err)
		}
		x, report := start(o)
		if diff := cmp.Diff(want, answers(t, x)); diff != "" || report.Added != 290 {
			t.Errorf("%s: report %+v, %s", name, report, diff)
		}
		if d := x.Diagnostics(""); len(d) != 1 || d[0].Code != "index_rebuilt" {
			t.Errorf("%s: diagnostics are %v", name, d)
		}
		_ = x.Close()
	}
	if _, report := start(Options{Dir: dir, Stamp: "two"}); report.Added != 290 {
		t.Errorf("another program: report %+v", report)
	}
}

func TestEqualInputGivesEqualFiles(t *testing.T) {
	t.Parallel()
	var files [][]byte
	for range 2 {
		dir := t.TempDir()
		x := opened(t, Options{Dir: dir})
		add(t, x, library(100)...)
		find(t, x, Query{Text: letters(1)})
		_ = x.Close()
		list, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
		if len(list) != 1 {
			t.Fatalf("files are %v", list)
		}
		raw, err := os.ReadFile(list[0])
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, raw)
	}
	if string(files[0]) != string(files[1]) {
		t.Error("two builds of one library differ")
	}
}

// TestManyPutsEqualAFreshIndex adds and removes one by one, with merges in between.
func TestManyPutsEqualAFreshIndex(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	docs := library(700)
	x := opened(t, Options{})
	add(t, x, docs[:100]...)
	for i := 100; i < len(docs); i += 7 {
		if err := x.Put(ctx, "", docs[i:min(i+7, len(docs))]...); err != nil {
			t.Fatal(err)
		}
		if i%5 == 0 {
			if n, err := x.Remove(ctx, "", docs[i/2].Address, "unknown"); n != 1 || err != nil {
				t.Fatalf("removed %d, %v", n, err)
			}
			if err := x.Put(ctx, "", docs[i/2]); err != nil {
				t.Fatal(err)
			}
		}
		find(t, x, Query{Text: letters(i), Bare: true})
	}
	x.work.Wait() // compaction
	if st := x.Stats(); st.Skills != 700 || st.Segments > 9 {
		t.Errorf("stats are %+v", st)
	}
	fresh := opened(t, Options{})
	add(t, fresh, docs...)
	if diff := cmp.Diff(answers(t, fresh), answers(t, x)); diff != "" {
		t.Errorf("many small changes end otherwise: %s", diff)
	}
}

func TestSearchesBesideAWarmUpAnswerFromWhatThereIs(t *testing.T) {
	t.Parallel()
	docs := []Document{doc("early", "whale", "x"), doc("late", "blue whale", "y")}
	x := opened(t, Options{})
	add(t, x, docs[0])
	find(t, x, Query{Text: "whale"})
	s := x.scope("")
	held, release := make(chan struct{}), make(chan struct{})
	read := docs[1].Read
	first := true
	docs[1].Read = func(ctx context.Context, rel string) ([]byte, error) {
		if first {
			first = false
			close(held)
			<-release
		}
		return read(ctx, rel)
	}
	add(t, x, docs...)
	done := make(chan error)
	go func() { done <- x.Warm(context.Background(), "") }()
	<-held
	res := find(t, x, Query{Text: "whale"})
	if !slices.Equal(names(res), []string{"early", "late"}) || res.Degraded != "index building: 1 of 2" || res.Total != 2 {
		t.Errorf("meanwhile %v, %q, %d in all", names(res), res.Degraded, res.Total)
	}
	close(release)
	if err := <-done; err != nil || s.warming.Load() {
		t.Fatal(err)
	}
	if res := find(t, x, Query{Text: "whale"}); len(res.Hits) != 2 || res.Degraded != "" {
		t.Errorf("afterwards %v, %q", names(res), res.Degraded)
	}
}

// TestNoScopeAndNoViewSeesAnother asks two scopes and two views at once, each full of
// better hits for the others.
func TestNoScopeAndNoViewSeesAnother(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := opened(t, Options{})
	for _, scope := range []string{"a", "b"} {
		var docs []Document
		for i := range 40 {
			d := doc(fmt.Sprintf("%s-%02d", scope, i), strings.Repeat("whale ", 1+i%7), strings.Repeat(scope+"word whale ", i))
			docs = append(docs, d)
		}
		if _, err := x.AddDocs(ctx, scope, docs); err != nil {
			t.Fatal(err)
		}
	}
	even := NewView(func(a string) bool { return (a[len(a)-1]-'0')%2 == 0 })
	odd := NewView(func(a string) bool { return (a[len(a)-1]-'0')%2 == 1 })
	var wg sync.WaitGroup
	for _, scope := range []string{"a", "b"} {
		for _, view := range []*View{even, odd} {
			wg.Go(func() {
				for range 250 {
					res, err := x.Search(ctx, Query{Text: "whale bword", Scope: scope, View: view, TopK: 3, Explain: true, Bare: true})
					if err != nil || len(res.Hits) != 3 || res.Total != 20 || res.Searched != 20 {
						t.Errorf("%v: %d hits of %d in %d", err, len(res.Hits), res.Total, res.Searched)
						return
					}
					for _, h := range res.Hits {
						if !strings.HasPrefix(h.Name, scope) || !view.Has(h.Address) {
							t.Errorf("scope %s finds %s", scope, h.Name)
						}
					}
				}
			})
		}
	}
	wg.Wait()
}

func FuzzSegment(f *testing.F) {
	x := indexOf(f, append(library(3), cjkLibrary...)...)
	if err := x.Warm(context.Background(), ""); err != nil {
		f.Fatal(err)
	}
	p := x.scope("").gen.Load().parts[0]
	raw := encode("", p)
	f.Add(raw[:len(raw)-4])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, ok := decodeBody(string(raw))
		if !ok {
			return
		}
		g := &generation{parts: []part{p}}
		for i := range p.terms() {
			for c := p.list(i); c.doc != finished; c.next() {
				c.read()
			}
		}
		g.live = p.living()
		x.an.parse(Query{Text: "whale"})
		plan := g.plan(x.opt, x.an, x.an.parse(Query{Text: "weather the city"}), Filter{})
		col := collector{k: 5}
		plan.walk(context.Background(), 0, &col)
	})
}

func TestAScopeHoldsSoManySkillsAndSaysSo(t *testing.T) {
	t.Parallel()
	docs := make([]Document, limits.SearchSkills+1)
	for i := range docs {
		name := fmt.Sprint("s", i)
		docs[i] = Document{Address: name, Name: name}
	}
	x := opened(t, Options{})
	if report := add(t, x, docs...); report.Added != limits.SearchSkills {
		t.Errorf("report %+v", report)
	}
	if d := x.scope("").gen.Load().notes; len(d) != 1 || d[0].Code != "limit_search_skills" {
		t.Errorf("diagnostics are %v", d)
	}
	add(t, x, docs[:3]...)
	if d := x.Diagnostics(""); len(d) != 0 {
		t.Errorf("diagnostics are %v", d)
	}
}

func TestWordsBeyondThoseThatCountAreNamed(t *testing.T) {
	t.Parallel()
	var words []string
	for i := range maxTerms + 3 {
		words = append(words, letters(i))
	}
	x := opened(t, Options{})
	add(t, x, doc("all", "x", strings.Join(words, " ")), doc("other", "y", "z"))
	h := find(t, x, Query{Text: strings.Join(words, " "), Explain: true}).Hits[0]
	unused, sum := 0, int64(0)
	for _, e := range h.Explain {
		if sum += e.Contribution; e.TF == nil && e.Contribution == 0 {
			unused++
		}
	}
	if unused != 3 || sum != h.Score {
		t.Errorf("%d words are named as unused; explained %d of %d", unused, sum, h.Score)
	}
}
