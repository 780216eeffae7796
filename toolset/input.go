package toolset

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// synonyms are the spellings of one argument that models and dialects use, our own
// first.
var synonyms = [...][]string{
	{"name", "skill", "skill_name", "skillName", "skill_id"},
	{"arguments", "args"},
	{"startLine", "start_line"},
	{"endLine", "end_line"},
	{"names", "skillNames", "skill_names"},
	{"topK", "top_k", "max"},
	{"path", "file_path", "filePath"},
	{"dir", "cwd", "workdir"},
}

// spellings returns every spelling of an argument, the given one first.
func spellings(name string) []string {
	for _, group := range synonyms {
		if slices.Contains(group, name) {
			return append([]string{name}, group...)
		}
	}
	return []string{name}
}

// ownName is our spelling of an argument.
func ownName(name string) string {
	for _, group := range synonyms {
		if slices.Contains(group, name) {
			return group[0]
		}
	}
	return name
}

// input reads the arguments of one call. The first problem stays; later reads of a
// broken input give zero values.
type input struct {
	values map[string]json.RawMessage
	used   map[string]bool
	said   map[string]string // how the schema spells our names; nil = the same
	fault  *Result
}

func parseInput(raw json.RawMessage) *input {
	in := &input{values: map[string]json.RawMessage{}, used: map[string]bool{}}
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if err := json.Unmarshal(raw, &in.values); err != nil || in.values == nil {
		in.bad("the arguments are not a JSON object")
	}
	return in
}

// say is the schema's name of an argument.
func (in *input) say(name string) string {
	if said := in.said[name]; said != "" {
		return said
	}
	return name
}

func (in *input) bad(format string, args ...any) {
	if in.fault == nil {
		r := refuse("bad_args", fmt.Sprintf(format, args...)+". Correct the arguments and call again.")
		in.fault = &r
	}
}

// take returns the raw value of an argument under its name or an alias.
func (in *input) take(name string) (json.RawMessage, bool) {
	for _, key := range spellings(name) {
		if v, ok := in.values[key]; ok {
			in.used[key] = true
			if string(v) == "null" {
				return nil, false
			}
			return v, true
		}
	}
	return nil, false
}

// text returns a string argument of at most max bytes.
func (in *input) text(name string, max int, required bool) (s string, given bool) {
	v, ok := in.take(name)
	if !ok {
		if required {
			in.bad("%s is missing", in.say(name))
		}
		return "", false
	}
	if json.Unmarshal(v, &s) != nil {
		in.bad("%s: got %s, want a string", in.say(name), kindOf(v))
		return "", false
	}
	if len(s) > max {
		in.bad("%s: %d bytes, limit %d", in.say(name), len(s), max)
		return "", false
	}
	return s, true
}

// whole returns an integer argument; a string of digits is accepted.
func (in *input) whole(name string, def int) int {
	v, ok := in.take(name)
	if !ok {
		return def
	}
	var f float64
	if json.Unmarshal(v, &f) == nil && f == math.Trunc(f) && math.Abs(f) < 1<<31 {
		return int(f)
	}
	var s string
	if json.Unmarshal(v, &s) == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil && n < 1<<31 && n > -1<<31 {
			return n
		}
	}
	in.bad("%s: got %s, want a whole number", in.say(name), kindOf(v))
	return def
}

// texts returns a list of strings; one string counts as a list of one.
func (in *input) texts(name string, max int, required bool) []string {
	v, ok := in.take(name)
	if !ok {
		if required {
			in.bad("%s is missing", in.say(name))
		}
		return nil
	}
	var list []string
	var one string
	switch {
	case json.Unmarshal(v, &list) == nil:
	case json.Unmarshal(v, &one) == nil:
		list = []string{one}
	default:
		in.bad("%s: got %s, want a list of strings", in.say(name), kindOf(v))
	}
	if len(list) > max {
		in.bad("%s: %d entries, limit %d", in.say(name), len(list), max)
		return nil
	}
	return list
}

// flag returns a boolean argument.
func (in *input) flag(name string) bool {
	v, ok := in.take(name)
	var b bool
	if ok && json.Unmarshal(v, &b) != nil {
		in.bad("%s: got %s, want true or false", in.say(name), kindOf(v))
	}
	return b
}

// note names the arguments that nobody asked for, "" if there are none.
func (in *input) note() string {
	var extra []string
	for _, key := range slices.Sorted(maps.Keys(in.values)) {
		if !in.used[key] {
			extra = append(extra, show(key))
		}
	}
	if len(extra) == 0 {
		return ""
	}
	return "Ignored unknown arguments: " + strings.Join(extra[:min(len(extra), 10)], ", ") + ".\n"
}

func kindOf(v json.RawMessage) string {
	switch strings.TrimSpace(string(v))[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

// refuse is a Result that the model can repair.
func refuse(code, text string) Result {
	return Result{Code: code, Text: text, IsError: true, Retry: RetryCorrected}
}
