package gate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// keeping is a Memory that notes what became of questions.
type keeping struct {
	*Memory
	opened   []Confirmation
	resolved []Resolution
	dropped  []string
	expired  int
}

func (k *keeping) Expire(ctx context.Context, now time.Time) error {
	k.expired++
	return k.Memory.Expire(ctx, now)
}

func (k *keeping) Open(ctx context.Context, c Confirmation, r Row) error {
	k.opened = append(k.opened, c)
	return k.Memory.Open(ctx, c, r)
}

func (k *keeping) Resolve(ctx context.Context, r Resolution) error {
	k.resolved = append(k.resolved, r)
	return k.Memory.Resolve(ctx, r)
}

func (k *keeping) Drop(ctx context.Context, session string, now time.Time) error {
	k.dropped = append(k.dropped, session)
	return k.Memory.Drop(ctx, session, now)
}

func TestWhatIsKeptOfAQuestion(t *testing.T) {
	t.Parallel()
	now := at()
	k := &keeping{Memory: NewMemory(&memorySink{})}
	g, _ := testGate(t, func(o *Options) { o.Confirms, o.Now = k, func() time.Time { return now } })
	ask := func() Decision {
		c := call("send", `{"text":"hello"}`)
		c.Principal = "user"
		d, _ := g.Check(t.Context(), c)
		return d
	}
	for name, tt := range map[string]struct {
		wait  time.Duration
		reply Reply
		want  ConfirmState
	}{
		"yes": {0, Once, ConfirmAllowed}, "no": {0, No, ConfirmDenied}, "nonsense": {0, "maybe", ConfirmDenied},
		"in the last moment": {confirmFor, Once, ConfirmAllowed}, "late": {confirmFor + 1, Once, ConfirmExpired},
	} {
		d := ask()
		q := k.opened[len(k.opened)-1]
		if q.ID != d.ConfirmID || q.Session != "s" || q.Turn != "t" || q.Tool != "send" || q.Tier != AlwaysConfirm || q.CallHash != d.CallHash || q.State != ConfirmOpen ||
			!q.Opened.Equal(now) || !q.Expires.Equal(now.Add(confirmFor)) {
			t.Errorf("kept %+v", q)
		}
		if strings.Contains(q.NonceHash, d.Nonce) || len(q.NonceHash) != 64 || !strings.Contains(string(q.Shown), "hello") {
			t.Errorf("nonce %s, shown %s", q.NonceHash, q.Shown)
		}
		now = now.Add(tt.wait)
		if _, err := g.Answer(t.Context(), Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: tt.reply}); err != nil {
			t.Fatal(err)
		}
		r := k.resolved[len(k.resolved)-1]
		if r.ID != d.ConfirmID || r.State != tt.want || r.Reply != tt.reply || r.By != "user" || !r.At.Equal(now) || r.Grant != nil || r.Row.ConfirmID != d.ConfirmID {
			t.Errorf("%s: %+v", name, r)
		}
	}
	g.Drop("s") // nothing waits
	ask()
	g.Drop("other")
	g.Drop("s")
	if len(k.dropped) != 1 || k.dropped[0] != "s" {
		t.Errorf("dropped %v", k.dropped)
	}
	if ask(); k.expired != 0 {
		t.Error("nothing was over")
	}
	now = now.Add(confirmFor + 1)
	if ask(); k.expired != 1 || len(k.Memory.open) != 1 {
		t.Errorf("expired %d times, %d are open", k.expired, len(k.Memory.open))
	}
}

func TestFaultsWithinListsAreFound(t *testing.T) {
	t.Parallel()
	g, _ := testGate(t, nil)
	for _, args := range []string{
		`{"text":"a","list":[{"old":"x","old":"y"}]}`, `{"text":"a","list":[1e400]}`, `{"text":"a","list":[1`, `{"text":"a","list":[`, `{"text":"a","list":[,]}`,
		`{"text":"a","n":1e400}`, `{"text":"a","n":-1e400}`, `{"text":"a","n":1e401}`, `{"text":"a","n":1e-401}`, `{"text":"a","n":` + strings.Repeat("1", maxDigit+1) + `}`,
	} {
		if d, _ := g.Check(t.Context(), call("note", args)); d.Code != CodeBadArgs {
			t.Errorf("%s: %s", args, d.Code)
		}
	}
	for _, args := range []string{`{"n":1e-400}`, `{"n":` + strings.Repeat("1", maxDigit) + `}`, `{"n":1e308}`} {
		if d, _ := g.Check(t.Context(), call("note", args)); d.Code != CodeFirstUse {
			t.Errorf("%s: %s (%s)", args, d.Code, d.Reason)
		}
	}
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}` }
	for n, code := range map[int]string{maxDepth: CodeFirstUse, maxDepth + 1: CodeBadArgs} {
		if d, _ := g.Check(t.Context(), call("note", deep(n))); d.Code != code {
			t.Errorf("%d levels: %s", n, d.Code)
		}
	}
	long := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	for n, code := range map[int]string{maxArgs: CodeFirstUse, maxArgs + 1: CodeBadArgs} {
		if d, _ := g.Check(t.Context(), call("note", long(n))); d.Code != code {
			t.Errorf("%d bytes: %s", n, d.Code)
		}
	}
}

func TestARowNamesCeilingAndReasonsNamePlaces(t *testing.T) {
	t.Parallel()
	h := newRuleHouse(t, nil)
	for ceiling, want := range map[Tier]Tier{0: ManualOnly, 1: ReadOnly, 2: ConfirmOnce, 3: AlwaysConfirm, 4: ManualOnly, 9: ManualOnly} {
		c := h.bash("ls")
		c.Ceiling = ceiling
		if _, err := h.gate.Check(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if got := h.sink.rows[len(h.sink.rows)-1].Ceiling; got != want {
			t.Errorf("ceiling %d is written as %s", ceiling, got)
		}
	}
	for _, tt := range []struct{ tool, path, want string }{
		{"read", "/etc/hosts", "the path is outside the workspace"}, {"write", h.root + "/out/x", "outside the workspace, or"},
		{"edit", "src/.env", "outside the workspace, or"}, {"edit", "src/x", ""},
	} {
		c := call(tt.tool, `{"path":"`+tt.path+`"}`)
		c.Dir = h.work
		if d := h.gate.Explain(c); !strings.Contains(d.Reason, tt.want) || tt.want == "" && strings.Contains(d.Reason, "outside") {
			t.Errorf("%s %s: %s", tt.tool, tt.path, d.Reason)
		}
	}
}

func TestWithoutRandomnessNothingIsAsked(t *testing.T) {
	t.Parallel()
	for _, bytes := range []int{0, nonceBytes - 1, nonceBytes, 2*nonceBytes - 1} {
		g, sink := testGate(t, func(o *Options) { o.Rand = strings.NewReader(strings.Repeat("x", bytes)) })
		d, err := g.Check(t.Context(), call("send", ""))
		if d.Verdict != Deny || d.Code != CodeUnavailable || !errors.Is(err, ErrUnavailable) || len(sink.rows) != 0 || len(g.(*engine).pending) != 0 {
			t.Errorf("%d bytes: %+v, %v", bytes, d, err)
		}
	}
	g, _ := testGate(t, func(o *Options) { o.Rand = strings.NewReader(strings.Repeat("x", 2*nonceBytes)) })
	c := call("note", "")
	c.Principal = "user"
	d, _ := g.Check(t.Context(), c)
	if got, err := g.Answer(t.Context(), Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: Always}); got.Code != CodeUnavailable || err == nil {
		t.Errorf("a grant without an id: %+v", got)
	}
}

func TestOptionsThatMakeNoGate(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"no tools": func(o *Options) { o.Tools = nil }, "no record": func(o *Options) { o.Audit = nil },
		"auto for typed approval": func(o *Options) { o.Auto = ManualOnly }, "a mode of later": func(o *Options) { o.Mode = "yolo" },
		"an override that cannot be recorded": func(o *Options) {
			o.Audit = &memorySink{err: errors.New("disk full")}
			o.Rules.Overrides = []TierRule{{Tool: "send", Tier: ConfirmOnce, Reason: "r", Layer: UserRules}}
		},
	} {
		o := Options{Tools: testTable(t), Audit: &memorySink{}}
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: a gate", name)
		}
	}
	for _, mode := range []Mode{"", Default, Plan, DontAsk} {
		if g, err := New(Options{Tools: testTable(t), Audit: &memorySink{}, Mode: mode, Auto: AlwaysConfirm}); err != nil || g == nil {
			t.Errorf("mode %q: %v", mode, err)
		}
	}
}
