package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
)

func explainVerb() verb {
	return verb{
		name: "explain", args: "NAME", min: 1, max: 1, group: groupSkill, effects: effects{reads: true}, names: true,
		short: "every reason why a skill is or isn't there, and the fix",
		run:   func(ctx context.Context, r *run, args []string) error { return r.explain(ctx, args[0]) },
	}
}

type explainJSON struct {
	Name        string          `json:"name"`
	State       string          `json:"state"`
	Winner      *skillJSON      `json:"winner"`
	Candidates  []candidateJSON `json:"candidates"`
	Reasons     []reasonJSON    `json:"reasons"`
	Suggestions []string        `json:"suggestions"`
}

type candidateJSON struct {
	Skill  skillJSON  `json:"skill"`
	Rank   int        `json:"rank"`
	Reason reasonJSON `json:"reason"`
}

func (r *run) explain(ctx context.Context, name string) error {
	e, err := r.explanation(ctx, name)
	if err != nil {
		return err
	}
	doc := explainJSON{
		Name: name, State: string(e.State), Candidates: []candidateJSON{},
		Reasons: reasonsJSON(e.Reasons), Suggestions: orEmptyList(e.Suggestions),
	}
	if e.State == "" {
		doc.State = "unknown"
	}
	for _, c := range e.Candidates {
		doc.Candidates = append(doc.Candidates, candidateJSON{recordJSON(c.Record), c.Rank, reasonJSON(c.Reason)})
	}
	if e.Winner != nil {
		w := recordJSON(e.Winner)
		doc.Winner = &w
	}
	if r.globals.json {
		r.printJSON(doc)
	} else {
		r.explainText(doc)
	}
	if broken(e) {
		return errNegative
	}
	return nil
}

// broken reports whether the name is nobody's, or its skill cannot be used as it is:
// a skill that is withheld, shadowed or switched off is in order.
func broken(e registry.Explanation) bool {
	return e.Winner == nil && (e.State == "" || e.State == registry.Invalid)
}

func (r *run) explainText(doc explainJSON) {
	p := r.out
	state := doc.State
	if doc.Winner != nil && !doc.Winner.ModelInvocable && doc.Winner.State == registry.Available {
		state = "manual"
	}
	p.Printf("%s %s\n", p.Paint(safetext.Bold, doc.Name), r.words.Say("state."+state))
	for i, reason := range doc.Reasons {
		mark := "  "
		if i == 0 {
			mark = "* "
		}
		sentence := r.sentence(registry.Reason(reason))
		if !strings.Contains(sentence, reason.Path) {
			sentence += " · " + at(reason.Path, reason.Line)
		}
		p.Printf("%s%s: %s\n", mark, reason.Code, sentence)
		if fix := r.remedy(registry.Reason(reason)); fix != "" {
			p.Printf("    hint: %s\n", fix)
		}
	}
	for _, c := range doc.Candidates {
		p.Printf("%2d %-10s %-8s %s\n", c.Rank, string(c.Skill.State), string(c.Skill.Source.Kind), orElse(c.Skill.Dir, c.Skill.Location))
		if !said(doc.Reasons, c.Reason.Code, "") {
			p.Printf("   %s: %s\n", c.Reason.Code, r.sentence(registry.Reason(c.Reason)))
		}
		for _, d := range c.Skill.Diagnostics {
			if !said(doc.Reasons, "", d.Message) {
				p.Printf("   ")
				r.writeDiagnostic(p, d)
			}
		}
	}
	for i, s := range doc.Suggestions {
		if i == 0 {
			p.Printf("%s\n", r.words.Say("explain.close"))
		}
		p.Printf("  %s\n", s)
	}
}

// sentence is a reason in the language of the run.
func (r *run) sentence(why registry.Reason) string {
	return r.words.Reason(why.Code, why.Message, why.By, at(why.Path, why.Line))
}

// remedy is what to do about a reason, in the language of the run.
func (r *run) remedy(why registry.Reason) string { return r.words.ReasonFix(why.Code, why.Fix) }

// at is a place as editors take it.
func at(path string, line int) string {
	if line == 0 {
		return path
	}
	return fmt.Sprintf("%s:%d", path, line)
}

// said reports whether a reason has that code, or holds that message.
func said(reasons []reasonJSON, code, message string) bool {
	return slices.ContainsFunc(reasons, func(r reasonJSON) bool {
		return code != "" && r.Code == code || message != "" && strings.Contains(r.Message, message)
	})
}
