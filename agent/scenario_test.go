package agent

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/route"
)

// chooser answers with a text, or never.
type chooser struct {
	text  string
	err   error
	asked int
}

func (*chooser) Info() model.Info { return model.Info{} }

func (c *chooser) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	c.asked++
	return func(yield func(model.Delta, error) bool) {
		switch {
		case c.err != nil:
			yield(model.Delta{}, c.err)
		case c.text == "":
			<-ctx.Done()
			yield(model.Delta{}, ctx.Err())
		default:
			_ = yield(model.Delta{Text: c.text}, nil) && yield(model.Delta{Stop: model.StopEnd}, nil)
		}
	}
}

func TestAModelChoosesAScenarioWhereNoKeywordDoes(t *testing.T) {
	t.Parallel()
	set := route.CompileScenarios([]route.Scenario{{ID: "crash", Primary: true, Keywords: []string{"crash"}}, {ID: "calm"}})
	synctest.Test(t, func(t *testing.T) {
		pick := func(find func(context.Context, string) []route.Scenario, text string) string {
			var out []string
			for _, c := range find(t.Context(), text) {
				out = append(out, c.ID)
			}
			return strings.Join(out, " ")
		}
		fresh := func(c *chooser) func(context.Context, string) []route.Scenario {
			return ScenariosOf(set, c, time.Now)
		}
		c := &chooser{text: `They are ["calm", "nope"].`}
		s := fresh(c)
		for _, step := range []struct {
			text, want string
			asked      int
			wait       time.Duration
		}{
			{"a crash", "crash", 0, 0},
			{"it falls", "calm", 1, 0},
			{"it falls", "calm", 1, time.Hour},
			{"it falls", "calm", 2, 0},
		} {
			if got := pick(s, step.text); got != step.want || c.asked != step.asked {
				t.Errorf("%q: %q after %d questions", step.text, got, c.asked)
			}
			time.Sleep(step.wait)
		}
		for name, bad := range map[string]*chooser{"error": {err: errors.New("down")}, "words": {text: "none of them"}, "silence": {}} {
			start := time.Now()
			if got := pick(fresh(bad), "it falls"); got != "" || time.Since(start) > 2*time.Second {
				t.Errorf("%s: %q after %s", name, got, time.Since(start))
			}
		}
	})
}
