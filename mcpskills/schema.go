package mcpskills

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Bounds of a schema that is taken, and of one that arguments are held against: a few
// lines can name each other so that checking one call takes hours.
const (
	maxSchema = 64 << 10 // bytes
	maxDepth  = 64       // levels
	maxWeight = 10_000   // parts, each counted as often as it is referred to
)

// shallow is what arguments are held against where the schema is more than that: the
// server checks the rest itself.
const shallow = `{"type":"object"}`

// schemas returns what a model is shown of a tool's schema, its texts cleaned, and what
// the gate holds arguments against. The error says why the tool is left out.
func schemas(src any) (shown, accepts json.RawMessage, err error) {
	raw, err := json.Marshal(src)
	if err != nil {
		return nil, nil, err
	}
	if len(raw) > maxSchema {
		return nil, nil, fmt.Errorf("its schema has %d bytes, at most %d are taken", len(raw), maxSchema)
	}
	doc, ok := src.(map[string]any)
	if !ok {
		return nil, nil, errors.New("its schema is no object")
	}
	if kind, has := doc["type"]; has && kind != "object" {
		return nil, nil, errors.New("its schema is not that of an object")
	}
	clean, err := cleaned(doc, 0)
	if err != nil {
		return nil, nil, err
	}
	doc = clean.(map[string]any)
	doc["type"] = "object"
	if shown, err = json.Marshal(doc); err != nil {
		return nil, nil, err
	}
	w := weigher{root: doc, on: map[string]bool{}}
	if !w.weigh(doc) || !compiles(shown) {
		return shown, json.RawMessage(shallow), nil
	}
	return shown, shown, nil
}

// spoken are the keywords whose texts a model reads; $comment is for authors alone.
var spoken = map[string]bool{"title": true, "description": true}

// cleaned copies a schema with its texts cleaned. It refuses references that lead out of
// it: none is ever fetched.
func cleaned(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("its schema has more than %d levels", maxDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			text, isText := value.(string)
			switch {
			case isText && (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef") && !strings.HasPrefix(text, "#"):
				return nil, errors.New("its schema refers to another one, which is never fetched")
			case isText && key == "$comment":
				continue
			case isText && spoken[key]:
				out[key] = prose(text)
				continue
			}
			part, err := cleaned(value, depth+1)
			if err != nil {
				return nil, err
			}
			out[key] = part
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			part, err := cleaned(value, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = part
		}
		return out, nil
	}
	return v, nil
}

// weigher counts the parts of a schema as they are met when something is checked.
type weigher struct {
	root   map[string]any
	on     map[string]bool // references that are being followed
	weight int
}

// weigh is false for a schema that is too heavy, or that leads back into itself.
func (w *weigher) weigh(v any) bool {
	if w.weight++; w.weight > maxWeight {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if ref, isText := value.(string); isText && key == "$ref" {
				if !w.follow(ref) {
					return false
				}
			} else if key != "$defs" && key != "definitions" && !w.weigh(value) {
				return false
			}
		}
	case []any:
		for _, value := range v {
			if !w.weigh(value) {
				return false
			}
		}
	}
	return true
}

func (w *weigher) follow(ref string) bool {
	if w.on[ref] {
		return false
	}
	var at any = w.root
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		if part == "" {
			continue
		}
		m, ok := at.(map[string]any)
		if !ok {
			return false
		}
		if at, ok = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]; !ok {
			return false
		}
	}
	w.on[ref] = true
	defer delete(w.on, ref)
	return w.weigh(at)
}

// compiles reports whether arguments can be held against a schema here: some are of other
// drafts, or hold patterns that only other programs read.
func compiles(src json.RawMessage) bool {
	var s jsonschema.Schema
	if json.Unmarshal(src, &s) != nil {
		return false
	}
	_, err := s.Resolve(nil)
	return err == nil
}
