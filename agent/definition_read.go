package agent

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/skill"
)

// DefinitionError is why a definition cannot be read, and where.
type DefinitionError struct {
	Line, Column int // of the file, from 1; 0 = of the file as a whole
	Problem      string
	Fix          string
}

func (e *DefinitionError) Error() string { return e.Problem }

// definitionKeys are the keys of a header, our own name of each first: those that follow are
// what other programs and the API call the same.
var definitionKeys = map[string][]string{
	"id": {"id"}, "name": {"name"}, "description": {"description"}, "model": {"model"}, "metadata": {"metadata"}, "triggers": {"triggers"},
	"skills": {"skills", "skill_ids"}, "tools": {"tools", "tool_names"}, "toolsets": {"toolsets", "tool_sets"},
	"discovery": {"discovery", "discovery_mode"}, "tier": {"tier", "risk_tier_max"},
}

// definitionTiers are the tiers that a definition may be bound to.
var definitionTiers = map[string]gate.Tier{
	"": 0, gate.ReadOnly.String(): gate.ReadOnly, gate.ConfirmOnce.String(): gate.ConfirmOnce,
	gate.AlwaysConfirm.String(): gate.AlwaysConfirm, gate.ManualOnly.String(): gate.ManualOnly,
	"1": gate.ReadOnly, "2": gate.ConfirmOnce, "3": gate.AlwaysConfirm, "4": gate.ManualOnly,
}

// Bounds of a definition, as texts that a person writes.
const (
	maxDefinitionID   = 64   // bytes
	maxDefinitionText = 1024 // bytes of name, description, or a trigger
	maxDefinitionList = 256  // entries of a list
)

// header is the header of a definition while it is read. The first problem stays.
type header struct {
	raw *skill.Node
	bad *DefinitionError
}

func (h *header) fail(n *skill.Node, fix, format string, args ...any) {
	if h.bad != nil {
		return
	}
	h.bad = &DefinitionError{Problem: fmt.Sprintf(format, args...), Fix: fix}
	if n != nil {
		h.bad.Line, h.bad.Column = n.Line, n.Column
	}
}

// get returns the value of a key under the first of its names that is there.
func (h *header) get(key string) *skill.Node {
	for _, name := range definitionKeys[key] {
		if n := h.raw.Get(name); n != nil {
			return n
		}
	}
	return nil
}

func (h *header) text(key string) string {
	n := h.get(key)
	if n == nil {
		return ""
	}
	text, ok := n.Text()
	if text = strings.TrimSpace(text); !ok || len(text) > maxDefinitionText {
		h.fail(n, "write one line of text", "%s: it is no text of at most %d bytes", key, maxDefinitionText)
		return ""
	}
	return text
}

// words are the items of a list, or those of a text that commas part; nil = nothing is
// said.
func (h *header) words(key string) []string {
	n := h.get(key)
	if n == nil {
		return nil
	}
	out := []string{}
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, text)
		}
	}
	text, isText := n.Text()
	switch {
	case isText:
		for part := range strings.SplitSeq(text, ",") {
			add(part)
		}
	case n.Kind == skill.SequenceNode:
		for _, item := range n.Content {
			text, ok := item.Text()
			if !ok {
				h.fail(item, "write a list of names", "%s: an entry is no text", key)
			}
			add(text)
		}
	default:
		h.fail(n, "write a list of names", "%s: it is no list", key)
	}
	if len(out) > maxDefinitionList {
		h.fail(n, "shorten the list", "%s: %d entries, at most %d", key, len(out), maxDefinitionList)
	}
	return out
}

// triggers reads a list of words, or of one-key mappings whose value says more.
func (h *header) triggers() []Trigger {
	n := h.get("triggers")
	if n == nil {
		return nil
	}
	known := slices.Sorted(maps.Values(triggerOf))
	out := []Trigger{}
	add := func(at *skill.Node, kind, value string) {
		if kind = strings.ToLower(strings.TrimSpace(kind)); !slices.Contains(known, kind) {
			h.fail(at, "use "+strings.Join(known, ", "), "triggers: %q is none", kind)
		}
		out = append(out, Trigger{kind, value})
	}
	items := n.Content
	if _, one := n.Text(); one {
		items = []*skill.Node{n}
	} else if n.Kind != skill.SequenceNode {
		items = nil
		h.fail(n, "write a list", "triggers: it is no list")
	}
	for _, item := range items {
		if text, ok := item.Text(); ok {
			add(item, text, "")
			continue
		}
		if item.Kind != skill.MappingNode || len(item.Content) != 2 {
			h.fail(item, "write one key, as in {cron: \"0 9 * * *\"}", "triggers: an entry is no word and no mapping of one key")
			continue
		}
		kind, _ := item.Content[0].Text()
		value, _ := item.Content[1].Text()
		add(item, kind, value)
	}
	return out
}

func (h *header) metadata() map[string]string {
	n := h.get("metadata")
	if n == nil {
		return nil
	}
	if n.Kind != skill.MappingNode {
		h.fail(n, "write keys and values", "metadata: it is no mapping")
		return nil
	}
	out := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, _ := n.Content[i].Text()
		value, ok := n.Content[i+1].Text()
		if !ok {
			value = n.Content[i+1].Source
		}
		out[key] = value
	}
	return out
}

// ReadDefinition reads a file with a header like a skill's: id, name, description, skills,
// tools, toolsets, model, discovery, tier, triggers and metadata; below it stands the
// prompt. Without an id the name is it where that is one word, else stem, the file's name
// without its ending. Keys that it does not know say nothing. An empty list of tools is a
// limit like any other. The error is a *DefinitionError.
func ReadDefinition(src []byte, stem string) (Definition, error) {
	s := skill.Parse(src, skill.ParseOptions{})
	h := &header{raw: s.Raw()}
	if h.raw.Len() == 0 || h.raw.Kind != skill.MappingNode {
		return Definition{}, &DefinitionError{Line: 1, Problem: "it has no header that can be read", Fix: "begin the file with --- and keys, and end them with ---"}
	}
	d := Definition{
		ID: h.text("id"), Name: h.text("name"), Description: h.text("description"), Model: h.text("model"),
		Skills: h.words("skills"), Tools: h.words("tools"), ToolSets: h.words("toolsets"), Discovery: Discovery(h.text("discovery")),
		Triggers: h.triggers(), Metadata: h.metadata(),
		Prompt: skill.NormaliseBody(string(src[s.Body.Start:s.Body.End])),
	}
	at := h.get("id")
	if d.ID == "" {
		d.ID = d.Name
		if at = h.get("name"); at == nil || !oneWord(d.ID) && stem != "" {
			d.ID = stem
		}
	}
	if d.Name == "" {
		d.Name = d.ID
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
	tier := h.text("tier")
	ceiling, known := definitionTiers[strings.ToUpper(tier)]
	d.Ceiling = ceiling
	switch {
	case !oneWord(d.ID):
		h.fail(at, "give it an id of letters, digits, - and _", "id: %s is not one word of at most %d bytes", strconv.Quote(d.ID), maxDefinitionID)
	case !slices.Contains([]Discovery{DiscoverNone, DiscoverListed, DiscoverSearch}, d.Discovery):
		h.fail(h.get("discovery"), "use none, listed or search", "discovery: it is not none, listed or search")
	case !known:
		h.fail(h.get("tier"), "use READ_ONLY, CONFIRM_ONCE, ALWAYS_CONFIRM or MANUAL_ONLY", "tier: %s is not a tier", strconv.Quote(tier))
	}
	if h.bad != nil {
		return Definition{}, h.bad
	}
	return d, nil
}

// oneWord reports whether a text can be an id.
func oneWord(id string) bool {
	return id != "" && len(id) <= maxDefinitionID && !strings.ContainsAny(id, " \t\r\n/\\,:") && !skill.UnsafeName(id)
}
