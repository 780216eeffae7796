package agent

import (
	"errors"
	"slices"
	"strings"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/toolrule"
	"github.com/deftskills/deft/skill"
)

// Discovery is what a kind of sub-agent may see of the skills.
type Discovery string

// The discoveries. With a list a sub-agent has the skills of the list and knows no other.
const (
	DiscoverNone   Discovery = "none"   // no skill; the default without a list
	DiscoverListed Discovery = "listed" // those of the list; the default with one
	DiscoverSearch Discovery = "search" // all: it has the catalog and the search
)

// Definition is a kind of sub-agent. Its lists are limits: what is not in them does not
// exist for it.
type Definition struct {
	Name, Description string
	Prompt            string   // is added to the prompt of every sub-agent
	Skills            []string // are started before its first request; naming them is consent, so manual-only ones too
	Tools             []string // patterns of tool names; nil = all
	Discovery         Discovery
	Ceiling           gate.Tier // the highest tier that may run; 0 = the caller's
	Model             string    // "" = the caller's
	Path              string    // of its file; "" = built in
}

// subPrompt tells every sub-agent what it is.
const subPrompt = "You are a sub-agent: you carry out the one task that the request holds, and nothing beside it. " +
	"Nobody reads along, so ask nothing back. Your last message is all that whoever started you is given: " +
	"say what you found or did, and what is left undone."

// SystemPrompt is what the definition adds to a prompt.
func (d Definition) SystemPrompt() string {
	return strings.TrimSpace(subPrompt + "\n\n" + strings.TrimSpace(d.Prompt))
}

// HasTool reports whether a tool is within the limits.
func (d Definition) HasTool(name string) bool {
	return d.Tools == nil || toolrule.ParseList(d.Tools).Mentions(name)
}

// looker is a kind that changes nothing.
func looker(name, description string) Definition {
	return Definition{
		Name: name, Description: description, Discovery: DiscoverNone, Ceiling: gate.ReadOnly,
		Prompt: "You only read: you change nothing, neither files nor anything else.",
	}
}

// BuiltinDefinitions are the kinds that are always there: one that can do all its caller
// can, and one that only reads. The last three are the names by which skills of dialect
// claude-code ask for them.
func BuiltinDefinitions() []Definition {
	general := Definition{Name: "general", Description: "Does what a skill says, with every tool.", Discovery: DiscoverSearch}
	purpose := general
	purpose.Name = "general-purpose"
	return []Definition{
		general, looker("explorer", "Reads and reports; it changes nothing."), purpose,
		looker("Explore", "Reads and reports; it changes nothing."), looker("Plan", "Reads and plans; it changes nothing."),
	}
}

// Definitions that cannot be read.
var (
	errNoHeader  = errors.New("it has no header that can be read")
	errNoName    = errors.New("name: it is missing or not one word")
	errDiscovery = errors.New("discovery: it is not none, listed or search")
	errNoTier    = errors.New("tier: it is not a tier")
)

// definitionTiers are the tiers that a definition may be bound to.
var definitionTiers = map[string]gate.Tier{
	"": 0, gate.ReadOnly.String(): gate.ReadOnly, gate.ConfirmOnce.String(): gate.ConfirmOnce,
	gate.AlwaysConfirm.String(): gate.AlwaysConfirm, gate.ManualOnly.String(): gate.ManualOnly,
}

// ReadDefinition reads a file with a header like a skill's: name, description, skills,
// tools, model, discovery and tier; below it stands the prompt. Keys that it does not
// know say nothing. An empty list of tools is a limit like any other.
func ReadDefinition(src []byte) (Definition, error) {
	s := skill.Parse(src, skill.ParseOptions{})
	raw := s.Raw()
	if raw == nil || raw.Kind != skill.MappingNode {
		return Definition{}, errNoHeader
	}
	text := func(key string) string {
		v, _ := raw.Get(key).Text()
		return strings.TrimSpace(v)
	}
	d := Definition{
		Name: text("name"), Description: text("description"), Model: text("model"),
		Skills: words(raw.Get("skills")), Tools: words(raw.Get("tools")), Discovery: Discovery(text("discovery")),
		Prompt: skill.NormaliseBody(string(src[s.Body.Start:s.Body.End])),
	}
	if d.Model == "inherit" {
		d.Model = ""
	}
	if d.Discovery == "" {
		d.Discovery = DiscoverNone
		if len(d.Skills) > 0 {
			d.Discovery = DiscoverListed
		}
	}
	tier, known := definitionTiers[strings.ToUpper(text("tier"))]
	d.Ceiling = tier
	switch {
	case d.Name == "" || strings.ContainsAny(d.Name, " \t\r\n/\\") || skill.UnsafeName(d.Name):
		return Definition{}, errNoName
	case !slices.Contains([]Discovery{DiscoverNone, DiscoverListed, DiscoverSearch}, d.Discovery):
		return Definition{}, errDiscovery
	case !known:
		return Definition{}, errNoTier
	}
	return d, nil
}

// words are the items of a list, or those of a text that commas part; nil = nothing is
// said.
func words(n *skill.Node) []string {
	if n == nil {
		return nil
	}
	out := []string{}
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, text)
		}
	}
	if text, ok := n.Text(); ok {
		for _, part := range strings.Split(text, ",") {
			add(part)
		}
	}
	if n.Kind == skill.SequenceNode {
		for _, item := range n.Content {
			text, _ := item.Text()
			add(text)
		}
	}
	return out
}
