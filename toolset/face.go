package toolset

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/deftskills/deft/gate"
)

// dialectsJSON says which tools a dialect has: under which name, when they are shown,
// and what differs from deft's own.
//
//go:embed dialects.json
var dialectsJSON []byte

// face is one tool as a dialect shows it; what is absent is the tool's own.
type face struct {
	As     string          `json:"as"`     // the exposed name
	When   string          `json:"when"`   // a key of moments
	Styles []Style         `json:"styles"` // only in these styles; none = in all
	Alone  bool            `json:"alone"`  // runs first in its step, see Mode
	Text   string          `json:"text"`   // the description, a file of text/ without its ending
	Input  json.RawMessage `json:"input"`  // the schema
	// Discovers shows what a tool_search found to the model from then on.
	Discovers bool `json:"discovers"`
	// Lists puts the list of skills into the description instead of the prompt.
	Lists bool `json:"lists"`
}

// faces are all dialects' tables. The file is part of the program: that it can be read
// is tested.
var faces = sync.OnceValue(func() map[string]map[string]face {
	var all map[string]map[string]face
	if json.Unmarshal(dialectsJSON, &all) != nil {
		return nil
	}
	return all
})

// faces returns the tools of the options' dialect by their own names.
func (o Options) faces() map[string]face {
	all := faces()
	d := string(o.Dialect)
	if d == "" {
		d = "deft"
	}
	demand, has := all[d+" on demand"]
	switch {
	case !has || o.OnDemand == "":
		return all[d]
	case o.OnDemand == OnDemandOnly:
		return demand
	}
	both := maps.Clone(all[d])
	maps.Copy(both, demand)
	return both
}

// face returns how the options show a tool, false where they do not let it exist.
func (o Options) face(base string) (face, bool) {
	f, ok := o.faces()[base]
	switch {
	case !ok, len(f.Styles) > 0 && !slices.Contains(f.Styles, o.style()):
		return f, false
	case base == NameSkillSearch || base == NameSearchSkills:
		return f, o.Searcher != nil && o.Search != SearchNever
	case base == NameSkillRun:
		return f, o.Scripts != nil
	}
	return f, true
}

func (o Options) style() Style {
	if o.Style == "" {
		return StyleSkill
	}
	return o.Style
}

// Name returns the name under which a model finds the tool of that name before any
// renaming, "" where the options do not let it exist.
func (o Options) Name(base string) string {
	f, ok := o.face(base)
	if !ok {
		return ""
	}
	return o.name(base, f)
}

func (o Options) name(base string, f face) string {
	switch {
	case o.Names[base] != "":
		return o.Names[base]
	case f.As != "":
		return o.Prefix + f.As
	}
	return o.Prefix + base
}

// shape is the part of a skill tool that is the same for all of them: what it says of
// itself.
type shape struct {
	o    Options
	base string
	face face
	spec Spec
	said map[string]string // the schema's names of arguments, by ours
}

// kind is what a tool is before any dialect. Order is that of the model's list.
type kind struct {
	base, schema string
	tier         gate.Tier
	writes       bool // changes what is active
	make         func(shape) Tool
}

var kinds = []kind{
	{NameSkill, skillSchema, gate.ReadOnly, false, func(s shape) Tool { return &skillTool{s} }},
	{NameLoadSkill, loadSchema, gate.ReadOnly, false, func(s shape) Tool { return &loadTool{s} }},
	{NameSkillRead, skillReadSchema, gate.ReadOnly, false, func(s shape) Tool { return &readTool{s} }},
	{NameActivate, activateSchema, gate.ReadOnly, false, func(s shape) Tool { return &activateTool{s} }},
	{NameDeactivate, deactivateSchema, gate.ReadOnly, true, func(s shape) Tool { return &deactivateTool{s} }},
	{NameSkillSearch, skillSearchSchema, gate.ReadOnly, false, func(s shape) Tool { return &searchTool{s} }},
	{NameSearchSkills, searchSkillsSchema, gate.ReadOnly, false, func(s shape) Tool { return &findTool{s} }},
	{NameSkillRun, skillRunSchema, gate.AlwaysConfirm, true, func(s shape) Tool { return &runTool{s} }},
	{NameToolSearch, toolSearchSchema, gate.ReadOnly, false, func(s shape) Tool { return &toolSearch{s} }},
	{NameToolInvoke, toolInvokeSchema, gate.ReadOnly, true, func(s shape) Tool { return &invokeTool{s} }},
}

// steering are the tools that stay callable whatever a skill's list says.
var steering = [...]string{NameSkill, NameLoadSkill, NameSkillRead, NameActivate, NameDeactivate}

// Skills returns every skill tool that the options allow, for the table of the gate
// and for hosts that show all of them. Exposed says which of them a turn shows.
func Skills(o Options) []Tool {
	var out []Tool
	for _, k := range kinds {
		if f, ok := o.face(k.base); ok {
			out = append(out, k.make(o.shape(k, f)))
		}
	}
	return out
}

func (o Options) shape(k kind, f face) shape {
	s := shape{o: o, base: k.base, face: f, said: map[string]string{}}
	s.spec = Spec{
		Name: o.name(k.base, f), Toolset: "skills", Input: json.RawMessage(k.schema),
		Tier: k.tier, Mode: Parallel, ReadOnly: k.tier == gate.ReadOnly && !k.writes,
	}
	s.spec.Steers = slices.Contains(steering[:], k.base)
	s.spec.Runs = k.base == NameSkillRun
	if f.Alone {
		s.spec.Mode = Alone
	}
	if f.Input != nil {
		s.spec.Input = f.Input
	}
	text := f.Text
	if text == "" {
		text = k.base
	}
	s.spec.Description = o.describe(text)
	for name := range properties(s.spec.Input) {
		s.said[ownName(name)] = name
	}
	return s
}

// Spec describes the tool.
func (s shape) Spec() Spec { return s.spec }

// Normalize returns args in the form of the schema; see normal.
func (s shape) Normalize(args json.RawMessage) json.RawMessage { return normal(s.spec.Input, args) }

// Accepts returns the schema that arguments are held against: the one that the model
// sees, but that arguments which it does not know are let through. The handler leaves
// them aside and says so.
func (s shape) Accepts() json.RawMessage {
	if s.o.Strict {
		return s.spec.Input
	}
	return widened(s.spec.Input)
}

// widened is a schema that lets arguments through which it does not know.
func widened(schema json.RawMessage) json.RawMessage {
	var wide map[string]json.RawMessage
	if json.Unmarshal(schema, &wide) != nil {
		return schema
	}
	delete(wide, "additionalProperties")
	out, err := json.Marshal(wide)
	if err != nil {
		return schema
	}
	return out
}

// input reads the arguments of a call. Messages name them as the schema does.
func (s shape) input(c Call) *input {
	in := parseInput(c.Input)
	in.said = s.said
	return in
}
