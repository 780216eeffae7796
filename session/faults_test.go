package session

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"pgregory.net/rapid"
)

// trap goes off at one step of an activation.
type trap struct {
	at, how string // "" = nowhere
	cancel  context.CancelFunc
	fell    bool
}

func (t *trap) spring(at string) error {
	if t.at != at || t.fell {
		return nil
	}
	t.fell = true
	switch t.how {
	case "panic":
		panic("trap")
	case "cancel":
		t.cancel()
		return nil
	}
	return errors.New("trap")
}

// trapped are the collaborators of a session, each with the trap in it.
type trapped struct {
	*fixture
	*trap
	force  *force
	stage  *stage
	bodies Bodies
}

func (t trapped) Check(context.Context, Actor, *registry.Record) error { return t.spring("access") }

func (t trapped) Load(ctx context.Context, r *registry.Record) (Body, error) {
	if err := t.spring("body"); err != nil {
		return Body{}, err
	}
	return t.bodies.Load(ctx, r)
}

func (t trapped) Decide(ctx context.Context, a gate.ActiveSkill, calls []command.Call) ([]command.Decision, error) {
	if err := t.spring("door"); err != nil {
		return nil, err
	}
	return t.stage.Decide(ctx, a, calls)
}

func (t trapped) Register(owner string, scope Scope, hooks []command.Hook) ([]string, error) {
	if err := t.spring("register"); err != nil {
		return nil, err
	}
	return t.force.Register(owner, scope, hooks)
}

func (t trapped) Unregister(ids ...string) { t.force.Unregister(ids...) }

// Read is the source of boundaries.
func (t trapped) Read(p []byte) (int, error) {
	if err := t.spring("rand"); err != nil {
		return 0, err
	}
	clear(p)
	return len(p), nil
}

func newTrapped(t *testing.T) *trapped {
	x := &trapped{trap: &trap{}, force: &force{panics: "-"}, stage: &stage{fail: map[string]int{}, verdict: command.Permit}}
	change := func(o *Options) {
		x.bodies = o.Bodies
		write := o.Audit
		o.Access, o.Bodies, o.Hooks, o.Rand = x, x, x, x
		o.Commands = Commands{Host: command.Policy{Mode: command.Allow}, Runs: x.stage, Dir: "/src/project", Audit: func(context.Context, CommandEvent) error { return nil }}
		o.Audit = func(ctx context.Context, e Event) error {
			if err := write(ctx, e); err != nil {
				return err
			}
			return x.spring("audit")
		}
	}
	meta := skill.Meta{HasHooks: true, AllowedTools: skill.ToolList{Declared: true, Entries: []string{"Read"}}}
	x.fixture = newFixture(t, change, def{name: "base", text: "B", meta: meta}, def{name: "x", text: "X !`one`", meta: meta}, def{name: "fork", text: "F", meta: forkMeta("")})
	x.o.Agents = []string{"general"}
	for _, name := range []string{"base", "x"} {
		b := x.fixture.bodies[name]
		b.Skill = skill.Parse([]byte("---\nname: "+name+"\ndescription: D.\nallowed-tools: Read\nhooks: [{event: PreToolUse, type: deny, value: "+name+"}]\n---\nT\n"), skill.ParseOptions{Path: "SKILL.md"})
		x.fixture.bodies[name] = b
	}
	return x
}

// Whatever fails, is cancelled or panics at a step of starting a skill: the layers are the
// ones before, no hook is in force that was not, and the attempt has one record.
func TestAFaultAtEachStepOfStartingLeavesOneRecordAndNothingElse(t *testing.T) {
	t.Parallel()
	turnScope := ScopeTurn
	requests := map[string]Request{
		"one":  {Names: []string{"x"}, Actor: ActorModel},
		"turn": {Names: []string{"x"}, Actor: ActorHost, Scope: &turnScope},
		"set":  {Names: []string{"x"}, Replace: true, Actor: ActorModel},
		"fork": {Names: []string{"fork"}, Actor: ActorUser},
	}
	fell := map[string]bool{}
	for what, r := range requests {
		for _, at := range []string{"access", "body", "door", "rand", "register", "audit"} {
			for _, how := range []string{"fail", "cancel", "panic"} {
				x := newTrapped(t)
				turn, err := x.Begin(t.Context(), TurnInput{Door: x})
				if err != nil {
					t.Fatal(err)
				}
				load(t, turn, "base")
				ctx, cancel := context.WithCancel(t.Context())
				*x.trap = trap{at: at, how: how, cancel: cancel}
				before, hooks, rows := x.state.Load(), x.force.values(), len(x.events)
				done, _ := x.try(ctx, turn, r)
				cancel()
				name := fmt.Sprintf("%s, %s at %s", what, how, at)
				fell[what+" "+at] = fell[what+" "+at] || x.fell
				if !x.fell {
					continue // this request has no such step
				}
				if got := len(x.events) - rows; got != 1 {
					t.Errorf("%s: %d records: %+v", name, got, x.events[rows:])
				}
				if at == "audit" && how == "cancel" || at == "door" && how == "fail" {
					continue // recorded as done before the end came; a command that nobody allows stays undone, the text loads
				}
				if done {
					t.Errorf("%s: it is started all the same", name)
				}
				if x.state.Load() != before || x.force.values() != hooks {
					t.Errorf("%s: layers or hooks changed: %q, not %q", name, x.force.values(), hooks)
				}
				turn.End()
				if x.state.Load().layers.Len() != before.layers.Len() || x.force.values() != hooks {
					t.Errorf("%s: after End %q", name, x.force.values())
				}
				_ = x.Close()
				if x.force.values() != "" {
					t.Errorf("%s: after Close %q is in force", name, x.force.values())
				}
			}
		}
	}
	for _, step := range []string{"one door", "one register", "set rand", "set audit", "turn register", "fork body", "fork audit"} {
		if !fell[step] {
			t.Errorf("no fault was tried at %s", step)
		}
	}
}

// try makes one attempt as a tool does: a panic is the tool's, not the session's.
func (t *trapped) try(ctx context.Context, turn *Turn, r Request) (done bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	res, err := turn.Activate(ctx, r)
	return len(res.Loaded) > 0, err
}

// Whatever a turn starts, applies and ends for itself: after End the session is the one
// before, with the hooks of before.
func TestAfterATurnTheSessionIsTheOneBefore(t *testing.T) {
	t.Parallel()
	turnScope := ScopeTurn
	rapid.Check(t, func(rt *rapid.T) {
		x := newTrapped(t)
		defer x.Close()
		turn, err := x.Begin(t.Context(), TurnInput{Door: x})
		if err != nil {
			rt.Fatal(err)
		}
		if rapid.Bool().Draw(rt, "base") {
			load(t, turn, "base")
		}
		turn.End()
		before, hooks := x.Effective(), x.force.values()
		if turn, err = x.Begin(t.Context(), TurnInput{Door: x}); err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(0, 8).Draw(rt, "steps") {
			name := rapid.SampledFrom([]string{"base", "x", "nobody"}).Draw(rt, "name")
			switch rapid.IntRange(0, 2).Draw(rt, "what") {
			case 0:
				_, err = turn.Activate(t.Context(), Request{Names: []string{name}, Actor: ActorHost, Scope: &turnScope})
			case 1:
				_, err = turn.Apply(Patch{Scope: ScopeTurn, Owner: Owner{OwnerTool, name}, Prompt: &name, Env: map[string]string{"A": name}, Tools: &ToolPolicy{Deny: []string{name}}}, Provenance{})
			case 2:
				turn.Touch("/src/project/" + name)
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		turn.End()
		if after := x.Effective(); !reflect.DeepEqual(after, before) || x.force.values() != hooks {
			rt.Errorf("before %+v %q\nafter %+v %q", before, hooks, after, x.force.values())
		}
	})
}
