package evals

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/internal/race"
	"github.com/deftskills/deft/search"
)

// write puts a file below dir.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	p := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

func smallSet(t *testing.T) RoutingOptions {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/weather/SKILL.md":           "---\nname: weather\ndescription: Report the weather forecast for a city.\n---\nAsk for rain.\n",
		"b/weather/SKILL.md":           "---\nname: weather\ndescription: Paint clouds.\n---\nUse watercolour.\n",
		"b/weather/references/tide.md": "How the tide turns at the moon's will.\n",
		"c/sql/SKILL.md":               "---\nname: sql\ndescription: Tune slow database queries.\n---\nRead the plan.\n",
		"c/broken/SKILL.md":            "",
	} {
		write(t, dir, "corpus/"+name, text)
	}
	return RoutingOptions{
		Corpus: []string{filepath.Join(dir, "corpus")},
		Queries: write(t, dir, "q.jsonl", strings.Join([]string{
			`{"id":"1","query":"weather forecast for a city","gold":["a/weather"],"aux":[],"source":"authored","kind":"single","lang":"en"}`,
			`{"id":"2","query":"the moon's tide","gold":["b/weather"],"source":"authored","kind":"single","lang":"en"}`,
			`{"id":"3","query":"database forecast","gold":["c/nothing"],"aux":["c/sql"],"source":"other","kind":"multi","lang":"en"}`,
			`{"id":"4","query":"who sings tonight","gold":[],"source":"authored","kind":"negative","lang":"en"}`,
		}, "\n")),
		Equiv: write(t, dir, "e.json", `{"3":["a/weather"]}`),
		Trigger: write(t, dir, "t.jsonl", strings.Join([]string{
			`{"id":"1","query":"rain in the city","skill":"a/weather","should_trigger":true}`,
			`{"id":"2","query":"paint rain","skill":"c/sql","should_trigger":false}`,
		}, "\n")),
		NoTiming: true, Misses: true,
	}
}

func TestRoutingCountsWhatItSays(t *testing.T) {
	t.Parallel()
	r, err := Routing(context.Background(), smallSet(t))
	if err != nil {
		t.Fatal(err)
	}
	if r.Skills != 3 || r.Queries != 4 || r.N != 3 {
		t.Errorf("%d skills, %d queries, %d with gold", r.Skills, r.Queries, r.N)
	}
	if r.Hit1 != 0.6667 || r.Lenient.Hit1 != 1 || r.Hit5 != 0.6667 || r.MRR10 != 0.6667 {
		t.Errorf("figures are %+v, lenient %+v", r.Figures, r.Lenient)
	}
	if r.Abstain.Negatives != 1 || r.Abstain.Refused != 1 || r.Abstain.Positives != 2 || r.Abstain.Recall != 1 || r.AUROC != 1 {
		t.Errorf("abstain %+v, auroc %v", r.Abstain, r.AUROC)
	}
	if r.Trigger.Should != 1 || r.Trigger.ShouldTop1 != 1 || r.Trigger.Not != 1 || r.Trigger.NotTop1 != 0 {
		t.Errorf("trigger %+v", r.Trigger)
	}
	if len(r.Misses) != 1 || r.Misses[0].ID != "3" || r.Misses[0].Rank != 0 || slices.Contains(r.Misses[0].Top, "c/sql") {
		t.Errorf("misses %+v", r.Misses)
	}
	if r.IndexMS != 0 || r.P50US != 0 || r.PerSecond != 0 {
		t.Errorf("times are given: %+v", r)
	}
}

func TestRoutingRunsInEveryMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"bm25", "text", "route"} {
		opt := smallSet(t)
		opt.Mode = mode
		first, err := Routing(context.Background(), opt)
		if err != nil || first.Hit1 < 0.3 {
			t.Errorf("%s: %v, %+v", mode, err, first.Figures)
		}
		second, _ := Routing(context.Background(), opt)
		a, _ := json.Marshal(first)
		b, _ := json.Marshal(second)
		if string(a) != string(b) {
			t.Errorf("%s: two runs differ:\n%s\n%s", mode, a, b)
		}
	}
}

func TestBadCasesAreNamedAndTheRestRuns(t *testing.T) {
	t.Parallel()
	opt := smallSet(t)
	dir := t.TempDir()
	opt.Queries = write(t, dir, "q.jsonl", "\n{\"id\":\"1\",\"query\":\"weather forecast\",\"gold\":[\"a/weather\"]}\n{broken\n{\"id\":\"2\"}\n[1]\n")
	opt.Trigger = write(t, dir, "t.jsonl", "{\"query\":\"x\",\"skill\":\"y\"}")
	opt.Equiv = write(t, dir, "e.json", "{\n\"a\": [\n}")
	r, err := Routing(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, d := range r.Diagnostics {
		if d.Code != "eval_bad_case" || d.Message == "" {
			t.Errorf("diagnostic is %+v", d)
		}
		got = append(got, filepath.Base(d.File)+":"+string(rune('0'+d.Line)))
	}
	if want := []string{"q.jsonl:3", "q.jsonl:4", "q.jsonl:5", "e.json:3", "t.jsonl:1"}; !slices.Equal(got, want) || r.BadCases != 5 {
		t.Errorf("bad cases %v (%d), want %v", got, r.BadCases, want)
	}
	if r.Queries != 1 || r.Hit1 != 1 {
		t.Errorf("the good line has %+v", r.Figures)
	}
}

func TestUnusableInputsAreErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		change func(*RoutingOptions)
		want   error
	}{
		{func(o *RoutingOptions) { o.Queries = "" }, ErrNoQueries},
		{func(o *RoutingOptions) { o.Mode = "vector" }, search.ErrModeUnavailable},
		{func(o *RoutingOptions) { o.Mode = "magic" }, search.ErrBadQuery},
		{func(o *RoutingOptions) { o.Search.K1 = -1 }, search.ErrBadQuery},
		{func(o *RoutingOptions) { o.Queries += ".gone" }, os.ErrNotExist},
		{func(o *RoutingOptions) { o.Corpus = []string{"gone"} }, os.ErrNotExist},
	} {
		opt := smallSet(t)
		tt.change(&opt)
		if _, err := Routing(context.Background(), opt); !errors.Is(err, tt.want) {
			t.Errorf("error is %v, want %v", err, tt.want)
		}
	}
}

// devSet is the tuning data; without it a test that needs it is skipped.
func devSet(t testing.TB) RoutingOptions {
	root := os.Getenv("DEFT_TESTDATA")
	if root == "" {
		t.Skip("DEFT_TESTDATA is not set: the routing data are not part of the project")
	}
	return RoutingOptions{
		Corpus:  []string{filepath.Join(root, "corpus", "skills-dev.tar.gz")},
		Queries: filepath.Join(root, "routing", "dev", "queries.jsonl"),
		Equiv:   filepath.Join(root, "routing", "dev", "equiv.json"),
		Trigger: filepath.Join(root, "routing", "dev", "trigger.jsonl"),
	}
}

func TestTheBarsHold(t *testing.T) {
	t.Parallel()
	if race.Enabled {
		t.Log("figures are the same under the race detector")
		return
	}
	r, err := Routing(context.Background(), devSet(t))
	if err != nil {
		t.Fatal(err)
	}
	bar := func(what string, got, want float64) {
		t.Logf("%-18s %.4f (bar %.2f)", what, got, want)
		if got < want {
			t.Errorf("%s is %.4f, below %.2f", what, got, want)
		}
	}
	bar("hit1", r.Hit1, 0.75)
	bar("hit5", r.Hit5, 0.86)
	bar("mrr10", r.MRR10, 0.79)
	bar("auroc", r.AUROC, 0.95)
	for _, g := range r.Groups {
		if g.By == "lang" && g.Value == "zh" {
			bar("chinese hit1", g.Hit1, 0.75)
			bar("chinese hit5", g.Hit5, 0.85)
			bar("chinese mrr10", g.MRR10, 0.79)
		}
	}
	a := r.Abstain
	bar("negatives refused", float64(a.Refused), 14)
	bar("positives answered", 1-float64(a.Wrongly)/float64(a.Positives), 0.80)
	bar("should trigger", r.Trigger.ShouldTop1, 0.70)
	bar("should not", 1-r.Trigger.NotTop1, 0.92)
	t.Logf("winners right: %d of %d; trigger %+v", a.Right, a.Positives-a.Wrongly, *r.Trigger)
}

// TestNoFoldIsFarFromTheRest keeps the parameters general: every fifth of the queries
// must be found about as well as with the plainest parameters relative to the rest.
func TestNoFoldIsFarFromTheRest(t *testing.T) {
	t.Parallel()
	if race.Enabled {
		t.Log("figures are the same under the race detector")
		return
	}
	opt := devSet(t)
	spread := func(o search.Options) float64 {
		r, err := newRun(RoutingOptions{Corpus: opt.Corpus, Queries: opt.Queries, Search: o})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.build(context.Background()); err != nil {
			t.Fatal(err)
		}
		queries, _, err := readLines(opt.Queries, checkQuery)
		if err != nil {
			t.Fatal(err)
		}
		var folds [5][]ranking
		for i, q := range queries {
			got, err := r.ask(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			folds[i%5] = append(folds[i%5], got)
		}
		low, high := 1.0, 0.0
		for _, f := range folds {
			m := figures(f, false).MRR10
			low, high = min(low, m), max(high, m)
		}
		return high - low
	}
	plain := search.Options{K1: 1.2, Fields: map[search.Field]search.FieldParam{}}
	for f := search.Name; f <= search.References; f++ {
		plain.Fields[f] = search.FieldParam{Weight: 1, B: 0.75}
	}
	ours, theirs := spread(search.Options{}), spread(plain)
	t.Logf("MRR@10 differs by %.3f between folds, by %.3f with plain parameters", ours, theirs)
	if ours > theirs+0.05 {
		t.Errorf("MRR@10 differs by %.3f between folds, by %.3f with plain parameters", ours, theirs)
	}
}

// Keywords and text together find more than either alone.
func TestTheRouterBeatsItsParts(t *testing.T) {
	t.Parallel()
	if race.Enabled {
		t.Log("figures are the same under the race detector")
		return
	}
	measure := func(mode string, noRetrieve bool) Figures {
		opt := devSet(t)
		opt.Mode, opt.Trigger, opt.Route.NoRetrieve = mode, "", noRetrieve
		rep, err := Routing(context.Background(), opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%-6s without text %-5v hit1 %.4f hit5 %.4f mrr10 %.4f", mode, noRetrieve, rep.Hit1, rep.Hit5, rep.MRR10)
		return rep.Figures
	}
	both, text, words := measure("route", false), measure("bm25", false), measure("route", true)
	for _, alone := range []Figures{text, words} {
		if both.Hit5 < alone.Hit5-0.01 || both.MRR10 < alone.MRR10-0.01 {
			t.Errorf("together %+v, alone %+v", both, alone)
		}
	}
}
