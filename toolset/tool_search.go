package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/session"
)

const (
	maxFound      = 10      // tools of one answer
	maxSchemaText = 4 << 10 // bytes of a schema that is shown whole
)

// toolSearch finds tools that are registered and not in the model's list.
type toolSearch struct{ shape }

const toolSearchSchema = `{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":2048},"topK":{"type":"integer","minimum":1,"maximum":10}},"required":["query"],"additionalProperties":false}`

// Present implements Passing.
func (t *toolSearch) Present(n Now) bool { return t.face.When == "always" || n.Deferred }

func (t *toolSearch) Call(_ context.Context, c Call) (Result, error) {
	in := t.input(c)
	query, _ := in.text("query", 4*maxQuery, true)
	topK := min(max(in.whole("topK", defaultTopK), 1), maxFound)
	if strings.TrimSpace(query) == "" {
		in.bad("query is empty")
	}
	if in.fault != nil {
		return *in.fault, nil
	}
	var known []string
	if t.face.Discovers {
		known = c.Turn.Session().Effective().Discovered
	}
	looked := slices.DeleteFunc(slices.Clone(c.Registered), func(s Spec) bool { return !s.Deferred || slices.Contains(known, s.Name) })
	found := rankTools(query, looked)
	found = found[:min(topK, len(found))]
	if len(found) == 0 {
		return Result{Text: in.note() + fmt.Sprintf("No tool matches. %d tools were searched; use other words or go on without.", len(looked))}, nil
	}
	res := Result{Structured: found}
	if t.face.Discovers {
		res.Patch = &session.Patch{Discovery: &session.Discovery{}}
	}
	var parts []string
	for _, s := range found {
		if res.Patch != nil {
			res.Patch.Discovery.Discover = append(res.Patch.Discovery.Discover, s.Name)
		}
		parts = append(parts, fmt.Sprintf("%s (%s)\n%s\n%s", show(s.Name), s.Tier, show(firstLine(s.Description)), schemaText(s.Input)))
	}
	switch invoke := t.o.Name(NameToolInvoke); {
	case t.face.Discovers:
		parts = append(parts, "They can be called from the next step on.")
	case invoke != "":
		parts = append(parts, fmt.Sprintf("Call one with %s(tool, input).", invoke))
	}
	res.Text = in.note() + strings.Join(parts, "\n\n")
	return res, nil
}

// maxAnnounced is how many tools a prompt names that can be found.
const maxAnnounced = 12

// Announce is what the prompt says of tools that the model is not shown, where the
// dialect's tool for finding them adds them to its list; "" for none, and elsewhere.
func (o Options) Announce(hidden func() []Spec) string {
	f, ok := o.face(NameToolSearch)
	if !ok || !f.Discovers {
		return ""
	}
	list := hidden()
	if len(list) == 0 {
		return ""
	}
	lines := []string{fmt.Sprintf("More tools can be found with %s:", o.name(NameToolSearch, f))}
	for _, s := range list[:min(maxAnnounced, len(list))] {
		lines = append(lines, fmt.Sprintf("- %s: %s", show(s.Name), show(firstLine(s.Description))))
	}
	return strings.Join(lines, "\n")
}

// rankTools returns the tools in which words of the query occur, best first: a word in
// the name counts four, in the name of an argument two, in the description one.
func rankTools(query string, tools []Spec) []Spec {
	type scored struct {
		spec  Spec
		score int
	}
	words := strings.FieldsFunc(fold.Key(query), func(r rune) bool { return strings.ContainsRune(" \t\r\n,.;:!?_-/", r) })
	var all []scored
	for _, s := range tools {
		name, desc := fold.Key(s.Name), fold.Key(s.Description)
		params := fold.Key(strings.Join(slices.Sorted(maps.Keys(properties(s.Input))), " "))
		score := 0
		for _, w := range words {
			for _, place := range [...]struct {
				text   string
				weight int
			}{{name, 4}, {params, 2}, {desc, 1}} {
				if strings.Contains(place.text, w) {
					score += place.weight
				}
			}
		}
		if score > 0 {
			all = append(all, scored{s, score})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.spec.Name, b.spec.Name))
	})
	out := make([]Spec, 0, len(all))
	for _, s := range all {
		out = append(out, s.spec)
	}
	return out
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// schemaText is a schema, or of one that is too long the names of what it requires.
func schemaText(schema json.RawMessage) string {
	if len(schema) <= maxSchemaText {
		return string(schema)
	}
	var paths []string
	required(schema, "", &paths, 0)
	return "The schema is long; required: " + strings.Join(paths, ", ")
}

// required gathers the paths of required properties, by JSON pointer.
func required(schema json.RawMessage, at string, paths *[]string, depth int) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	const deepest, most = 8, 100
	if depth > deepest || len(*paths) >= most || json.Unmarshal(schema, &s) != nil {
		return
	}
	for _, name := range s.Required {
		path := at + "/" + show(name)
		*paths = append(*paths, path)
		required(s.Properties[name], path, paths, depth+1)
	}
}

// invokeTool calls a tool that is not in the model's list. It is taken off before the
// gate: what passes there is the call inside.
type invokeTool struct{ shape }

const toolInvokeSchema = `{"type":"object","properties":{"tool":{"type":"string","minLength":1,"maxLength":256},"input":{"type":"object"}},"required":["tool"],"additionalProperties":false}`

// Present implements Passing.
func (t *invokeTool) Present(n Now) bool { return t.face.When == "always" || n.Deferred }

// Unwrapper is a tool whose calls stand for a call of another tool. The loop puts the
// inner call in their place before the gate sees anything, so that tier, arguments,
// policy and record are the inner tool's. refusal is not nil where there is none.
type Unwrapper interface {
	Unwrap(args json.RawMessage) (tool string, inner json.RawMessage, refusal *Result)
}

// Unwrap implements Unwrapper. The tools that find and call others are not to be
// called through it.
func (t *invokeTool) Unwrap(args json.RawMessage) (tool string, inner json.RawMessage, refusal *Result) {
	in := parseInput(args)
	in.said = t.said
	tool, _ = in.text("tool", 256, true)
	inner, given := in.take("input")
	if in.fault != nil {
		return "", nil, in.fault
	}
	if !given {
		inner = json.RawMessage("{}")
	}
	if code := map[string]string{t.spec.Name: "bad_args", t.o.Name(NameToolSearch): "unknown_tool"}[tool]; code != "" {
		r := refuse(code, fmt.Sprintf("%s cannot be called through %s.", quote(tool), t.spec.Name))
		return "", nil, &r
	}
	return tool, inner, nil
}

// Call fails: a host that calls it has left out the unwrapping, and with it the gate.
func (t *invokeTool) Call(context.Context, Call) (Result, error) {
	return Result{}, fmt.Errorf("tool %s: called without being unwrapped", t.spec.Name)
}
