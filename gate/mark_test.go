package gate

import (
	"encoding/json"
	"slices"
	"testing"
)

// A tool whose server changed what it says of it is another one: no answer about the
// former counts, neither that of the session nor the one that made a grant.
func TestAToolThatChangedIsAskedAboutAgain(t *testing.T) {
	t.Parallel()
	marked := func(mark string) *Table {
		table, err := NewTable(Tool{Name: "mcp__s__t", Tier: ConfirmOnce, Mark: mark, Schema: json.RawMessage(`{"type":"object"}`)})
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	for _, reply := range []Reply{ForSession, Always} {
		table := marked("sha256:1")
		g, _, m := grantGate(t, func(o *Options) { o.Tools = table })
		c := call("mcp__s__t", "")
		c.Principal = "user"
		c.Skills = []ActiveSkill{{Name: "a", Digest: "1"}}
		d, err := g.Check(t.Context(), c)
		if err != nil || d.Verdict != Ask || slices.Contains(d.Replies, AlwaysForSkill) {
			t.Fatalf("%+v, %v", d, err)
		}
		a := Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: reply}
		if got, err := g.Answer(t.Context(), a); err != nil || got.Verdict != Allow {
			t.Fatalf("%s: %+v, %v", reply, got, err)
		}
		if reply == Always && string(m.Grants()[0].SkillHash) != "sha256:1" {
			t.Errorf("grant %+v", m.Grants())
		}
		if d, _ := g.Check(t.Context(), c); d.Verdict != Allow {
			t.Errorf("%s: the same tool: %+v", reply, d)
		}
		table.Become(marked("sha256:2"))
		if d, _ := g.Check(t.Context(), c); d.Verdict != Ask {
			t.Errorf("%s: the changed tool: %+v", reply, d)
		}
		table.Become(marked("sha256:1"))
		if d, _ := g.Check(t.Context(), c); d.Verdict != Allow {
			t.Errorf("%s: the tool of before: %+v", reply, d)
		}
	}
}

func TestATableBecomesAnother(t *testing.T) {
	t.Parallel()
	table, err := NewTable(Tool{Name: "a", Tier: ReadOnly}, Tool{Name: "b", Tier: ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	g, _ := testGate(t, func(o *Options) { o.Tools = table })
	other, err := NewTable(Tool{Name: "b", Tier: ReadOnly}, Tool{Name: "c", Tier: ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	table.Become(other)
	for name, want := range map[string]Verdict{"a": Deny, "b": Allow, "c": Allow} {
		if d, _ := g.Check(t.Context(), call(name, "")); d.Verdict != want {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// A call is judged by the tools of one moment: the tier of before never goes with the schema
// of after.
func TestACallSeesOneTable(t *testing.T) {
	t.Parallel()
	with := func(tier Tier, key string) *Table {
		table, err := NewTable(Tool{Name: "t", Tier: tier, Schema: json.RawMessage(`{"type":"object","required":["` + key + `"]}`)})
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	table, reads, asks := with(ReadOnly, "a"), with(ReadOnly, "a"), with(AlwaysConfirm, "b")
	g, _ := testGate(t, func(o *Options) { o.Tools = table })
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				table.Become(asks)
				table.Become(reads)
			}
		}
	}()
	for range 5000 {
		d := g.Explain(call("t", `{"a":1}`))
		if d.Code != CodeReadOnly && d.Code != CodeBadArgs || (d.Code == CodeReadOnly) != (d.Tier == ReadOnly) {
			t.Errorf("%s as %s", d.Code, d.Tier)
			break
		}
	}
	close(stop)
	<-stopped
}
