package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// provider is an embeddings endpoint on this machine: it speaks the format of the
// real ones and makes vectors that are near when the texts share a meaning.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	texts   []string
	headers http.Header
	fail    func(n int, w http.ResponseWriter) bool // answers request n itself
	asked   int
}

const meanings = 16

// meaning is a vector with a direction for each group of words.
func meaning(text string) []float32 {
	v := make([]float32, meanings)
	v[0] = 0.1
	for _, w := range strings.Fields(strings.ToLower(text)) {
		for i, group := range []string{"cat feline kitten", "ship boat vessel", "money cash coin"} {
			if slices.Contains(strings.Fields(group), strings.Trim(w, ".,")) {
				v[i+1]++
			}
		}
	}
	return v
}

func newProvider(t testing.TB) *provider {
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Model  string   `json:"model"`
			Input  []string `json:"input"`
			Format string   `json:"encoding_format"`
		}
		raw, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(raw, &req); err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/embeddings" || req.Format != "float" || req.Model == "" {
			http.Error(w, `{"error":{"message":"bad request"}}`, http.StatusBadRequest)
			return
		}
		p.mu.Lock()
		p.asked++
		n, fail := p.asked, p.fail
		p.texts = append(p.texts, req.Input...)
		p.headers = r.Header.Clone()
		p.mu.Unlock()
		if fail != nil && fail(n, w) {
			return
		}
		type item struct {
			Object    string    `json:"object"`
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		data := []item{}
		for i := len(req.Input) - 1; i >= 0; i-- { // in no particular order
			data = append(data, item{"embedding", i, meaning(req.Input[i])})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"object": "list", "data": data, "model": req.Model, "usage": map[string]int{"prompt_tokens": 1, "total_tokens": 1},
		})
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) embedder(t testing.TB, o HTTPEmbedderOptions) Embedder {
	t.Helper()
	o.BaseURL = p.URL + "/v1/"
	if o.Model == "" {
		o.Model = "tiny"
	}
	e, err := NewHTTPEmbedder(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestTheEmbedderSpeaksTheProvidersFormat(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	e := p.embedder(t, HTTPEmbedderOptions{
		APIKeyEnv: "KEY", Env: func(name string) string { return "secret-of-" + name }, Batch: 3, Dim: meanings,
	})
	texts := []string{"cat", "ship", "coin", "feline", "boat", "cash", "kitten"}
	list, err := e.Embed(context.Background(), texts)
	if err != nil || len(list) != len(texts) {
		t.Fatalf("%d vectors, %v", len(list), err)
	}
	for i, text := range texts {
		if !slices.Equal(list[i], meaning(text)) {
			t.Errorf("%s has %v", text, list[i])
		}
	}
	if p.asked != 3 || len(p.texts) != 7 {
		t.Errorf("%d requests for %d texts", p.asked, len(p.texts))
	}
	if got := p.headers.Get("Authorization"); got != "Bearer secret-of-KEY" {
		t.Errorf("authorization is %q", got)
	}
}

func TestTheEmbedderTriesAgainWhenThatMayHelp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status, times int // of bad answers
		after         string
		asked         int
		waits         []time.Duration // least
		ok            bool
	}{
		"busy":           {429, 1, "3", 2, []time.Duration{3 * time.Second}, true},
		"busy for long":  {429, 1, "9000", 2, []time.Duration{10 * time.Second}, true},
		"until a date":   {429, 1, "Thu, 01 Jan 2026 00:00:05 GMT", 2, []time.Duration{5 * time.Second}, true},
		"broken twice":   {500, 2, "", 3, []time.Duration{embedPause / 2, embedPause}, true},
		"broken":         {503, 3, "", 3, []time.Duration{embedPause / 2, embedPause}, false},
		"refused":        {401, 1, "", 1, nil, false},
		"unknown model":  {404, 1, "", 1, nil, false},
		"wrong question": {400, 1, "", 1, nil, false},
	} {
		p := newProvider(t)
		p.fail = func(n int, w http.ResponseWriter) bool {
			if n > tt.times {
				return false
			}
			w.Header().Set("Retry-After", tt.after)
			http.Error(w, `{"error":{"message":"no"}}`, tt.status)
			return true
		}
		e := p.embedder(t, HTTPEmbedderOptions{Clock: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }})
		var waits []time.Duration
		e.(*httpEmbedder).pause = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
		_, err := e.Embed(context.Background(), []string{"cat"})
		if (err == nil) != tt.ok || p.asked != tt.asked || len(waits) != len(tt.waits) {
			t.Errorf("%s: %d requests, waits %v, %v", name, p.asked, waits, err)
			continue
		}
		for i, d := range tt.waits {
			if waits[i] < d || waits[i] > max(d, 2*embedPause) {
				t.Errorf("%s: wait %d is %v, want %v", name, i, waits[i], d)
			}
		}
	}
}

func TestBadVectorsAreRefusedByTheirInput(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ reply, says string }{
		"too few":      {`{"data":[{"index":0,"embedding":[1,2]}]}`, "1 vectors for 2 texts"},
		"twice":        {`{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]}`, "input 1"},
		"far index":    {`{"data":[{"index":0,"embedding":[1,2]},{"index":7,"embedding":[1,2]}]}`, "input 1"},
		"other length": {`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1,2,3]}]}`, "input 1: 3 numbers, not 2"},
		"zero":         {`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[0,0]}]}`, "input 1: no direction"},
		"empty":        {`{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`, "input 0"},
	} {
		p := newProvider(t)
		p.fail = func(_ int, w http.ResponseWriter) bool { fmt.Fprint(w, tt.reply); return true }
		_, err := p.embedder(t, HTTPEmbedderOptions{Dim: 0}).Embed(context.Background(), []string{"a", "b"})
		if !errors.Is(err, ErrBadVector) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := newProvider(t)
	if _, err := p.embedder(t, HTTPEmbedderOptions{Dim: 3}).Embed(context.Background(), []string{"a"}); !errors.Is(err, ErrBadVector) {
		t.Errorf("another dimension: %v", err)
	}
	p.fail = func(_ int, w http.ResponseWriter) bool { fmt.Fprint(w, "<html>"); return true }
	if _, err := p.embedder(t, HTTPEmbedderOptions{}).Embed(context.Background(), []string{"a"}); err == nil {
		t.Error("a page is taken for vectors")
	}
	for _, base := range []string{"", "embeddings", "ftp://x", "http://"} {
		if _, err := NewHTTPEmbedder(HTTPEmbedderOptions{BaseURL: base, Model: "m"}); err == nil {
			t.Errorf("%q is taken for an address", base)
		}
	}
}

var meaningful = []Document{
	doc("pets", "About a cat.", "Feed the kitten."),
	doc("harbour", "About a ship.", "The vessel sails."),
	doc("bank", "About money.", "Count the coin."),
	doc("other", "About whales.", "They sing."),
}

func withEmbedder(t testing.TB, p *provider, o Options, docs ...Document) *Index {
	t.Helper()
	if o.Embedder == nil {
		o.Embedder = p.embedder(t, HTTPEmbedderOptions{})
	}
	if o.VectorTimeout == 0 {
		o.VectorTimeout = time.Minute // a busy machine is no slow provider
	}
	x := opened(t, o)
	add(t, x, docs...)
	if err := x.Warm(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestVectorsFindWhatTheWordsDoNot(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	x := withEmbedder(t, p, Options{}, meaningful...)
	if got := names(find(t, x, Query{Text: "feline", Mode: BM25})); len(got) != 0 {
		t.Fatalf("words find %v", got)
	}
	for _, mode := range []Mode{Auto, Hybrid, Vector} {
		res := find(t, x, Query{Text: "feline", Mode: mode, Explain: true})
		if len(res.Hits) == 0 || res.Hits[0].Name != "pets" || res.Degraded != "" || res.Mode == BM25 || res.Hits[0].Cosine < 900 {
			t.Errorf("%s finds %v, %+v", mode, names(res), res)
			continue
		}
		sum := int64(0)
		for _, e := range res.Hits[0].Explain {
			sum += e.Contribution
		}
		if sum != res.Hits[0].Score {
			t.Errorf("%s: explained %d of %d", mode, sum, res.Hits[0].Score)
		}
	}
	// Both sides agree on the ship: it is before what only one of them has.
	res := find(t, x, Query{Text: "ship sails whales"})
	if names(res)[0] != "harbour" {
		t.Errorf("fusion finds %v", names(res))
	}
	weighted := withEmbedder(t, p, Options{Fusion: Weighted}, meaningful...)
	if res := find(t, weighted, Query{Text: "ship whales"}); res.Hits[0].Score > scale || len(res.Hits) < 2 {
		t.Errorf("weighted fusion finds %+v", res.Hits)
	}
	if got := names(find(t, x, Query{Text: "bank"})); got[0] != "bank" {
		t.Errorf("a name finds %v", got)
	}
}

func TestVectorsKeepToViewFilterAndExclusion(t *testing.T) {
	t.Parallel()
	x := withEmbedder(t, newProvider(t), Options{}, meaningful...)
	for name, q := range map[string]Query{
		"view":      {View: NewView(func(a string) bool { return a != "pets" })},
		"filter":    {Filter: Filter{Names: []string{"bank", "other"}}},
		"exclusion": {Text: "feline -kitten"},
		"phrase":    {Text: `feline "whales"`},
	} {
		if q.Text == "" {
			q.Text = "feline"
		}
		for _, mode := range []Mode{Hybrid, Vector} {
			q.Mode = mode
			if res := find(t, x, q); slices.Contains(names(res), "pets") || len(res.Hits) == 0 {
				t.Errorf("%s, %s: finds %v", name, mode, names(res))
			}
		}
	}
}

func TestWithoutItsVectorAQueryIsAnsweredByWords(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	var now atomic.Int64
	x := withEmbedder(t, p, Options{
		Clock: func() time.Time { return time.Unix(now.Load(), 0) },
	}, meaningful...)
	e := x.opt.Embedder.(*httpEmbedder)
	e.pause = func(context.Context, time.Duration) error { return nil }
	want := find(t, x, Query{Text: "about ship", Mode: BM25})
	release := make(chan struct{})
	defer close(release)
	for name, tt := range map[string]struct {
		fail func(int, http.ResponseWriter) bool
		says string
	}{
		"broken": {func(_ int, w http.ResponseWriter) bool { http.Error(w, "x", 500); return true }, "embedder: HTTP status 500"},
		"hangs":  {func(int, http.ResponseWriter) bool { <-release; return true }, "embedder: no answer in 50ms"},
		"other dimension": {func(_ int, w http.ResponseWriter) bool {
			fmt.Fprint(w, `{"data":[{"index":0,"embedding":[1,2]}]}`)
			return true
		}, "embedder: embedder_bad_vector: 2 numbers, not 16"},
	} {
		p.mu.Lock()
		p.fail = tt.fail
		p.mu.Unlock()
		x.opt.VectorTimeout = time.Minute
		if name == "hangs" {
			x.opt.VectorTimeout = 50 * time.Millisecond
		}
		res := find(t, x, Query{Text: "about ship"})
		if res.Degraded != tt.says || res.Mode != BM25 || !slices.Equal(names(res), names(want)) || res.Hits[0].Score != want.Hits[0].Score {
			t.Errorf("%s: %q, finds %v", name, res.Degraded, names(res))
		}
	}
	x.opt.VectorTimeout = time.Minute
	// Five failures in a row, and it is left alone for a while.
	p.mu.Lock()
	p.fail = func(_ int, w http.ResponseWriter) bool { http.Error(w, "x", 400); return true }
	p.mu.Unlock()
	for range 5 {
		find(t, x, Query{Text: "about ship"})
	}
	p.mu.Lock()
	asked := p.asked
	p.fail = nil
	p.mu.Unlock()
	if res := find(t, x, Query{Text: "about ship"}); res.Degraded != "embedder: paused after 5 failures in a row" || p.asked != asked {
		t.Errorf("the breaker is closed: %q", res.Degraded)
	}
	now.Add(31)
	if res := find(t, x, Query{Text: "about ship"}); res.Degraded != "" || res.Mode != Hybrid {
		t.Errorf("the breaker stays open: %q", res.Degraded)
	}
}

func TestOnlyNewTextsAreEmbedded(t *testing.T) {
	t.Parallel()
	p, dir := newProvider(t), t.TempDir()
	texts := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		n := len(p.texts)
		p.texts = nil
		return n
	}
	open := func(model string, docs ...Document) *Index {
		return withEmbedder(t, p, Options{Dir: dir, Embedder: p.embedder(t, HTTPEmbedderOptions{Model: model})}, docs...)
	}
	x := open("one", meaningful[:3]...)
	if n := texts(); n != 3 {
		t.Errorf("%d texts at first", n)
	}
	add(t, x, append(slices.Clone(meaningful[1:3]), doc("pets", "About a feline.", "x"), meaningful[3])...)
	if err := x.Warm(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	if n := texts(); n != 2 {
		t.Errorf("%d texts for one new and one changed skill", n)
	}
	_ = x.Close()
	again := open("one", meaningful[1:]...)
	if n := texts(); n != 0 {
		t.Errorf("%d texts after a start", n)
	}
	if got := names(find(t, again, Query{Text: "vessel coin", Mode: Vector}))[0]; got != "bank" && got != "harbour" {
		t.Errorf("kept vectors find %s", got)
	}
	_ = again.Close()
	texts()
	open("two", meaningful[1:]...)
	if n := texts(); n != 3 {
		t.Errorf("%d texts for another model", n)
	}
}

func TestPiecesCoverATextAndOverlap(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 700 {
		fmt.Fprintf(&b, "行 %d of the text\n", i)
	}
	list := pieces(b.String())
	for i := range 700 {
		if !slices.ContainsFunc(list, func(p string) bool { return strings.Contains(p, fmt.Sprintf("行 %d of the text", i)) }) {
			t.Fatalf("line %d is in no piece", i)
		}
	}
	for _, p := range list {
		if len([]rune(p)) > chunkSize {
			t.Errorf("a piece has %d characters", len([]rune(p)))
		}
	}
	if len(list) < 11 || len(pieces("")) != 0 || len(pieces(strings.Repeat("界", 5000))) < 5 {
		t.Errorf("%d pieces", len(list))
	}
}

func BenchmarkHybrid80k(b *testing.B) {
	const n, dim = 80_000, 768
	_, x := bigLibrary()
	p := x.scope("").gen.Load().plan(x.opt, x.an, question{}, Filter{})
	rows := make([]row, 0, n)
	seed := uint32(1)
	for i, part := range p.g.parts {
		for d := range part.docs {
			vec := make([]float32, dim)
			for j := range vec {
				seed = seed*1664525 + 1013904223
				vec[j] = float32(seed>>8) / (1 << 24)
			}
			rows = append(rows, row{i, uint32(d), vec})
		}
	}
	for b.Loop() {
		nearest(p, rows, rows[7].vec, Query{TopK: 50}, question{}, nil)
	}
}
