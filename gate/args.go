package gate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// placementKeys are refused whatever a schema says: where a tool runs is fixed when
// the session starts, and no model may choose it.
var placementKeys = [...]string{"environment", "backend"}

// checkArgs parses src and holds it against the tool's schema. It returns the
// object and its canonical form, or an *argError.
func (t *registered) checkArgs(name string, src json.RawMessage) (map[string]any, json.RawMessage, error) {
	if len(src) == 0 {
		src = json.RawMessage("{}")
	}
	v, err := parseArgs(src)
	if err != nil {
		return nil, nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, nil, &argError{"", "arguments are not an object"}
	}
	for _, key := range placementKeys {
		if _, ok := object[key]; ok {
			return nil, nil, &argError{"/" + key, "where a tool runs is not an argument"}
		}
	}
	if schema := t.schemas[name]; schema != nil {
		values := plain(object)
		if err := schema.Validate(values); err != nil {
			at, cause := locate(schema.Schema(), values, "", err)
			return nil, nil, &argError{at, schemaMessage(cause)}
		}
	}
	return object, canonical(object), nil
}

// plain returns v with Go numbers in it: the schema library takes a json.Number for
// text. The canonical form is made from the exact digits, never from this.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // in range: checkNumber has seen it
		return f
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plain(e)
		}
		return out
	}
	return v
}

// locate finds the innermost part of v that breaks its part of the schema, so that
// the message can name it by JSON pointer. The library names the schema's place.
func locate(s *jsonschema.Schema, v any, at string, cause error) (string, error) {
	for _, child := range children(s, v) {
		resolved, err := child.schema.CloneSchemas().Resolve(nil)
		if err != nil {
			continue
		}
		if err := resolved.Validate(child.value); err != nil {
			return locate(child.schema, child.value, at+"/"+pointerEscape(child.key), err)
		}
	}
	return at, cause
}

type part struct {
	key    string
	schema *jsonschema.Schema
	value  any
}

func children(s *jsonschema.Schema, v any) []part {
	var out []part
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
			if value, ok := v[key]; ok && s.Properties[key] != nil {
				out = append(out, part{key, s.Properties[key], value})
			}
		}
	case []any:
		for i, value := range v {
			if s.Items != nil {
				out = append(out, part{strconv.Itoa(i), s.Items, value})
			}
		}
	}
	return out
}

// schemaMessage keeps what the library says of the innermost fault.
func schemaMessage(err error) string {
	text := err.Error()
	for strings.HasPrefix(text, "validating ") {
		_, rest, ok := strings.Cut(text, ": ")
		if !ok {
			break
		}
		text = rest
	}
	const longest = 300
	if len(text) > longest {
		cut := longest
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = fmt.Sprintf("%s… (%d bytes)", text[:cut], len(text))
	}
	return text
}
