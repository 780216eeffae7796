package gate

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/skill"
)

func TestATableOfRulesIsCounted(t *testing.T) {
	t.Parallel()
	row := func(rule, command, want string) string { return rule + "\t\"" + command + "\"\t" + want + "\twhy\n" }
	friction := row("allow Bash(git:*)", "touch x", "allow")
	fine := strings.Repeat(row("allow Bash(git:*)", "git push", "allow"), 9)
	for name, tt := range map[string]struct {
		rows                     string
		allows, unsafe, friction int
		passes                   bool
	}{
		"nothing":                     {"", 0, 0, 0, true},
		"asked as wanted":             {row("allow Bash(git:*)", "touch x", "ask"), 0, 0, 0, true},
		"denied as wanted":            {row("deny Bash(git:*)", "git push", "deny"), 0, 0, 0, true},
		"allowed where asked":         {row("allow Bash(git:*)", "git push", "ask"), 0, 1, 0, false},
		"allowed where denied":        {row("allow Bash(git:*)", "git push", "deny"), 0, 1, 0, false},
		"asked where denied":          {row("ask Bash(git:*)", "git push", "deny"), 0, 1, 0, false},
		"denied where asked":          {row("deny Bash(git:*)", "git push", "ask"), 0, 0, 0, true},
		"asked where allowed":         {friction, 1, 0, 1, false},
		"one of ten":                  {fine + friction, 10, 0, 1, true},
		"more than one of ten":        {fine + friction + friction, 11, 0, 2, false},
		"one of ten, and an open one": {fine + friction + row("allow Bash(git:*)", "git push", "ask"), 10, 1, 1, false},
	} {
		got, err := CheckTable(strings.NewReader("rule\tcommand\tverdict\twhy\n"+tt.rows), ShellEnv{Dir: "/p"})
		if err != nil || got.Allows != tt.allows || got.Unsafe != tt.unsafe || got.Friction != tt.friction || got.Passes() != tt.passes {
			t.Errorf("%s: %+v, passes %v, %v", name, got, got.Passes(), err)
		}
	}
	for _, bad := range []string{"allow Bash\t\"ls\"\n", "allow Bash\tls\task\n", "allow Bash\t\"ls\"\tmaybe\n"} {
		if _, err := CheckTable(strings.NewReader("rule\n"+bad), ShellEnv{}); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if got, err := CheckTable(strings.NewReader("rule\nallow Bash(ls)\t\"ls\"\tallow\n"), ShellEnv{}); err != nil || got.Allows != 1 {
		t.Errorf("without a reason: %+v, %v", got, err)
	}
}

func TestRulesOfSkillsAndFoldersForOthers(t *testing.T) {
	t.Parallel()
	set := RuleSet{Rules: ParseRules("allow Skill(a) ; ask Skill(b) ; deny Skill(c) ; deny note ; deny Read(secret/**) ; allow Read(src/**) ; ask Read(ask/**) ; deny Read")}
	set.Rules = append(set.Rules, Rule{Verdict: Deny, Text: "deny Read(", Err: errWant})
	var names []string
	for _, r := range set.ForSkills() {
		names = append(names, r.ForSkill())
	}
	if !slices.Equal(names, []string{"a", "c"}) {
		t.Errorf("for skills: %v", names)
	}
	project := RuleSet{Rules: ParseRules("allow Skill(a) ; deny Skill(c)")}
	for i := range project.Rules {
		project.Rules[i].Layer = ProjectRules
	}
	if got := project.ForSkills(); len(got) != 1 || got[0].ForSkill() != "c" {
		t.Errorf("of a folder that nobody trusts: %v", got)
	}
	project.ProjectTrusted = true
	if got := project.ForSkills(); len(got) != 2 {
		t.Errorf("of a trusted folder: %v", got)
	}
	h := newRuleHouse(t, nil)
	p := PathPolicy{Workspace: h.work, Home: h.home}
	with, without := set.ReadDenied(p), RuleSet{}.ReadDenied(p)
	for path, want := range map[string][2]bool{
		"secret/a": {true, false}, "src/a": {false, false}, "ask/a": {false, false}, "src/link/a": {true, false}, "~/.ssh/id": {true, true}, "a.txt": {false, false},
	} {
		if got := [2]bool{with(path), without(path)}; got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

var errWant = ParseRule("deny Read(").Err

func TestRulesAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	r := NewRule(Deny, "note")
	for want, change := range map[string]func(*Rule){
		`"deny note"`: func(*Rule) {}, `"deny note" (user)`: func(r *Rule) { r.Layer = UserRules },
		`"deny note" (user, c.yaml:7)`: func(r *Rule) { r.Layer, r.File, r.Line = UserRules, "c.yaml", 7 }, `"note" of skill "k"`: func(r *Rule) { r.skill = "k" },
	} {
		one := r
		change(&one)
		if one.String() != want {
			t.Errorf("%s, want %s", one, want)
		}
		if want != `"deny note"` && (one.same(r) || r.same(one)) {
			t.Errorf("%s is the same as %s", one, r)
		}
		if !one.same(one) {
			t.Errorf("%s is another than itself", one)
		}
	}
	if got := EvalBash(ParseRules("allow Bash(git:*)"), "touch a; rm b", ShellEnv{}); !strings.Contains(got.Reason, "touch") {
		t.Errorf("not the first fault is told: %s", got.Reason)
	}
}

func TestRestrictingListsForTheShell(t *testing.T) {
	t.Parallel()
	h := newRuleHouse(t, nil)
	for _, tt := range []struct {
		list, command string
		named         bool
	}{
		{"Bash", "eval $x; touch a > b", true}, {"Bash", "unclosed (", true}, {"Bash(git:*)", "git push", true}, {"Bash(git:*)", "unclosed (", false},
		{"Bash(git:*)", "git push; touch x", false}, {"Bash(git:*)", "git push | head", true}, {"Bash(git:*)", "head a.txt", false},
		{"Bash(git:*)", "LANG=C git push", true}, {"Bash(git:*)", "LD_PRELOAD=x git push", false}, {"Bash(git:*)", "LANG=$x git push", false}, {"Bash(git:*)", "LANG+=x git push", false},
		{"Bash(git:*)", "LANG=C", false}, {"Bash(git:*)", "LANG=C; git push", true}, {"Bash(git:*)", "timeout 5 git push", true}, {"Bash(git:*)", "timeout --odd 5 git push", false},
		{"Bash(git:*)", "$git push", false}, {"Bash(git:*)", "~/git push", false}, {"Bash(git:*)", "'' push", false}, {"Bash(git:*)", "git push > src/x", false},
		{"Bash(git:*) Write(src/**)", "git push > src/x", true}, {"Bash(git:*) Write(src/**)", "git push > x", false}, {"Bash(git:*)", "f() { git push; }", false},
		{"Bash(git push:*)", "git \"$x\"", false}, {"Bash(git) ( Bash(go:*)", "go build", true}, {"Bash(git) ( Read", "go build", false}, {"Read", "git push", false},
		{"Bash(./.claude/skills/pub/scripts/pub.sh:*)", "./.claude/skills/pub/scripts/pub.sh now", true}, {"Bash(git:*)", "./.claude/skills/pub/scripts/pub.sh now", false},
	} {
		c := h.bash(tt.command)
		c.Skills = []ActiveSkill{{Name: "k", Mode: Restrict, Granted: true, Dir: filepath.Join(h.work, ".claude/skills/pub"), Allow: skill.ToolList{Declared: true, Entries: splitList(tt.list)}}}
		if d := h.gate.Explain(c); (d.Code != CodeSkillRefuses) != tt.named {
			t.Errorf("%s, %q: %s (%s)", tt.list, tt.command, d.Code, d.Reason)
		}
	}
}

// splitList parts entries at blanks outside parentheses.
func splitList(list string) []string {
	var out []string
	depth, word := 0, ""
	for _, c := range list {
		switch {
		case c == ' ' && depth == 0:
			out, word = append(out, word), ""
			continue
		case c == '(' && word != "":
			depth++
		case c == ')':
			depth--
		}
		word += string(c)
	}
	return append(out, word)
}

func TestToolsThatCannotBeCheckedAreNone(t *testing.T) {
	t.Parallel()
	for name, tools := range map[string][]Tool{
		"no name": {{}}, "a name twice": {{Name: "a"}, {Name: "a"}}, "no JSON": {{Name: "a", Schema: []byte("{")}},
		"no schema": {{Name: "a", Schema: []byte(`{"type":7}`)}}, "a reference to nothing": {{Name: "a", Schema: []byte(`{"$ref":"#/$defs/x"}`)}},
	} {
		if _, err := NewTable(tools...); err == nil {
			t.Errorf("%s: a table", name)
		}
	}
	known := &Schemas{}
	for range 2 {
		if _, err := known.NewTable(Tool{Name: "a", Schema: []byte(`{"type":7}`)}); err == nil {
			t.Error("a schema that could not be used is, the second time")
		}
	}
	long := strings.Repeat("n", 256)
	for name, want := range map[string]int{long: 1, long + "n": 0, long[1:]: 1} {
		if got := closeNames(name, []string{long, long + "nn"}); len(got) != want {
			t.Errorf("%d letters: %d close names", len(name), len(got))
		}
	}
}

func TestADecisionNamesItsRule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rules  string
		call   Call
		rule   string
		reason string
	}{
		{"deny note ; ask note", call("note", "{}"), "deny note", "denied by the rule"},
		{"ask look", call("look", `{"text":"a"}`), "ask look", "asked about by the rule"},
		{"ask look", jobCall("look", `{"text":"a"}`), "ask look", "no person is there to be asked"},
		{"ask send", jobCall("send", "{}"), "", "no grant covers this ALWAYS_CONFIRM call"},
		{"ask swap", jobCall("swap", "{}"), "", "typed approval alone"},
		{"allow note ; allow n*", call("note", "{}"), "allow note", "no approval needed by the rule"},
		{"deny note(", call("note", "{}"), "deny note(", "which cannot be read"},
		{"allow note", call("note", "{}"), "allow note", "no approval needed by the rule"},
		{"allow send", call("send", "{}"), "", "asks before each call"},
		{"deny send", call("note", "{}"), "", "asks before the first use"},
	} {
		g, _ := testGate(t, func(o *Options) { o.Rules.Rules = ParseRules(tt.rules) })
		if d := g.Explain(tt.call); d.Rule != tt.rule || !strings.Contains(d.Reason, tt.reason) {
			t.Errorf("%s, %s %s: rule %q, %s", tt.rules, tt.call.Tool, tt.call.Origin, d.Rule, d.Reason)
		}
	}
}

func TestWhatGoesAroundARule(t *testing.T) {
	t.Parallel()
	rm := Tool{Name: "run", Tier: ReadOnly, Commands: func(Call) [][]string { return [][]string{{"git", "log"}, {"rm", "x"}} }}
	writes := Tool{Name: "quiet", Tier: ReadOnly, Paths: []PathArg{{Key: "path", Write: true}}}
	table, err := NewTable(rm, writes, Tool{Name: "bash", Tier: ReadOnly}, Tool{Name: "send", Tier: AlwaysConfirm}, Tool{Name: "note", Tier: ConfirmOnce})
	if err != nil {
		t.Fatal(err)
	}
	override := func(tier Tier) func(*Options) {
		return func(o *Options) {
			o.Rules.Overrides = []TierRule{{Tool: "send", Tier: tier, Reason: "r", Layer: UserRules}}
		}
	}
	rules := func(text string) func(*Options) { return func(o *Options) { o.Rules.Rules = ParseRules(text) } }
	for _, tt := range []struct {
		name, tool, args string
		gate             func(*Options)
		code, override   string
	}{
		{"commands of a tool", "run", "{}", rules("deny Bash(rm:*)"), CodeRuleDeny, ""},
		{"other commands of a tool", "run", "{}", rules("deny Bash(mv:*)"), CodeReadOnly, ""},
		{"a tool that says that it reads", "quiet", `{"path":"a"}`, nil, CodeFirstUse, ""},
		{"raised by an override", "send", "{}", override(ManualOnly), CodeManual, ""},
		{"the same by an override", "send", "{}", override(AlwaysConfirm), CodeEachCall, ""},
		{"lowered by an override", "send", "{}", override(ConfirmOnce), CodeFirstUse, "ALWAYS_CONFIRM to CONFIRM_ONCE: r"},
		{"no tier by an override", "send", "{}", override(5), CodeEachCall, ""},
	} {
		h := newRuleHouse(t, func(_ *ruleHouse, o *Options) {
			if o.Tools = table; tt.gate != nil {
				tt.gate(o)
			}
		})
		c := call(tt.tool, tt.args)
		c.Dir = h.work
		if d := h.gate.Explain(c); d.Code != tt.code || d.Override != tt.override {
			t.Errorf("%s: %s, override %q (%s)", tt.name, d.Code, d.Override, d.Reason)
		}
	}
	if got := NewRule(Deny, "Bash(git:*)").ForSkill() + NewRule(Deny, "Skill").ForSkill(); got != "" {
		t.Errorf("rules for skills: %q", got)
	}
	for command, want := range map[string]string{"git push": "allow Bash(git:*)", "git push; git fetch": "", "touch x": ""} {
		if got := EvalBash(ParseRules("allow Bash(git:*)"), command, ShellEnv{}).Rule; got != want {
			t.Errorf("%q by rule %q", command, got)
		}
	}
}

func TestAScriptOutsideItsSkillIsNotTheSkills(t *testing.T) {
	t.Parallel()
	h := newRuleHouse(t, nil)
	for entry, tt := range map[string]struct {
		command string
		ok      bool
	}{
		"Bash(./.claude/skills/pub/scripts/pub.sh:*)": {"./.claude/skills/pub/scripts/pub.sh now", true},
		"Bash(./src/run.sh:*)":                        {"./src/run.sh now", false},
		"Bash(./src/far/run.sh:*)":                    {"./src/far/run.sh now", false},
	} {
		for _, dir := range []string{filepath.Join(h.work, ".claude/skills/pub"), ""} {
			c := h.bash(tt.command)
			c.Skills = []ActiveSkill{{Name: "pub", Granted: true, Mode: PreApprove, Dir: dir, Allow: skill.ToolList{Declared: true, Entries: []string{entry}}}}
			if d := h.gate.Explain(c); (d.Code == CodeSkill) != (tt.ok && dir != "") {
				t.Errorf("%s of %q: %s (%s)", entry, dir, d.Code, d.Reason)
			}
		}
	}
}

func TestWordsBesideAnAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reply         Reply
		message, want string
	}{
		{Once, "", "the person said yes"}, {Once, "go on", "the person said yes"}, {No, "", "the person refused"}, {No, "use git", "the person refused: use git"},
	} {
		g, _ := testGate(t, nil)
		d, _ := g.Check(t.Context(), call("send", ""))
		got, err := g.Answer(t.Context(), Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: tt.reply, Message: tt.message})
		if err != nil || got.Reason != tt.want || (got.Verdict == Allow) != (tt.reply == Once) {
			t.Errorf("%s %q: %s %s, %v", tt.reply, tt.message, got.Verdict, got.Reason, err)
		}
	}
}

func TestWhatHoldsWhateverTheArgumentsAre(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rules, tool string
		tier        Tier
		code        string
	}{
		{"", "bash", AlwaysConfirm, CodeEachCall}, {"", "note", ConfirmOnce, CodeFirstUse}, {"allow send", "note", ConfirmOnce, CodeFirstUse},
		{"allow note", "note", ConfirmOnce, CodeRule}, {"allow Write(src/**)", "write", ConfirmOnce, CodeFirstUse}, {"allow Write", "write", ConfirmOnce, CodeRule},
		{"deny Write(src/**)", "write", ConfirmOnce, CodeFirstUse}, {"deny Write", "write", ConfirmOnce, CodeRuleDeny}, {"ask Read", "read", ReadOnly, CodeRuleAsk},
	} {
		h := newRuleHouse(t, func(_ *ruleHouse, o *Options) { o.Rules.Rules = ParseRules(tt.rules) })
		if tt.rules == "" {
			h = newRuleHouse(t, nil)
		}
		c := Call{Session: "s", Tool: tt.tool, Origin: Interactive, Principal: "user", Dir: h.work}
		if d := h.gate.Explain(c); d.Tier != tt.tier || d.Code != tt.code || d.CallHash != "" {
			t.Errorf("%s under %q: %s %s (%s)", tt.tool, tt.rules, d.Tier, d.Code, d.Reason)
		}
	}
	g, _, _ := grantGate(t, nil, testGrant("any", func(g *Grant) { g.Tool = "note" }), testGrant("bound", where("a=1")), testGrant("none", func(g *Grant) { g.OtherArgs = "" }))
	for tool, code := range map[string]string{"note": CodeGrant, "send": CodeNoGrant} {
		c := jobCall(tool, "")
		c.Args = nil
		if d := g.Explain(c); d.Code != code {
			t.Errorf("%s with a grant: %s", tool, d.Code)
		}
	}
	if d, _ := g.Check(t.Context(), call("note", "")); slices.Contains(d.Replies, Always) {
		t.Error("always is offered to nobody")
	}
}

func TestAPathThatAPersonVouchesForIsItsProgram(t *testing.T) {
	t.Parallel()
	env := ShellEnv{Dir: "/w", Programs: map[string][]string{"git": {"/usr/bin/git", "/opt/git"}}}
	for command, want := range map[string]Verdict{"/usr/bin/git push": Allow, "/opt/git push": Allow, "/tmp/git push": Ask, "/usr/bin/gitk push": Ask, "./git push": Ask} {
		if got := EvalBash(ParseRules("allow Bash(git:*)"), command, env); got.Verdict != want {
			t.Errorf("%q: %s (%s)", command, got.Verdict, got.Reason)
		}
	}
}
