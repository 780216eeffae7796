package session

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/skill"
)

func text(s string) *string { return &s }

func hostPatch(scope Scope, id string, p Patch) Applied {
	p.Scope, p.Owner = scope, Owner{OwnerHost, id}
	return Applied{Patch: p}
}

func skillPatch(scope Scope, name string, trust string, tools *ToolPolicy) Applied {
	return Applied{Patch: Patch{
		Scope: scope, Owner: Owner{OwnerSkill, name}, Tools: tools,
		Skill: &Activation{Name: name, Address: name, Trust: trust, Granted: trust == trustTrusted},
	}}
}

func withEnv(a Applied, name string) Applied {
	a.Env = map[string]string{name: name}
	return a
}

func layersOf(list ...Applied) Layers {
	var l Layers
	for i, a := range list {
		a.Seq = i + 1
		l = l.With(a)
	}
	return l
}

func allow(entries ...string) *ToolPolicy {
	return &ToolPolicy{Allow: skill.ToolList{Declared: true, Entries: entries}}
}

func TestDeriveAnswersForEachPart(t *testing.T) {
	t.Parallel()
	set := func(a Applied) Applied { a.Set = 9; return a }
	for name, c := range map[string]struct {
		base Base
		l    Layers
		want func(Effective) any
		is   any
	}{
		"turn model over session over base": {
			Base{Model: "a", Effort: "low"},
			layersOf(hostPatch(ScopeTurn, "t", Patch{Model: &ModelOverride{ID: "c"}}), hostPatch(ScopeSession, "s", Patch{Model: &ModelOverride{ID: "b", Effort: "high"}})),
			func(e Effective) any { return e.Model + " " + e.Effort }, "c high",
		},
		"prompts of base, session and turn": {
			Base{Prompt: " base "},
			layersOf(hostPatch(ScopeTurn, "t", Patch{Prompt: text("turn")}), hostPatch(ScopeSession, "s", Patch{Prompt: text("one")}), hostPatch(ScopeSession, "s", Patch{Prompt: text("two")}), hostPatch(ScopeSession, "x", Patch{Prompt: text("  ")})),
			func(e Effective) any { return e.Prompt }, "base\n\n---\n\ntwo\n\n---\n\nturn",
		},
		"deny is a union": {
			Base{Floor: Policy{Deny: []string{"Bash"}}},
			layersOf(skillPatch(ScopeSession, "a", trustTrusted, &ToolPolicy{Deny: []string{"Write", "Bash"}}), skillPatch(ScopeTurn, "b", trustTrusted, &ToolPolicy{Deny: []string{"Grep"}})),
			func(e Effective) any { return e.Deny }, []string{"Bash", "Write", "Grep"},
		},
		"latest allow of the scope": {
			Base{}, layersOf(skillPatch(ScopeSession, "a", trustTrusted, allow("Read")), skillPatch(ScopeSession, "b", trustTrusted, allow("Grep")), skillPatch(ScopeSession, "c", trustTrusted, nil)),
			func(e Effective) any { return e.Allow }, [][]string{{"Grep"}},
		},
		"a trusted turn overrides the session": {
			Base{}, layersOf(skillPatch(ScopeSession, "a", trustTrusted, allow("Read")), skillPatch(ScopeTurn, "b", trustTrusted, allow("Grep"))),
			func(e Effective) any { return e.Allow }, [][]string{{"Grep"}},
		},
		"an untrusted turn only narrows": {
			Base{}, layersOf(skillPatch(ScopeSession, "a", trustTrusted, allow("Read")), skillPatch(ScopeTurn, "b", "untrusted", allow("Grep"))),
			func(e Effective) any { return e.Allow }, [][]string{{"Read"}, {"Grep"}},
		},
		"the floor is never widened": {
			Base{Floor: Policy{Allow: []string{"Read"}}}, layersOf(skillPatch(ScopeSession, "a", trustTrusted, allow("Bash"))),
			func(e Effective) any { return []bool{e.Exposes("read"), e.Exposes("bash"), len(e.Allow) == 2} }, []bool{false, false, true},
		},
		"a set's lists are united": {
			Base{}, layersOf(set(skillPatch(ScopeSession, "a", trustTrusted, allow("Read"))), set(skillPatch(ScopeSession, "b", trustTrusted, nil)), set(skillPatch(ScopeSession, "c", trustTrusted, allow("Grep")))),
			func(e Effective) any {
				return []bool{e.Exposes("read"), e.Exposes("grep"), e.Exposes("write"), e.Exposes("skill")}
			}, []bool{true, true, false, true},
		},
		"an empty list declares nothing": {
			Base{}, layersOf(skillPatch(ScopeSession, "a", trustTrusted, allow())),
			func(e Effective) any { return e.Exposes("write") }, true,
		},
		"a skill's deny spares the skill tools, the host's does not": {
			Base{Floor: Policy{Deny: []string{"skill_read"}}}, layersOf(skillPatch(ScopeSession, "a", trustTrusted, &ToolPolicy{Deny: []string{"skill", "Bash(rm *)"}})),
			func(e Effective) any { return []bool{e.Exposes("skill"), e.Exposes("skill_read"), e.Exposes("bash")} }, []bool{true, false, true},
		},
		"discovered are united and trimmed": {
			Base{}, layersOf(hostPatch(ScopeSession, "a", Patch{Discovery: &Discovery{Discover: []string{" Read ", " "}}}), hostPatch(ScopeTurn, "a", Patch{Discovery: &Discovery{Discover: []string{"Write", "Read"}}})),
			func(e Effective) any { return e.Discovered }, []string{"Read", "Write"},
		},
		"a reset forgets what its scope discovered": {
			Base{}, layersOf(hostPatch(ScopeSession, "a", Patch{Discovery: &Discovery{Discover: []string{"Read"}}}), hostPatch(ScopeTurn, "b", Patch{Discovery: &Discovery{Discover: []string{"Write"}}}), hostPatch(ScopeSession, "c", Patch{Discovery: &Discovery{Reset: true, Discover: []string{"Grep"}}})),
			func(e Effective) any { return e.Discovered }, []string{"Grep", "Write"},
		},
		"environment by key, over the context's": {
			Base{Env: map[string]string{"A": "base", "B": "base"}},
			layersOf(hostPatch(ScopeSession, "a", Patch{Env: map[string]string{"B": "1", "S": "a"}}), hostPatch(ScopeSession, "b", Patch{Env: map[string]string{"S": "b"}}), hostPatch(ScopeTurn, "c", Patch{Context: &ContextPatch{Value: Context{Environment: map[string]string{"S": "overlay", "T": "t"}}}})),
			func(e Effective) any { return e.Env }, map[string]string{"A": "base", "B": "1", "S": "b", "T": "t"},
		},
		"a context is laid over, its roots replaced": {
			Base{Context: Context{Metadata: map[string]any{"k": 1}, Capabilities: map[string]any{filesystem: map[string]any{"roots": "a", "mode": "rw"}, "net": map[string]any{"a": 1, "b": 1}}}},
			layersOf(hostPatch(ScopeTurn, "a", Patch{Context: &ContextPatch{Value: Context{Metadata: map[string]any{"l": 2}, Capabilities: map[string]any{filesystem: map[string]any{"roots": "b"}, "net": map[string]any{"a": 2}}}}})),
			func(e Effective) any { return []any{e.Context.Metadata, e.Context.Capabilities} },
			[]any{map[string]any{"k": 1, "l": 2}, map[string]any{filesystem: map[string]any{"roots": "b", "mode": "rw"}, "net": map[string]any{"a": 2}}},
		},
		"a reset takes the overlays of its scope": {
			Base{}, layersOf(hostPatch(ScopeSession, "a", Patch{Context: &ContextPatch{Value: Context{Extra: map[string]any{"BASE": 1}}}}), hostPatch(ScopeTurn, "b", Patch{Context: &ContextPatch{Value: Context{Extra: map[string]any{"TEMP": 1}}}}), hostPatch(ScopeSession, "c", Patch{Context: &ContextPatch{Reset: true}})),
			func(e Effective) any { return e.Context.Extra }, map[string]any{"TEMP": 1},
		},
		"a skill ends the environment of the one before, in its scope alone": {
			Base{}, layersOf(withEnv(skillPatch(ScopeSession, "a", trustTrusted, nil), "A"), hostPatch(ScopeSession, "h", Patch{Env: map[string]string{"H": "H"}}), withEnv(skillPatch(ScopeTurn, "t", trustTrusted, nil), "T"), skillPatch(ScopeSession, "b", trustTrusted, nil)),
			func(e Effective) any { return e.Env }, map[string]string{"H": "H", "T": "T"},
		},
		"turn identity over session": {
			Base{}, layersOf(skillPatch(ScopeTurn, "b", trustTrusted, nil), skillPatch(ScopeSession, "a", trustTrusted, nil)),
			func(e Effective) any { return e.Current.Name }, "b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.want(Derive(c.base, c.l, skill.Deft)); !reflect.DeepEqual(got, c.is) {
				t.Errorf("got %v, want %v", got, c.is)
			}
		})
	}
}

func TestListModeFollowsTheDialect(t *testing.T) {
	t.Parallel()
	l := layersOf(skillPatch(ScopeSession, "reader", trustTrusted, allow("Read", "Grep")))
	for d, mode := range map[skill.Dialect]gate.ListMode{
		"": gate.Restrict, skill.Deft: gate.Restrict, skill.Blade: gate.Restrict,
		skill.ClaudeCode: gate.PreApprove, skill.MiniMax: gate.Keep, skill.Codex: gate.Keep,
	} {
		e := Derive(Base{}, l, d)
		if e.Skills[0].Mode != mode {
			t.Errorf("%s: %s", d, e.Skills[0].Mode)
		}
		if (len(e.PreApproved) == 2) != (mode == gate.PreApprove) || (len(e.Allow) == 1) != (mode == gate.Restrict) {
			t.Errorf("%s: %+v", d, e)
		}
		if e.Exposes("write") == (mode == gate.Restrict) {
			t.Errorf("%s: exposes write %v", d, e.Exposes("write"))
		}
	}
	untrusted := layersOf(skillPatch(ScopeTurn, "reader", "untrusted", allow("Read")))
	if e := Derive(Base{}, untrusted, skill.ClaudeCode); len(e.PreApproved) != 0 {
		t.Error("a skill that nobody granted pre-approves")
	}
}

func TestSkillPatchReplacesItsOwnAndEndsFormerPrompts(t *testing.T) {
	t.Parallel()
	a := skillPatch(ScopeSession, "a", trustTrusted, nil)
	a.Prompt = text("a's")
	host := hostPatch(ScopeSession, "h", Patch{Prompt: text("host's")})
	l := layersOf(a, host, skillPatch(ScopeSession, "b", trustTrusted, nil))
	if e := Derive(Base{}, l, ""); e.Prompt != "host's" {
		t.Errorf("prompt %q", e.Prompt)
	}
	again := l.With(skillPatch(ScopeSession, "a", trustTrusted, nil))
	if len(again.Session()) != 3 || len(again.Turn()) != 0 || again.Len() != 3 {
		t.Errorf("%d patches", again.Len())
	}
	if len(l.Session()) != 3 || *l.Session()[1].Prompt != "host's" {
		t.Error("With changed its receiver")
	}
}

// TestTurnPatchesLeaveNoTrace holds the promise of the turn layer: whatever a turn
// applies, its end gives back what was in effect before.
func TestTurnPatchesLeaveNoTrace(t *testing.T) {
	t.Parallel()
	patch := func(scopes ...Scope) *rapid.Generator[Applied] {
		return rapid.Custom(func(t *rapid.T) Applied {
			a := Applied{Seq: rapid.IntRange(1, 1<<30).Draw(t, "seq"), Set: rapid.IntRange(0, 2).Draw(t, "set")}
			a.Scope = rapid.SampledFrom(scopes).Draw(t, "scope")
			id := fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "id"))
			a.Owner = Owner{rapid.SampledFrom([]OwnerKind{OwnerSkill, OwnerHost, OwnerTool}).Draw(t, "kind"), id}
			if a.Owner.Kind == OwnerSkill {
				a.Skill = &Activation{Name: id, Address: id, Trust: rapid.SampledFrom([]string{trustTrusted, trustWorkspace, "untrusted"}).Draw(t, "trust")}
			}
			tools := rapid.SliceOfN(rapid.SampledFrom([]string{"Read", "Write", "Bash(git *)", "bad("}), 0, 2)
			if rapid.Bool().Draw(t, "tools") {
				a.Tools = &ToolPolicy{Allow: declared(tools.Draw(t, "allow")), Deny: tools.Draw(t, "deny"), PreApprove: tools.Draw(t, "pre")}
			}
			if rapid.Bool().Draw(t, "model") {
				a.Model = &ModelOverride{ID: id, Effort: "high"}
			}
			if rapid.Bool().Draw(t, "prompt") {
				a.Prompt = &id
			}
			key := rapid.SampledFrom([]string{"A", "B", filesystem})
			if rapid.Bool().Draw(t, "env") {
				a.Env = map[string]string{key.Draw(t, "name"): id}
			}
			if rapid.Bool().Draw(t, "discovery") {
				a.Discovery = &Discovery{Reset: rapid.Bool().Draw(t, "forget"), Discover: []string{id, " "}}
			}
			if rapid.Bool().Draw(t, "context") {
				facet := map[string]any{"roots": []string{id}, key.Draw(t, "field"): id}
				a.Context = &ContextPatch{Reset: rapid.Bool().Draw(t, "reset"), Value: Context{
					Capabilities: map[string]any{key.Draw(t, "facet"): facet},
					Environment:  map[string]string{key.Draw(t, "variable"): id},
				}}
			}
			return a
		})
	}
	base := Base{Floor: Policy{Allow: []string{"Read", "Bash"}, Deny: []string{"Write"}}, Prompt: "base", Model: "m", Env: map[string]string{"A": "base"},
		Context: Context{Capabilities: map[string]any{filesystem: map[string]any{"roots": []string{"a"}}}}}
	sequences := 0
	rapid.Check(t, func(t *rapid.T) {
		before := Layers{}
		for _, a := range rapid.SliceOfN(patch(ScopeSession), 0, 4).Draw(t, "session") {
			before = before.With(a)
		}
		d := rapid.SampledFrom(skill.Dialects()).Draw(t, "dialect")
		want := Derive(base, before, d)
		// Each draw gives some hundred sequences: every stretch of one run.
		run := rapid.SliceOfN(patch(ScopeTurn), 10, 24).Draw(t, "turn")
		for i := range run {
			for j := i; j <= len(run); j++ {
				l := before
				for _, a := range run[i:j] {
					l = l.With(a)
				}
				if !reflect.DeepEqual(Derive(base, l.EndTurn(), d), want) || !reflect.DeepEqual(Derive(base, l, d), Derive(base, l, d)) {
					t.Fatalf("turn %v leaves a trace", run[i:j])
				}
				sequences++
			}
		}
	})
	if t.Logf("%d sequences", sequences); sequences < 10_000 {
		t.Error("too few")
	}
}

func BenchmarkDerive200Patches(b *testing.B) {
	var l Layers
	for i := range 200 {
		a := hostPatch(ScopeSession, fmt.Sprint("h", i), Patch{Tools: &ToolPolicy{Deny: []string{fmt.Sprint("t", i)}}, Prompt: text("p")})
		if i%10 == 0 {
			a = skillPatch(ScopeSession, fmt.Sprint("s", i), trustTrusted, allow("Read", "Grep"))
		}
		a.Seq = i
		l = l.With(a)
	}
	b.ReportAllocs()
	for b.Loop() {
		Derive(Base{}, l, skill.Deft)
	}
}

func BenchmarkDerive8Skills(b *testing.B) {
	var l Layers
	for i := range 8 {
		a := skillPatch(ScopeSession, fmt.Sprint("s", i), trustTrusted, allow("Read", "Grep"))
		a.Seq = i
		l = l.With(a)
	}
	b.ReportAllocs()
	for b.Loop() {
		Derive(Base{}, l, skill.Deft)
	}
}
