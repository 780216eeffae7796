package scripted_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/scripted"
)

const script = `
steps:
  - text: "I will read it first."
    reasoning: hm
    calls:
      - name: read
        input: {path: README.md, limit: 3}
      - {name: todo, id: mine}
    usage: {input: 12, output: 4}
  - error: {kind: rate_limit, status: 429, retry_after: 2s, message: slow down}
  - {text: half, cut: true}
`

func collect(t *testing.T, m model.Model) (model.Step, bool, error) {
	t.Helper()
	var b model.Builder
	for d, err := range m.Stream(t.Context(), model.Request{}) {
		if err != nil {
			return model.Step{}, false, err
		}
		if err := b.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	s, whole := b.Step()
	return s, whole, nil
}

func TestAScriptIsPlayedStepByStep(t *testing.T) {
	t.Parallel()
	s, err := scripted.Parse("x.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	m := scripted.New("x.yaml", s)
	step, whole, err := collect(t, m)
	if err != nil || !whole || step.Text != "I will read it first." || step.Stop != model.StopTools {
		t.Fatalf("%+v %v", step, err)
	}
	if len(step.Calls) != 2 || step.Calls[0].ID != "call_1_1" || string(step.Calls[0].Input) != `{"limit":3,"path":"README.md"}` || step.Calls[1].ID != "mine" {
		t.Errorf("calls %+v", step.Calls)
	}
	if step.Usage != (model.Usage{Input: 12, Output: 4}) {
		t.Errorf("usage %+v", step.Usage)
	}
	for i, want := range []model.Kind{model.KindRate, model.KindCut, model.KindRequest} {
		var e *model.Error
		if _, _, err := collect(t, m); !errors.As(err, &e) || e.Kind != want {
			t.Errorf("step %d: %v", i+2, err)
		}
	}
	if len(m.Requests()) != 4 || m.Info().String() != "scripted:x.yaml" {
		t.Errorf("%d requests to %s", len(m.Requests()), m.Info())
	}
}

func TestAScriptInJSON(t *testing.T) {
	t.Parallel()
	s, err := scripted.Parse("x.json", []byte(`{"steps":[{"text":"a","calls":[{"name":"b","input":{"c":[1,null]}}]}]}`))
	if err != nil || len(s.Steps) != 1 {
		t.Fatal(err)
	}
	if step, _, err := collect(t, scripted.New("x", s)); err != nil || string(step.Calls[0].Input) != `{"c":[1,null]}` {
		t.Errorf("%+v %v", step, err)
	}
}

func TestAFaultyScriptIsNamed(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"":                                "script f: it is empty",
		"steps: [{txt: a}]":               "txt",
		"steps: [{text: a}, {stop: now}]": "script f: step 2: stop \"now\"",
		"steps: [{calls: [{input: {}}]}]": "a call without a name",
		"steps: [{calls: [{name: a, input: {1: b}}]}]": "input of a",
		"\tsteps": "script f",
	} {
		if _, err := scripted.Parse("f", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", src, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{script, "", "steps: [{}]", `{"steps":[{"calls":[{"name":"a","input":[1]}]}]}`, "steps: [{error: {retry_after: 1x}}]", "a: &a [*a]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := scripted.Parse("f", src)
		if err != nil {
			return
		}
		m := scripted.New("f", s)
		for _, step := range s.Steps {
			if step.Hang {
				return // waits for a cancellation
			}
			var b model.Builder
			for d, err := range m.Stream(t.Context(), model.Request{}) {
				if err == nil {
					_ = b.Add(d)
				}
			}
		}
	})
}
