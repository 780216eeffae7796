package gate

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/deftskills/deft/skill"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	drawTool   = rapid.SampledFrom([]string{"look", "note", "send", "swap", "bare", "skill", "read", "write", "lower", "higher", "nothing", ""})
	drawOrigin = rapid.SampledFrom([]Origin{Interactive, Cron, Webhook, Event, Workflow, "", "Interactive", "user"})
	drawTier   = rapid.Custom(func(t *rapid.T) Tier { return Tier(rapid.IntRange(0, 6).Draw(t, "tier")) })
	drawArgs   = rapid.SampledFrom([]string{"", "{}", `{"text":"a"}`, `{"path":"/etc/passwd"}`, `{"path":"a"}`, `{"confirmed":true}`, "[", `{"a":1,"a":2}`})
	drawStages = rapid.SliceOfN(rapid.SampledFrom([]string{"discover", "evaluate", "decide", "manage"}), 0, 3)
	drawLists  = rapid.SliceOfN(rapid.SampledFrom([]string{"*", "note", "n*", "Read(a*)", "mcp__x__*", "(", "send", "look"}), 0, 3)
)

func drawCall(t *rapid.T) Call {
	c := Call{
		Session: "s", Turn: "t", Tool: drawTool.Draw(t, "tool"), Args: json.RawMessage(drawArgs.Draw(t, "args")),
		Origin: drawOrigin.Draw(t, "origin"), Stages: drawStages.Draw(t, "stages"), Ceiling: drawTier.Draw(t, "ceiling"), Dir: "/w",
	}
	for range rapid.IntRange(0, 2).Draw(t, "skills") {
		c.Skills = append(c.Skills, ActiveSkill{
			Name: "x", Granted: rapid.Bool().Draw(t, "granted"), Deny: drawLists.Draw(t, "deny"),
			Allow: skill.ToolList{Declared: true, Entries: drawLists.Draw(t, "allow")},
			Mode:  rapid.SampledFrom([]ListMode{Restrict, PreApprove, Keep, ""}).Draw(t, "mode"),
		})
	}
	return c
}

func drawGate(t *rapid.T, table *Table) (Gate, *memorySink) {
	sink := &memorySink{}
	g, err := New(Options{
		Tools: table, Audit: sink, Answerable: rapid.Bool().Draw(t, "answerable"),
		Auto: Tier(rapid.IntRange(0, 3).Draw(t, "auto")), Mode: rapid.SampledFrom([]Mode{Default, Plan, DontAsk}).Draw(t, "mode"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return g, sink
}

func TestProperties(t *testing.T) {
	t.Parallel()
	table := testTable(t)
	rapid.Check(t, func(t *rapid.T) {
		g, sink := drawGate(t, table)
		c := drawCall(t)
		before := g.Explain(c)
		if again := g.Explain(c); !cmp.Equal(before, again) {
			t.Fatalf("explain differs from itself: %s", cmp.Diff(before, again))
		}
		d, err := g.Check(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		tool, known := table.Tool(c.Tool)
		switch {
		case !known && (d.Verdict != Deny || d.Code != CodeUnknownTool || d.Tier != ManualOnly):
			t.Fatalf("unknown tool: %+v", d)
		case known && d.Tier < tool.Tier:
			t.Fatalf("%s was lowered from %s to %s", c.Tool, tool.Tier, d.Tier)
		case c.Origin.Autonomous() && d.Tier > ReadOnly && d.Verdict != Deny:
			t.Fatalf("autonomous %s is %s", d.Tier, d.Verdict)
		case d.Tier == ManualOnly && d.Verdict == Allow:
			t.Fatal("MANUAL_ONLY ran without a typed approval")
		case len(sink.rows) != 1:
			t.Fatalf("%d rows for one decision", len(sink.rows))
		case len(c.Args) > 0 && (before.Verdict != d.Verdict || before.Code != d.Code):
			t.Fatalf("explain %s %s, check %s %s", before.Verdict, before.Code, d.Verdict, d.Code)
		}
		stricter := c
		stricter.Skills = append([]ActiveSkill{{Name: "deny", Deny: drawLists.Draw(t, "more")}}, c.Skills...)
		if mild, strict := severity(before), severity(g.Explain(stricter)); strict < mild {
			t.Fatal("adding a deny rule made the verdict milder")
		}
	})
}

func severity(d Decision) int {
	return map[Verdict]int{Allow: 0, Ask: 1, Deny: 2}[d.Verdict]
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{"text":"a"}`, `{"a":{"a":[1e5,-0.0,"\ud800"]}}`, `{"a":1,"a":2}`, `[[[[`, `{"n":1e-400}`, "{\"\u2028\":0}"} {
		f.Add([]byte(seed))
	}
	table := testTable(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := parseArgs(src)
		if err != nil {
			return
		}
		first := canonical(v)
		if !json.Valid(first) {
			t.Fatalf("canonical form is no JSON: %s", first)
		}
		again, err := parseArgs(first)
		if err != nil {
			t.Fatalf("canonical form is refused: %v", err)
		}
		if second := canonical(again); !bytes.Equal(first, second) {
			t.Fatalf("%s became %s", first, second)
		}
		if _, _, err := table.checkArgs("look", src); err == nil {
			if _, _, err := table.checkArgs("look", first); err != nil {
				t.Fatalf("the canonical form is judged otherwise: %v", err)
			}
		}
	})
}
