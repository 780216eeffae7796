package deft_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/toolset"
)

// shelf keeps a transcript in memory.
type shelf struct {
	mu      sync.Mutex
	entries []agent.Entry
	syncs   int
	err     error
}

func (s *shelf) Append(entries ...agent.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	for _, e := range entries {
		if !json.Valid(e.Data) || strings.Contains(string(e.Data), "\n") {
			return fmt.Errorf("not one line of JSON: %s", e.Data)
		}
	}
	s.entries = append(s.entries, entries...)
	return nil
}

func (s *shelf) Sync() error { s.syncs++; return nil }

// until is what a process had written when it was killed after n entries.
func (s *shelf) until(n int) *shelf {
	return &shelf{entries: append([]agent.Entry{}, s.entries[:n]...)}
}

func (s *shelf) read(t *testing.T) *agent.Transcript {
	t.Helper()
	out, err := agent.ReadTranscript(func(yield func(agent.Entry, error) bool) {
		for _, e := range s.entries {
			if !yield(e, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// garden is a home with skills and a workspace, and a model that follows a script.
type garden struct {
	t         *testing.T
	home, dir string
	tool      func(context.Context, toolset.Call) (toolset.Result, error)
}

func newGarden(t *testing.T) *garden {
	g := &garden{t: t, home: t.TempDir(), dir: t.TempDir()}
	write(t, g.home, map[string]string{
		".claude/skills/method/SKILL.md": "---\nname: method\ndescription: Method.\n---\n\nKeep a list. Topic: $ARGUMENTS\n",
		".claude/skills/other/SKILL.md":  "---\nname: other\ndescription: Other.\n---\n\nDo the other thing.\n",
		".claude/skills/go/SKILL.md":     "---\nname: go\ndescription: Go.\npaths: ['*.go']\n---\n\nUse gofmt.\n",
	})
	write(t, g.dir, map[string]string{"main.go": "package main\n", "notes.txt": "the colour is blue\n"})
	return g
}

type dig struct{ g *garden }

func (dig) Spec() toolset.Spec {
	return toolset.Spec{Name: "dig", Description: "Digs.", Input: json.RawMessage(`{"type":"object"}`), Tier: gate.ReadOnly}
}

func (d dig) Call(ctx context.Context, c toolset.Call) (toolset.Result, error) {
	if d.g.tool != nil {
		return d.g.tool(ctx, c)
	}
	return toolset.Result{Text: "a worm"}, nil
}

// process is one life of the program: an engine and a session of it.
type process struct {
	*garden
	s *deft.Session
	m *answering
}

func (g *garden) start(keep *shelf, former *agent.Transcript) *process {
	g.t.Helper()
	p := &process{garden: g, m: &answering{window: 30_000, answer: func(_ context.Context, r model.Request) model.Step {
		if summarises(r) {
			return says("SUMMARY")
		}
		switch words := last(r); {
		case strings.HasSuffix(words, "load it"):
			return calls("skill", map[string]string{"name": "method", "arguments": "bees"})
		case strings.HasSuffix(words, "read it"):
			return calls("read", map[string]string{"path": "main.go"})
		case strings.HasSuffix(words, "dig"):
			return calls("dig", map[string]string{})
		}
		return says("fine <&> done")
	}}}
	e := open(g.t, deft.Options{Workspace: g.dir, Home: g.home, NoBuiltin: true, Project: registry.ProjectAlways, Tools: []toolset.Tool{dig{g}}, Rand: rand.NewChaCha8([32]byte{})})
	o := deft.SessionOptions{ID: "one", Model: p.m, Transcript: former}
	if keep != nil {
		o.Keep = keep
	}
	p.s = newSession(g.t, e, o)
	return p
}

func (p *process) say(text string) *agent.End {
	p.t.Helper()
	var end *agent.End
	for e, err := range p.s.Run(p.t.Context(), deft.Input{Text: text, Origin: gate.Interactive, Principal: "user"}) {
		if e.Type == agent.TurnFinished {
			end = e.End
		} else if err != nil {
			p.t.Fatal(err)
		}
	}
	return end
}

// next is the request of one more turn.
func (p *process) next() model.Request {
	p.t.Helper()
	p.say("what now")
	return p.m.requests[len(p.m.requests)-1]
}

var script = []string{"/other hello", "load it", "read it", "dig", "more: " + strings.Repeat("word ", 25_500), "and now"}

// A session that goes on in another process has the same next prompt as one that was never
// ended, byte for byte, whenever it was ended between two turns.
func TestR18ResumedPromptIsTheTwins(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	for n := range len(script) + 1 {
		kept := &shelf{}
		twin := g.start(kept, nil)
		for _, text := range script[:n] {
			twin.say(text)
		}
		if kept.syncs != n {
			t.Errorf("%d syncs in %d turns", kept.syncs, n)
		}
		former := kept.read(t)
		if former.Cut || len(former.Cancelled) > 0 || former.Turns != n {
			t.Errorf("%d turns: %+v", n, former)
		}
		again := g.start(kept, former)
		if p := again.s.Resumed().Problems; len(p) > 0 {
			t.Errorf("problems: %v", p)
		}
		got, want := again.next(), twin.next()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %d turns: %s", n, diff)
		}
		if n == len(script) && !strings.Contains(whole(got), "SUMMARY") {
			t.Error("the conversation was not shortened")
		}
	}
}

// Killed in the middle of a tool, the session goes on as one whose tool said that nobody
// knows what it did; nothing runs again.
func TestR18KilledInATool(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	kept := &shelf{}
	at, runs := 0, 0
	g.tool = func(context.Context, toolset.Call) (toolset.Result, error) {
		runs++
		kept.mu.Lock()
		at = len(kept.entries)
		kept.mu.Unlock()
		return toolset.Result{Text: "a worm"}, nil
	}
	first := g.start(kept, nil)
	for _, text := range []string{"/other hello", "load it", "dig"} {
		first.say(text)
	}
	dead := kept.until(at)
	former := dead.read(t)
	if !former.Cut || len(former.Cancelled) != 1 || former.Turns != 3 {
		t.Fatalf("cut %v, unknown %v, turns %d", former.Cut, former.Cancelled, former.Turns)
	}
	again := g.start(dead, former)
	got := again.next()
	if runs != 1 {
		t.Errorf("the tool ran %d times", runs)
	}

	g.tool = func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
		return toolset.Result{Code: "unknown_outcome", IsError: true, Text: former.Talk[len(former.Talk)-1].Results[0].Text}, nil
	}
	twin := g.start(nil, nil)
	twin.say("/other hello")
	twin.say("load it")
	ctx, cancel := context.WithCancel(t.Context())
	for e := range twin.s.Run(ctx, deft.Input{Text: "dig", Origin: gate.Interactive, Principal: "user"}) {
		if e.Type == agent.ToolFinished {
			cancel()
		}
	}
	cancel()
	if diff := cmp.Diff(twin.next(), got); diff != "" {
		t.Error(diff)
	}
	// What was cut is closed: one more life has the same conversation.
	third := g.start(nil, dead.read(t))
	if diff := cmp.Diff(again.next(), third.next()); diff != "" {
		t.Error(diff)
	}
}

// Wherever a process was killed, its transcript is read and every call has one result.
func TestKilledAfterAnyEntry(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	kept := &shelf{}
	first := g.start(kept, nil)
	for _, text := range script {
		first.say(text)
	}
	for n := range kept.entries {
		former := kept.until(n).read(t)
		open := map[string]bool{}
		for _, m := range former.Talk {
			for _, c := range m.Calls {
				open[c.ID] = true
			}
			for _, r := range m.Results {
				if !open[r.CallID] {
					t.Errorf("after %d entries: a result of no call %s", n, r.CallID)
				}
				delete(open, r.CallID)
			}
		}
		if len(open) > 0 {
			t.Errorf("after %d entries: calls without a result: %v", n, open)
		}
	}
}

func TestResumedSkillThatChangedOrIsGone(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	kept := &shelf{}
	first := g.start(kept, nil)
	first.say("/other hello")
	first.say("/method bees")
	write(t, g.home, map[string]string{".claude/skills/other/SKILL.md": "---\nname: other\ndescription: Other.\n---\n\nSomething else.\n"})
	if err := os.RemoveAll(filepath.Join(g.home, ".claude/skills/method")); err != nil {
		t.Fatal(err)
	}
	again := g.start(nil, kept.read(t))
	var codes []string
	for _, p := range again.s.Resumed().Problems {
		codes = append(codes, fmt.Sprint(p.Name, " ", p.Code, " ", p.Active))
	}
	if diff := cmp.Diff([]string{"other resume_changed true", "method resume_gone false"}, codes); diff != "" {
		t.Error(diff)
	}
	tail := last(again.next())
	if !strings.Contains(tail, "Do the other thing.") || strings.Contains(tail, "Something else.") || strings.Contains(tail, "bees") {
		t.Error(tail)
	}
	for _, a := range again.s.Active() {
		if a.Name != "other" {
			t.Errorf("%s is active", a.Name)
		}
	}
}

// A sub-agent is part of its caller's turn: it writes no turn of its own into the transcript,
// and begins with its task alone where its caller goes on with a conversation.
func TestASubAgentHasNoPartInTheTranscript(t *testing.T) {
	t.Parallel()
	answer := func(_ context.Context, r model.Request) model.Step {
		switch {
		case strings.HasSuffix(last(r), "go"):
			return calls("skill", map[string]string{"name": "scan"})
		case asks(r, "Count the entry points."):
			return says("two entry points")
		}
		return says("there are two")
	}
	kept, placement := &shelf{}, "sandbox"
	start := func(former *agent.Transcript) *nest {
		return newNest(t, func(o *deft.SessionOptions) {
			o.ID, o.Keep, o.Transcript, o.Placement = "one", kept, former, placement
		}, answer, forkedSkill("scan", "background: false\n", "Count the entry points."))
	}
	start(nil).run(t.Context(), deft.Input{Text: "first: go"})
	former := kept.read(t)
	if former.Cut || former.Turns != 1 || former.First.Text != "first: go" || former.Talk[len(former.Talk)-1].Text != "there are two" {
		t.Errorf("%+v", former)
	}
	placement = "local"
	again := start(former)
	again.run(t.Context(), deft.Input{Text: "second: go"})
	if now := kept.read(t); now.Cut || now.Turns != 2 || len(now.Talk) != 2*len(former.Talk) {
		t.Errorf("%+v", now)
	}
	tasks := 0
	for _, r := range again.model.requests {
		if strings.Contains(whole(r), "You are a sub-agent") {
			if tasks++; len(r.Messages) != 1 || strings.Contains(whole(r), "first: go") {
				t.Errorf("a sub-agent was told: %s", whole(r))
			}
		}
	}
	if tasks != 1 {
		t.Errorf("%d requests of sub-agents", tasks)
	}
	for _, e := range again.events {
		if e.Sub != nil && e.Sub.Event != nil && e.Sub.Event.Type == agent.TurnStarted && e.Sub.Event.Placement != "sandbox" {
			t.Errorf("a sub-agent runs at %q", e.Sub.Event.Placement)
		}
	}
}

// A transcript that cannot be written ends with its turn, which says so once; the answer
// is not lost.
func TestTranscriptThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	kept := &shelf{err: errors.New("disk is full")}
	p := g.start(kept, nil)
	if end := p.say("hello"); end.Code != "persist_failed" || end.Answer != "fine <&> done" || end.Stop != agent.StopEnd {
		t.Errorf("%+v", end)
	}
	kept.err = nil
	if end := p.say("hello"); end.Code != "" || len(kept.entries) != 0 {
		t.Errorf("%+v, %d entries", end, len(kept.entries))
	}
}
