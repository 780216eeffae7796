package modeltest_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/anthropic"
	"github.com/deftskills/deft/agent/model/openai"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/modeltest"
	"github.com/deftskills/deft/source"
)

type person struct{ asked []agent.Question }

func (p *person) Confirm(_ context.Context, q agent.Question) (gate.Answer, error) {
	p.asked = append(p.asked, q)
	return gate.Answer{Reply: gate.Once}, nil
}

// TestAWholeTurnOverTheWire runs the engine against the server in each format: a skill
// load, a file tool with a question, a fault that is retried, and a streamed answer.
func TestAWholeTurnOverTheWire(t *testing.T) {
	t.Parallel()
	adapters := map[string]func(*modeltest.Server) model.Model{
		"anthropic": func(s *modeltest.Server) model.Model {
			return anthropic.New(anthropic.Options{Name: "m", Key: modeltest.Key, BaseURL: s.Anthropic()})
		},
		"chat": func(s *modeltest.Server) model.Model {
			return openai.New(openai.Options{Name: "m", BaseURL: s.OpenAI()})
		},
		"responses": func(s *modeltest.Server) model.Model {
			return openai.New(openai.Options{Name: "m", Key: modeltest.Key, BaseURL: s.OpenAI(), API: openai.Responses})
		},
	}
	for name, open := range adapters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := modeltest.NewServer(
				modeltest.Step{Text: "I load it.", Calls: []modeltest.Call{{Name: "skill", Input: map[string]any{"name": "greet"}}}},
				modeltest.Step{Text: "half a", Cut: true},
				modeltest.Step{Calls: []modeltest.Call{
					{Name: "write", Input: map[string]any{"path": "hello.txt", "content": "hello, Ada\n"}},
					{Name: "no such:tool"}, {Name: "read", Raw: `{"path`},
				}},
				modeltest.Step{Text: "It is written, Ada.", Usage: modeltest.Usage{Input: 500, Output: 7}},
			)
			defer server.Close()
			dir := t.TempDir()
			engine, err := deft.Open(t.Context(), deft.Options{
				Workspace: dir, OnlySources: true,
				Data: []source.Definition{{Name: "greet", Description: "Greet a person.", Content: "Write the greeting to a file."}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close()
			p := &person{}
			session, err := engine.NewSession(t.Context(), deft.SessionOptions{Model: open(server), Confirm: p})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			var seen []agent.EventType
			var answer strings.Builder
			var end *agent.End
			for e, err := range session.Run(t.Context(), deft.Input{Text: "greet Ada", Origin: gate.Interactive}) {
				if err != nil {
					t.Fatal(err)
				}
				seen = append(seen, e.Type)
				switch e.Type {
				case agent.ModelStarted:
					answer.Reset()
				case agent.TextDelta:
					answer.WriteString(e.Text)
				case agent.TurnFinished:
					end = e.End
				}
			}
			if end == nil || end.Stop != agent.StopEnd || end.Answer != "It is written, Ada." || answer.String() != end.Answer {
				t.Errorf("end %+v, streamed %q", end, answer.String())
			}
			for _, want := range []agent.EventType{agent.SkillActivated, agent.Retried, agent.ConfirmNeeded, agent.ConfirmAnswered} {
				if !slices.Contains(seen, want) {
					t.Errorf("no %s in %v", want, seen)
				}
			}
			if src, _ := os.ReadFile(filepath.Join(dir, "hello.txt")); string(src) != "hello, Ada\n" {
				t.Errorf("the file holds %q", src)
			}
			if len(p.asked) != 1 || p.asked[0].Tool.Name != "write" || server.Left() != 0 {
				t.Errorf("%d questions, %d steps left", len(p.asked), server.Left())
			}
			last := string(server.Requests()[3].Body)
			for _, want := range []string{"unknown_tool", "bad_args", "Write the greeting"} {
				if !strings.Contains(last, want) {
					t.Errorf("the model was not told of %s", want)
				}
			}
		})
	}
}

func TestParseReadsSteps(t *testing.T) {
	t.Parallel()
	steps, err := modeltest.Parse([]byte("steps:\n  - {text: a, calls: [{name: b, input: {c: 1}}]}\n  - {status: 429, retry_after: \"1\"}\n"))
	if err != nil || len(steps) != 2 || steps[1].Status != 429 || steps[0].Calls[0].Name != "b" {
		t.Errorf("%+v, %v", steps, err)
	}
	if _, err := modeltest.Parse([]byte("steps: [{no: 1}]")); err == nil {
		t.Error("an unknown key was taken")
	}
}
