package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/toolrule"
	"github.com/deftskills/deft/toolset"
)

// Discovery is what a kind of agent may see of the skills.
type Discovery string

// The discoveries. With a list a sub-agent has the skills of the list and knows no other.
const (
	DiscoverNone   Discovery = "none"   // no skill; the default without a list
	DiscoverListed Discovery = "listed" // those of the list; the default with one
	DiscoverSearch Discovery = "search" // all: it has the catalog and the search
)

// Definition is a kind of agent: what a sub-agent is made of, or a whole session that a
// person or a job starts by its id. Its lists are limits: what is not in them does not exist
// for it.
type Definition struct {
	ID, Name, Description string   // ID is one word and finds it; Name is for people
	Prompt                string   // is added to the prompt
	Skills                []string // are started before its first request; naming them is consent, so manual-only ones too
	Tools                 []string // patterns of tool names; nil = no bound by name
	ToolSets              []string // sets of tools, such as files, web, shell; nil = no bound by set
	Discovery             Discovery
	Ceiling               gate.Tier // the highest tier that may run; 0 = the caller's
	Model                 string    // "" = the caller's
	Triggers              []Trigger // what may start it as a session of its own; nil = anything
	Metadata              map[string]string
	Path                  string // of its file; "" = built in
}

// Trigger is one thing that may start an agent.
type Trigger struct {
	Kind  string // manual, cron, event, webhook, workflow
	Value string // what the file says of it, such as a schedule: for people and for whoever makes a job of it
}

// triggerOf is what an origin is called among triggers.
var triggerOf = map[gate.Origin]string{
	gate.Interactive: "manual", gate.Cron: "cron", gate.Event: "event", gate.Webhook: "webhook", gate.Workflow: "workflow",
}

// StartedBy reports whether a turn of that origin may run as the agent.
func (d Definition) StartedBy(o gate.Origin) bool {
	return d.Triggers == nil || slices.ContainsFunc(d.Triggers, func(t Trigger) bool { return t.Kind == triggerOf[o] })
}

// Admit returns an input as one of a session that runs as the agent: within its ceiling. The
// error is that its triggers do not let the turn start.
func (d Definition) Admit(in Input) (Input, error) {
	origin, ceiling := in.bounds()
	if !d.StartedBy(origin) {
		return in, fmt.Errorf("agent %q is not started by origin %q: its triggers say otherwise", d.ID, origin)
	}
	in.Ceiling = d.Least(ceiling)
	return in, nil
}

// subPrompt tells every sub-agent what it is.
const subPrompt = "You are a sub-agent: you carry out the one task that the request holds, and nothing beside it. " +
	"Nobody reads along, so ask nothing back. Your last message is all that whoever started you is given: " +
	"say what you found or did, and what is left undone."

// SystemPrompt is what the definition adds to the prompt of a sub-agent.
func (d Definition) SystemPrompt() string {
	return strings.TrimSpace(subPrompt + "\n\n" + strings.TrimSpace(d.Prompt))
}

// HasTool reports whether a tool is within the limits: in one of the lists, where there is
// one.
func (d Definition) HasTool(s toolset.Spec) bool {
	return d.Tools == nil && d.ToolSets == nil ||
		d.Tools != nil && toolrule.ParseList(d.Tools).Mentions(s.Name) || slices.Contains(d.ToolSets, s.Toolset)
}

// Least returns the lower of a ceiling and the definition's; 0 = none.
func (d Definition) Least(ceiling gate.Tier) gate.Tier {
	if d.Ceiling != 0 && (ceiling == 0 || d.Ceiling < ceiling) {
		return d.Ceiling
	}
	return ceiling
}

// looker is a kind that changes nothing.
func looker(name, description string) Definition {
	return Definition{
		ID: name, Name: name, Description: description, Discovery: DiscoverNone, Ceiling: gate.ReadOnly,
		Prompt: "You only read: you change nothing, neither files nor anything else.",
	}
}

// BuiltinDefinitions are the kinds that are always there: one that can do all its caller
// can, and one that only reads. The last three are the names by which skills of dialect
// claude-code ask for them.
func BuiltinDefinitions() []Definition {
	general := Definition{ID: "general", Name: "general", Description: "Does what a skill says, with every tool.", Discovery: DiscoverSearch}
	purpose := general
	purpose.ID, purpose.Name = "general-purpose", "general-purpose"
	return []Definition{
		general, looker("explorer", "Reads and reports; it changes nothing."), purpose,
		looker("Explore", "Reads and reports; it changes nothing."), looker("Plan", "Reads and plans; it changes nothing."),
	}
}
