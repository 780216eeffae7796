package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deftskills/deft/skill"
)

// memorySink keeps rows; err makes every later Record fail.
type memorySink struct {
	mu   sync.Mutex
	rows []Row
	err  error
}

func (s *memorySink) Record(_ context.Context, r Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.rows = append(s.rows, r)
	return nil
}

const strictText = `{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"},` +
	`"list":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"}},"additionalProperties":false}}},` +
	`"required":["text"],"additionalProperties":false}`

const pathSchema = `{"type":"object","properties":{"path":{"type":"string"},"pattern":{"type":"string"}}}`

func testTable(t testing.TB) *Table {
	t.Helper()
	table, err := NewTable(
		Tool{Name: "look", Tier: ReadOnly, Schema: json.RawMessage(strictText)},
		Tool{Name: "note", Tier: ConfirmOnce}, Tool{Name: "send", Tier: AlwaysConfirm},
		Tool{Name: "swap", Tier: ManualOnly}, Tool{Name: "bare"},
		Tool{Name: "skill", Tier: ReadOnly},
		Tool{Name: "read", Tier: ReadOnly, Schema: json.RawMessage(pathSchema)},
		Tool{Name: "glob", Tier: ReadOnly, Schema: json.RawMessage(pathSchema)},
		Tool{Name: "write", Tier: ConfirmOnce, Schema: json.RawMessage(pathSchema)},
		Tool{Name: "lower", Tier: AlwaysConfirm, Raise: func(Call) (Tier, string) { return ReadOnly, "trust me" }},
		Tool{Name: "higher", Tier: ReadOnly, Raise: func(Call) (Tier, string) { return ManualOnly, "it looked" }},
	)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func testGate(t testing.TB, change func(*Options)) (Gate, *memorySink) {
	t.Helper()
	sink := &memorySink{}
	o := Options{Tools: testTable(t), Audit: sink, Answerable: true}
	if change != nil {
		change(&o)
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g, sink
}

func call(tool, args string) Call {
	return Call{ID: "1", Session: "s", Turn: "t", Tool: tool, Args: json.RawMessage(args), Origin: Interactive}
}

func TestDecisionTable(t *testing.T) {
	t.Parallel()
	restrict := []ActiveSkill{{Name: "narrow", Mode: Restrict, Allow: skill.ToolList{Declared: true, Entries: []string{"look"}}}}
	refuse := []ActiveSkill{{Name: "no-notes", Deny: []string{"note"}}}
	host := []ActiveSkill{{Name: "host", Source: "host", Deny: []string{"skill"}}}
	broken := []ActiveSkill{{Name: "typo", Deny: []string{"no(te"}}}
	tests := []struct {
		name   string
		gate   func(*Options)
		change func(*Call)
		tool   string
		args   string
		want   Verdict
		code   string
	}{
		{name: "an unregistered name", tool: "looks", want: Deny, code: CodeUnknownTool},
		{name: "a tool that is not shown", tool: "note", change: func(c *Call) { c.Visible = []string{"look"} }, want: Deny, code: CodeUnknownTool},
		{name: "arguments against the schema", tool: "look", args: `{"text":1}`, want: Deny, code: CodeBadArgs},
		{name: "an unknown key in a strict schema", tool: "look", args: `{"text":"a","more":1}`, want: Deny, code: CodeBadArgs},
		{name: "a placement key", tool: "note", args: `{"backend":"remote"}`, want: Deny, code: CodeBadArgs},
		{name: "outside a restricting list", tool: "note", change: func(c *Call) { c.Skills = restrict }, want: Deny, code: CodeSkillRefuses},
		{name: "inside a restricting list", tool: "look", args: `{"text":"a"}`, change: func(c *Call) { c.Skills = restrict }, want: Allow, code: CodeReadOnly},
		{name: "skill under a restricting list", tool: "skill", change: func(c *Call) { c.Skills = restrict }, want: Allow, code: CodeReadOnly},
		{name: "skill denied by the host", tool: "skill", change: func(c *Call) { c.Skills = host }, want: Deny, code: CodeSkillRefuses},
		{name: "a disallowed tool", tool: "note", change: func(c *Call) { c.Skills = refuse }, want: Deny, code: CodeSkillRefuses},
		{name: "a deny rule that cannot be read", tool: "send", change: func(c *Call) { c.Skills = broken }, want: Deny, code: CodeSkillRefuses},
		{name: "above the ceiling", tool: "send", change: func(c *Call) { c.Ceiling = ConfirmOnce }, want: Deny, code: CodeCeiling},
		{name: "plan mode", tool: "note", gate: func(o *Options) { o.Mode = Plan }, want: Deny, code: CodePlanMode},
		{name: "autonomous without stages", tool: "note", change: func(c *Call) { c.Origin = Cron }, want: Deny, code: CodeStageDiscover},
		{name: "autonomous, manual only", tool: "swap", change: func(c *Call) { c.Origin, c.Stages = Cron, []string{"decide"} }, want: Deny, code: CodeManualOnly},
		{name: "autonomous without a grant", tool: "note", change: func(c *Call) { c.Origin, c.Stages = "", []string{"manage"} }, want: Deny, code: CodeNoGrant},
		{name: "autonomous, read only", tool: "look", args: `{"text":"a"}`, change: func(c *Call) { c.Origin = Webhook }, want: Allow, code: CodeReadOnly},
		{name: "autonomous with auto", tool: "note", gate: func(o *Options) { o.Auto = AlwaysConfirm }, change: func(c *Call) { c.Origin = Event; c.Stages = []string{"decide"} }, want: Deny, code: CodeNoGrant},
		{name: "strict stages, discover", tool: "send", gate: func(o *Options) { o.StrictStages = true }, change: func(c *Call) { c.Stages = []string{"discover"} }, want: Deny, code: CodeStageCeiling},
		{name: "strict stages, evaluate", tool: "note", gate: func(o *Options) { o.StrictStages = true }, change: func(c *Call) { c.Stages = []string{"discover", "evaluate"} }, want: Ask, code: CodeFirstUse},
		{name: "strict stages, evaluate is not enough", tool: "send", gate: func(o *Options) { o.StrictStages = true }, change: func(c *Call) { c.Stages = []string{"evaluate"} }, want: Deny, code: CodeStageCeiling},
		{name: "strict stages, decide", tool: "swap", gate: func(o *Options) { o.StrictStages = true }, change: func(c *Call) { c.Stages = []string{"Decide"} }, want: Ask, code: CodeManual},
		{name: "strict stages, a person's turn without stages", tool: "send", gate: func(o *Options) { o.StrictStages = true }, want: Ask, code: CodeEachCall},
		{name: "strict stages, an unknown stage", tool: "note", gate: func(o *Options) { o.StrictStages = true }, change: func(c *Call) { c.Stages = []string{"panic"} }, want: Deny, code: CodeStageCeiling},
		{name: "first use", tool: "note", want: Ask, code: CodeFirstUse},
		{name: "each call", tool: "send", want: Ask, code: CodeEachCall},
		{name: "typed approval", tool: "swap", want: Ask, code: CodeManual},
		{name: "a tool without a tier", tool: "bare", want: Ask, code: CodeManual},
		{name: "raise never lowers", tool: "lower", want: Ask, code: CodeEachCall},
		{name: "raise raises", tool: "higher", want: Ask, code: CodeManual},
		{name: "auto answers up to its tier", tool: "note", gate: func(o *Options) { o.Auto = ConfirmOnce }, want: Allow, code: CodeFirstUse},
		{name: "auto answers nothing above", tool: "send", gate: func(o *Options) { o.Auto = ConfirmOnce }, want: Ask, code: CodeEachCall},
		{name: "nobody to ask", tool: "note", gate: func(o *Options) { o.Answerable = false }, want: Deny, code: CodeNoAnswerer},
		{name: "the mode that asks nothing", tool: "note", gate: func(o *Options) { o.Mode = DontAsk }, want: Deny, code: CodeDontAsk},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, sink := testGate(t, tt.gate)
			c := call(tt.tool, tt.args)
			if tt.change != nil {
				tt.change(&c)
			}
			d, err := g.Check(t.Context(), c)
			if err != nil || d.Verdict != tt.want || d.Code != tt.code {
				t.Fatalf("got %s %s (%s), %v; want %s %s", d.Verdict, d.Code, d.Reason, err, tt.want, tt.code)
			}
			if len(sink.rows) != 1 || sink.rows[0].Verdict != d.Verdict || sink.rows[0].Code != d.Code {
				t.Errorf("rows %+v", sink.rows)
			}
			if tt.args != "" || tt.want != Deny {
				e := g.Explain(c)
				if c.Args != nil && (e.Verdict != d.Verdict || e.Code != d.Code) {
					t.Errorf("explain says %s %s, check %s %s", e.Verdict, e.Code, d.Verdict, d.Code)
				}
				if e.ConfirmID != "" || len(sink.rows) != 1 {
					t.Error("explain left something behind")
				}
			}
		})
	}
}

func TestUnknownToolNamesCloseVisibleOnes(t *testing.T) {
	t.Parallel()
	g, _ := testGate(t, nil)
	d, _ := g.Check(t.Context(), call("nite", ""))
	if len(d.Suggestions) == 0 || d.Suggestions[0] != "note" || d.Tier != ManualOnly {
		t.Errorf("got %v, tier %s", d.Suggestions, d.Tier)
	}
	c := call("nite", "")
	c.Visible = []string{"look"}
	if d, _ := g.Check(t.Context(), c); len(d.Suggestions) != 0 {
		t.Errorf("a hidden tool is named: %v", d.Suggestions)
	}
}

func TestFaultsOfArgumentsAreLocated(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	tests := []struct{ name, args, want string }{
		{"wrong type", `{"text":1}`, "at /text: "},
		{"deep in a list", `{"text":"a","list":[{"old":"x"},{"old":2}]}`, "at /list/1/old: "},
		{"an unknown key within", `{"text":"a","list":[{"new":"x"}]}`, "at /list/0: "},
		{"a missing key", `{}`, "text"},
		{"a key that stands twice", `{"text":"a","text":"b"}`, "at /text: the key stands twice"},
		{"an escaped key that stands twice", `{"text":"a","\u0074ext":"b"}`, "the key stands twice"},
		{"cut off", `{"text":"a`, "not JSON"},
		{"two values", `{"text":"a"} {}`, "text after the value"},
		{"no object", `[1]`, "not an object"},
		{"too deep", deep, "nested deeper than 32"},
		{"too long", `{"text":"` + strings.Repeat("a", 1<<20) + `"}`, "at most 1048576"},
		{"invalid UTF-8", "{\"text\":\"\xff\"}", "invalid UTF-8"},
		{"an exponent without end", `{"text":"a","n":1e999999999}`, "out of range"},
		{"a tiny exponent", `{"text":"a","n":1e-999999999}`, "out of range"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, _ := testGate(t, nil)
			d, _ := g.Check(t.Context(), call("look", tt.args))
			if d.Code != CodeBadArgs || !strings.Contains(d.Reason, tt.want) {
				t.Errorf("got %s: %s", d.Code, d.Reason)
			}
			if len(d.Reason) > 500 {
				t.Errorf("a reason of %d bytes", len(d.Reason))
			}
		})
	}
}

func TestCanonicalArguments(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{`{ "b": 1, "a": [ true, null ] }`, `{"a":[true,null],"b":1}`},
		{`{"a":1.0}`, `{"a":1}`}, {`{"a":1e2}`, `{"a":100}`}, {`{"a":-0}`, `{"a":0}`},
		{`{"a":0.000001}`, `{"a":0.000001}`}, {`{"a":1E-7}`, `{"a":1e-7}`}, {`{"a":1e21}`, `{"a":1e+21}`},
		{`{"a":9007199254740993}`, `{"a":9007199254740993}`}, {`{"a":9007199254740992}`, `{"a":9007199254740992}`},
		{`{"a":"\u0041\n\u001f\/"}`, `{"a":"A\n\u001f/"}`},
		{`{"\uD83D\uDE00":1,"\uFB33":2}`, `{"` + "\U0001F600" + `":1,"` + "\uFB33" + `":2}`},
	}
	for _, tt := range tests {
		v, err := parseArgs(json.RawMessage(tt.in))
		if err != nil {
			t.Fatal(tt.in, err)
		}
		if got := string(canonical(v)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	yes := func(d Decision) Answer {
		return Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: Once}
	}
	tests := []struct {
		name   string
		tool   string
		answer func(Answer) Answer
		want   Verdict
		code   string
	}{
		{"yes", "send", func(a Answer) Answer { return a }, Allow, CodeAnswered},
		{"no", "send", func(a Answer) Answer { a.Reply = No; return a }, Deny, CodeRefused},
		{"another session", "send", func(a Answer) Answer { a.Session = "other"; return a }, Deny, CodeBadAnswer},
		{"another nonce", "send", func(a Answer) Answer { a.Nonce = "x"; return a }, Deny, CodeBadAnswer},
		{"another question", "send", func(a Answer) Answer { a.ConfirmID = "c_x"; return a }, Deny, CodeAnsweredTwice},
		{"an empty reply", "send", func(a Answer) Answer { a.Reply = ""; return a }, Deny, CodeBadAnswer},
		{"for the session, each-call tier", "send", func(a Answer) Answer { a.Reply = ForSession; return a }, Deny, CodeBadAnswer},
		{"manual without typing", "swap", func(a Answer) Answer { return a }, Deny, CodeBadAnswer},
		{"manual, typed", "swap", func(a Answer) Answer { a.Typed = "swap"; return a }, Allow, CodeAnswered},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, sink := testGate(t, nil)
			d, err := g.Check(t.Context(), call(tt.tool, ""))
			if err != nil || d.Verdict != Ask || d.ConfirmID == "" || d.Nonce == "" {
				t.Fatalf("%+v, %v", d, err)
			}
			got, err := g.Answer(t.Context(), tt.answer(yes(d)))
			if err != nil || got.Verdict != tt.want || got.Code != tt.code {
				t.Fatalf("got %s %s, %v", got.Verdict, got.Code, err)
			}
			if got.Verdict == Allow && (got.CallHash != d.CallHash || sink.rows[len(sink.rows)-1].Verdict != Allow) {
				t.Error("an allow without its row or its call")
			}
		})
	}
}

func TestAnAnswerCountsOnce(t *testing.T) {
	t.Parallel()
	g, _ := testGate(t, nil)
	d, _ := g.Check(t.Context(), call("send", `{"n":1}`))
	var wg sync.WaitGroup
	results := make([]Decision, 16)
	for i := range results {
		wg.Go(func() {
			reply := []Reply{Once, No}[i%2]
			results[i], _ = g.Answer(t.Context(), Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: reply})
		})
	}
	wg.Wait()
	counted := 0
	for _, r := range results {
		if r.Code != CodeAnsweredTwice {
			counted++
		}
	}
	if counted != 1 {
		t.Errorf("%d answers counted", counted)
	}
	other, _ := g.Check(t.Context(), call("send", `{"n":2}`))
	if other.Verdict != Ask || other.CallHash == d.CallHash {
		t.Error("other arguments rode on the answer")
	}
}

func TestSessionAnswerIsRememberedForItsKeyAlone(t *testing.T) {
	t.Parallel()
	g, _ := testGate(t, func(o *Options) {
		o.Paths.Workspace = "/w"
		o.Paths.Resolve = func(p string) (string, error) { return p, nil }
	})
	in := func(path string) Call {
		c := call("write", fmt.Sprintf(`{"path":%q}`, path))
		c.Dir = "/w"
		return c
	}
	d, _ := g.Check(t.Context(), in("a/x.txt"))
	if d.Code != CodeFirstUse {
		t.Fatal(d.Code, d.Reason)
	}
	if _, err := g.Answer(t.Context(), Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: ForSession}); err != nil {
		t.Fatal(err)
	}
	withSkill := in("a/y.txt")
	withSkill.Skills = []ActiveSkill{{Name: "new", Digest: "sha256:1"}}
	otherSession := in("a/y.txt")
	otherSession.Session = "s2"
	for _, tt := range []struct {
		name string
		c    Call
		code string
	}{
		{"same folder", in("a/y.txt"), CodeRemembered}, {"another folder", in("b/y.txt"), CodeFirstUse},
		{"with another skill active", withSkill, CodeFirstUse}, {"in another session", otherSession, CodeFirstUse},
	} {
		if d := g.Explain(tt.c); d.Code != tt.code {
			t.Errorf("%s: %s, want %s", tt.name, d.Code, tt.code)
		}
	}
	g.Forget("s")
	if d := g.Explain(in("a/y.txt")); d.Code != CodeFirstUse {
		t.Errorf("after forget: %s", d.Code)
	}
}

func TestQuestionsExpireAreDroppedAndCounted(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	g, _ := testGate(t, func(o *Options) { o.Now = func() time.Time { return now } })
	ask := func() Decision { d, _ := g.Check(t.Context(), call("send", "")); return d }
	answer := func(d Decision, r Reply) Decision {
		got, _ := g.Answer(t.Context(), Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: r})
		return got
	}
	late := ask()
	now = now.Add(11 * time.Minute)
	if d := answer(late, Once); d.Code != CodeExpired {
		t.Errorf("late: %s", d.Code)
	}
	dropped := ask()
	g.Drop("s")
	if d := answer(dropped, Once); d.Verdict != Deny {
		t.Errorf("dropped: %s", d.Code)
	}
	for range maxPending {
		if d := ask(); d.Verdict != Ask {
			t.Fatal(d.Code)
		}
	}
	if d := ask(); d.Code != CodeTooMany {
		t.Errorf("one more: %s", d.Code)
	}
	g.Drop("s")
	answer(ask(), No)
	answer(ask(), No)
	if d := g.Explain(call("send", "{}")); d.Code != CodeRefused {
		t.Errorf("explain after two refusals: %s", d.Code)
	}
	if d := ask(); d.Verdict != Deny || d.Code != CodeRefused {
		t.Errorf("after two refusals: %s %s", d.Verdict, d.Code)
	}
	next := call("send", "")
	next.Turn = "t2"
	if d, _ := g.Check(t.Context(), next); d.Verdict != Ask {
		t.Errorf("in the next turn: %s", d.Code)
	}
}

func TestWhatCannotBeRecordedIsRefused(t *testing.T) {
	t.Parallel()
	g, sink := testGate(t, nil)
	d, _ := g.Check(t.Context(), call("send", ""))
	sink.err = errors.New("disk full")
	got, err := g.Answer(t.Context(), Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: Once})
	if got.Verdict != Deny || got.Code != CodeUnavailable || !errors.Is(err, ErrUnavailable) {
		t.Errorf("answer: %s %s, %v", got.Verdict, got.Code, err)
	}
	for _, tool := range []string{"skill", "note", "swap"} {
		got, err := g.Check(t.Context(), call(tool, ""))
		if got.Verdict != Deny || got.Code != CodeUnavailable || got.ConfirmID != "" || !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %+v, %v", tool, got, err)
		}
	}
	sink.err = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, _ := g.Check(ctx, call("skill", "")); got.Code != CodeUnavailable {
		t.Errorf("cancelled: %s", got.Code)
	}
}
