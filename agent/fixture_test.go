package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// tool is a toolset.Tool made of a function.
type tool struct {
	spec toolset.Spec
	run  func(ctx context.Context, c toolset.Call) (toolset.Result, error)
}

func (t tool) Spec() toolset.Spec { return t.spec }
func (t tool) Call(ctx context.Context, c toolset.Call) (toolset.Result, error) {
	return t.run(ctx, c)
}

// passing is a tool that is there while a skill is active.
type passing struct{ tool }

func (passing) Present(n toolset.Now) bool { return len(n.Active) > 0 }

func say(text string) func(context.Context, toolset.Call) (toolset.Result, error) {
	return func(context.Context, toolset.Call) (toolset.Result, error) { return toolset.Result{Text: text}, nil }
}

const anyText = `{"type":"object","properties":{"text":{"type":"string"}},"additionalProperties":false}`

// testTools are one tool for each thing that a tool can be or do.
func testTools() []toolset.Tool {
	spec := func(name string, tier gate.Tier, mode toolset.Mode) toolset.Spec {
		return toolset.Spec{
			Name: name, Description: name + "s", Input: json.RawMessage(anyText), Tier: tier, Mode: mode, ReadOnly: tier == gate.ReadOnly,
		}
	}
	load := spec("skill", gate.ReadOnly, toolset.Alone)
	load.Input = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
	return []toolset.Tool{
		tool{load, func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
			var in struct{ Name string }
			_ = json.Unmarshal(c.Input, &in)
			res, err := c.Turn.Activate(ctx, session.Request{Names: []string{in.Name}, Actor: session.ActorModel})
			if err != nil {
				return toolset.Result{}, err
			}
			out := toolset.Result{Text: res.Text}
			for _, l := range res.Loaded {
				out.Meta.Activated = append(out.Meta.Activated, l.Name)
			}
			if len(res.Refused) > 0 {
				out.IsError, out.Code = true, res.Refused[0].Code
			}
			return out, nil
		}},
		tool{spec("look", gate.ReadOnly, toolset.Parallel), say("a view")},
		tool{spec("note", gate.ConfirmOnce, toolset.Parallel), say("noted")},
		tool{spec("send", gate.AlwaysConfirm, toolset.Parallel), say("sent")},
		tool{spec("swap", gate.ManualOnly, toolset.Parallel), say("swapped")},
		tool{spec("boom", gate.ReadOnly, toolset.Parallel), func(context.Context, toolset.Call) (toolset.Result, error) { panic("boom") }},
		tool{spec("fail", gate.ReadOnly, toolset.Parallel), func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Result{}, errors.New("a wire is loose")
		}},
		tool{spec("hang", gate.ReadOnly, toolset.Parallel), func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			<-ctx.Done()
			return toolset.Result{}, ctx.Err()
		}},
		tool{spec("bytes", gate.ReadOnly, toolset.Parallel), say("caf\xe9")},
		passing{tool{spec("deactivate_skill", gate.ReadOnly, toolset.Parallel), say("cleared")}},
	}
}

// planner routes and renders with the rooms that do so in earnest.
type planner struct{ renderer *catalog.Renderer }

func (p planner) Plan(ctx context.Context, in PlanInput) (Plan, error) {
	router, _ := route.Compile(in.Snapshot, route.Options{})
	result, err := router.Route(ctx, route.TurnRoutingContext{Message: in.Text, Preload: in.Preload, Signal: in.Signal, Stages: in.Stages})
	if err != nil {
		return Plan{}, err
	}
	c, err := p.renderer.Render(ctx, catalog.Input{Snapshot: in.Snapshot, Tools: catalog.ToolNames{Skill: "skill"}})
	return Plan{Route: result, Catalog: c}, err
}

// person answers questions by a function; nil = nobody is there.
type person func(ctx context.Context, q Question) (gate.Answer, error)

func (p person) Confirm(ctx context.Context, q Question) (gate.Answer, error) { return p(ctx, q) }

func always(r gate.Reply) person {
	return func(_ context.Context, q Question) (gate.Answer, error) {
		return gate.Answer{Reply: r, Typed: q.Tool.Name}, nil
	}
}

type rows struct {
	mu   sync.Mutex
	list []gate.Row
	err  error
}

func (r *rows) Record(_ context.Context, row gate.Row) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, row)
	return r.err
}

// fixture is a Runner with a session over skills given in code.
type fixture struct {
	*Runner
	s     *session.Session
	model *scripted.Model
	rows  *rows
}

var definitions = []source.Definition{
	{Name: "pdf", Description: "Fills PDF forms.", Content: "Open the form, then fill it: $ARGUMENTS", Metadata: map[string]any{"deft": map[string]any{"routing": map[string]any{"keywords": []any{"fill pdf"}}}}},
	{Name: "narrow", Description: "Looks only.", Content: "Look.", AllowedTools: []string{"look"}},
	{Name: "briefly", Description: "For one turn.", Content: "Be brief.", Metadata: map[string]any{"deft": map[string]any{"scope": "turn"}}},
}

func newFixture(t testing.TB, steps []scripted.Step, change func(*Deps, *gate.Options)) *fixture {
	t.Helper()
	reg, err := registry.Open(t.Context(), registry.Config{Sources: []source.Source{source.Data(definitions, source.DataOptions{})}})
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	journal := &Journal{}
	s, err := session.New(t.Context(), session.Options{ID: "s", Snapshots: reg, Bodies: bodies{}, Clock: now, Rand: zeros{}, Audit: journal.Note})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	f := &fixture{s: s, model: scripted.New("test", scripted.Script{Steps: steps}), rows: &rows{}}
	d := Deps{
		Model: f.model, Tools: testTools(), Planner: planner{catalog.New(catalog.Config{Counter: catalog.Estimate()})},
		Now: now, Jitter: func() float64 { return 0 }, Rand: zeros{}, Dir: "/w", Journal: journal,
	}
	o := gate.Options{Audit: f.rows, Answerable: true, Now: now}
	if change != nil {
		change(&d, &o)
	}
	if o.Tools, err = GateTable(d.Tools); err != nil {
		t.Fatal(err)
	}
	if d.Gate, err = gate.New(o); err != nil {
		t.Fatal(err)
	}
	if f.Runner, err = New(d); err != nil {
		t.Fatal(err)
	}
	return f
}

// bodies answers with the content of the definitions.
type bodies struct{}

func (bodies) Load(_ context.Context, r *registry.Record) (session.Body, error) {
	for _, d := range definitions {
		if d.Name == r.Skill.Name {
			return session.Body{Skill: r.Skill, Text: d.Content, Line: 1, Lines: 1}, nil
		}
	}
	return session.Body{}, errors.New("no such skill")
}

// zeros is a source of randomness without surprises.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// run collects a turn and checks what holds for every turn.
func (f *fixture) run(t testing.TB, ctx context.Context, in Input) ([]Event, error) {
	t.Helper()
	if in.Origin == "" {
		in.Origin = gate.Interactive
	}
	var events []Event
	var last error
	for e, err := range f.Run(ctx, f.s, in) {
		events, last = append(events, e), err
	}
	checkStream(t, events)
	if len(f.s.Layers().Turn()) != 0 {
		t.Error("the turn layer is still there")
	}
	return events, last
}

func checkStream(t testing.TB, events []Event) {
	t.Helper()
	for i, e := range events {
		if e.Seq != i+1 {
			t.Errorf("event %d has number %d", i+1, e.Seq)
		}
		if last := i == len(events)-1; (e.Type == TurnFinished) != last {
			t.Errorf("event %d of %d is %s", i+1, len(events), e.Type)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Errorf("%s cannot be encoded: %v", e.Type, err)
		}
	}
}

func end(events []Event) *End { return events[len(events)-1].End }

// show writes events as golden files hold them.
func show(events []Event) string {
	var b bytes.Buffer
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			fmt.Fprintf(&b, "text %q\n", text.String())
			text.Reset()
		}
	}
	for _, e := range events {
		if e.Type == TextDelta {
			text.WriteString(e.Text)
			continue
		}
		flush()
		b.WriteString(string(e.Type))
		switch {
		case e.Skill != nil:
			fmt.Fprintf(&b, " %s by %s %s%s", e.Skill.Name, e.Skill.By, e.Skill.Scope, e.Skill.Code)
		case e.Call != nil:
			fmt.Fprintf(&b, " %s", showCall(e))
		case e.Retry != nil:
			fmt.Fprintf(&b, " attempt %d after %s: %s", e.Retry.Attempt, e.Retry.Wait, e.Retry.Message)
		case e.Usage != nil:
			fmt.Fprintf(&b, " step %d", e.Step)
		case e.Budget != nil:
			fmt.Fprintf(&b, " %s", e.Budget)
		case e.End != nil:
			fmt.Fprintf(&b, " %s, %d steps, %d calls, answer %q", e.End.Stop, e.End.Steps, e.End.Calls, e.End.Answer)
			if e.End.Code != "" {
				fmt.Fprintf(&b, ", %s: %s", e.End.Code, e.End.Message)
			}
		case e.Text != "":
			fmt.Fprintf(&b, " %q", e.Text)
		}
		b.WriteString("\n")
	}
	flush()
	return b.String()
}

func showCall(e Event) string {
	c := e.Call
	out := fmt.Sprintf("%s %s", c.ID, c.Tool)
	switch e.Type {
	case ToolRequested:
		args := string(c.Args)
		if len(args) > 60 {
			args = fmt.Sprintf("%s… (%d bytes)", args[:60], len(args))
		}
		out += " " + args
	case ToolFinished:
		output := c.Output
		if c.Tool == "skill" && !c.IsError {
			output = "…" // the session's words are the session's to hold
		}
		if len(output) > 400 {
			output = fmt.Sprintf("%s… (%d bytes)", output[:400], len(output))
		}
		out += fmt.Sprintf(" error=%t %q", c.IsError, output)
	case GateDecided, ConfirmNeeded, ConfirmAnswered:
		out += fmt.Sprintf(" %s %s %s", c.Verdict, c.Tier, c.Code)
	}
	return out
}

// golden compares got with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func called(name string, input any) scripted.Step {
	return scripted.Step{Calls: []scripted.Call{{Name: name, Input: input}}}
}

func repeat(n int, s scripted.Step) []scripted.Step {
	out := make([]scripted.Step, n)
	for i := range out {
		out[i] = s
	}
	return out
}

var _ model.Model = (*scripted.Model)(nil)
