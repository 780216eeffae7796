package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deftskills/deft/skill"
)

// grantGate is a gate whose clock stands at the moment of the test grants.
func grantGate(t testing.TB, change func(*Options), grants ...Grant) (Gate, *memorySink, *Memory) {
	t.Helper()
	sink := &memorySink{}
	m := NewMemory(sink)
	for _, g := range grants {
		if err := m.Add(g); err != nil {
			t.Fatal(err)
		}
	}
	g, _ := testGate(t, func(o *Options) {
		o.Audit, o.Grants, o.Confirms, o.Now = sink, m, m, at
		if change != nil {
			change(o)
		}
	})
	return g, sink, m
}

// jobCall is a call of a scheduled job in a turn that may decide.
func jobCall(tool, args string) Call {
	c := call(tool, args)
	c.Origin, c.Principal, c.Stages = Cron, "job:btc", []string{"decide"}
	return c
}

func where(texts ...string) func(*Grant) {
	return func(g *Grant) {
		g.OtherArgs = ""
		for _, t := range texts {
			c, err := ParseWhere(t)
			if err != nil {
				panic(err)
			}
			g.Constraints = append(g.Constraints, c)
		}
	}
}

func TestGrantsLetACallWithoutAPersonRun(t *testing.T) {
	t.Parallel()
	asks := func(o *Options) { o.Rules.Rules = ParseRules("ask send ; ask look ; ask note") }
	denies := func(o *Options) { o.Rules.Rules = ParseRules("deny send") }
	digest := skill.Digest("sha256:1")
	bound := func(g *Grant) { g.SkillHash = digest }
	for _, tt := range []struct {
		name   string
		grant  func(*Grant)
		gate   func(*Options)
		change func(*Call)
		tool   string
		args   string
		code   string
	}{
		{name: "tier 3", tool: "send", code: CodeGrant},
		{name: "tier 2", grant: func(g *Grant) { g.Tool = "note" }, tool: "note", code: CodeGrant},
		{name: "tier 4", grant: func(g *Grant) { g.Tool = "swap" }, tool: "swap", code: CodeManualOnly},
		{name: "another tool", tool: "note", code: CodeNoGrant},
		{name: "another principal", tool: "send", change: func(c *Call) { c.Principal = "job:eth" }, code: CodeNoGrant},
		{name: "no principal", tool: "send", change: func(c *Call) { c.Principal = "" }, code: CodeNoGrant},
		{name: "an origin that nobody knows", tool: "send", change: func(c *Call) { c.Origin = "robot" }, code: CodeGrant},
		{name: "the ceiling", tool: "send", change: func(c *Call) { c.Ceiling = ConfirmOnce }, code: CodeCeiling},
		{name: "a turn that only looks", tool: "send", change: func(c *Call) { c.Stages = []string{"discover"} }, code: CodeStageDiscover},
		{name: "a turn without stages", tool: "send", change: func(c *Call) { c.Stages = nil }, code: CodeStageDiscover},
		{name: "plan mode", tool: "send", gate: func(o *Options) { o.Mode = Plan }, code: CodePlanMode},
		{name: "the mode that asks nobody", tool: "send", gate: func(o *Options) { o.Mode = DontAsk }, code: CodeGrant},
		{name: "a deny rule", tool: "send", gate: denies, code: CodeRuleDeny},
		{name: "an ask rule", tool: "send", gate: asks, code: CodeGrant},
		{name: "an ask rule for what only reads", grant: func(g *Grant) { g.Tool = "look" }, tool: "look", args: `{"text":"a"}`, gate: asks, code: CodeGrant},
		{name: "an ask rule and no grant", tool: "look", args: `{"text":"a"}`, gate: asks, code: CodeNoGrant},
		{name: "what only reads uses none", grant: func(g *Grant) { g.Tool = "look" }, tool: "look", args: `{"text":"a"}`, code: CodeReadOnly},
		{name: "a hook that asks", tool: "send", change: func(c *Call) { c.Hook.Verdict = Ask }, code: CodeGrant},
		{name: "a hook that denies", tool: "send", change: func(c *Call) { c.Hook.Verdict = Deny }, code: CodeHookDeny},
		{name: "amount is enough", grant: where("amount<=100"), tool: "send", args: `{"amount":100}`, code: CodeGrant},
		{name: "amount is too much", grant: where("amount<=100"), tool: "send", args: `{"amount":101}`, code: CodeNoGrant},
		{name: "amount is a text", grant: where("amount<=100"), tool: "send", args: `{"amount":"100"}`, code: CodeNoGrant},
		{name: "amount is missing", grant: where("amount<=100"), tool: "send", args: `{}`, code: CodeNoGrant},
		{name: "more arguments", grant: where("amount<=100"), tool: "send", args: `{"amount":1,"to":"x"}`, code: CodeNoGrant},
		{name: "more arguments are free", grant: func(g *Grant) { where("amount<=100")(g); g.OtherArgs = OtherAny }, tool: "send", args: `{"amount":1,"to":"x"}`, code: CodeGrant},
		{name: "no constraint, no arguments", grant: where(), tool: "send", args: `{}`, code: CodeGrant},
		{name: "no constraint, arguments", grant: where(), tool: "send", args: `{"a":1}`, code: CodeNoGrant},
		{name: "an operator of later", grant: func(g *Grant) { g.Constraints = []Constraint{{Path: "a", Op: "~", Value: json.RawMessage("1")}} }, tool: "send", args: `{"a":1}`, code: CodeNoGrant},
		{name: "over", grant: func(g *Grant) { g.Expires = at() }, tool: "send", code: CodeNoGrant},
		{name: "revoked", grant: func(g *Grant) { g.Revoked = at() }, tool: "send", code: CodeNoGrant},
		{name: "a skill that is not there", grant: bound, tool: "send", code: CodeNoGrant},
		{name: "the skill", grant: bound, tool: "send", change: func(c *Call) { c.Skills = []ActiveSkill{{TreeDigest: digest, Digest: "x"}} }, code: CodeGrant},
		{name: "the skill as text", grant: bound, tool: "send", change: func(c *Call) { c.Skills = []ActiveSkill{{Digest: digest}} }, code: CodeGrant},
		{name: "the skill in other bytes", grant: bound, tool: "send", change: func(c *Call) { c.Skills = []ActiveSkill{{TreeDigest: "x", Digest: digest}} }, code: CodeNoGrant},
		{name: "the skill, changed since", grant: bound, tool: "send", change: func(c *Call) {
			c.Skills = []ActiveSkill{{TreeDigest: digest, Still: func() bool { return false }}}
		}, code: CodeNoGrant},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, sink, m := grantGate(t, tt.gate, testGrant("g", tt.grant))
			c := jobCall(tt.tool, cmp.Or(tt.args, "{}"))
			if tt.change != nil {
				tt.change(&c)
			}
			before := g.Explain(c)
			d, err := g.Check(t.Context(), c)
			if err != nil || d.Code != tt.code || (d.Verdict == Allow) != (tt.code == CodeGrant || tt.code == CodeReadOnly) {
				t.Fatalf("%s %s (%s), %v; want %s", d.Verdict, d.Code, d.Reason, err, tt.code)
			}
			if before.Code != d.Code || before.GrantID != d.GrantID {
				t.Errorf("explain says %s by %q, check %s by %q", before.Code, before.GrantID, d.Code, d.GrantID)
			}
			used, row := m.Grants()[0].Used, sink.rows[len(sink.rows)-1]
			if (used == 1) != (d.Code == CodeGrant) || len(sink.rows) != 1 || row.GrantID != d.GrantID || (d.GrantID == "g") != (used == 1) {
				t.Errorf("used %d times, rows %+v", used, sink.rows)
			}
		})
	}
}

func TestTheGrantThatIsLostFirstIsUsedFirst(t *testing.T) {
	t.Parallel()
	g, _, m := grantGate(t, nil,
		testGrant("unbound", func(g *Grant) { g.MaxUses = 0 }),
		testGrant("late", func(g *Grant) { g.Expires = g.Expires.Add(time.Second) }),
		testGrant("d", func(g *Grant) { g.MaxUses, g.Used = 3, 1 }),
		testGrant("b", nil), testGrant("a", nil),
	)
	var order []string
	for range 8 {
		d, _ := g.Check(t.Context(), jobCall("send", ""))
		order = append(order, d.GrantID)
	}
	if want := []string{"a", "b", "d", "d", "unbound", "unbound", "unbound", "unbound"}; !slices.Equal(order, want) {
		t.Errorf("%v", order)
	}
	if err := m.Revoke("unbound", "user", at()); err != nil {
		t.Fatal(err)
	}
	if d, _ := g.Check(t.Context(), jobCall("send", "")); d.GrantID != "late" {
		t.Errorf("after a revocation: %s", d.GrantID)
	}
	if d, _ := g.Check(t.Context(), jobCall("send", "")); d.Code != CodeNoGrant || d.GrantID != "" {
		t.Errorf("with none left: %s", d.Code)
	}
	if !errors.Is(m.Revoke("nobody", "user", at()), ErrGrantUnusable) {
		t.Error("a grant that never was is revoked")
	}
}

func TestTheLastUseOfAGrantIsWonByOne(t *testing.T) {
	t.Parallel()
	g, sink, m := grantGate(t, nil, testGrant("one", func(g *Grant) { g.MaxUses = 3 }), testGrant("two", func(g *Grant) { g.MaxUses = 4 }))
	codes := make([]string, 64)
	var wg sync.WaitGroup
	for i := range codes {
		wg.Go(func() {
			d, _ := g.Check(t.Context(), jobCall("send", fmt.Sprintf(`{"n":%d}`, i)))
			codes[i] = d.Code
		})
	}
	wg.Wait()
	ran := 0
	for _, c := range codes {
		if c == CodeGrant {
			ran++
		} else if c != CodeNoGrant {
			t.Error(c)
		}
	}
	if ran != 7 || len(sink.rows) != 64 || m.Grants()[0].Used+m.Grants()[1].Used != 7 {
		t.Errorf("%d ran, %d rows", ran, len(sink.rows))
	}
}

// brokenStore fails where it is told to.
type brokenStore struct {
	*Memory
	find, use, open, resolve error
}

func (b brokenStore) Candidates(_ context.Context, q GrantQuery) ([]Grant, error) {
	if b.find != nil {
		return nil, b.find
	}
	return b.Memory.Candidates(context.Background(), q)
}

func (b brokenStore) Use(c context.Context, id string, now time.Time, r Row) error {
	if b.use != nil {
		return b.use
	}
	return b.Memory.Use(c, id, now, r)
}

func (b brokenStore) Open(c context.Context, q Confirmation, r Row) error {
	if b.open != nil {
		return b.open
	}
	return b.Memory.Open(c, q, r)
}

func (b brokenStore) Resolve(c context.Context, r Resolution) error {
	if b.resolve != nil {
		return b.resolve
	}
	return b.Memory.Resolve(c, r)
}

// Whatever keeps a write from being safe, at whichever of them: the call is refused, no use
// is counted, no question stays open, and no grant exists that was not there before.
func TestR08NoSpaceDenies(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{
		&os.PathError{Op: "write", Path: "deft.db", Err: syscall.ENOSPC}, &os.PathError{Op: "sync", Path: "deft.db", Err: syscall.EIO},
		&os.PathError{Op: "open", Path: "deft.db", Err: syscall.EROFS}, errors.New("database is locked"), context.DeadlineExceeded,
	} {
		for name, change := range map[string]func(*brokenStore){
			"while grants are looked for": func(b *brokenStore) { b.find = cause },
			"while a use is counted":      func(b *brokenStore) { b.use = cause },
		} {
			b := brokenStore{Memory: NewMemory(&memorySink{})}
			_ = b.Add(testGrant("g", nil))
			change(&b)
			g, _ := testGate(t, func(o *Options) { o.Grants, o.Now = b, at })
			d, err := g.Check(t.Context(), jobCall("send", ""))
			if d.Verdict != Deny || d.Code != CodeUnavailable || !errors.Is(err, cause) || !errors.Is(err, ErrUnavailable) || b.Memory.Grants()[0].Used != 0 {
				t.Errorf("%s, %v: %s %s, %v", name, cause, d.Verdict, d.Code, err)
			}
			if e := g.Explain(jobCall("send", "{}")); b.find != nil && (e.Code != CodeUnavailable || e.Verdict != Deny) {
				t.Errorf("explain %s: %s", name, e.Code)
			}
		}
		b := brokenStore{Memory: NewMemory(&memorySink{}), open: cause}
		g, _ := testGate(t, func(o *Options) { o.Confirms, o.Now = &b, at })
		if d, _ := g.Check(t.Context(), call("note", "")); d.Code != CodeUnavailable || d.ConfirmID != "" || len(g.(*engine).pending) != 0 {
			t.Errorf("a question that is not kept, %v: %+v", cause, d)
		}
		b.open, b.resolve = nil, cause
		c := call("note", "")
		c.Principal = "user"
		d, _ := g.Check(t.Context(), c)
		a := Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: Always}
		if got, _ := g.Answer(t.Context(), a); got.Code != CodeUnavailable || got.GrantID != "" || len(b.Memory.Grants()) != 0 {
			t.Errorf("an answer that is not kept, %v: %+v", cause, got)
		}
		b.resolve = nil
		if got, _ := g.Answer(t.Context(), a); got.Code != CodeAnsweredTwice || len(b.Memory.Grants()) != 0 {
			t.Errorf("the same answer again, %v: %+v", cause, got)
		}
		if d := g.Explain(c); d.Code == CodeRemembered || d.Code == CodeGrant {
			t.Errorf("%v: what was refused is remembered", cause)
		}
	}
}

func TestAlwaysMakesAGrantForWhatWasShown(t *testing.T) {
	t.Parallel()
	h := newRuleHouse(t, func(_ *ruleHouse, o *Options) { o.Now = at })
	skilled := func(c *Call) {
		c.Skills = []ActiveSkill{{Name: "k", Source: "user", TreeDigest: "sha256:k"}, {Name: "host", Source: HostSource}}
	}
	for _, tt := range []struct {
		name   string
		call   Call
		change func(*Call)
		reply  Reply
		rule   string
		same   Call // covered by it
		other  Call // not
	}{
		{name: "a tool", call: call("note", `{"a":1}`), reply: Always, same: call("note", `{"b":[]}`), other: call("send", "")},
		{name: "a command", call: h.bash("git fetch origin"), reply: Always, rule: "Bash(git fetch:*)", same: h.bash("git fetch -p && git log"), other: h.bash("git pull")},
		{name: "two commands", call: h.bash("git fetch && go test ./gate"), reply: Always, rule: "Bash(git fetch:*) ; Bash(go test:*)", same: h.bash("go test ./session"), other: h.bash("go run ./x")},
		{name: "for a skill", call: call("note", "{}"), change: skilled, reply: AlwaysForSkill, same: call("note", "{}"), other: call("send", "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newRuleHouse(t, func(_ *ruleHouse, o *Options) { o.Now = at })
			with := func(c Call, session string) Call {
				if c.Dir = ""; c.Tool == "bash" {
					c.Dir = h.bash("").Dir
				}
				c.Principal, c.Session = "user", session
				if tt.change != nil {
					tt.change(&c)
				}
				return c
			}
			c := with(tt.call, "s")
			d, err := h.gate.Check(t.Context(), c)
			if err != nil || d.Code != CodeFirstUse || !slices.Contains(d.Replies, tt.reply) || slices.Contains(d.Replies, AlwaysForSkill) != (tt.change != nil) {
				t.Fatalf("%+v, %v", d, err)
			}
			got, err := h.gate.Answer(t.Context(), Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: tt.reply})
			if err != nil || got.Verdict != Allow || got.GrantID == "" {
				t.Fatalf("%+v, %v", got, err)
			}
			if same, _ := h.gate.Check(t.Context(), with(tt.same, "later")); same.Code != CodeGrant || same.GrantID != got.GrantID {
				t.Errorf("the same later: %s (%s)", same.Code, same.Reason)
			}
			if other, _ := h.gate.Check(t.Context(), with(tt.other, "later")); other.Verdict == Allow {
				t.Errorf("another call rides on it: %s", other.Code)
			}
			made := h.gate.(*engine).o.Grants.(*Memory).Grants()
			if len(made) != 1 || made[0].Rule != tt.rule || !made[0].Expires.Equal(at().Add(alwaysFor)) || made[0].CreatedBy != "user" {
				t.Errorf("made %+v", made)
			}
			if tt.change != nil {
				changed := with(tt.same, "later")
				changed.Skills[0].TreeDigest = "sha256:other"
				if d, _ := h.gate.Check(t.Context(), changed); d.Verdict == Allow {
					t.Error("the grant outlives the skill's bytes")
				}
			}
		})
	}
}

func TestAlwaysIsNoReplyEverywhere(t *testing.T) {
	t.Parallel()
	ask := func(o *Options) { o.Rules.Rules = ParseRules("ask note"); o.Now = at }
	user := func(c Call) Call { c.Principal = "user"; return c }
	for _, tt := range []struct {
		name   string
		gate   func(*Options)
		call   Call
		answer func(*Answer)
	}{
		{"each call", nil, user(call("send", "")), nil},
		{"typed approval", nil, user(call("swap", "")), func(a *Answer) { a.Typed = "swap" }},
		{"nobody's account", nil, call("note", ""), nil},
		{"a rule that asks", ask, user(call("note", "")), nil},
		{"more than a year", nil, user(call("note", "")), func(a *Answer) { a.Expires = at().Add(MaxGrantLife + 1) }},
		{"a date in the past", nil, user(call("note", "")), func(a *Answer) { a.Expires = at() }},
		{"no skill", nil, user(call("note", "")), func(a *Answer) { a.Reply = AlwaysForSkill }},
	} {
		g, sink, m := grantGate(t, tt.gate)
		d, _ := g.Check(t.Context(), tt.call)
		a := Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: Always}
		if tt.answer != nil {
			tt.answer(&a)
		}
		got, err := g.Answer(t.Context(), a)
		if err != nil || got.Verdict != Deny || got.Code != CodeBadAnswer || got.GrantID != "" || len(m.Grants()) != 0 || len(sink.rows) != 2 {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
	two := user(call("note", ""))
	two.Skills = []ActiveSkill{{Name: "a", Digest: "1"}, {Name: "b", Digest: "2"}}
	for name, ok := range map[string]bool{"": false, "c": false, "b": true} {
		g, _, m := grantGate(t, nil)
		d, _ := g.Check(t.Context(), two)
		_, _ = g.Answer(t.Context(), Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: AlwaysForSkill, Skill: name})
		if made := m.Grants(); (len(made) == 1 && made[0].SkillHash == "2") != ok || len(made) > 1 {
			t.Errorf("skill %q: %+v", name, made)
		}
	}
}

func TestGrantsWithRules(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule, where, command string
		covers               bool
	}{
		{"Bash(git fetch:*)", "", "git fetch origin", true}, {"Bash(git fetch:*)", "", "git fetch && git log", true},
		{"Bash(git fetch:*)", "", "git fetch && git push", false}, {"Bash(git fetch:*)", "", "git fetch | sh", false},
		{"Bash(git fetch:*) ; Bash(go test:*)", "", "git fetch && go test ./gate", true},
		{"Bash", "", "eval x", true}, {"Bash(", "", "git fetch", false}, {"Write", "", "git fetch", false},
		{"", "command=git fetch", "git fetch", true}, {"", "command=git fetch", "git fetch ", false},
		{"", "command prefix git", "git fetch", false}, {"", "command prefix git", "git fetch; rm -rf /", false},
	} {
		h := newRuleHouse(t, func(_ *ruleHouse, o *Options) { o.Now = at })
		g := testGrant("g", func(g *Grant) { g.Tool, g.Rule, g.OtherArgs = "bash", tt.rule, OtherNone })
		if tt.where != "" {
			c, _ := ParseWhere(tt.where)
			g.Constraints = []Constraint{c}
		}
		if err := h.gate.(*engine).o.Grants.(*Memory).Add(g); err != nil {
			t.Fatal(err)
		}
		c := h.bash(tt.command)
		c.Origin, c.Principal, c.Stages = Cron, "job:btc", []string{"decide"}
		if d := h.gate.Explain(c); (d.Code == CodeGrant) != tt.covers {
			t.Errorf("%s %s of %q: %s (%s)", tt.rule, tt.where, tt.command, d.Code, d.Reason)
		}
	}
}
