package toolset

import (
	"encoding/json"
	"strconv"
	"strings"
)

// normal rewrites the arguments of a call into the form of the schema: an alias
// becomes the name that it stands for where that is absent, a number in quotes
// becomes a number, one text becomes a list of one. Whoever checks arguments asks
// for this first, so that the check, the consent and the handler see one form.
// Everything else stays as it is, to be refused by name.
func normal(schema string, args json.RawMessage) json.RawMessage {
	var s struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	var values map[string]json.RawMessage
	if json.Unmarshal([]byte(schema), &s) != nil || json.Unmarshal(args, &values) != nil || values == nil {
		return args
	}
	changed := false
	for name, p := range s.Properties {
		for _, other := range aliases[name] {
			v, given := values[other]
			_, own := s.Properties[other]
			if _, there := values[name]; given && !own && !there {
				values[name], changed = v, true
				delete(values, other)
			}
		}
		if v, ok := retyped(p.Type, values[name]); ok {
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
func (t *skillTool) Normalize(args json.RawMessage) json.RawMessage { return normal(skillSchema, args) }

// Normalize returns args in the form of the schema; see normal.
func (t *readTool) Normalize(args json.RawMessage) json.RawMessage {
	return normal(skillReadSchema, args)
}

// Normalize returns args in the form of the schema; see normal.
func (t *searchTool) Normalize(args json.RawMessage) json.RawMessage {
	return normal(skillSearchSchema, args)
}

// Normalize returns args in the form of the schema; see normal.
func (t *activateTool) Normalize(args json.RawMessage) json.RawMessage {
	return normal(activateSchema, args)
}

// Normalize returns args in the form of the schema; see normal.
func (t *deactivateTool) Normalize(args json.RawMessage) json.RawMessage {
	return normal(deactivateSchema, args)
}

// Normalize returns args in the form of the schema; see normal.
func (t *fileReadTool) Normalize(args json.RawMessage) json.RawMessage {
	return normal(readSchema, args)
}

// Normalize returns args in the form of the schema; see normal.
func (t *writeTool) Normalize(args json.RawMessage) json.RawMessage { return normal(writeSchema, args) }

// Normalize returns args in the form of the schema; see normal.
func (t *editTool) Normalize(args json.RawMessage) json.RawMessage { return normal(editSchema, args) }

// Normalize returns args in the form of the schema; see normal.
func (t *globTool) Normalize(args json.RawMessage) json.RawMessage { return normal(globSchema, args) }

// Normalize returns args in the form of the schema; see normal.
func (t *grepTool) Normalize(args json.RawMessage) json.RawMessage { return normal(grepSchema, args) }

// Normalize returns args in the form of the schema; see normal.
func (t *todoTool) Normalize(args json.RawMessage) json.RawMessage { return normal(todoSchema, args) }
