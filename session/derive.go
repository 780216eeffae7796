package session

import (
	"slices"
	"strings"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/toolrule"
	"github.com/deftskills/deft/skill"
)

// Policy is the host's own tool policy. No skill widens it. An empty Allow says nothing.
type Policy struct{ Allow, Deny []string }

// Base is what holds before any patch.
type Base struct {
	Floor         Policy
	Prompt        string
	Model, Effort string
	Env           map[string]string
	Context       Context

	task *Applied // of the skill that this session carries out; see Session.Child
}

// PreApproval is one rule that needs no question while the skill is active.
type PreApproval struct{ Owner, Rule string }

// Effective is what holds now. It is a pure function of base, layers and dialect.
// Callers must not change its slices.
type Effective struct {
	Current       *Activation        // the skill that was started last; nil without one
	Skills        []gate.ActiveSkill // for the gate; the host's floor and host patches stand among them with source "host"
	Allow         [][]string         // each list must cover a call; restricting dialects only
	Deny          []string           // one match refuses
	PreApproved   []PreApproval
	Model, Effort string
	Prompt        string
	Discovered    []string          // deferred tools that are shown; without doubles, in the order of finding
	Env           map[string]string // of what the agent runs: the context's, then the host's, then that of the patches
	Context       Context

	// Reported is the tool policy that was declared last: by the turn's patches, else by
	// the session's, alone and with its scope. It is what dialect blade tells of tools. What
	// holds is told by Allow and Deny: no patch takes away what another one denies.
	Reported *Reported
}

// Reported is what one patch declares about tools. Allow may be empty, or Deny, not both.
type Reported struct {
	Scope       Scope
	Owner       Owner
	Allow, Deny []string
}

// listModes says what a skill's allow list means; dialects that are not named keep it.
var listModes = map[skill.Dialect]gate.ListMode{
	"": gate.Restrict, skill.Deft: gate.Restrict, skill.Blade: gate.Restrict,
	skill.ClaudeCode: gate.PreApprove,
}

func listMode(d skill.Dialect) gate.ListMode {
	if m, ok := listModes[d]; ok {
		return m
	}
	return gate.Keep
}

// promptJoint separates the contributions to the prompt.
const promptJoint = "\n\n---\n\n"

// Derive computes what is in effect. Nothing else does.
func Derive(base Base, l Layers, d skill.Dialect) Effective {
	mode := listMode(d)
	e := Effective{Model: base.Model, Effort: base.Effort, Context: base.Context}
	e.Skills = make([]gate.ActiveSkill, 0, l.Len()+1)
	e.Deny = append(make([]string, 0, len(base.Floor.Deny)+l.Len()), base.Floor.Deny...)
	inForce := allowInForce(l)
	if len(base.Floor.Allow) > 0 || len(base.Floor.Deny) > 0 {
		e.Skills = append(e.Skills, hostSkill("host", ToolPolicy{Allow: declared(base.Floor.Allow), Deny: base.Floor.Deny}))
	}
	if len(base.Floor.Allow) > 0 {
		e.Allow = append(e.Allow, base.Floor.Allow)
	}
	prompts := appendPrompt(nil, base.Prompt)
	var reported *Applied // made a Reported once: most patches are not the last one
	take := func(a *Applied, allow []string) {
		if now := a.active(); now != nil {
			e.Current = now
		}
		if a.Model != nil {
			e.Model, e.Effort = orElse(a.Model.ID, e.Model), orElse(a.Model.Effort, e.Effort)
		}
		if a.Prompt != nil {
			prompts = appendPrompt(prompts, *a.Prompt)
		}
		if a.Discovery != nil {
			e.discover(a.Discovery.Discover)
		}
		if a.Context != nil {
			e.Context = e.Context.merge(a.Context.Value)
		}
		e.addTools(a, mode, allow)
		if a.reports() {
			reported = a
		}
	}
	if task := base.task; task != nil {
		take(task, task.limits())
	}
	l.each(func(a *Applied) { take(a, inForce[a.Seq]) })
	if reported != nil {
		e.Reported = reported.report()
	}
	e.Deny, e.Discovered = unique(e.Deny), unique(e.Discovered)
	e.Prompt = strings.Join(prompts, promptJoint)
	e.Env = merged(e.Context.Environment, base.Env)
	if base.task != nil {
		e.Env = merged(e.Env, base.task.Env)
	}
	l.each(func(a *Applied) { e.Env = merged(e.Env, a.Env) })
	return e
}

// addTools adds what one patch says about tools; allow is the list in force that
// this patch answers for, nil when another patch's list took its place.
func (e *Effective) addTools(a *Applied, mode gate.ListMode, allow []string) {
	var p ToolPolicy
	if a.Tools != nil {
		p = *a.Tools
	}
	e.Deny = append(e.Deny, p.Deny...)
	for _, rule := range p.PreApprove {
		e.PreApproved = append(e.PreApproved, PreApproval{a.Owner.ID, rule})
	}
	if a.Skill == nil {
		if len(p.Deny) > 0 || len(allow) > 0 {
			e.Skills = append(e.Skills, hostSkill(a.Owner.ID, ToolPolicy{Allow: declared(allow), Deny: p.Deny}))
		}
		if len(allow) > 0 {
			e.Allow = append(e.Allow, allow)
		}
		return
	}
	g := gate.ActiveSkill{
		Name: a.Skill.Name, Source: a.Skill.SourceID, Digest: a.Skill.Digest,
		Granted: a.Skill.Granted, Deny: p.Deny, Mode: mode, Dir: a.Skill.Dir,
	}
	switch {
	case mode == gate.Restrict:
		g.Allow = declared(allow)
		if len(allow) > 0 {
			e.Allow = append(e.Allow, allow)
		}
	case mode == gate.PreApprove && a.Skill.Resumed:
	default:
		g.Allow = p.Allow
		if mode == gate.PreApprove && a.Skill.Granted {
			for _, rule := range p.Allow.Entries {
				e.PreApproved = append(e.PreApproved, PreApproval{a.Owner.ID, rule})
			}
		}
	}
	e.Skills = append(e.Skills, g)
}

// reports says whether the patch declares a tool policy.
func (a *Applied) reports() bool {
	return a.Tools != nil && (len(a.Tools.Allow.Entries) > 0 || len(a.Tools.Deny) > 0)
}

// report is the policy of a patch that declares one.
func (a *Applied) report() *Reported {
	scope := ScopeSession
	if a.Scope == ScopeTurn {
		scope = ScopeTurn
	}
	return &Reported{Scope: scope, Owner: a.Owner, Allow: a.Tools.Allow.Entries, Deny: a.Tools.Deny}
}

// allowInForce tells for each patch (by Seq) the allow list that holds in its name:
// in each scope the latest declared list, or the union of the lists of its set. A
// turn's list takes the place of the session's, except that a skill that is not
// trusted only narrows it.
func allowInForce(l Layers) map[int][]string {
	turn, narrow := scopeAllow(l.turn)
	if len(turn) > 0 && !narrow {
		return turn
	}
	all, _ := scopeAllow(l.session)
	if all == nil {
		return turn
	}
	for seq, list := range turn {
		all[seq] = list
	}
	return all
}

func scopeAllow(layer []Applied) (lists map[int][]string, narrow bool) {
	last := -1
	for i := len(layer) - 1; i >= 0 && last < 0; i-- {
		if declares(&layer[i]) {
			last = i
		}
	}
	if last < 0 {
		return nil, false
	}
	a := &layer[last]
	narrow = a.Skill != nil && !a.Skill.effectful()
	if a.Set == 0 {
		return map[int][]string{a.Seq: a.Tools.Allow.Entries}, narrow
	}
	lists = map[int][]string{}
	var union []string
	for i := range layer {
		if m := &layer[i]; m.Set == a.Set && declares(m) {
			union = append(union, m.Tools.Allow.Entries...)
			lists[m.Seq] = nil
			narrow = narrow || m.Skill != nil && !m.Skill.effectful()
		}
	}
	union = unique(union)
	for seq := range lists {
		lists[seq] = union
	}
	return lists, narrow
}

// limits is the allow list that a declares, nil = none.
func (a *Applied) limits() []string {
	if !declares(a) {
		return nil
	}
	return a.Tools.Allow.Entries
}

// declares reports whether a limits tools: an empty list counts as not declared.
func declares(a *Applied) bool {
	return a.Tools != nil && a.Tools.Allow.Declared && len(a.Tools.Allow.Entries) > 0
}

// Exposes reports whether the tool is to be declared to the model: every allow list
// names it in some form and no deny names it whole. The tools that steer skills
// themselves stay callable under any allow list of a skill.
func (e Effective) Exposes(tool string) bool {
	return e.Withheld(tool, false) == ""
}

// Why a list in force keeps a tool from the model.
const (
	WithheldAllow = "runtime-allow-list" // an allow list does not name it
	WithheldDeny  = "runtime-deny"       // a deny list names it
)

// Withheld says why a tool is not to be declared to the model; "" = it is. steers marks a
// tool that steers skills under a name of its own: no skill's list takes it away.
func (e Effective) Withheld(tool string, steers bool) string {
	why, steers := "", steers || toolrule.AlwaysCallable(tool)
	for _, g := range e.Skills {
		list := toolrule.ParseList(g.Deny)
		if list.DeniesTool(tool) && (g.Source == gate.HostSource || !steers) {
			return WithheldDeny
		}
		if g.Mode == gate.Restrict && g.Allow.Declared && !steers &&
			!toolrule.ParseList(g.Allow.Entries).Mentions(tool) {
			why = WithheldAllow
		}
	}
	return why
}

func hostSkill(name string, p ToolPolicy) gate.ActiveSkill {
	return gate.ActiveSkill{Name: name, Source: gate.HostSource, Granted: true, Allow: p.Allow, Deny: p.Deny, Mode: gate.Restrict}
}

func declared(entries []string) skill.ToolList {
	return skill.ToolList{Declared: len(entries) > 0, Entries: entries}
}

func appendPrompt(parts []string, text string) []string {
	if text = strings.TrimSpace(text); text == "" {
		return parts
	}
	return append(parts, text)
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// unique drops repeated entries, keeping the first of each; it may reuse list.
func unique(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(s string) bool {
		dup := seen[s]
		seen[s] = true
		return dup
	})
}
