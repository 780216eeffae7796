package cli

import (
	"encoding/json"
	"strings"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/internal/toolrule"
)

// remembers reports a question whose answer can hold for the session.
func remembers(q agent.Question) bool {
	return q.Decision.Tier == gate.ConfirmOnce && q.Decision.Code != gate.CodeRuleAsk
}

// onceWords are the possible answers. What is remembered while skills are active holds for
// them alone, and they are named above.
func (terminal) onceWords(q agent.Question) string {
	if len(q.Active) > 0 {
		return "confirm.once_skill"
	}
	return "confirm.once"
}

// starts tells of a call that starts skills which they are: name, origin, place, and what
// their headers ask for.
func (t terminal) starts(p *safetext.Printer, q agent.Question) {
	if toolrule.Canonical(q.Call.Tool) != "skill" || t.r.engine == nil {
		return
	}
	var args struct {
		Name, Skill string
		IDs         []string
	}
	if json.Unmarshal(q.Call.Args, &args) != nil {
		return
	}
	w := t.r.words
	for _, name := range toolrule.Names(args.Name, args.Skill, args.IDs) {
		rec, err := t.r.engine.Snapshot().Lookup(name)
		if err != nil || rec == nil {
			continue
		}
		p.Printf("  %s\n", w.Say("confirm.starts", safetext.Clip(safetext.Line(rec.Skill.Name), 64), rec.Source.ID, orElse(rec.Dir, rec.Location)))
		if scope := rec.Skill.Meta.Scope; scope != "" {
			p.Printf("    %s\n", w.Say("confirm.scope", scope))
		}
		if tools := rec.Skill.Meta.AllowedTools.Entries; len(tools) > 0 {
			p.Printf("    %s\n", w.Say("trust.tools", strings.Join(tools, ", ")))
		}
		if rec.Skill.Meta.HasHooks {
			p.Printf("    %s\n", w.Say("trust.hooks"))
		}
	}
}

// parts tells what rules say of each command of a shell line that has several.
func (t terminal) parts(p *safetext.Printer, q agent.Question) {
	if len(q.Decision.Parts) < 2 {
		return
	}
	for _, part := range q.Decision.Parts {
		p.Printf("  %-5s  %s  %s\n", part.Verdict, part.Text, because(part.Rule, part.Reason))
	}
}
