package gate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deftskills/deft/skill"
)

var (
	drawPattern = rapid.SampledFrom([]string{
		"note", "n*", "send", "swap", "skill", "look", "read", "Read(a*)", "Write(a)", "Write(//etc/**)", "Bash", "Bash(git:*)", "Bash(touch *)", "Bash(rm:*)",
		"Bash(*)", "mcp__x__*", "Skill(x)", "*", "Bash(git", "(", "",
	})
	drawLayer = rapid.SampledFrom([]Layer{"", ManagedRules, UserRules, ProjectRules, SessionRules})
	// drawCommand is a part of a line; some are covered by some of the rules above.
	drawCommand = rapid.SampledFrom([]string{
		"git status", "git push", "git -c a.b=c status", "touch x", "rm x", "rm -r x", "ls", "cat a.txt", "cat /etc/shadow", "echo $HOME", "$x", "eval ls",
		"sh -c 'rm x'", "timeout 5 git push", "sudo ls", "ls > a", "ls > /etc/x", "cat < a.txt", "FOO=1 git push", "LANG=C git push", "git log \"$(touch x)\"",
		"{ touch x; }", "f() { ls; }", "/usr/bin/git push", "find . -delete", "\u00a0ls",
	})
	drawOperator = rapid.SampledFrom([]string{"; ", " && ", " || ", "\n", " & "})
)

func drawRule(t *rapid.T) Rule {
	r := NewRule(rapid.SampledFrom([]Verdict{Allow, Ask, Deny}).Draw(t, "verdict"), drawPattern.Draw(t, "pattern"))
	r.Layer = drawLayer.Draw(t, "layer")
	return r
}

func drawRules(t *rapid.T, name string) []Rule {
	return rapid.SliceOfN(rapid.Custom(drawRule), 0, 4).Draw(t, name)
}

func drawLine(t *rapid.T) (line string, parts []string) {
	parts = rapid.SliceOfN(drawCommand, 1, 4).Draw(t, "parts")
	for i, p := range parts {
		if i > 0 {
			line += drawOperator.Draw(t, "operator")
		}
		line += p
	}
	return line, parts
}

func propertyTable(t testing.TB) *Table {
	t.Helper()
	tools := []Tool{{Name: "bash", Tier: ReadOnly}}
	for _, name := range []string{"note", "read", "write", "send", "swap"} {
		tool, _ := testTable(t).Tool(name)
		tools = append(tools, tool)
	}
	table, err := NewTable(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func drawToolCall(t *rapid.T) Call {
	c := drawCall(t)
	c.Tool = rapid.SampledFrom([]string{"bash", "bash", "note", "read", "write", "send", "swap"}).Draw(t, "of")
	switch c.Tool {
	case "bash":
		line, _ := drawLine(t)
		c.Args, _ = json.Marshal(map[string]string{"command": line})
	case "read", "write":
		c.Args = json.RawMessage(rapid.SampledFrom([]string{`{"path":"a"}`, `{"path":"/etc/x"}`, `{"path":".git/config"}`}).Draw(t, "path"))
	}
	return c
}

// with is the decision about a call under rules.
func with(t *rapid.T, table *Table, rules RuleSet, c Call, change func(*Options)) Decision {
	o := Options{Tools: table, Audit: &memorySink{}, Answerable: true, Rules: rules, Paths: PathPolicy{Workspace: "/w", Home: "/h"}}
	if change != nil {
		change(&o)
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g.Explain(c)
}

func TestDenyWinsInEveryOrderOfRulesAndLayers(t *testing.T) {
	t.Parallel()
	table := propertyTable(t)
	rapid.Check(t, func(t *rapid.T) {
		c := drawToolCall(t)
		rules := drawRules(t, "rules")
		deny := NewRule(Deny, rapid.SampledFrom([]string{c.Tool, "*", c.Tool + "*"}).Draw(t, "deny"))
		deny.Layer = drawLayer.Draw(t, "of layer")
		shuffled := rapid.Permutation(append(rules, deny)).Draw(t, "order")
		if d := with(t, table, RuleSet{Rules: shuffled, ProjectTrusted: true}, c, nil); d.Verdict != Deny {
			t.Fatalf("%s under %q is %s %s", c.Args, shuffled, d.Verdict, d.Code)
		}
		one, two := with(t, table, RuleSet{Rules: rules}, c, nil), with(t, table, RuleSet{Rules: rapid.Permutation(rules).Draw(t, "third")}, c, nil)
		if one.Verdict != two.Verdict || one.Code != two.Code {
			t.Fatalf("%s: %s %s in one order, %s %s in another", c.Args, one.Verdict, one.Code, two.Verdict, two.Code)
		}
	})
}

func TestNoRuleLessAndNoDenialMoreMakesAVerdictMilder(t *testing.T) {
	t.Parallel()
	table := propertyTable(t)
	rapid.Check(t, func(t *rapid.T) {
		c, set := drawToolCall(t), RuleSet{Rules: drawRules(t, "rules"), ProjectTrusted: rapid.Bool().Draw(t, "trusted")}
		was := with(t, table, set, c, nil)
		for i, r := range set.Rules {
			if r.Verdict != Allow {
				continue
			}
			less := set
			less.Rules = slices.Delete(slices.Clone(set.Rules), i, i+1)
			if got := with(t, table, less, c, nil); severity(got) < severity(was) {
				t.Fatalf("%s without %s: %s, with it %s", c.Args, r, got.Verdict, was.Verdict)
			}
		}
		more := set
		r := drawRule(t)
		if r.Verdict == Allow {
			r.Verdict = Deny
		}
		more.Rules = append(slices.Clone(set.Rules), r)
		if got := with(t, table, more, c, nil); severity(got) < severity(was) {
			t.Fatalf("%s with %s: %s, without it %s", c.Args, r, got.Verdict, was.Verdict)
		}
	})
}

// TestNothingOfAFolderOrASkillMakesAVerdictMilder adds what strangers can write: rules of a
// folder that nobody trusts, tiers that it raises or would lower, skills that nobody granted.
func TestNothingOfAFolderOrASkillMakesAVerdictMilder(t *testing.T) {
	t.Parallel()
	table := propertyTable(t)
	rapid.Check(t, func(t *rapid.T) {
		c, set := drawToolCall(t), RuleSet{Rules: drawRules(t, "rules")}
		c.Skills = nil
		was := with(t, table, set, c, nil)
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			r := drawRule(t)
			r.Layer = ProjectRules
			set.Rules = append(set.Rules, r)
		}
		tier := TierRule{Tool: rapid.SampledFrom([]string{c.Tool, "*"}).Draw(t, "tool"), Tier: drawTier.Draw(t, "to"), Reason: "r", Layer: ProjectRules}
		set.Raises, set.Overrides = []TierRule{tier}, []TierRule{tier}
		c.Skills = []ActiveSkill{{Name: "x", Dir: "/w", Allow: skill.ToolList{Declared: true, Entries: rapid.SliceOfN(drawPattern, 0, 3).Draw(t, "entries")}, Mode: PreApprove}}
		if got := with(t, table, set, c, nil); severity(got) < severity(was) || got.Tier < was.Tier {
			t.Fatalf("%s: %s %s, before %s %s", c.Args, got.Verdict, got.Tier, was.Verdict, was.Tier)
		}
	})
}

func TestWithoutAnAnswererNothingIsAsked(t *testing.T) {
	t.Parallel()
	table := propertyTable(t)
	rapid.Check(t, func(t *rapid.T) {
		c, set := drawToolCall(t), RuleSet{Rules: drawRules(t, "rules"), ProjectTrusted: true}
		asked := with(t, table, set, c, nil)
		alone := with(t, table, set, c, func(o *Options) { o.Answerable = false })
		if alone.Verdict == Ask || (asked.Verdict == Ask) != (alone.Code == CodeNoAnswerer) || asked.Verdict != Ask && alone.Verdict != asked.Verdict {
			t.Fatalf("%s: %s with a person, %s %s without", c.Args, asked.Verdict, alone.Verdict, alone.Code)
		}
	})
}

func TestTheTierOfALineIsTheGreatestOfItsParts(t *testing.T) {
	t.Parallel()
	env := ShellEnv{Dir: "/w", Home: "/h", Readable: func(p string) bool { return within(p, "/w") }, Writing: func(p string) Tier {
		if within(p, "/w") {
			return ConfirmOnce
		}
		return AlwaysConfirm
	}}
	rapid.Check(t, func(t *rapid.T) {
		line, parts := drawLine(t)
		want := ReadOnly
		for _, p := range parts {
			tier, _ := ShellTier(p, env)
			want = max(want, tier)
		}
		if got, why := ShellTier(line, env); got != want {
			t.Fatalf("%q is %s (%s), its parts at most %s", line, got, why, want)
		}
	})
}

func TestWhatCannotBeReadIsAskedAboutEachTime(t *testing.T) {
	t.Parallel()
	table := propertyTable(t)
	rapid.Check(t, func(t *rapid.T) {
		line, _ := drawLine(t)
		line += rapid.SampledFrom([]string{" (", " '", " ; then", " $(", " \x00", " <<"}).Draw(t, "end")
		if tier, _ := ShellTier(line, ShellEnv{Dir: "/w"}); tier < AlwaysConfirm {
			t.Fatalf("%q is %s", line, tier)
		}
		args, _ := json.Marshal(map[string]string{"command": line})
		c := Call{Tool: "bash", Args: args, Origin: Interactive, Session: "s", Dir: "/w"}
		rules := []Rule{NewRule(Allow, "Bash(git:*)"), NewRule(Allow, "Bash(*x)"), NewRule(Allow, "Bash(* x)")}
		if d := with(t, table, RuleSet{Rules: rules}, c, nil); d.Verdict == Allow {
			t.Fatalf("%q is allowed by %s", line, d.Rule)
		}
	})
}

// TestAnAllowedTreeHoldsOnlyCoveredCommands grows trees of commands of which some are
// covered: one that is allowed holds no other.
func TestAnAllowedTreeHoldsOnlyCoveredCommands(t *testing.T) {
	t.Parallel()
	rules := ParseRules("allow Bash(git push:*) ; allow Bash(touch:*) ; allow Bash(go test:*)")
	covered := []string{"git push", "touch x", "go test ./..."}
	others := []string{"rm x", "git pull", "go run .", "chmod 1 x", "./x", "touchy", "git  -C / push"}
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "frame") }
		var lines []string
		bad := false
		for range rapid.IntRange(1, 4).Draw(t, "commands") {
			command := rapid.SampledFrom(covered).Draw(t, "covered")
			if rapid.IntRange(0, 3).Draw(t, "other") == 0 {
				command, bad = rapid.SampledFrom(others).Draw(t, "not covered"), true
			}
			lines = append(lines, grow(command, pick, rapid.IntRange(0, 3).Draw(t, "levels")))
		}
		line := strings.Join(lines, "\n")
		got := EvalBash(rules, line, ShellEnv{Dir: "/w", Proved: true, Readable: func(string) bool { return true }})
		if got.Verdict == Allow && bad {
			t.Fatalf("%q is allowed", line)
		}
	})
}
