package deft

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
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
		pick := func(s *scenarios, text string) string {
			var out []string
			for _, c := range s.pick(t.Context(), text) {
				out = append(out, c.ID)
			}
			return strings.Join(out, " ")
		}
		fresh := func(c *chooser) *scenarios {
			return &scenarios{set: set, ask: c, clock: time.Now, kept: map[[32]byte]choice{}}
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
			if got := pick(fresh(bad), "it falls"); got != "" || time.Since(start) > scenarioAsk {
				t.Errorf("%s: %q after %s", name, got, time.Since(start))
			}
		}
	})
}

func TestABadScenarioIsAFindingWithItsPlaceAndItsNeighboursStay(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"id: a\nkind: primary\nkeywords: [x]\nsuggested_skill_ids: [s]\nplaybook: |\n  do\nexamples: [e]\n": "",
		"":                                       "1:1 scenario is no mapping of keys",
		"id: [":                                  "1:1 scenario is not YAML",
		"id: a\nkind: other\n":                   "2:7 kind is not primary or composable",
		"id: a\nkind: primary\ntier: 1\n":        `3:1 key "tier" is not known here`,
		"kind: primary\n":                        "1:1 id is missing",
		"id: A B\nkind: primary\n":               "1:5 id is not 1 to 128 of",
		"id: a\nkind: primary\nkeywords: word\n": "3:11 keywords is not a list",
		"id: a\nid: b\nkind: primary\n":          `2:1 key "id" stands twice`,
		"id: a\nkind: primary\nplaybook: [x]\n":  "3:11 playbook is not a text",
	} {
		s, diags := ParseScenario([]byte(src), "/s.yaml")
		if want == "" {
			if s == nil || len(diags) > 0 || !s.Primary || s.Playbook != "do\n" {
				t.Errorf("%q: %+v, %v", src, s, diags)
			}
			continue
		}
		if s != nil || len(diags) == 0 {
			t.Errorf("%q: taken", src)
			continue
		}
		if got := fmt.Sprintf("%d:%d %s", diags[0].Line, diags[0].Column, diags[0].Message); !strings.HasPrefix(got, want) || diags[0].Code != "scenario_invalid" {
			t.Errorf("%q: %s, want %s", src, got, want)
		}
	}
}

func FuzzScenario(f *testing.F) {
	f.Add([]byte("id: a\nkind: primary\nkeywords: [x, 1]\n"))
	f.Add([]byte("&a [*a]"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, diags := ParseScenario(src, filepath.Join("/", "s.yaml"))
		if (s == nil) != (len(diags) > 0) {
			t.Errorf("%+v with %v", s, diags)
		}
		if s != nil {
			route.CompileScenarios([]route.Scenario{*s}).Match(string(src))
		}
	})
}
