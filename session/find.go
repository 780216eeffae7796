package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/registry"
)

// find looks a name up in the pinned Snapshot on behalf of actor.
func (t *Turn) find(name string, actor Actor, tools ToolNames) (*registry.Record, *Refusal) {
	i := slices.IndexFunc(t.snap.Winners, func(r *registry.Record) bool { return r.Address == name || r.Skill.Key == name })
	if i < 0 {
		return nil, t.unknown(name, actor, tools)
	}
	rec := t.snap.Winners[i]
	if !startable(rec, actor) {
		return nil, t.unknown(name, actor, tools)
	}
	return rec, nil
}

// startable reports whether actor may know of the record at all. Manual-only and
// unmet ones are found, so that the steps after this one can say what is the matter.
func startable(r *registry.Record, actor Actor) bool {
	switch r.State {
	case registry.Available, registry.Unmet:
		return true
	case registry.Hidden:
		return actor == ActorUser || actor == ActorHost
	}
	return false
}

// unknown is the one answer for everything that actor may not know of.
func (t *Turn) unknown(name string, actor Actor, tools ToolNames) *Refusal {
	shown := field(name)
	if isPath(name) {
		return &Refusal{
			Name: name, Code: "skill_name_is_path",
			Message: fmt.Sprintf("No skill %q: that is a path. Give the exact name from the list. Not loaded.", shown),
		}
	}
	r := &Refusal{Name: name, Code: "skill_unknown", Message: fmt.Sprintf("No skill %q.", shown)}
	if tools.Search != "" {
		r.Message += fmt.Sprintf(" %s finds skills by what they do.", tools.Search)
	}
	r.Message += " Not loaded."
	return r
}

// isPath tells a path by its form alone: nothing is opened.
func isPath(name string) bool {
	before, _, _ := strings.Cut(name, "@")
	return strings.ContainsAny(before, `/\`+"\x00") || before == "." || before == ".."
}
