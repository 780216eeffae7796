package cli

import (
	"context"
	"strings"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/session"
)

// forkJSON is a skill that a sub-agent carries out: what the plan of a run says of it.
type forkJSON struct {
	Agent      string   `json:"agent"`
	Task       string   `json:"task"`
	Model      string   `json:"model"`
	Effort     string   `json:"effort"`
	Allowed    []string `json:"allowed_tools"`
	Disallowed []string `json:"disallowed_tools"`
	Background bool     `json:"background"`
}

func newForkJSON(f session.Fork) *forkJSON {
	return &forkJSON{
		Agent: f.Agent, Task: f.Task, Model: f.Model, Effort: f.Effort, Background: f.Background,
		Allowed: orEmptyList(f.Tools.Allow.Entries), Disallowed: orEmptyList(f.Tools.Deny),
	}
}

// subJSON is a sub-agent of a run; Path names those above it and itself.
type subJSON struct {
	Path    string        `json:"path"` // sub_1, sub_1/sub_1
	Skill   string        `json:"skill"`
	Agent   string        `json:"agent"`
	Stop    string        `json:"stop"`
	Tools   []toolJSON    `json:"tools"`
	Missing []refusedJSON `json:"missing"` // skills of its definition that did not start
	Usage   usageJSON     `json:"usage"`
}

// kinds are the kinds of sub-agents for a session without a model, whose plan names them.
// What is wrong with their definitions is said.
func (r *run) kinds(ctx context.Context, e *deft.Engine) []string {
	kinds, diags := e.Agents(ctx)
	for _, d := range diags {
		r.writeDiagnostic(r.err, d)
	}
	return deft.AgentNames(kinds)
}

// sub shows what a sub-agent does, one step further in for each that stands above it.
func (v *viewer) sub(path string, e agent.Event) {
	s, w := e.Sub, v.r.words
	in := strings.Repeat("  ", strings.Count(path, "/"))
	path += s.ID
	switch e.Type {
	case agent.SubagentStarted:
		v.doc.Subs = append(v.doc.Subs, subJSON{Path: path, Skill: s.Skill, Agent: s.Agent, Tools: []toolJSON{}, Missing: []refusedJSON{}})
		if e.Skill == nil {
			v.note(safetext.Cyan, in+"»", "%s", w.Say("ask.sub_task", s.ID, s.Agent))
			break
		}
		if path == s.ID {
			v.doc.started(*e.Skill)
		}
		v.note(safetext.Cyan, in+"»", "%s", w.Say("ask.sub_on", s.ID, s.Skill, s.Agent, w.Say("ask.by_"+e.Skill.By)))
	case agent.SubagentFinished:
		doc := v.subDoc(path)
		doc.Stop, doc.Usage = string(s.Stop), usageJSON{s.Usage.Input, s.Usage.Output}
		for _, m := range s.Missing {
			doc.Missing = append(doc.Missing, refusedJSON{m.Name, m.Code, m.Message, commandsJSON(nil)})
			v.note(safetext.Yellow, in+"!", "%s", w.Say("ask.refused", m.Name, m.Message, m.Code))
		}
		v.note(safetext.Cyan, in+"«", "%s", w.Say("ask.sub_off", s.ID, string(s.Stop)))
	case agent.SubagentEvent:
		v.within(path, in+"  ", *s.Event)
	}
}

// within shows one event of a sub-agent. Its texts are its caller's, not the person's.
func (v *viewer) within(path, in string, e agent.Event) {
	c := e.Call
	switch e.Type {
	case agent.SubagentStarted, agent.SubagentEvent, agent.SubagentFinished:
		v.sub(path+"/", e)
	case agent.ToolRequested:
		v.requested(in, c)
	case agent.GateDecided, agent.ConfirmAnswered:
		if c.Verdict != gate.Ask {
			doc := v.subDoc(path)
			doc.Tools = append(doc.Tools, toolJSON{c.Tool, c.Tier, string(c.Verdict), c.Reason})
			v.denied(in, c)
		}
	case agent.ToolFinished:
		v.finished(in, c)
	case agent.HookRan:
		v.hook(in, *e.Hook)
	}
}

func (v *viewer) subDoc(path string) *subJSON {
	for i := range v.doc.Subs {
		if v.doc.Subs[i].Path == path {
			return &v.doc.Subs[i]
		}
	}
	v.doc.Subs = append(v.doc.Subs, subJSON{Path: path, Tools: []toolJSON{}, Missing: []refusedJSON{}})
	return &v.doc.Subs[len(v.doc.Subs)-1]
}
