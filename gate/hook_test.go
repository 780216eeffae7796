package gate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

func TestWhatHooksSayOnlyTightens(t *testing.T) {
	t.Parallel()
	table := testTable(t)
	words := []HookWord{
		{Verdict: Allow}, {Verdict: "approve", Code: "read_only"}, {Verdict: Ask, Reason: "r"}, {Verdict: Deny, Reason: "r"},
		{Verdict: Deny, Code: CodeHookFailed}, {Verdict: Deny, Code: CodeHookLoop}, {Verdict: Deny, Code: CodeReadOnly},
	}
	rapid.Check(t, func(t *rapid.T) {
		g, sink := drawGate(t, table)
		c := drawCall(t)
		without := g.Explain(c)
		c.Hook = rapid.SampledFrom(words).Draw(t, "word")
		with, err := g.Check(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		says := c.Hook.Verdict == Ask || c.Hook.Verdict == Deny
		switch {
		case len(c.Args) == 0: // without arguments Explain answers for all of them
		case severity(with) < severity(without):
			t.Fatalf("%s without hooks, %s with %+v", without.Verdict, with.Verdict, c.Hook)
		case !says && (with.Verdict != without.Verdict || with.Code != without.Code):
			t.Fatalf("%+v changes %s to %s", c.Hook, without.Code, with.Code)
		}
		if c.Hook.Verdict == Deny && with.Verdict != Deny || len(sink.rows) != 1 {
			t.Fatalf("%s, %d rows", with.Verdict, len(sink.rows))
		}
		if c.Hook.Verdict == Ask && with.Verdict == Allow && with.BypassedBy == "" {
			t.Fatalf("asked about, and allowed: %+v", with)
		}
	})
}

func TestTheWordsOfSeveralHooksAddUp(t *testing.T) {
	t.Parallel()
	var w HookWord
	w.Ask("one")
	w.Ask("two")
	if w.Verdict != Ask || w.Reason != "one; two" {
		t.Errorf("%+v", w)
	}
	w = HookWord{Verdict: Deny, Reason: "no"}
	w.Ask("one")
	if w.Verdict != Deny || w.Reason != "no" || w.code() != CodeHookDeny {
		t.Errorf("%+v", w)
	}
}

func TestPatternsNameACallAsADenyListDoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("secret", filepath.Join(dir, "open")); err != nil {
		t.Fatal(err)
	}
	table, err := NewTable(
		Tool{Name: "bash", Tier: ReadOnly, Shell: "command"},
		Tool{Name: "write", Tier: ConfirmOnce, Schema: json.RawMessage(pathSchema), Paths: []PathArg{{Key: "path", Write: true}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	g, _ := testGate(t, func(o *Options) { o.Tools, o.Paths = table, PathPolicy{Workspace: dir} })
	for _, tt := range []struct {
		pattern, tool, args string
		want                bool
	}{
		{"Bash(git push:*)", "bash", `{"command":"git push origin"}`, true},
		{"Bash(git push:*)", "bash", `{"command":"git log && env A=1 git push"}`, true},
		{"Bash(git push:*)", "bash", `{"command":"git log"}`, false},
		{"Write(out/**)", "bash", `{"command":"echo a > out/x"}`, true},
		{"Write", "write", `{"path":"a"}`, true},
		{"Write(secret/**)", "write", `{"path":"open/a"}`, true},
		{"Write(secret/**)", "write", `{"path":"a"}`, false},
		{"Read", "write", `{"path":"a"}`, false},
		{"Write(", "bash", `{"command":"ls"}`, true},
		{"*", "bash", `{"command":"ls"}`, true},
		{"Write(secret/**)", "write", `{"path":1}`, true},
		{"Write(secret/**)", "nobody", `{}`, false},
	} {
		c := Call{Tool: tt.tool, Args: json.RawMessage(tt.args), Dir: dir}
		if got := g.(Namer).Names(c, []string{"nothing", tt.pattern}); got != tt.want {
			t.Errorf("%s of %s %s: %v", tt.pattern, tt.tool, tt.args, got)
		}
	}
}
