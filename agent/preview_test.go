package agent

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/toolset"
)

// buy is a tool that shows what it would buy.
type buy struct{ bought *[]string }

func (buy) Spec() toolset.Spec {
	return toolset.Spec{
		Name: "buy", Description: "Buys.", Tier: gate.AlwaysConfirm, Mode: toolset.Parallel,
		Input: json.RawMessage(`{"type":"object","properties":{"coin":{"type":"string"},"confirm":{"type":"boolean"}},"required":["coin"],"additionalProperties":false}`),
	}
}

func (b buy) Call(_ context.Context, c toolset.Call) (toolset.Result, error) {
	*b.bought = append(*b.bought, string(c.Input))
	return toolset.Result{Text: "bought"}, nil
}

func (buy) Preview(_ context.Context, c toolset.Call) (toolset.Result, error) {
	if string(c.Input) == `{"coin":"none"}` {
		return toolset.Result{Text: "no such coin", Code: "no_coin", IsError: true}, nil
	}
	return toolset.Result{Text: "would buy"}, nil
}

func TestAToolWithAPreviewActsOnWhatItHasShown(t *testing.T) {
	t.Parallel()
	ask := func(coin string, more ...any) scripted.Step {
		args := map[string]any{"coin": coin}
		if len(more) > 0 {
			args["confirm"] = more[0]
		}
		return called("buy", args)
	}
	end := scripted.Step{Text: "ok"}
	for _, tt := range []struct {
		name   string
		turns  [][]scripted.Step
		bought int
		last   string // the text of the last result
	}{
		{"without confirm it shows", [][]scripted.Step{{ask("BTC"), end}}, 0, "would buy"},
		{"confirm says false", [][]scripted.Step{{ask("BTC", false), end}}, 0, "would buy"},
		{"confirm without a preview", [][]scripted.Step{{ask("BTC", true), end}}, 0, codePreview},
		{"in the same turn", [][]scripted.Step{{ask("BTC"), ask("BTC", true), end}}, 0, codePreview},
		{"in the next turn", [][]scripted.Step{{ask("BTC"), end}, {ask("BTC", true), end}}, 1, "bought"},
		{"shown again, then confirmed", [][]scripted.Step{{ask("BTC"), end}, {ask("BTC"), ask("BTC", true), end}}, 1, "bought"},
		{"something else", [][]scripted.Step{{ask("BTC"), end}, {ask("ETH", true), end}}, 0, codePreview},
		{"twice", [][]scripted.Step{{ask("BTC"), end}, {ask("BTC", true), ask("BTC", true), end}}, 1, codePreview},
		{"what could not be shown", [][]scripted.Step{{ask("none"), end}, {ask("none", true), end}}, 0, codePreview},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var bought []string
			var steps []scripted.Step
			for _, turn := range tt.turns {
				steps = append(steps, turn...)
			}
			f := newFixture(t, steps, func(d *Deps, _ *gate.Options) {
				d.Tools, d.Confirmer = append(d.Tools, buy{&bought}), always(gate.Once)
			})
			last := ""
			for range tt.turns {
				for e, err := range f.Run(t.Context(), f.s, Input{Text: "go", Origin: gate.Interactive}) {
					if err != nil {
						t.Fatal(err)
					}
					if e.Type == ToolFinished {
						if last = e.Call.Output; e.Call.IsError {
							last = e.Call.Code
						}
					}
				}
			}
			if len(bought) != tt.bought || last != tt.last {
				t.Errorf("bought %v, last %q", bought, last)
			}
			if len(f.rows.list) == 0 {
				t.Error("the gate was not asked")
			}
			for _, r := range f.rows.list {
				if r.Tier != gate.AlwaysConfirm {
					t.Errorf("the gate judged it at %s", r.Tier)
				}
			}
			f.Forget("s")
			if len(f.previews) != 0 {
				t.Error("previews outlive their session")
			}
		})
	}
}

func TestPreviewsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	r := &Runner{}
	for i := range 10 * maxPreviews {
		r.keepPreview("s", string(rune('a'+i)), i)
	}
	if n := len(r.previews["s"]); n != maxPreviews {
		t.Errorf("%d previews are kept", n)
	}
}
