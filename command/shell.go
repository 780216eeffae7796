package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deftskills/deft/skill"
)

// List says which commands may run. The zero value is unset: no limit from this side.
type List struct {
	All      bool     // every command
	Limited  bool     // only what a prefix admits; without prefixes nothing
	Prefixes []string // each the first words of a command
}

// Prefixes is the list of these prefixes.
func Prefixes(p ...string) List { return List{Limited: true, Prefixes: p} }

// OnError says what a command that fails does to the load.
type OnError string

// What a failure does: a visible text in place of the command, which is the default, or
// the end of the load.
const (
	Placeholder OnError = "placeholder"
	Abort       OnError = "abort"
)

// Decl is what a skill's shell field says. A skill can only narrow: see [Effective].
type Decl struct {
	Enabled  bool
	List     List
	Program  string        // sh, bash, zsh, pwsh or powershell; "" = sh
	OnError  OnError       // "" = Placeholder
	Timeout  time.Duration // of one command, 1 to 10 s; 0 = the default
	Parallel bool          // at most four commands at once
}

var (
	yes = []string{"true", "yes", "on", "1"}
	no  = []string{"false", "no", "off", "0"}
)

// ParseShell reads the shell field: v is what [skill.Node] or any decoder of YAML or JSON
// gave, nil for a field that is absent. What cannot be read disables, with a diagnostic
// that has no place: the caller knows file and line.
func ParseShell(v any, d skill.Dialect) (Decl, []skill.Diagnostic) {
	r := shellReader{programs: mannerOf(d).programs}
	decl, ok := r.read(simple(v))
	if !ok {
		r.note("shell_type", "shell is neither a switch, a program, a prefix, a list nor an object of these")
		decl = Decl{}
	}
	return decl, r.out
}

type shellReader struct {
	programs []string
	out      []skill.Diagnostic
}

func (r *shellReader) note(code, format string, args ...any) {
	r.out = append(r.out, skill.Finding(code, "", format, args...)) //nolint:govet // the formats are this file's
}

// number marks a scalar that is a number: only 0 and 1 are switches.
type number string

// simple turns a value into nil, bool, number, string, []any or map[string]any.
func simple(v any) any {
	switch v := v.(type) {
	case *skill.Node:
		return fromNode(v)
	case []string:
		out := make([]any, len(v))
		for i, s := range v {
			out[i] = s
		}
		return out
	case int, int64, uint64, float64:
		return number(fmt.Sprint(v))
	}
	return v
}

func fromNode(n *skill.Node) any {
	switch {
	case n.IsNull():
		return nil
	case n.Kind == skill.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			out = append(out, fromNode(item))
		}
		return out
	case n.Kind == skill.MappingNode:
		out := make(map[string]any, n.Len())
		for i := range n.Len() {
			k, item := n.Pair(i)
			out[k.Value] = fromNode(item)
		}
		return out
	}
	if _, err := strconv.ParseFloat(n.Value, 64); err == nil && n.Style == skill.PlainStyle {
		return number(n.Value)
	}
	return n.Value
}

// toggle reads a switch.
func toggle(v any) (on, ok bool) {
	text := ""
	switch v := v.(type) {
	case nil:
		return true, true
	case bool:
		return v, true
	case number:
		text = string(v)
	case string:
		text = strings.ToLower(strings.TrimSpace(v))
	}
	on = slices.Contains(yes, text)
	return on, on || slices.Contains(no, text)
}

func (r *shellReader) read(v any) (Decl, bool) {
	if on, ok := toggle(v); ok {
		return Decl{Enabled: on}, true
	}
	switch v := v.(type) {
	case string:
		text := strings.TrimSpace(v)
		if slices.Contains(r.programs, text) {
			return Decl{Enabled: true, Program: text}, true
		}
		list, ok := r.list(text)
		return Decl{Enabled: true, List: list}, ok
	case []any:
		list, ok := r.list(v)
		return Decl{Enabled: len(list.Prefixes) > 0, List: list}, ok
	case map[string]any:
		return r.object(v)
	}
	return Decl{}, false
}

// list reads all, one prefix, or a list of prefixes.
func (r *shellReader) list(v any) (List, bool) {
	switch v := v.(type) {
	case string:
		if v = strings.TrimSpace(v); v == "all" {
			return List{All: true}, true
		}
		return Prefixes(v), v != ""
	case []any:
		out := List{Limited: true}
		for _, item := range v {
			text, ok := item.(string)
			if !ok {
				return List{}, false
			}
			if text = strings.TrimSpace(text); text != "" {
				out.Prefixes = append(out.Prefixes, text)
			}
		}
		return out, true
	}
	return List{}, false
}

// object reads the long form. A key with a value that cannot be read disables: what the
// author wanted to narrow is not known.
func (r *shellReader) object(m map[string]any) (Decl, bool) {
	d := Decl{Enabled: true}
	good := true
	for key, v := range m {
		v, ok := simple(v), true
		switch key {
		case "enabled":
			d.Enabled, ok = toggle(v)
		case "allowlist":
			if v != nil {
				if _, text := v.(string); text && strings.TrimSpace(v.(string)) != "all" {
					ok = false
				} else {
					d.List, ok = r.list(v)
				}
			}
		case "program":
			d.Program, ok = v.(string)
			ok = ok && slices.Contains(r.programs, d.Program)
		case "on_error":
			text, _ := v.(string)
			d.OnError = OnError(text)
			ok = d.OnError == Placeholder || d.OnError == Abort
		case "timeout":
			d.Timeout, ok = seconds(v)
		case "parallel":
			d.Parallel, ok = toggle(v)
		default:
			r.note("shell_key", "shell has a key %q that means nothing", key)
		}
		good = good && ok
	}
	if d.List.Limited && len(d.List.Prefixes) == 0 {
		d.Enabled = false
	}
	slices.SortFunc(r.out, func(a, b skill.Diagnostic) int { return strings.Compare(a.Message, b.Message) })
	return d, good
}

// seconds reads a number of seconds, or a text such as 5s, between 1 s and 10 s.
func seconds(v any) (time.Duration, bool) {
	var d time.Duration
	switch v := v.(type) {
	case number:
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil || !(f >= 1 && f <= 10) {
			return 0, false
		}
		d = time.Duration(f * float64(time.Second))
	case string:
		d, _ = time.ParseDuration(v)
	}
	return d, d >= time.Second && d <= 10*time.Second
}
