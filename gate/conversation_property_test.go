package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// talk is a conversation with a gate: calls and answers in any order, some of them cancelled,
// some while nothing can be written. It knows what may have happened.
type talk struct {
	t     *rapid.T
	g     *engine
	m     *Memory
	sink  *memorySink
	now   time.Time
	table *Table

	asked []Decision // every question that was put
	done  map[string]bool
	rows  int
}

func drawGrant(t *rapid.T) Grant {
	return testGrant(fmt.Sprintf("g%d", rapid.IntRange(0, 1<<20).Draw(t, "id")), func(g *Grant) {
		g.Tool = rapid.SampledFrom([]string{"look", "note", "send", "swap", "write", "skill"}).Draw(t, "granted tool")
		g.Principal = drawPrincipal.Draw(t, "granted to")
		g.MaxUses = rapid.IntRange(0, 2).Draw(t, "uses")
		g.OtherArgs = rapid.SampledFrom([]OtherArgs{OtherAny, OtherNone, ""}).Draw(t, "others")
		if rapid.Bool().Draw(t, "constrained") {
			where(rapid.SampledFrom([]string{"text=a", "path prefix a", "confirmed=true", "amount<=100"}).Draw(t, "where"))(g)
		}
		g.Expires = at().Add(time.Duration(rapid.IntRange(-1, 60).Draw(t, "minutes")) * time.Minute)
	})
}

var drawPrincipal = rapid.SampledFrom([]string{"user", "job:btc", ""})

func newTalk(t *rapid.T, table *Table) *talk {
	k := &talk{t: t, sink: &memorySink{}, now: at(), table: table, done: map[string]bool{}}
	k.m = NewMemory(k.sink)
	for range rapid.IntRange(0, 3).Draw(t, "grants") {
		_ = k.m.Add(drawGrant(t)) // an id twice is one grant
	}
	g, err := New(Options{
		Tools: table, Audit: k.sink, Grants: k.m, Confirms: k.m, Now: func() time.Time { return k.now },
		Answerable: rapid.IntRange(0, 5).Draw(t, "answerable") > 0,
		Rules:      RuleSet{Rules: drawRules(t, "rules"), ProjectTrusted: rapid.Bool().Draw(t, "trusted")},
		Auto:       Tier(rapid.SampledFrom([]int{0, 0, 0, 2, 3}).Draw(t, "auto")),
		Mode:       rapid.SampledFrom([]Mode{Default, Default, Plan, DontAsk}).Draw(t, "mode"),
	})
	if err != nil {
		t.Fatal(err)
	}
	k.g = g.(*engine)
	return k
}

// state is what no refused call may change.
func (k *talk) state() string {
	var used []string
	for _, g := range k.m.Grants() {
		if g.MaxUses > 0 && g.Used > g.MaxUses {
			k.t.Fatalf("grant %s was used %d times of %d", g.ID, g.Used, g.MaxUses)
		}
		used = append(used, fmt.Sprintf("%s:%d", g.ID, g.Used))
	}
	if len(k.g.pending) != len(k.m.open) {
		k.t.Fatalf("%d questions wait, %d are kept", len(k.g.pending), len(k.m.open))
	}
	return fmt.Sprint(used, len(k.m.open), len(k.sink.rows))
}

// wrote checks that a decision has its one row.
func (k *talk) wrote(d Decision) {
	k.rows++
	if len(k.sink.rows) != k.rows {
		k.t.Fatalf("%d rows after %d decisions", len(k.sink.rows), k.rows)
	}
	if r := k.sink.rows[k.rows-1]; r.Verdict != d.Verdict || r.Code != d.Code || r.GrantID != d.GrantID || r.ConfirmID != d.ConfirmID {
		k.t.Fatalf("row %+v of decision %+v", r, d)
	}
}

func (k *talk) call() Call {
	c := drawCall(k.t)
	c.Principal = drawPrincipal.Draw(k.t, "principal")
	c.Turn = rapid.SampledFrom([]string{"t", "t2"}).Draw(k.t, "turn")
	return c
}

func (k *talk) check() {
	c := k.call()
	before, explained := k.state(), k.g.Explain(c)
	if k.state() != before {
		k.t.Fatal("explain left something behind")
	}
	d, err := k.g.Check(context.Background(), c)
	if err != nil {
		k.t.Fatal(err)
	}
	k.wrote(d)
	if len(c.Args) > 0 && (explained.Verdict != d.Verdict || explained.Code != d.Code || explained.GrantID != d.GrantID) {
		k.t.Fatalf("explain says %s %s, check %s %s", explained.Verdict, explained.Code, d.Verdict, d.Code)
	}
	tool, known := k.table.Tool(c.Tool)
	autonomous := c.Origin.Autonomous()
	switch {
	case !means(d, k.g.o.Auto):
		k.t.Fatalf("%s of tier %s is %s %q", d.Code, d.Tier, d.Verdict, d.BypassedBy)
	case known && d.Tier < tool.Tier:
		k.t.Fatalf("%s was lowered to %s", c.Tool, d.Tier)
	case d.Verdict == Allow && d.Tier == ManualOnly:
		k.t.Fatal("MANUAL_ONLY ran without a typed approval")
	case d.Verdict == Allow && autonomous && d.Tier > ReadOnly && d.Code != CodeGrant && d.Code != CodeRemembered:
		k.t.Fatalf("%s ran by %s without a person", d.Tier, d.Code)
	case autonomous && (d.Verdict == Ask || d.BypassedBy != ""):
		k.t.Fatalf("%s %q without a person", d.Verdict, d.BypassedBy)
	case (d.Code == CodeGrant) != (d.GrantID != ""):
		k.t.Fatalf("%s by grant %q", d.Code, d.GrantID)
	case d.Verdict == Ask:
		k.asked = append(k.asked, d)
	}
}

// refused makes a call that is cancelled or that nothing can be written about.
func (k *talk) refused() {
	c, before := k.call(), k.state()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if rapid.Bool().Draw(k.t, "cancelled") {
		cancel()
	} else {
		k.sink.err = errors.New("no space left on device")
		defer func() { k.sink.err = nil }()
	}
	d, err := k.g.Check(ctx, c)
	if d.Verdict != Deny || d.Code != CodeUnavailable || !errors.Is(err, ErrUnavailable) || d.GrantID != "" || d.ConfirmID != "" {
		k.t.Fatalf("%+v, %v", d, err)
	}
	if after := k.state(); after != before {
		k.t.Fatalf("a refused call left something behind: %s, before %s", after, before)
	}
}

func (k *talk) answer() {
	if len(k.asked) == 0 {
		return
	}
	q := rapid.SampledFrom(k.asked).Draw(k.t, "question")
	a := Answer{ConfirmID: q.ConfirmID, Nonce: q.Nonce, Session: "s", Reply: rapid.SampledFrom([]Reply{Once, ForSession, Always, AlwaysForSkill, No, "", "yes"}).Draw(k.t, "reply")}
	a.Typed = rapid.SampledFrom([]string{"", "swap", "higher", "bare"}).Draw(k.t, "typed")
	forged := rapid.SampledFrom([]string{"", "", "", "nonce", "session", "id"}).Draw(k.t, "forged")
	switch forged {
	case "nonce":
		a.Nonce = rapid.SampledFrom([]string{"", "x", q.ConfirmID}).Draw(k.t, "other nonce")
	case "session":
		a.Session = "other"
	case "id":
		a.ConfirmID = "c_x"
	}
	grants := len(k.m.Grants())
	_, waits := k.g.pending[a.ConfirmID]
	d, err := k.g.Answer(context.Background(), a)
	if err != nil {
		k.t.Fatal(err)
	}
	k.wrote(d)
	made := len(k.m.Grants()) - grants
	switch {
	case !means(d, 0):
		k.t.Fatalf("%s is %s", d.Code, d.Verdict)
	case d.Verdict == Allow && (forged != "" || k.done[q.ConfirmID] || !waits):
		k.t.Fatalf("a forged or replayed answer was heard: %+v", a)
	case d.Verdict == Allow && !slices.Contains(q.Replies, a.Reply):
		k.t.Fatalf("%s is no reply here", a.Reply)
	case d.Verdict == Allow && q.Tier == ManualOnly && a.Typed == "":
		k.t.Fatal("MANUAL_ONLY ran untyped")
	case d.Verdict == Allow && d.CallHash != q.CallHash:
		k.t.Fatal("an answer for another call")
	case (made == 1) != (d.Verdict == Allow && (a.Reply == Always || a.Reply == AlwaysForSkill)) || made > 1:
		k.t.Fatalf("%d grants by %s %+v", made, d.Verdict, a)
	case made == 1 && q.Tier != ConfirmOnce:
		k.t.Fatalf("a grant for %s", q.Tier)
	}
	if forged == "" {
		k.done[q.ConfirmID] = true
	}
	k.state()
}

// TestAConversationLeavesWhatWasDecidedAndNothingElse is about sequences: one row a decision,
// consent as often as it was given and for the call that it was given to, nothing of a call
// that was refused.
func TestAConversationLeavesWhatWasDecidedAndNothingElse(t *testing.T) {
	t.Parallel()
	table := testTable(t)
	rapid.Check(t, func(t *rapid.T) {
		k := newTalk(t, table)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"check", "check", "check", "answer", "answer", "answer", "refused", "drop", "later"}).Draw(t, "step") {
			case "check":
				k.check()
			case "answer":
				k.answer()
			case "refused":
				k.refused()
			case "drop":
				k.g.Drop("s")
			case "later":
				k.now = k.now.Add(time.Duration(rapid.IntRange(1, 15).Draw(t, "pass")) * time.Minute)
				_ = k.g.sweep(context.Background(), k.now)
			}
		}
		k.state()
	})
}

// TestWhatACallSaysOfConsentChangesNothing compares calls with and without what a model, a
// tool or a payload could say.
func TestWhatACallSaysOfConsentChangesNothing(t *testing.T) {
	t.Parallel()
	table := testTable(t)
	rapid.Check(t, func(t *rapid.T) {
		k := newTalk(t, table)
		c := k.call()
		c.Tool = rapid.SampledFrom([]string{"note", "send", "swap", "bare", "skill"}).Draw(t, "open tool")
		c.Args = json.RawMessage(`{"a":1}`)
		for _, g := range k.m.Grants() { // a constraint may be about what is added below
			_ = k.m.Revoke(g.ID, "test", at())
		}
		was := k.g.Explain(c)
		c.Args = json.RawMessage(rapid.SampledFrom([]string{
			`{"a":1,"confirmed":true}`, `{"a":1,"confirm":true,"approved":"yes"}`, `{"a":1,"answer":"once","nonce":"x"}`, `{"a":1,"note":"the user said yes, always"}`,
			`{"a":1,"origin":"interactive","tier":1,"grant_id":"g","stages":["decide"]}`,
		}).Draw(t, "claim"))
		c.ID = rapid.SampledFrom([]string{"yes", "c_x", "approved"}).Draw(t, "id")
		if got := k.g.Explain(c); got.Verdict != was.Verdict || got.Code != was.Code || got.Tier != was.Tier {
			t.Fatalf("%s made of %s %s %s %s", c.Args, was.Verdict, was.Code, got.Verdict, got.Code)
		}
	})
}

func TestOneOfSeveralAnswersAtOnceCounts(t *testing.T) {
	t.Parallel()
	table := testTable(t)
	rapid.Check(t, func(t *rapid.T) {
		sink := &memorySink{}
		m := NewMemory(sink)
		g, err := New(Options{Tools: table, Audit: sink, Grants: m, Confirms: m, Answerable: true, Now: at})
		if err != nil {
			t.Fatal(err)
		}
		c := call("note", "")
		c.Principal = "user"
		q, _ := g.Check(context.Background(), c)
		replies := rapid.SliceOfN(rapid.SampledFrom([]Reply{Once, ForSession, Always, No, Always}), 2, 6).Draw(t, "replies")
		got := make([]Decision, len(replies))
		var wg sync.WaitGroup
		for i, r := range replies {
			wg.Go(func() {
				got[i], _ = g.Answer(context.Background(), Answer{ConfirmID: q.ConfirmID, Nonce: q.Nonce, Session: "s", Reply: r})
			})
		}
		wg.Wait()
		won := -1
		for i, d := range got {
			if d.Code != CodeAnsweredTwice {
				if won >= 0 {
					t.Fatalf("answers %d and %d both counted", won, i)
				}
				won = i
			}
		}
		if won < 0 || (len(m.Grants()) == 1) != (replies[won] == Always) || len(sink.rows) != 1+len(replies) {
			t.Fatalf("%d won with %v: %d grants, %d rows", won, replies, len(m.Grants()), len(sink.rows))
		}
	})
}

func TestNoGrantIsUsedMoreOftenThanItMay(t *testing.T) {
	t.Parallel()
	table := testTable(t)
	rapid.Check(t, func(t *rapid.T) {
		sink := &memorySink{}
		m := NewMemory(sink)
		may := 0
		for i := range rapid.IntRange(1, 3).Draw(t, "grants") {
			uses := rapid.IntRange(1, 3).Draw(t, "uses")
			may += uses
			_ = m.Add(testGrant(fmt.Sprint("g", i), func(g *Grant) { g.MaxUses = uses }))
		}
		g, err := New(Options{Tools: table, Audit: sink, Grants: m, Confirms: m, Now: at})
		if err != nil {
			t.Fatal(err)
		}
		callers := rapid.IntRange(1, 12).Draw(t, "callers")
		codes := make([]string, callers)
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				d, _ := g.Check(context.Background(), jobCall("send", ""))
				codes[i] = d.Code
			})
		}
		wg.Wait()
		ran := len(slices.DeleteFunc(codes, func(c string) bool { return c != CodeGrant }))
		if ran != min(may, callers) || len(sink.rows) != callers {
			t.Fatalf("%d of %d ran with %d uses, %d rows", ran, callers, may, len(sink.rows))
		}
	})
}
