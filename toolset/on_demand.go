package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/session"
)

// OnDemandID is the name under which hosts of dialect mastra know loading on demand, and
// OnDemandIdle how long a conversation without a turn keeps what it loaded: the
// dialect's default.
const (
	OnDemandID   = "skill-search"
	OnDemandIdle = time.Hour
)

// scoreUnit is what one point of a search's score is in a Hit.
const scoreUnit = 1024

const loadSchema = `{"type":"object","properties":{"skillName":{"type":"string"}},"required":["skillName"]}`

// loadTool starts one skill whose text the prompt carries from the next step on.
type loadTool struct{ shape }

// loaded is its answer.
type loaded struct {
	Success   bool   `json:"success"`
	Message   string `json:"message"`
	SkillName string `json:"skillName,omitempty"`
}

func (t *loadTool) Call(ctx context.Context, c Call) (Result, error) {
	in := t.input(c)
	name, _ := in.text("name", maxName, true)
	if in.fault != nil {
		return *in.fault, nil
	}
	if act, ok := c.Turn.ActiveSkill(name); ok {
		return answer(loaded{true, fmt.Sprintf("Skill %q is already loaded.", show(act.Name)), act.Name}), nil
	}
	res, err := c.Turn.Activate(ctx, session.Request{
		Names: []string{name}, Actor: session.ActorModel, Insert: true, Tools: t.o.names(c),
		By: session.Provenance{Tool: t.spec.Name, CallID: c.ID},
	})
	switch {
	case err != nil:
		return engineError(err)
	case len(res.Refused) > 0:
		out := answer(loaded{Message: t.missing(c, name)})
		out.refused(res.Refused[0])
		return out, nil
	}
	own := res.Loaded[0].Name
	out := answer(loaded{true, fmt.Sprintf("Skill %q is loaded; its instructions follow.", show(own)), own})
	out.Meta.Activated = []string{own}
	return out, nil
}

// missing names at most three skills whose name holds the one asked for, or is held by it.
func (t *loadTool) missing(c Call, name string) string {
	text := fmt.Sprintf("Skill %q not found.", show(name))
	want := strings.ToLower(strings.TrimSpace(name))
	var near []string
	for _, r := range c.Turn.Snapshot().Winners {
		own := strings.ToLower(r.Skill.Name)
		if len(near) < 3 && want != "" && r.ForModel() && (strings.Contains(own, want) || strings.Contains(want, own)) {
			near = append(near, show(r.Skill.Name))
		}
	}
	if len(near) > 0 {
		text += " Did you mean: " + strings.Join(near, ", ") + "?"
	}
	return text
}

const searchSkillsSchema = `{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`

// findTool finds skills for loadTool.
type findTool struct{ shape }

// finding is its answer.
type finding struct {
	Results []foundSkill `json:"results"`
	Message string       `json:"message"`
}

type foundSkill struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Score       json.Number `json:"score"`
}

const findWidth = 150 // characters of a description

func (t *findTool) Call(ctx context.Context, c Call) (Result, error) {
	in := t.input(c)
	query, _ := in.text("query", 4*maxQuery, true)
	if in.fault != nil {
		return *in.fault, nil
	}
	found, err := t.o.Searcher.Search(ctx, c.Turn.Snapshot(), query, nil, t.o.topK())
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if err != nil {
		return refuse("search_failed", "The search failed. Go on without it."), nil
	}
	out := finding{Results: []foundSkill{}}
	for _, h := range found.Hits {
		score := float64(h.Score) / scoreUnit
		if score < t.o.MinScore {
			continue
		}
		desc, _ := safetext.Field(h.Description)
		if r := []rune(desc); len(r) > findWidth {
			desc = string(r[:findWidth])
		}
		out.Results = append(out.Results, foundSkill{show(h.Address), desc, json.Number(fmt.Sprintf("%.2f", score))})
	}
	out.Message = fmt.Sprintf("Found %d skills. Load one with %s.", len(out.Results), t.o.LoaderName())
	if len(out.Results) == 0 {
		out.Message = "No skills match. Use other words, or go on without."
	}
	return answer(out), nil
}

func (o Options) topK() int {
	if o.TopK > 0 {
		return min(o.TopK, maxTopK)
	}
	return defaultTopK
}

// answer is a result that is one JSON document.
func answer(v any) Result {
	text, err := json.Marshal(v)
	if err != nil { // it holds texts and numbers only
		return refuse("internal", err.Error())
	}
	return Result{Text: string(text), Structured: v}
}
