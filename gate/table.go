package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// facts is everything a row of the table may look at. It is computed once a call;
// the rows themselves decide nothing but their own case.
type facts struct {
	call       Call
	policy     policy
	tool       Tool
	visible    bool
	argsFault  error
	pathFault  *fault
	files      []touched
	said       answer // of the rules
	leans      []Rule // of skills, without which something of the judgement is another
	refusal    string // which active skill refuses the tool, and why
	tier       Tier
	raised     string // why the tier is above the declared one
	lowered    string // how the configuration lowered the declared one, and why
	ceiling    Tier
	autonomous bool
	remembered bool
	key        string

	grants     []Grant // that cover the call, the one to be used first; asked for by lookUp
	grantFault error   // why they are not known
	subject    *subject
	object     map[string]any // the arguments; nil where they are bad or not given
	workspace  string
}

// wants reports whether somebody wants a person asked, whatever the tier is.
func (f *facts) wants() bool { return f.said.asked != nil || f.call.Hook.Verdict == Ask }

// alone reports a call that needs consent and has no person to give it.
func (f *facts) alone() bool { return f.autonomous && (f.tier > ReadOnly || f.wants()) }

// row is one check. It answers only when it applies.
type row struct {
	verdict Verdict
	code    string // "" = of the fault of a path, or of what hooks said
	applies func(*facts) bool
	reason  func(*facts) string
}

// rows is the decision table: the first row that applies decides. Every call meets
// one: the last three take each tier that is left.
var rows = [...]row{
	{Deny, CodeUnknownTool, func(f *facts) bool { return !f.visible },
		func(f *facts) string { return fmt.Sprintf("no tool %q", clip(f.call.Tool)) }},
	{Deny, CodeBadArgs, func(f *facts) bool { return f.argsFault != nil },
		func(f *facts) string { return "arguments " + f.argsFault.Error() }},
	{Deny, "", func(f *facts) bool { return f.pathFault != nil },
		func(f *facts) string { return f.pathFault.message }},
	{Deny, CodeRuleDeny, func(f *facts) bool { return f.said.denied != nil },
		func(f *facts) string { return f.said.because("it is denied by the rule ", f.said.denied) }},
	{Deny, CodeSkillRefuses, func(f *facts) bool { return f.refusal != "" },
		func(f *facts) string { return f.refusal }},
	{Deny, "", func(f *facts) bool { return f.call.Hook.Verdict == Deny },
		func(f *facts) string { return f.call.Hook.Reason }},
	{Deny, CodeCeiling, func(f *facts) bool { return f.tier > f.ceiling },
		func(f *facts) string { return fmt.Sprintf("%s is above this turn's ceiling %s", f.tier, f.ceiling) }},
	{Deny, CodePlanMode, func(f *facts) bool { return f.policy.mode == Plan && f.tier > ReadOnly },
		func(*facts) string { return "plan mode runs READ_ONLY tools alone" }},
	{Deny, CodeStageDiscover, func(f *facts) bool {
		return f.autonomous && !f.policy.loose && f.tier > ReadOnly && onlyDiscover(f.call.Stages)
	},
		func(*facts) string { return "no person is there and the turn has no stage beyond discover" }},
	{Deny, CodeStageCeiling, func(f *facts) bool { return f.policy.strict && f.tier > stageCeiling(f.call.Stages, f.autonomous) },
		func(f *facts) string {
			return fmt.Sprintf("%s is above what the stages {%s} allow", f.tier, clip(strings.Join(f.call.Stages, ", ")))
		}},
	{Deny, CodeManualOnly, func(f *facts) bool { return f.autonomous && f.tier == ManualOnly },
		func(*facts) string { return "MANUAL_ONLY runs by a person's typed approval alone" }},
	{Allow, CodeRemembered, func(f *facts) bool { return f.tier == ConfirmOnce && f.autonomous && f.remembered && !f.wants() },
		func(*facts) string { return "approved earlier in this session" }},
	{Allow, CodeGrant, func(f *facts) bool { return f.alone() && len(f.grants) > 0 }, grantReason},
	{Deny, CodeNoGrant, (*facts).alone, noGrantReason},
	{Ask, CodeHookAsk, func(f *facts) bool { return f.call.Hook.Verdict == Ask },
		func(f *facts) string { return f.call.Hook.Reason }},
	{Allow, CodeReadOnly, func(f *facts) bool { return f.tier == ReadOnly && f.said.asked == nil },
		func(f *facts) string { return f.said.noApproval("it changes nothing") }},
	{Ask, CodeRuleAsk, func(f *facts) bool { return f.said.asked != nil },
		func(f *facts) string { return f.said.because("it is asked about by the rule ", f.said.asked) }},
	{Allow, CodeRemembered, func(f *facts) bool { return f.tier == ConfirmOnce && f.remembered },
		func(*facts) string { return "approved earlier in this session" }},
	{Allow, CodeRule, func(f *facts) bool { return f.tier == ConfirmOnce && f.said.by(fromRules) },
		func(f *facts) string { return f.said.noApproval("") }},
	{Allow, CodeSkill, func(f *facts) bool { return f.tier == ConfirmOnce && f.said.by(fromSkill) },
		func(f *facts) string { return f.said.noApproval("") }},
	{Allow, CodeRule, func(f *facts) bool { return f.tier == AlwaysConfirm && f.said.bare },
		func(f *facts) string { return f.said.noApproval("") }},
	{Allow, CodeGrant, func(f *facts) bool { return f.tier == ConfirmOnce && len(f.grants) > 0 }, grantReason},
	{Ask, CodeFirstUse, func(f *facts) bool { return f.tier == ConfirmOnce }, askReason},
	{Ask, CodeEachCall, func(f *facts) bool { return f.tier == AlwaysConfirm }, askReason},
	{Ask, CodeManual, func(*facts) bool { return true }, askReason},
}

func grantReason(f *facts) string {
	g := f.grants[0]
	return fmt.Sprintf("granted to %s until %s (%s)", clip(g.Principal), g.Expires.UTC().Format(time.DateOnly), clip(g.ID))
}

func noGrantReason(f *facts) string {
	switch {
	case f.tier > ReadOnly:
		return fmt.Sprintf("no person is there and no grant covers this %s call", f.tier)
	case f.call.Hook.Verdict == Ask:
		return "no person is there, and " + f.call.Hook.Reason
	}
	return f.said.because("no person is there to be asked, as says the rule ", f.said.asked)
}

// row is the first row of the table that applies.
func (f *facts) row() row {
	i := slices.IndexFunc(rows[:], func(r row) bool { return r.applies(f) })
	return rows[i]
}

// clip keeps a name that a model made up from filling a message.
func clip(name string) string {
	const longest = 64
	if len(name) <= longest {
		return name
	}
	return strings.ToValidUTF8(name[:longest], "") + "…"
}

// askReasons say what a tier asks for.
var askReasons = map[Tier]string{
	ConfirmOnce:   "CONFIRM_ONCE asks before the first use",
	AlwaysConfirm: "ALWAYS_CONFIRM asks before each call",
	ManualOnly:    "MANUAL_ONLY asks for the tool's name, typed",
}

func askReason(f *facts) string {
	if f.raised != "" {
		return f.raised + ", and " + askReasons[f.tier]
	}
	return askReasons[f.tier]
}

// decide walks the table and then turns a question into what the policy makes of
// it. It reads nothing but f.
func decide(f *facts) Decision {
	d := Decision{Tier: f.tier, Key: f.key, Parts: f.said.parts, Override: f.lowered}
	r := f.row()
	d.Verdict, d.Code, d.Reason = r.verdict, r.code, r.reason(f)
	switch {
	case d.Code != "":
	case f.pathFault != nil:
		d.Code = f.pathFault.code
	default:
		d.Code = f.call.Hook.code()
	}
	if d.Code == CodeGrant {
		d.GrantID = f.grants[0].ID
	}
	if d.Code == CodeUnknownTool {
		d.Tier = ManualOnly
	}
	d.credit(f)
	if d.Verdict != Ask {
		return d
	}
	switch p := f.policy; {
	case f.tier <= p.auto:
		d.Verdict, d.BypassedBy = Allow, bypassFlagAuto
	case p.mode == DontAsk:
		d.Verdict, d.Code, d.Reason = Deny, CodeDontAsk, "this mode asks nobody; "+d.Reason
	case !p.answerable:
		d.Verdict, d.Code, d.Reason = Deny, CodeNoAnswerer, "nobody can be asked here; "+d.Reason
	}
	return d
}

// credit names the rule that decided, and who approved an allowed call in advance.
func (d *Decision) credit(f *facts) {
	switch {
	case d.Code == CodeRuleDeny:
		d.Rule = f.said.denied.Text
	case f.said.asked != nil && (d.Code == CodeRuleAsk || d.Code == CodeNoGrant && f.tier == ReadOnly):
		d.Rule = f.said.asked.Text
	case d.Verdict == Allow && (d.Code == CodeRule || d.Code == CodeSkill || d.Code == CodeReadOnly):
		d.Rule, d.PreApproved = f.said.rules(), f.said.from()
	}
}

func onlyDiscover(stages []string) bool {
	return !slices.ContainsFunc(stages, func(s string) bool { return !strings.EqualFold(s, "discover") })
}

// stageCeilings is how much each stage allows where stages bound every call.
var stageCeilings = map[string]Tier{"discover": ReadOnly, "evaluate": ConfirmOnce, "decide": ManualOnly, "manage": ManualOnly}

// stageCeiling is the greatest tier that a turn's stages allow; an unknown stage allows
// nothing more than reading.
func stageCeiling(stages []string, autonomous bool) Tier {
	if len(stages) == 0 && !autonomous {
		return ManualOnly
	}
	most := ReadOnly
	for _, s := range stages {
		most = max(most, stageCeilings[strings.ToLower(s)])
	}
	return most
}
