package gate

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
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
		Rules: RuleSet{Rules: drawRules(t, "rules"), ProjectTrusted: rapid.Bool().Draw(t, "trusted")},
		Auto:  Tier(rapid.IntRange(0, 3).Draw(t, "auto")), Mode: rapid.SampledFrom([]Mode{Default, Plan, DontAsk}).Draw(t, "mode"),
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

// TestNoPathReadsOutsideUnasked puts paths together from the parts that confuse
// checks: what is read without a question lies in the workspace, links followed.
func TestNoPathReadsOutsideUnasked(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(root, "w")
	for _, d := range []string{"w/a/b", "out/a", "w-evil", "home/.ssh"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"w/l": "../out", "w/a/up": "..", "w/a/far": "../../home", "w/gone": "../nowhere", "out/back": "../w"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := PathPolicy{Workspace: work, Home: filepath.Join(root, "home")}.fixed()
	part := rapid.SampledFrom([]string{"a", "b", "..", ".", "", "l", "up", "far", "gone", "back", "w", "w-evil", "~", ".ssh", "x.txt", `..\..`})
	rapid.Check(t, func(t *rapid.T) {
		path := strings.Join(rapid.SliceOfN(part, 1, 8).Draw(t, "parts"), "/")
		if rapid.Bool().Draw(t, "absolute") {
			path = rapid.SampledFrom([]string{root, work, work + "-evil", "/"}).Draw(t, "base") + "/" + path
		}
		write := rapid.Bool().Draw(t, "write")
		at, bad := p.judge(work, path, write, nil)
		tier := at.tier
		if bad != nil {
			return
		}
		full := path
		if strings.HasPrefix(path, "~/") {
			full = filepath.Join(p.Home, path[2:])
		} else if !filepath.IsAbs(path) {
			full = filepath.Join(work, path)
		}
		real, err := resolveExisting(filepath.Clean(full))
		if err != nil {
			t.Fatalf("%s was judged and leads nowhere: %v", path, err)
		}
		if !within(real, work) && (tier == ReadOnly || write && tier < AlwaysConfirm) {
			t.Fatalf("%s leads to %s and is %s", path, real, tier)
		}
		if within(real, filepath.Join(root, "home/.ssh")) {
			t.Fatalf("%s leads to secrets and is %s", path, tier)
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
		if _, _, err := table.now.Load().checkArgs("look", src); err == nil {
			if _, _, err := table.now.Load().checkArgs("look", first); err != nil {
				t.Fatalf("the canonical form is judged otherwise: %v", err)
			}
		}
	})
}
