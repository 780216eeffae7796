package toolset

import (
	"encoding/json"
	"strconv"
	"strings"
)

// normal rewrites the arguments of a call into the form of the schema: another spelling
// of a name becomes the schema's where that is absent, a number in quotes becomes a
// number, one text becomes a list of one. Whoever checks arguments asks for this
// first, so that the check, the consent and the handler see one form. Everything else
// stays as it is, to be refused by name.
func normal(schema, args json.RawMessage) json.RawMessage {
	var values map[string]json.RawMessage
	props := properties(schema)
	if props == nil || json.Unmarshal(args, &values) != nil || values == nil {
		return args
	}
	changed := false
	for name, want := range props {
		for _, other := range spellings(name) {
			v, given := values[other]
			_, own := props[other]
			if _, there := values[name]; given && !own && !there {
				values[name], changed = v, true
				delete(values, other)
			}
		}
		if v, ok := retyped(want, values[name]); ok {
			values[name], changed = v, true
		}
	}
	if !changed {
		return args
	}
	out, err := json.Marshal(values)
	if err != nil {
		return args
	}
	return out
}

// properties returns the types of a schema's properties by name, nil for no schema.
func properties(schema json.RawMessage) map[string]string {
	var s struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	out := make(map[string]string, len(s.Properties))
	for name, p := range s.Properties {
		out[name] = p.Type
	}
	return out
}

// retyped turns a text into the type that the schema asks for, where its meaning is plain.
func retyped(want string, v json.RawMessage) (json.RawMessage, bool) {
	var text string
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, &text) != nil {
		return nil, false
	}
	switch want {
	case "integer":
		n, err := strconv.Atoi(strings.TrimSpace(text))
		return json.RawMessage(strconv.Itoa(n)), err == nil
	case "array":
		return json.RawMessage("[" + string(v) + "]"), true
	}
	return nil, false
}

// Normalize returns args in the form of the schema; see normal.
func (t *fileReadTool) Normalize(args json.RawMessage) json.RawMessage {
	return normal(json.RawMessage(readSchema), args)
}

// Normalize returns args in the form of the schema; see normal.
func (t *writeTool) Normalize(args json.RawMessage) json.RawMessage {
	return normal(json.RawMessage(writeSchema), args)
}

// Normalize returns args in the form of the schema; see normal.
func (t *editTool) Normalize(args json.RawMessage) json.RawMessage {
	return normal(json.RawMessage(editSchema), args)
}

// Normalize returns args in the form of the schema; see normal.
func (t *globTool) Normalize(args json.RawMessage) json.RawMessage {
	return normal(json.RawMessage(globSchema), args)
}

// Normalize returns args in the form of the schema; see normal.
func (t *grepTool) Normalize(args json.RawMessage) json.RawMessage {
	return normal(json.RawMessage(grepSchema), args)
}

// Normalize returns args in the form of the schema; see normal.
func (t *todoTool) Normalize(args json.RawMessage) json.RawMessage {
	return normal(json.RawMessage(todoSchema), args)
}
