package deft_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// rows counts the gate's records.
type rows struct {
	mu   sync.Mutex
	list []gate.Row
}

func (r *rows) Record(_ context.Context, row gate.Row) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, row)
	return nil
}

// trapTool is a tool of the host that ends in its own way.
type trapTool struct {
	name string
	run  func(ctx context.Context, c toolset.Call) (toolset.Result, error)
}

func (t trapTool) Spec() toolset.Spec {
	return toolset.Spec{Name: t.name, Description: "A trap.", Input: json.RawMessage(`{"type":"object"}`), Tier: gate.ReadOnly, ReadOnly: true}
}

func (t trapTool) Call(ctx context.Context, c toolset.Call) (toolset.Result, error) {
	return t.run(ctx, c)
}

// A tool that changes the turn and then fails, panics or is cancelled: after the turn the
// session is the one before, and the gate has one record of the call.
func TestAToolThatFailsLeavesTheSessionAsItWas(t *testing.T) {
	t.Parallel()
	append1 := "words of the tool"
	for how, end := range map[string]func(context.Context, context.CancelFunc) (toolset.Result, error){
		"fail": func(context.Context, context.CancelFunc) (toolset.Result, error) {
			return toolset.Result{}, errors.New("no")
		},
		"refuse": func(context.Context, context.CancelFunc) (toolset.Result, error) {
			return toolset.Result{IsError: true}, nil
		},
		"panic": func(context.Context, context.CancelFunc) (toolset.Result, error) { panic("trap") },
		"cancel": func(ctx context.Context, cancel context.CancelFunc) (toolset.Result, error) {
			cancel()
			<-ctx.Done()
			return toolset.Result{}, ctx.Err()
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			trap := trapTool{"trap", func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
				if _, err := c.Turn.Apply(session.Patch{Scope: session.ScopeTurn, Owner: session.Owner{Kind: session.OwnerTool, ID: "trap"}, Prompt: &append1}, session.Provenance{}); err != nil {
					t.Error(err)
				}
				return end(ctx, cancel)
			}}
			seen := &rows{}
			m := &answering{answer: func(_ context.Context, r model.Request) model.Step {
				if len(r.Messages) == 1 {
					return calls("trap", map[string]any{})
				}
				return says("over")
			}}
			e := open(t, deft.Options{Workspace: t.TempDir(), OnlySources: true, Tools: []toolset.Tool{trap}, Record: seen, Data: []source.Definition{
				{Name: "base", Description: "B.", Content: "Base.", Metadata: map[string]any{"scope": "session"}},
			}})
			n := &nest{t: t, engine: e, model: m, s: newSession(t, e, deft.SessionOptions{Model: m})}
			if _, err := n.s.Plan(ctx, deft.Input{Text: "/base", Origin: gate.Interactive}); err != nil {
				t.Fatal(err)
			}
			before := n.s.Effective()
			n.run(ctx, deft.Input{Text: "go"})
			if after := n.s.Effective(); !reflect.DeepEqual(after, before) || len(n.s.Active()) != 1 {
				t.Errorf("before %+v\nafter %+v", before, after)
			}
			if len(seen.list) != 1 || seen.list[0].Tool != "trap" {
				t.Errorf("%d records: %+v", len(seen.list), seen.list)
			}
		})
	}
}

// side is one of two programs in a process: an engine of its own skills, folder and policy.
type side struct {
	own, other string
	dir        string
	engine     *deft.Engine
	s          *deft.Session
	model      *answering
}

func newSide(t *testing.T, temp, own, other string) *side {
	s := &side{own: own, other: other, dir: t.TempDir()}
	write(t, s.dir, map[string]string{own + ".txt": "the file of " + own})
	s.model = &answering{answer: func(_ context.Context, r model.Request) model.Step {
		if text := whole(r); strings.Contains(text, "text of "+other) || strings.Contains(text, "file of "+other) || strings.Contains(text, "carry it for "+other) {
			t.Errorf("the model of %s is told of %s:\n%s", own, other, text)
		}
		switch len(r.Messages[len(r.Messages)-1].Results) {
		case 0:
			if strings.Contains(last(r), "carry") {
				return says("carried by " + own)
			}
			return model.Step{Calls: []model.Call{
				{Name: "skill", Input: json.RawMessage(`{"name":"` + other + `"}`)},
				{Name: "skill", Input: json.RawMessage(`{"name":"` + own + `","arguments":"now"}`)},
				{Name: "skill", Input: json.RawMessage(`{"name":"fork-` + own + `"}`)},
				{Name: "read", Input: json.RawMessage(`{"path":"` + own + `.txt"}`)},
				{Name: "read", Input: json.RawMessage(`{"path":"` + other + `.txt"}`)},
			}}
		}
		return says("done")
	}}
	s.engine = open(t, deft.Options{Workspace: s.dir, OnlySources: true, Commands: deft.Commands{TempRoot: temp}, Data: []source.Definition{
		{Name: own, Description: "Of " + own + ".", Content: "The text of " + own + ".", Effects: map[string]any{
			"environment": map[string]any{strings.ToUpper(own): own}, "promptAppend": "The prompt of " + own + ".", "deniedTools": []any{own + "_denied"},
		}},
		{Name: "fork-" + own, Description: "Forks.", Content: "carry it for " + own, Metadata: map[string]any{"deft": map[string]any{"context": "fork", "background": false}}},
	}})
	return s
}

// talk runs a conversation of some turns.
func (s *side) talk(ctx context.Context, turns int) (err error) {
	s.s, err = s.engine.NewSession(ctx, deft.SessionOptions{Model: s.model, Base: session.Base{Floor: session.Policy{Deny: []string{s.own + "_floor"}}}})
	if err != nil {
		return err
	}
	for range turns {
		if err = s.turn(ctx); err != nil {
			break
		}
	}
	s.model.requests = nil
	return errors.Join(err, s.s.Close())
}

// turn runs one turn and reports what of the other side it sees.
func (s *side) turn(ctx context.Context) error {
	own := map[string]bool{}
	for e, err := range s.s.Run(ctx, deft.Input{Text: "go on", Origin: gate.Interactive, Principal: s.own}) {
		if err != nil {
			return err
		}
		src, err := json.Marshal(e)
		if err != nil {
			return err
		}
		text := string(src)
		for _, part := range []string{"carried by " + s.own, "file of " + s.own} {
			own[part] = own[part] || e.Call != nil && strings.Contains(e.Call.Output, part)
		}
		if e.Call != nil && strings.Contains(text, "skill") && e.Call.IsError { // it is told that there is no such skill
			continue
		}
		for _, part := range []string{"text of " + s.other, "prompt of " + s.other, "file of " + s.other, "carried by " + s.other} {
			if strings.Contains(text, part) {
				return fmt.Errorf("%s sees %q in %s", s.own, part, text)
			}
		}
	}
	for part, seen := range own {
		if !seen {
			return fmt.Errorf("%s does not see %q", s.own, part)
		}
	}
	now := s.s.Effective()
	if seen := fmt.Sprintf("%+v %+v", now, s.s.Active()); strings.Contains(seen, s.other) || now.Env[strings.ToUpper(s.own)] != s.own {
		return fmt.Errorf("%s: %s", s.own, seen)
	}
	return nil
}

// descriptors are the open files of this process; -1 where that cannot be told.
func descriptors() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(list)
}

// Two programs in one process, 1,000 turns at once with loads, sub-agents and files:
// nothing of one reaches the other, and nothing is left behind.
func TestTwoProgramsInOneProcessSeeNothingOfEachOther(t *testing.T) {
	temp := t.TempDir()
	t.Run("what a process opens once", func(t *testing.T) {
		if err := newSide(t, temp, "quokka", "wombat").talk(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	})
	before, files := runtime.NumGoroutine(), descriptors()
	t.Run("turns", func(t *testing.T) {
		sides := []*side{newSide(t, temp, "quokka", "wombat"), newSide(t, temp, "wombat", "quokka")}
		var wg sync.WaitGroup
		for _, s := range sides {
			wg.Go(func() {
				for range 25 {
					if err := s.talk(t.Context(), 20); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
	for late := time.Now().Add(time.Minute); runtime.NumGoroutine() > before && time.Now().Before(late); {
		runtime.Gosched() // what ended a moment ago may still be counted
	}
	if now := runtime.NumGoroutine(); now > before {
		buf := make([]byte, 1<<16)
		t.Errorf("%d goroutines before, %d after:\n%s", before, now, buf[:runtime.Stack(buf, true)])
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if now := descriptors(); now > files {
		t.Errorf("%d open files before, %d after", files, now)
	}
}
