package command

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deftskills/deft/internal/toolrule"
	"github.com/deftskills/deft/skill"
)

// What the hooks of one skill may cost. hookGrace is how much longer than its time a
// command is waited for: what runs it needs that to stop it.
const (
	maxHooks     = 32
	maxHookText  = 16 << 10 // bytes of a value
	hookTime     = 5 * time.Second
	hookTimeLong = time.Minute // at the ends of a session
	hookGrace    = 2 * time.Second
)

// Hook is one hook, as a header or a host's settings say it. Reading runs nothing.
type Hook struct {
	Event, Type string
	Skill       SkillRef      // whose it is; zero = the host's own
	Value       string        // of append_prompt, append_result, notify: the text; of deny, ask: the reason
	Command     string        // of type command: a text for the shell
	Timeout     time.Duration // of type command
	Once        bool          // gone after the first run that matched
	Index       int           // its place among the hooks of its owner, from 0
	Inert       bool          // the dialect knows it and does nothing with it

	tools   []string // which calls it is about, as patterns of a tool list
	named   bool     // tools is set
	matcher []string // names, "*" for any text; empty = all
}

// About is which calls the hook is about: patterns of a tool list, or names with "*"; nil =
// all of them.
func (h Hook) About() []string {
	if h.named {
		return slices.Clone(h.tools)
	}
	return slices.Clone(h.matcher)
}

// eventRule says what hooks of one event are and may do. Nothing here could turn a
// question into an allow.
type eventRule struct {
	types  []string // that a hook of the event may have
	before bool     // what it is about has not happened: a hook that fails refuses it
	call   bool     // it is about a tool call: matcher and tools count
	long   bool     // a command may take a minute
	// What the output of a command may do beside a notice.
	append, deny, ask, rewrite bool
	// errors is what the standard error of a command is that ends with 2.
	errors effect
}

// effect is what a command's standard error comes to.
type effect int

const (
	errorsLogged effect = iota
	errorsDeny
	errorsAppend
)

// hookEvents is the table of events. A type that is in no row is unknown.
var hookEvents = map[string]eventRule{
	"SessionStart":       {types: []string{"notify", "append_prompt", "command"}, long: true, append: true},
	"SessionEnd":         {types: []string{"notify", "command"}, long: true},
	"UserPromptSubmit":   {types: []string{"append_prompt", "deny", "notify", "command"}, before: true, append: true, deny: true, errors: errorsDeny},
	"PreToolUse":         {types: []string{"deny", "ask", "notify", "command"}, before: true, call: true, deny: true, ask: true, rewrite: true, errors: errorsDeny},
	"PermissionRequest":  {types: []string{"deny", "notify", "command"}, before: true, call: true, deny: true, errors: errorsDeny},
	"PostToolUse":        {types: []string{"append_result", "notify", "command"}, call: true, append: true, errors: errorsAppend},
	"PostToolUseFailure": {types: []string{"append_result", "notify", "command"}, call: true, append: true, errors: errorsAppend},
	"TaskCompleted":      {types: []string{"append_prompt", "notify", "command"}, append: true, errors: errorsAppend},
}

// hookType reports whether some event has the type.
func hookType(kind string) bool {
	for _, e := range hookEvents {
		if slices.Contains(e.types, kind) {
			return true
		}
	}
	return false
}

// hookForms says which forms a dialect reads; a dialect without a row ignores hooks.
var hookForms = map[skill.Dialect]struct {
	list, events bool
	only         [2]string // the one pair of event and type that acts; every other one is read and inert
}{
	"":               {list: true, events: true},
	skill.Deft:       {list: true, events: true},
	skill.ClaudeCode: {events: true},
	skill.Blade:      {list: true, only: [2]string{"UserPromptSubmit", "append_prompt"}},
}

// ParseHooks reads the hooks field in both forms: a list of entries with event and type,
// and a map from event to groups with a matcher. v is what [skill.Node] or a decoder of
// YAML or JSON gave. An entry that cannot be read is left out with a diagnostic; the
// others stay.
func ParseHooks(v any, d skill.Dialect) ([]Hook, []skill.Diagnostic) {
	v = simple(v)
	forms, known := hookForms[d]
	r := hookReader{only: forms.only}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []any:
		if !known || !forms.list {
			r.note("hook_ignored", "hooks in this form do nothing here")
			break
		}
		for _, item := range v {
			m, _ := simple(item).(map[string]any)
			event, _ := simple(m["event"]).(string)
			r.add(event, m, nil)
		}
	case map[string]any:
		if !known || !forms.events {
			r.note("hook_ignored", "hooks in this form do nothing here")
			break
		}
		r.events(v)
	default:
		r.note("hook_type", "hooks is neither a list of hooks nor a map from event to hooks")
	}
	return r.hooks, r.out
}

type hookReader struct {
	only  [2]string // of the dialect
	hooks []Hook
	out   []skill.Diagnostic
	index int
}

func (r *hookReader) note(code, format string, args ...any) {
	r.out = append(r.out, skill.Finding(code, "", format, args...)) //nolint:govet // the formats are this file's
}

// events reads the map form; events come in the order of their names.
func (r *hookReader) events(m map[string]any) {
	for _, event := range slices.Sorted(maps.Keys(m)) {
		groups, ok := simple(m[event]).([]any)
		if !ok {
			r.note("hook_type", "hooks of %q are not a list", event)
			continue
		}
		for _, g := range groups {
			group, _ := simple(g).(map[string]any)
			entries, ok := simple(group["hooks"]).([]any)
			if !ok {
				r.note("hook_type", "a group of %q has no list of hooks", event)
				continue
			}
			matcher, _ := simple(group["matcher"]).(string)
			if strings.ContainsAny(matcher, `[](){}^$+?.\`) {
				r.note("hook_matcher", "matcher %q is read as names with *, not as a regular expression", matcher)
			}
			names := strings.FieldsFunc(matcher, func(c rune) bool { return c == '|' })
			for _, e := range entries {
				entry, _ := simple(e).(map[string]any)
				r.add(event, entry, names)
			}
		}
	}
}

// add takes one entry, or says why not.
func (r *hookReader) add(event string, m map[string]any, matcher []string) {
	index := r.index
	r.index++
	kind, _ := simple(m["type"]).(string)
	rule, known := hookEvents[event]
	inert := r.only[0] != "" && r.only != [2]string{event, kind}
	switch {
	case !known:
		r.note("hook_event", "hook %d: event %q is unknown", index, event)
		return
	case !hookType(kind):
		r.note("hook_type", "hook %d: type %q is unknown", index, kind)
		return
	case !inert && !slices.Contains(rule.types, kind):
		r.note("hook_pair", "hook %d: %s does nothing at %s", index, kind, event)
		return
	case len(r.hooks) == maxHooks:
		r.note("hook_limit", "hook %d: a skill has at most %d hooks", index, maxHooks)
		return
	}
	h := Hook{Event: event, Type: kind, Index: index, Inert: inert, matcher: matcher}
	if why := h.fill(m); why != "" && !inert {
		r.note("hook_value", "hook %d: %s", index, why)
		return
	}
	r.hooks = append(r.hooks, h)
}

// fill reads the values of an entry and says what is wrong with them.
func (h *Hook) fill(m map[string]any) string {
	key, text := "value", &h.Value
	if h.Type == "command" {
		key, text = "command", &h.Command
		if _, ok := m[key]; !ok {
			key = "value"
		}
	}
	var ok bool
	if *text, ok = simple(m[key]).(string); !ok || strings.TrimSpace(*text) == "" {
		return key + " is missing, or no text"
	}
	if len(*text) > maxHookText {
		return fmt.Sprintf("%s of %d bytes, limit %d", key, len(*text), maxHookText)
	}
	if once, given := m["once"]; given {
		if h.Once, ok = toggle(simple(once)); !ok {
			return "once is no switch"
		}
	}
	if tools, given := m["tools"]; given {
		list, good := simple(tools).([]any)
		entries := make([]string, 0, len(list))
		for _, t := range list {
			entry, text := simple(t).(string)
			good = good && text
			entries = append(entries, entry)
		}
		if !good {
			return "tools is no list of texts"
		}
		h.tools, h.named = entries, true
	}
	return h.time(m)
}

// time reads the seconds that a command may take. It may ask for less than the most.
func (h *Hook) time(m map[string]any) string {
	if h.Type != "command" {
		return ""
	}
	most := hookTime
	if hookEvents[h.Event].long {
		most = hookTimeLong
	}
	h.Timeout = most
	given, ok := m["timeout"]
	if !ok {
		return ""
	}
	n, _ := simple(given).(number)
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || !(f > 0) {
		return "timeout is no number of seconds"
	}
	if f < most.Seconds() {
		h.Timeout = time.Duration(f * float64(time.Second))
	}
	return ""
}

// about reports whether the hook is about a call of tool. named says it of patterns, in the
// sense of a deny list: a hook only tightens.
func (h *Hook) about(tool string, named func(patterns []string) bool) bool {
	if h.named && !named(h.tools) {
		return false
	}
	return len(h.matcher) == 0 || slices.ContainsFunc(h.matcher, func(name string) bool {
		return fits(name, tool) || fits(toolrule.Canonical(name), toolrule.Canonical(tool))
	})
}

// fits reports whether text is pattern, in which "*" stands for any text.
func fits(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(text, parts[0])
	if len(parts) == 1 || !ok {
		return ok && rest == ""
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, last)
}
