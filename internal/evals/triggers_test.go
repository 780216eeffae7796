package evals

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/search"
)

// triggerSet is two skills, one with cases in each form.
func triggerSet(t *testing.T) TriggerOptions {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"weather/SKILL.md":             "---\nname: weather\ndescription: Report the weather forecast for a city.\nmetadata: {deft: {routing: {keywords: [forecast]}}}\n---\nAsk for rain.\n",
		"weather/evals/triggers.jsonl": "{\"query\":\"the forecast\",\"should_trigger\":true}\n\n{\"query\":\"sing a song\",\"should_trigger\":false}\n",
		"sql/SKILL.md":                 "---\nname: sql\ndescription: Tune slow database queries.\nmetadata: {deft: {routing: {keywords: [plan]}}}\n---\nRead the plan.\n",
		"sql/evals/trigger-eval.json":  "[{\"query\":\"qqqq\",\"should_trigger\":true},\n{\"query\":\"the plan\",\"should_trigger\":false}]",
	} {
		write(t, dir, name, text)
	}
	return TriggerOptions{Corpus: dir, Pool: "test", NoTiming: true}
}

func TestTriggersCountOutcomes(t *testing.T) {
	t.Parallel()
	rep, err := Triggers(context.Background(), triggerSet(t))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(rep.Skills)
	want := `[{"name":"sql","tp":0,"fp":1,"fn":1,"tn":0,"precision":0,"recall":0,"f1":0},{"name":"weather","tp":1,"fp":0,"fn":0,"tn":1,"precision":1,"recall":1,"f1":1}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if rep.Hit1 != 0.5 || rep.Abstain.Recall != 0.5 || rep.Abstain.Precision != 0.5 || rep.All.TP != 1 || len(rep.Failures) != 2 || rep.Queries != 4 {
		t.Errorf("report is %+v", rep)
	}
	if f := rep.Failures[1]; f.Why() != "should not trigger, and did" || f.Line != 2 || !strings.HasPrefix(f.Detail(), "sql, rank 1: kw:plan") {
		t.Errorf("failure is %+v: %s", f, f.Detail())
	}
	again, _ := Triggers(context.Background(), triggerSet(t))
	a, _ := json.Marshal(rep)
	b, _ := json.Marshal(again)
	if string(a) != string(b) {
		t.Errorf("two runs differ:\n%s\n%s", a, b)
	}
}

func TestAFigureWithoutCasesIsNull(t *testing.T) {
	t.Parallel()
	o := triggerSet(t)
	o.File, o.Source = "f.jsonl", []byte(`{"skill":"sql","query":"qqqq","should_trigger":false}`)
	rep, err := Triggers(context.Background(), o)
	if err != nil || rep.All.Precision != nil || rep.All.Recall != nil || rep.Set != "f.jsonl" {
		t.Errorf("report is %+v, %v", rep, err)
	}
}

func TestAModelsMajorityCounts(t *testing.T) {
	t.Parallel()
	o := triggerSet(t)
	n := 0
	o.Mode, o.Skills = "model", []string{"weather"}
	o.Ask = func(_ context.Context, q string) ([]string, error) {
		n++
		switch {
		case q == "sing a song":
			return nil, nil
		case n%3 == 0:
			return []string{"sql"}, nil
		}
		return []string{"weather", "weather"}, nil
	}
	rep, err := Triggers(context.Background(), o)
	if err != nil || n != 6 || rep.All.TP != 1 || rep.All.TN != 1 || !slices.Equal(rep.Outcomes[0].Reasons, []string{"model:2 of 3"}) {
		t.Errorf("report is %+v, %v after %d", rep, err, n)
	}
}

func TestUnusableTriggerInputsAreErrors(t *testing.T) {
	t.Parallel()
	var unknown *UnknownSkillError
	o := triggerSet(t)
	o.Skills = []string{"nobody"}
	if _, err := Triggers(context.Background(), o); !errors.As(err, &unknown) || unknown.Name != "nobody" {
		t.Errorf("error is %v", err)
	}
	o = triggerSet(t)
	o.Mode = "guess"
	if _, err := Triggers(context.Background(), o); !errors.Is(err, search.ErrBadQuery) {
		t.Errorf("error is %v", err)
	}
	o = triggerSet(t)
	o.Corpus = filepath.Join(o.Corpus, "none")
	if _, err := Triggers(context.Background(), o); err == nil {
		t.Error("a pool that is not there is read")
	}
	o.Corpus = filepath.Dir(write(t, t.TempDir(), "x/SKILL.md", "---\nname: x\ndescription: Does x.\n---\n"))
	if _, err := Triggers(context.Background(), o); !errors.Is(err, ErrNoCases) {
		t.Errorf("error is %v", err)
	}
}

func TestABaselineSeesWhatFell(t *testing.T) {
	t.Parallel()
	rep, err := Triggers(context.Background(), triggerSet(t))
	if err != nil {
		t.Fatal(err)
	}
	b, err := ParseBaseline(rep.Baseline().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if d := rep.Against(b); len(d.Fell)+len(d.Changed) != 0 {
		t.Errorf("drift is %+v", d)
	}
	better := 0.03
	b.Skills[0].Recall = &better
	b.Queries[1].Triggered = !b.Queries[1].Triggered
	d := rep.Against(b)
	if len(d.Fell) != 1 || d.Fell[0] != (Fall{"sql", "recall", 0.03, 0}) || len(d.Changed) != 1 || d.Changed[0].Query != "the plan" || !d.Changed[0].Triggered {
		t.Errorf("drift is %+v", d)
	}
	better = 0.02
	if d := rep.Against(b); len(d.Fell) != 0 {
		t.Errorf("a fall of 0.02 counts: %+v", d)
	}
	for _, src := range []string{"", "[]", `{"version": 2}`} {
		if _, err := ParseBaseline([]byte(src)); err == nil {
			t.Errorf("%q is taken", src)
		}
	}
}

func TestJUnitIsWholeXML(t *testing.T) {
	t.Parallel()
	o := triggerSet(t)
	o.File = "f.jsonl"
	o.Source = []byte("{\"skill\":\"sql\",\"query\":\"a<b>&\\u0000\\\"]]>\\ud800\",\"should_trigger\":true}\nnonsense")
	rep, err := Triggers(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	var doc junitSuites
	if err := xml.Unmarshal(rep.JUnit([]string{"recall is low"}), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Tests != 3 || doc.Failures != 2 || doc.Errors != 1 || len(doc.Suites) != 3 || doc.Suites[0].Cases[0].Line != 1 {
		t.Errorf("document is %+v", doc)
	}
}

func FuzzTriggerCases(f *testing.F) {
	f.Add([]byte("[{\"query\":\"a\",\"should_trigger\":true},\n{}]"))
	f.Add([]byte("{\"query\":\"a\",\"should_trigger\":false,\"stages\":[\"decide\"]}\n\nx\n[1]"))
	f.Add([]byte("[1,"))
	f.Fuzz(func(t *testing.T, src []byte) {
		cases, bad := parseCases("f", src)
		lines := 1 + strings.Count(string(src), "\n")
		for _, c := range cases {
			if c.Query == "" || c.Should == nil || c.line < 1 || c.line > lines {
				t.Errorf("case is %+v", c)
			}
		}
		for _, d := range bad {
			if d.Line < 1 || d.Line > lines || d.Message == "" {
				t.Errorf("finding is %+v", d)
			}
		}
	})
}
