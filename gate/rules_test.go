package gate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/skill"
)

// ruleHouse is a workspace with a skill in it, and a gate over it.
type ruleHouse struct {
	root, work, home string
	gate             Gate
	sink             *memorySink
}

func newRuleHouse(t testing.TB, change func(*ruleHouse, *Options)) *ruleHouse {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &ruleHouse{root: root, work: filepath.Join(root, "w"), home: filepath.Join(root, "home"), sink: &memorySink{}}
	for _, d := range []string{"w/src", "w/secret", "w/.claude/skills/pub/scripts", "home", "out"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"w/.claude/skills/pub/SKILL.md": "x", "w/.claude/skills/pub/scripts/pub.sh": "x", "w/a.txt": "x"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": "../secret", "gone": "../../out/new", "far": "../../out"} {
		if err := os.Symlink(to, filepath.Join(root, "w/src", link)); err != nil {
			t.Fatal(err)
		}
	}
	table, err := NewTable(
		Tool{Name: "read", Tier: ReadOnly}, Tool{Name: "grep", Tier: ReadOnly}, Tool{Name: "write", Tier: ConfirmOnce}, Tool{Name: "edit", Tier: ConfirmOnce},
		Tool{Name: "bash", Tier: ReadOnly}, Tool{Name: "skill", Tier: ReadOnly}, Tool{Name: "note", Tier: ConfirmOnce}, Tool{Name: "send", Tier: AlwaysConfirm},
		Tool{Name: "swap", Tier: ManualOnly}, Tool{Name: "mcp__db__drop", Tier: AlwaysConfirm}, Tool{Name: "mcp__db__list", Tier: ConfirmOnce},
		Tool{Name: "web_fetch", Tier: ConfirmOnce},
	)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Tools: table, Audit: h.sink, Answerable: true, Paths: PathPolicy{Workspace: h.work, Home: h.home}}
	if change != nil {
		change(h, &o)
	}
	if h.gate, err = New(o); err != nil {
		t.Fatal(err)
	}
	return h
}

// rules puts rules of one layer into options.
func layered(l Layer, texts ...string) []Rule {
	var out []Rule
	for i, text := range texts {
		r := ParseRule(text)
		r.Layer, r.File, r.Line = l, "/etc/"+string(l)+".yaml", i+1
		out = append(out, r)
	}
	return out
}

func (h *ruleHouse) call(tool string, args map[string]any) Call {
	if args == nil {
		args = map[string]any{}
	}
	text, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return Call{ID: "1", Session: "s", Turn: "t", Tool: tool, Args: text, Origin: Interactive, Dir: h.work}
}

func (h *ruleHouse) bash(line string) Call { return h.call("bash", map[string]any{"command": line}) }

func preApproving(h *ruleHouse, granted bool, entries ...string) []ActiveSkill {
	return []ActiveSkill{{
		Name: "pub", Source: "project", Dir: filepath.Join(h.work, ".claude/skills/pub"), Granted: granted, Mode: PreApprove,
		Allow: skill.ToolList{Declared: true, Entries: entries},
	}}
}

// TestRulesOfLayers is the table of what rules do, row by row.
func TestRulesOfLayers(t *testing.T) {
	t.Parallel()
	file := func(path string) map[string]any { return map[string]any{"path": path} }
	line := func(command string) map[string]any { return map[string]any{"command": command} }
	user := func(texts ...string) []Rule { return layered(UserRules, texts...) }
	for _, c := range []struct {
		name    string
		rules   []Rule
		trusted bool
		tool    string
		args    map[string]any
		origin  Origin
		want    string
		rule    string
	}{
		{"no rule", nil, false, "write", file("a.txt"), Interactive, "ask first_use", ""},
		{"a user rule covers", user("allow Write(src/**)"), false, "write", file("src/a.go"), Interactive, "allow rule", "allow Write(src/**)"},
		{"edit is writing", user("allow Write(src/**)"), false, "edit", file("src/a.go"), Interactive, "allow rule", "allow Write(src/**)"},
		{"not another folder", user("allow Write(src/**)"), false, "write", file("b.txt"), Interactive, "ask first_use", ""},
		{"not through a link", user("allow Write(src/**)"), false, "write", file("src/link/a.go"), Interactive, "ask first_use", ""},
		{"no way around a deny by a link", user("deny Read(secret/**)"), false, "read", file("src/link/a"), Interactive, "deny rule_deny", "deny Read(secret/**)"},
		{"what reads obeys rules for Read", user("deny Read(secret/**)"), false, "grep", file("secret"), Interactive, "deny rule_deny", "deny Read(secret/**)"},
		{"a bare deny is of its tool", user("deny Read"), false, "grep", file("src"), Interactive, "allow read_only", ""},
		{"deny wins over allow", append(layered(ManagedRules, "allow Write"), layered(ProjectRules, "deny Write")...), true, "write", file("a.txt"), Interactive, "deny rule_deny", "deny Write"},
		{"a managed deny wins over the user", append(user("allow Bash"), layered(ManagedRules, "deny Bash(curl:*)")...), false, "bash", line("ls; curl x"), Interactive, "deny rule_deny", "deny Bash(curl:*)"},
		{"an allow of the project", layered(ProjectRules, "allow Write"), true, "write", file("a.txt"), Interactive, "allow rule", "allow Write"},
		{"an allow of a folder that nobody trusts", layered(ProjectRules, "allow Write"), false, "write", file("a.txt"), Interactive, "ask first_use", ""},
		{"a deny of a folder that nobody trusts", layered(ProjectRules, "deny Write"), false, "write", file("a.txt"), Interactive, "deny rule_deny", "deny Write"},
		{"an allow of the session", layered(SessionRules, "allow note"), false, "note", nil, Interactive, "allow rule", "allow note"},
		{"what asks each time", user("allow send"), false, "send", nil, Interactive, "ask each_call", ""},
		{"what wants a typed approval", user("allow swap"), false, "swap", nil, Interactive, "ask manual", ""},
		{"an ask rule on what only reads", user("ask Read"), false, "read", file("a.txt"), Interactive, "ask rule_ask", "ask Read"},
		{"the same without a person", user("ask Read"), false, "read", file("a.txt"), Cron, "deny no_grant", "ask Read"},
		{"an ask rule beats an allow rule", user("allow note", "ask note"), false, "note", nil, Interactive, "ask rule_ask", "ask note"},
		{"an allow rule helps no autonomous turn", user("allow note"), false, "note", nil, Cron, "deny stage_discover", ""},
		{"tools of a server by a pattern", user("deny mcp__db__*"), false, "mcp__db__drop", nil, Interactive, "deny rule_deny", "deny mcp__db__*"},
		{"an allow pattern for tools of a server", user("allow mcp__db__*"), false, "mcp__db__list", nil, Interactive, "allow rule", "allow mcp__db__*"},
		{"it reaches no third tier", user("allow mcp__db__*"), false, "mcp__db__drop", nil, Interactive, "ask each_call", ""},
		{"a host", user("allow WebFetch(domain:example.com)"), false, "web_fetch", map[string]any{"url": "https://example.com/a"}, Interactive, "allow rule", "allow WebFetch(domain:example.com)"},
		{"the same host, spelled as a root", user("deny WebFetch(domain:example.com)"), false, "web_fetch", map[string]any{"url": "https://EXAMPLE.com./a"}, Interactive, "deny rule_deny", "deny WebFetch(domain:example.com)"},
		{"another host", user("allow WebFetch(domain:example.com)"), false, "web_fetch", map[string]any{"url": "https://example.com.evil.test/"}, Interactive, "ask first_use", ""},
		{"a deny that cannot be read", user("deny Bash(git"), false, "note", nil, Interactive, "deny rule_deny", "deny Bash(git"},
		{"an ask that cannot be read", user("ask Bash()"), false, "read", file("a.txt"), Interactive, "ask rule_ask", "ask Bash()"},
		{"an allow that cannot be read", user("allow note("), false, "note", nil, Interactive, "ask first_use", ""},
		{"a star allows nothing", user("allow *"), false, "note", nil, Interactive, "ask first_use", ""},
		{"a star denies all", user("deny *"), false, "read", file("a.txt"), Interactive, "deny rule_deny", "deny *"},
		{"a rule for one skill is about no call", user("deny Skill(x)"), false, "skill", map[string]any{"name": "y"}, Interactive, "allow read_only", ""},
		{"a rule for the tool is", user("deny Skill"), false, "skill", map[string]any{"name": "y"}, Interactive, "deny rule_deny", "deny Skill"},

		{"a proved command", nil, false, "bash", line("git status"), Interactive, "allow read_only", ""},
		{"a proved command without a person", nil, false, "bash", line("git status"), Cron, "allow read_only", ""},
		{"input from outside the workspace", nil, false, "bash", line("cat < /etc/shadow"), Interactive, "ask first_use", ""},
		{"a command that changes", nil, false, "bash", line("git push"), Interactive, "ask first_use", ""},
		{"a covered command", user("allow Bash(git push:*)"), false, "bash", line("git push origin x"), Interactive, "allow rule", "allow Bash(git push:*)"},
		{"proved parts need no rule", user("allow Bash(git push:*)"), false, "bash", line("git push | head"), Interactive, "allow rule", "allow Bash(git push:*)"},
		{"other parts do", user("allow Bash(git push:*)"), false, "bash", line("git push; touch x"), Interactive, "ask first_use", ""},
		{"two rules together", user("allow Bash(git push:*)", "allow Bash(touch:*)"), false, "bash", line("git push; touch x"), Interactive, "allow rule", "allow Bash(git push:*) ; allow Bash(touch:*)"},
		{"severe commands are asked about", user("allow Bash(rm:*)"), false, "bash", line("rm -r a"), Interactive, "ask each_call", ""},
		{"the whole shell", user("allow Bash"), false, "bash", line("rm -r a"), Interactive, "allow rule", "allow Bash"},
		{"the whole shell, with an ask rule beside it", user("allow Bash", "ask Bash(git push:*)"), false, "bash", line("rm -r a"), Interactive, "ask each_call", ""},
		{"a project gives no whole shell", layered(ProjectRules, "allow Bash"), true, "bash", line("rm -r a"), Interactive, "ask each_call", ""},
		{"nor what cannot be judged", layered(ProjectRules, "allow Bash"), true, "bash", line("$x"), Interactive, "ask each_call", ""},
		{"a project gives the second tier", layered(ProjectRules, "allow Bash"), true, "bash", line("git push"), Interactive, "allow rule", "allow Bash"},
		{"a session gives no whole shell", layered(SessionRules, "allow Bash"), false, "bash", line("rm -r a"), Interactive, "ask each_call", ""},
		{"a write rule covers a redirection", user("allow Bash(git log:*)", "allow Write(src/**)"), false, "bash", line("git log > src/log"), Interactive, "allow rule", "allow Write(src/**)"},
		{"a deny of writing forbids a redirection", user("allow Bash", "deny Write(secret/**)"), false, "bash", line("git log > secret/log"), Interactive, "deny rule_deny", "deny Write(secret/**)"},
		{"a redirection to what runs later", user("allow Bash(git log:*)", "allow Write"), false, "bash", line("git log > .envrc"), Interactive, "ask each_call", ""},
		{"no path as a program", user("allow Bash(git:*)"), false, "bash", line("/usr/bin/git push"), Interactive, "ask each_call", ""},
		{"an ask on a proved command", user("ask Bash(git status)"), false, "bash", line("git status"), Interactive, "ask rule_ask", "ask Bash(git status)"},
		{"a redirection through a link to nothing", user("allow Bash(git log:*)", "allow Write(src/**)"), false, "bash", line("git log > src/gone"), Interactive, "ask each_call", ""},
		{"a redirection through a link to the outside", user("allow Bash(git log:*)", "allow Write(src/**)"), false, "bash", line("git log > src/far/x"), Interactive, "ask each_call", ""},
		{"a deny of such a file", user("deny Write(src/**)"), false, "bash", line("git log > src/gone"), Interactive, "deny rule_deny", "deny Write(src/**)"},
		{"reading through a link to the outside", nil, false, "bash", line("cat src/far/x"), Interactive, "ask first_use", ""},
		{"a path counts from where the command starts", nil, false, "bash", map[string]any{"command": "cat a.txt", "dir": ".."}, Interactive, "ask first_use", ""},
		{"and a rule too", user("allow Bash(git log:*)", "allow Write(src/**)"), false, "bash", map[string]any{"command": "git log > a", "dir": "src"}, Interactive, "allow rule", "allow Write(src/**)"},
		{"a deny inside a wrapper", user("deny Bash(rm:*)"), false, "bash", line("timeout 5 env X=1 rm a"), Interactive, "deny rule_deny", "deny Bash(rm:*)"},
		{"a deny on a line that nobody can read", user("deny Bash(rm:*)"), false, "bash", line("rm x; ("), Interactive, "deny rule_deny", "deny Bash(rm:*)"},
	} {
		h := newRuleHouse(t, func(_ *ruleHouse, o *Options) { o.Rules = RuleSet{Rules: c.rules, ProjectTrusted: c.trusted} })
		call := h.call(c.tool, c.args)
		call.Origin = c.origin
		d, err := h.gate.Check(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(d.Verdict) + " " + d.Code; got != c.want || d.Rule != c.rule {
			t.Errorf("%s: %s by %q (%s), want %s by %q", c.name, got, d.Rule, d.Reason, c.want, c.rule)
		}
		if row := h.sink.rows[len(h.sink.rows)-1]; row.Rule != d.Rule || row.Code != d.Code {
			t.Errorf("%s: the row says %s by %q", c.name, row.Code, row.Rule)
		}
	}
}

func TestSkillsApproveInAdvance(t *testing.T) {
	t.Parallel()
	entries := []string{"Bash(git *)", "Bash(.claude/skills/pub/scripts/pub.sh *)", "Write(src/**)", "Read", "note", "send", "Bash(*)"}
	for _, c := range []struct {
		name    string
		tool    string
		args    map[string]any
		want    string
		by      string
		granted bool
	}{
		{"a command", "bash", map[string]any{"command": "git push origin x"}, "allow skill", "skill", true},
		{"what needs nobody's approval", "bash", map[string]any{"command": "git status"}, "allow read_only", "", true},
		{"a command behind it", "bash", map[string]any{"command": "git status; rm -rf x"}, "ask each_call", "", true},
		{"another command", "bash", map[string]any{"command": "touch x"}, "ask first_use", "", true},
		{"its script by a relative path", "bash", map[string]any{"command": ".claude/skills/pub/scripts/pub.sh check"}, "allow skill", "skill", true},
		{"with a dot in front", "bash", map[string]any{"command": "./.claude/skills/pub/scripts/pub.sh check"}, "allow skill", "skill", true},
		{"its script by an absolute path", "bash", map[string]any{"command": "ROOT/.claude/skills/pub/scripts/pub.sh check"}, "allow skill", "skill", true},
		{"a script of another place", "bash", map[string]any{"command": "src/pub.sh check"}, "ask each_call", "", true},
		{"a path after the folder changed", "bash", map[string]any{"command": "cd src && .claude/skills/pub/scripts/pub.sh x"}, "ask each_call", "", true},
		{"a file", "write", map[string]any{"path": "src/a"}, "allow skill", "skill", true},
		{"another file", "write", map[string]any{"path": "b"}, "ask first_use", "", true},
		{"reading", "read", map[string]any{"path": "a.txt"}, "allow read_only", "skill", true},
		{"a tool of the third tier", "send", nil, "ask each_call", "", true},
		{"a tool", "note", nil, "allow skill", "skill", true},
		{"a tool, without a grant", "note", nil, "ask first_use", "", false},
		{"a script, without a grant", "bash", map[string]any{"command": ".claude/skills/pub/scripts/pub.sh check"}, "ask each_call", "", false},
	} {
		h := newRuleHouse(t, nil)
		if line, ok := c.args["command"].(string); ok {
			c.args["command"] = strings.ReplaceAll(line, "ROOT", h.work)
		}
		call := h.call(c.tool, c.args)
		call.Skills = preApproving(h, c.granted, entries...)
		for range 3 {
			d, err := h.gate.Check(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(d.Verdict) + " " + d.Code; got != c.want || d.PreApproved != c.by {
				t.Errorf("%s: %s by %q (%s), want %s by %q", c.name, got, d.PreApproved, d.Reason, c.want, c.by)
			}
			if c.by == "skill" && !strings.Contains(d.Reason, `no approval needed while skill "pub" is active`) {
				t.Errorf("%s: %s", c.name, d.Reason)
			}
		}
		call.Origin = Cron
		if d := h.gate.Explain(call); d.Tier > ReadOnly && d.Verdict != Deny {
			t.Errorf("%s: an autonomous turn: %s %s", c.name, d.Verdict, d.Code)
		}
	}
}

func TestAChangedSkillApprovesNothing(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"git push": "ask first_use", ".claude/skills/pub/scripts/pub.sh x": "ask each_call", "git push; .claude/skills/pub/scripts/pub.sh x": "ask each_call",
		".claude/skills/pub/scripts/pub.sh x; touch y": "ask each_call", "git status": "allow read_only", "touch x": "ask first_use",
	} {
		h := newRuleHouse(t, nil)
		call := h.bash(line)
		call.Skills = preApproving(h, true, "Bash(git *)", "Bash(.claude/skills/pub/scripts/pub.sh *)")
		asked := 0
		call.Skills[0].Still = func() bool { asked++; return false }
		d := h.gate.Explain(call)
		if got := string(d.Verdict) + " " + d.Code; got != want {
			t.Errorf("%q: %s (%s), want %s", line, got, d.Reason, want)
		}
		if told := strings.Contains(d.Reason, `skill "pub" is not what was granted any more (trust_drift)`); told != (asked > 0) || (asked > 0) == (line == "git status" || line == "touch x") {
			t.Errorf("%q: asked %d times, %s", line, asked, d.Reason)
		}
	}
}

func TestRestrictingListsNameCommands(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"git push origin x":                  "ask first_use",
		"git push | head":                    "ask first_use",
		"git status; rm -rf x":               "deny skill_restricts",
		"ls":                                 "deny skill_restricts",
		"touch x":                            "deny skill_restricts",
		"ROOT/.claude/skills/pub/run.sh a":   "ask each_call",
		".claude/skills/pub/run.sh a":        "ask each_call",
		"timeout 5 git push":                 "ask first_use",
		"git push > out":                     "deny skill_restricts",
		"git push > src/out":                 "ask first_use",
		"git push $(rm x)":                   "deny skill_restricts",
		"PATH=. git push":                    "deny skill_restricts",
		"sh scripts/a.sh x":                  "ask each_call",
		"git push; (":                        "deny skill_restricts",
		"f() { git push; }; f":               "deny skill_restricts",
		"LC_ALL=C git push 2>&1 < /dev/null": "ask first_use",
	} {
		h := newRuleHouse(t, nil)
		call := h.bash(strings.ReplaceAll(line, "ROOT", h.work))
		call.Skills = preApproving(h, true, "Bash(git *)", "Bash(.claude/skills/pub/run.sh *)", "Write(src/**)", "Bash(sh scripts/a.sh *)")
		call.Skills[0].Mode = Restrict
		d := h.gate.Explain(call)
		if got := string(d.Verdict) + " " + d.Code; got != want {
			t.Errorf("%q: %s (%s), want %s", line, got, d.Reason, want)
		}
	}
}

// TestAShellOfAnotherNameObeysTheRulesForBash is about tools that hosts and dialects name
// otherwise: rules speak of Bash, or of the tool's own name.
func TestAShellOfAnotherNameObeysTheRulesForBash(t *testing.T) {
	t.Parallel()
	for rules, want := range map[string]string{
		"allow Bash(git push:*)":                 "allow rule",
		"allow Bash ; deny run_*":                "deny rule_deny",
		"allow Bash(git push:*) ; ask run_shell": "ask rule_ask",
		"ask run_shell ; deny Bash(git push:*)":  "deny rule_deny",
		"allow Bash ; ask Bash(git push:*)":      "ask rule_ask",
		"deny Write ; allow Bash(git push:*)":    "allow rule",
	} {
		table, err := NewTable(Tool{Name: "run_shell", Tier: ReadOnly, Shell: "line"})
		if err != nil {
			t.Fatal(err)
		}
		h := newRuleHouse(t, func(_ *ruleHouse, o *Options) { o.Tools, o.Rules.Rules = table, ParseRules(rules) })
		d := h.gate.Explain(h.call("run_shell", map[string]any{"line": "git push"}))
		if got := string(d.Verdict) + " " + d.Code; got != want {
			t.Errorf("%q: %s (%s), want %s", rules, got, d.Reason, want)
		}
	}
}

func TestWhatASessionRemembersOfAShell(t *testing.T) {
	t.Parallel()
	h := newRuleHouse(t, nil)
	d, err := h.gate.Check(t.Context(), h.bash("git push origin a | head"))
	if err != nil || d.Verdict != Ask {
		t.Fatal(d, err)
	}
	if _, err := h.gate.Answer(t.Context(), Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: ForSession}); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"git push origin b": CodeRemembered, "git commit -m x": CodeFirstUse, "git push; touch x": CodeFirstUse, "touch x": CodeFirstUse,
		"git push --force": CodeEachCall,
	} {
		if d := h.gate.Explain(h.bash(line)); d.Code != want {
			t.Errorf("%q: %s, want %s", line, d.Code, want)
		}
	}
}

func TestTiersAreRaisedByAllAndLoweredByFew(t *testing.T) {
	t.Parallel()
	h := newRuleHouse(t, func(_ *ruleHouse, o *Options) {
		o.Rules = RuleSet{
			Raises: []TierRule{
				{Tool: "note", Tier: AlwaysConfirm, Layer: ProjectRules}, {Tool: "send", Tier: ReadOnly, Layer: ProjectRules},
				{Tool: "mcp__db__*", Tier: ManualOnly, Reason: "it is the only copy", Layer: UserRules},
			},
			Overrides: []TierRule{
				{Tool: "swap", Tier: ConfirmOnce, Reason: "a test network", Layer: UserRules, File: "/c.yaml", Line: 3},
				{Tool: "send", Tier: ReadOnly, Reason: "we say so", Layer: ProjectRules, File: "/p.yaml", Line: 4},
				{Tool: "write", Tier: ReadOnly, Reason: "a scratch folder", Layer: UserRules},
				{Tool: "read", Tier: ReadOnly, Layer: UserRules, File: "/c.yaml", Line: 9},
			},
		}
	})
	for tool, want := range map[string]Tier{
		"note": AlwaysConfirm, "send": AlwaysConfirm, "mcp__db__list": ManualOnly, "swap": ConfirmOnce, "read": ReadOnly,
	} {
		if d := h.gate.Explain(h.call(tool, map[string]any{"path": "a.txt"})); d.Tier != want {
			t.Errorf("%s: %s (%s), want %s", tool, d.Tier, d.Reason, want)
		}
	}
	if d := h.gate.Explain(h.call("write", map[string]any{"path": ".envrc"})); d.Tier != AlwaysConfirm {
		t.Errorf("what a call shows still raises: %s", d.Tier)
	}
	if len(h.sink.rows) != 2 || h.sink.rows[0].Code != CodeOverride || h.sink.rows[0].Tool != "swap" {
		t.Errorf("rows at the start: %+v", h.sink.rows)
	}
	if d, err := h.gate.Check(t.Context(), h.call("swap", nil)); err != nil || !strings.Contains(d.Override, "MANUAL_ONLY to CONFIRM_ONCE: a test network") {
		t.Errorf("%+v, %v", d, err)
	}
	if row := h.sink.rows[len(h.sink.rows)-1]; row.Override == "" {
		t.Errorf("the use is not recorded: %+v", row)
	}
}

func TestRulesThatCannotCountAreTold(t *testing.T) {
	t.Parallel()
	set := RuleSet{
		Rules:     slices.Concat(layered(UserRules, "deny Bash(git", "allow Bash(curl https://a.test/*)"), layered(ProjectRules, "allow *")),
		Overrides: []TierRule{{Tool: "send", Tier: ReadOnly, Reason: "r", Layer: ProjectRules, File: "/p.yaml", Line: 4}},
	}
	var got []string
	for _, d := range set.Diagnostics() {
		got = append(got, d.Code+" "+d.File)
		if d.Line == 0 || d.Message == "" || d.Fix == "" {
			t.Errorf("%+v", d)
		}
	}
	want := []string{"gate_bad_rule /etc/user.yaml", "gate_rule_url /etc/user.yaml", "gate_bad_rule /etc/project.yaml", "gate_tier_override /p.yaml"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
