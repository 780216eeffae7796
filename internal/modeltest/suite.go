package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/agent/model"
)

// Suite runs the tests that every adapter passes. open returns a Model that talks to
// the server with the key "test-key-0123456789".
func Suite(t *testing.T, open func(s *Server) model.Model) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, func(*Server) model.Model){
		"a text streams in pieces":        suiteText,
		"calls arrive whole and in order": suiteCalls,
		"a conversation with tools":       suiteConversation,
		"stops":                           suiteStops,
		"errors have their kind":          suiteErrors,
		"broken streams":                  suiteBroken,
		"a cancelled request ends":        suiteCancel,
		"a reader that stops early":       suiteStopReading,
		"nothing is retried":              suiteNoRetry,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

// Key is the key that a test gives an adapter; it must not be in any error.
const Key = "test-key-0123456789"

func ask(texts ...string) model.Request {
	r := model.Request{System: []model.Block{{Text: "Be brief."}, {Text: "Skills: none.", Cache: true}, {Text: ""}}}
	for _, text := range texts {
		r.Messages = append(r.Messages, model.Message{Role: model.User, Text: text})
	}
	return r
}

func serve(t *testing.T, steps ...Step) *Server {
	t.Helper()
	s := NewServer(steps...)
	t.Cleanup(s.Close)
	return s
}

// collect reads a whole step.
func collect(ctx context.Context, m model.Model, r model.Request) (step model.Step, pieces int, reasoning string, err error) {
	var b model.Builder
	for d, err := range m.Stream(ctx, r) {
		if err != nil {
			step, _ = b.Step()
			return step, pieces, reasoning, err
		}
		if d.Text != "" {
			pieces++
		}
		reasoning += d.Reasoning
		if err := b.Add(d); err != nil {
			return step, pieces, reasoning, err
		}
	}
	step, whole := b.Step()
	if !whole {
		err = errors.New("the stream ended without a stop and without an error")
	}
	return step, pieces, reasoning, err
}

func suiteText(t *testing.T, open func(*Server) model.Model) {
	const text = "Grüße, 世界 and all the others 👋 who listen."
	s := serve(t, Step{Text: text, Reasoning: "thinking about it", Usage: Usage{Input: 120, Cached: 100, Output: 9}})
	step, pieces, reasoning, err := collect(t.Context(), open(s), ask("hi"))
	if err != nil {
		t.Fatal(err)
	}
	if step.Text != text || pieces < 2 || step.Stop != model.StopEnd || len(step.Calls) != 0 {
		t.Errorf("got %+v in %d pieces", step, pieces)
	}
	if want := (model.Usage{Input: 120, Cached: 100, Output: 9}); step.Usage != want {
		t.Errorf("usage %+v, want %+v", step.Usage, want)
	}
	if reasoning != "thinking about it" {
		t.Errorf("reasoning %q", reasoning)
	}
}

func suiteCalls(t *testing.T, open func(*Server) model.Model) {
	s := serve(t, Step{Text: "Looking.", Calls: []Call{
		{ID: "a", Name: "read", Input: map[string]any{"path": "README.md", "limit": 3}},
		{ID: "b", Name: "todo"},
		{ID: "c", Name: "odd", Raw: `{"cut": "of`},
		{ID: "d", Name: "big", Raw: `{"text":"` + strings.Repeat("x", 2<<20) + `"}`},
	}})
	step, _, _, err := collect(t.Context(), open(s), ask("hi"))
	if err != nil {
		t.Fatal(err)
	}
	if len(step.Calls) != 4 || step.Stop != model.StopTools || step.Text != "Looking." {
		t.Fatalf("%d calls, stop %q, text %q", len(step.Calls), step.Stop, step.Text)
	}
	var first struct {
		Path  string
		Limit int
	}
	if err := json.Unmarshal(step.Calls[0].Input, &first); err != nil || first.Path != "README.md" || first.Limit != 3 {
		t.Errorf("first call %s, %v", step.Calls[0].Input, err)
	}
	for i, want := range []string{"a read", "b todo", "c odd", "d big"} {
		if c := step.Calls[i]; c.ID+" "+c.Name != want {
			t.Errorf("call %d is %s %s", i, c.ID, c.Name)
		}
	}
	if string(step.Calls[1].Input) != "{}" || string(step.Calls[2].Input) != `{"cut": "of` || len(step.Calls[3].Input) < 2<<20 {
		t.Error("inputs are not as they were sent")
	}
}

func suiteConversation(t *testing.T, open func(*Server) model.Model) {
	s := serve(t, Step{Text: "done"}, Step{Text: "done"})
	r := ask("first")
	r.Tools = []model.Tool{
		{Name: "read", Description: "reads", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		{Name: "todo", Description: "lists"},
	}
	r.Messages = append(r.Messages,
		model.Message{Role: model.Assistant, Calls: []model.Call{
			{ID: "1", Name: "read", Input: json.RawMessage(`{"path":"a"}`)}, {ID: "2", Name: "todo", Input: json.RawMessage(`broken`)},
		}},
		model.Message{Role: model.ToolRole, Results: []model.Result{{CallID: "1", Text: "alpha"}, {CallID: "2", IsError: true}}},
		model.Message{Role: model.User, Text: "a note"},
		model.Message{Role: model.Assistant, Text: " \n"},
		model.Message{Role: model.User, Text: "another"},
		model.Message{Role: model.Assistant, Text: "I see."},
		model.Message{Role: model.User, Text: "go on"},
	)
	m := open(s)
	if _, _, _, err := collect(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	r.NoTools = true
	if _, _, _, err := collect(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	body := string(s.Requests()[0].Body)
	for _, want := range []string{"Be brief.", "Skills: none.", "alpha", "a note", `"path"`, "lists"} {
		if !strings.Contains(body, want) {
			t.Errorf("the request does not hold %q", want)
		}
	}
	if !strings.Contains(string(s.Requests()[1].Body), `"none"`) {
		t.Error("tools are not switched off")
	}
	if m.Info().Caches && !strings.Contains(body, `"cache_control"`) {
		t.Error("the adapter says that it marks caches and does not")
	}
}

func suiteStops(t *testing.T, open func(*Server) model.Model) {
	for stop, want := range map[string]model.Stop{"length": model.StopLength, "refused": model.StopRefused} {
		s := serve(t, Step{Text: "half", Stop: stop})
		step, _, _, err := collect(t.Context(), open(s), ask("hi"))
		if err != nil || step.Stop != want {
			t.Errorf("%s: %q, %v", stop, step.Stop, err)
		}
	}
}

func suiteErrors(t *testing.T, open func(*Server) model.Model) {
	tests := []struct {
		step Step
		kind model.Kind
		wait time.Duration
	}{
		{Step{Status: 429, RetryAfter: "7", Message: "slow down"}, model.KindRate, 7 * time.Second},
		{Step{Status: 500, Message: "it broke"}, model.KindServer, 0},
		{Step{Status: 503, Message: "busy"}, model.KindServer, 0},
		{Step{Status: 401, Message: "bad key " + Key}, model.KindAuth, 0},
		{Step{Status: 404, Message: "no such model"}, model.KindNotFound, 0},
		{Step{Status: 400, Message: "tools: bad"}, model.KindRequest, 0},
		{Step{Status: 400, Message: "prompt is too long: this model's maximum context length is 8192 tokens"}, model.KindOverflow, 0},
	}
	for _, tt := range tests {
		s := serve(t, tt.step)
		_, _, _, err := collect(t.Context(), open(s), ask("hi"))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != tt.kind || e.Status != tt.step.Status || e.RetryAfter != tt.wait {
			t.Errorf("status %d: %+v", tt.step.Status, e)
			continue
		}
		if strings.Contains(err.Error(), Key) {
			t.Error("the key is in the error")
		}
		if want := strings.TrimSuffix(tt.step.Message, Key); !strings.Contains(e.Message, want) {
			t.Errorf("status %d: message %q", tt.step.Status, e.Message)
		}
	}
	s := serve(t)
	s.Close()
	_, _, _, err := collect(t.Context(), open(s), ask("hi"))
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.KindNetwork {
		t.Errorf("nobody listens: %v", err)
	}
}

func suiteBroken(t *testing.T, open func(*Server) model.Model) {
	call := []Call{{Name: "read", Input: map[string]any{"path": "a"}}}
	for name, tt := range map[string]struct {
		step Step
		kind model.Kind
	}{
		"cut in the text":     {Step{Text: "half a sentence", Cut: true}, model.KindCut},
		"cut after a call":    {Step{Calls: call, Cut: true}, model.KindCut},
		"garbage in the text": {Step{Text: "half", Garbage: true}, model.KindGarbage},
	} {
		s := serve(t, tt.step)
		step, _, _, err := collect(t.Context(), open(s), ask("hi"))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != tt.kind || !e.Retryable() {
			t.Errorf("%s: %v", name, err)
		}
		if step.Stop != "" {
			t.Errorf("%s: stop %q", name, step.Stop)
		}
	}
}

func suiteCancel(t *testing.T, open func(*Server) model.Model) {
	for name, step := range map[string]Step{"before the answer": {Hang: true}, "within it": {Text: "some words of it", Stall: true}} {
		s := serve(t, step)
		ctx, cancel := context.WithCancel(t.Context())
		if step.Hang {
			go func() {
				<-s.Asked()
				cancel()
			}()
		}
		var last error
		for d, err := range open(s).Stream(ctx, ask("hi")) {
			last = err
			if d.Text != "" {
				cancel()
			}
		}
		cancel()
		var e *model.Error
		if !errors.As(last, &e) || e.Kind != model.KindCanceled || !errors.Is(last, context.Canceled) {
			t.Errorf("%s: %v", name, last)
		}
	}
}

func suiteStopReading(t *testing.T, open func(*Server) model.Model) {
	s := serve(t, Step{Text: "a long text that nobody wants to hear", Stall: true})
	for d, err := range open(s).Stream(t.Context(), ask("hi")) {
		if err != nil || d.Text == "" {
			t.Fatal(d, err)
		}
		break
	}
}

func suiteNoRetry(t *testing.T, open func(*Server) model.Model) {
	s := serve(t, Step{Status: 500}, Step{Text: "second"})
	if _, _, _, err := collect(t.Context(), open(s), ask("hi")); err == nil || len(s.Requests()) != 1 {
		t.Errorf("%d requests, %v", len(s.Requests()), err)
	}
}
