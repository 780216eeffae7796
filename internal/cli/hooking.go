package cli

import (
	"errors"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/skill"
)

// hostHooks reads the hooks of the settings. What is wrong with one is told with its line.
func hostHooks(c *config.Config) ([]command.Hook, []skill.Diagnostic) {
	var out []command.Hook
	var diags []skill.Diagnostic
	for _, list := range c.Hooks {
		hooks, found := command.ParseHooks(list.Value, skill.Deft)
		for _, d := range found {
			d.File, d.Line = list.From.File, list.From.Line
			diags = append(diags, d)
		}
		for _, h := range hooks {
			if h.Type == "command" && !c.Commands.Hooks {
				d := skill.Finding("hook_off", list.From.File, "a hook of %s is a command, and hooks.commands is off", h.Event)
				d.Line = list.From.Line
				diags = append(diags, d)
			}
		}
		out = append(out, hooks...)
	}
	return out, diags
}

// hookShown is one hook of a skill that a person is asked to trust.
type hookShown struct {
	Event string `json:"event"`
	Type  string `json:"type"`
	Text  string `json:"text"` // the command, or what it adds or says
}

func hooksShown(c deft.Code) []hookShown {
	out := []hookShown{}
	for _, h := range c.HookList {
		out = append(out, hookShown{h.Event, h.Type, h.Value + h.Command})
	}
	return out
}

// hookJSON is one hook that ran.
type hookJSON struct {
	Event string `json:"event"`
	Type  string `json:"type"`
	Skill string `json:"skill"` // "" = of the settings
	Tool  string `json:"tool"`
	Did   string `json:"did"`
	Text  string `json:"text"`
}

func hookOf(h command.HookRun) hookJSON {
	return hookJSON{h.Event, h.Type, h.Skill, h.Tool, h.Did, h.Text}
}

// hookText says what came of a hook; "" = nothing that a person needs to hear.
func (r *run) hookText(h command.HookRun) (safetext.Style, string) {
	whose := r.words.Say("hook.host")
	if h.Skill != "" {
		whose = r.words.Say("hook.skill", h.Skill)
	}
	text := safetext.Clip(safetext.Line(h.Text), 200)
	switch h.Did {
	case "nothing":
		return safetext.Dim, ""
	case "notify":
		return safetext.Yellow, r.words.Say("hook.notify", whose, text)
	case "failed":
		return safetext.Yellow, r.words.Say("hook.failed", whose, h.Event, text)
	}
	return safetext.Dim, r.words.Say("hook."+h.Did, whose, h.Event, text)
}

// hookBehind says whose hook a command is of that a person is asked about.
func (r *run) hookBehind(q agent.Question) string {
	if q.For.Name == "" {
		return r.words.Say("confirm.own_hook")
	}
	return r.words.Say("confirm.hook", safetext.Clip(safetext.Line(q.For.Address), 64), safetext.Line(q.For.Dir))
}

// hook shows a hook that ran.
func (v *viewer) hook(in string, h command.HookRun) {
	v.doc.Hooks = append(v.doc.Hooks, hookOf(h))
	if style, text := v.r.hookText(h); text != "" {
		v.note(style, in+"↳", "%s", text)
	}
}

// planHooks shows the hooks of a plan.
func (r *run) planHooks(doc *askJSON, p agent.Prepared) {
	for _, h := range p.Hooks {
		doc.Hooks = append(doc.Hooks, hookOf(h))
		if style, text := r.hookText(h); text != "" && !r.globals.json {
			r.hintf("%s %s", r.err.Paint(style, "↳"), text)
		}
	}
}

// ended shows the hooks that run when a session is closed.
func (r *run) ended(e agent.Event) {
	if e.Type != agent.HookRan || r.globals.quiet || r.globals.json {
		return
	}
	if style, text := r.hookText(*e.Hook); text != "" {
		r.err.Printf("%s %s\n", r.err.Paint(style, "↳"), text)
	}
}

// hookRefusal turns the refusal of a request by a hook into how the run ends.
func hookRefusal(err error) error {
	var h *agent.HookError
	if errors.As(err, &h) {
		return fail(Refused, h.Code, "request refused: %s", h.Message)
	}
	return err
}
