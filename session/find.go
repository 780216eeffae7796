package session

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

// find looks a name up in the pinned Snapshot on behalf of actor. What actor may not
// know of is unknown to it; manual-only and unmet skills are found, so that the
// checks after this one can say what is the matter.
func (t *Turn) find(name string, actor Actor, tools ToolNames) (*registry.Record, *Refusal) {
	rec, err := t.snap.Lookup(name)
	if err == nil && !fits(rec, name) {
		return nil, t.unknown(name, nil, tools)
	}
	if err == nil && t.startable(rec, name, actor) {
		return rec, nil
	}
	var unknown *registry.UnknownError
	if !errors.As(err, &unknown) && (err == nil || !actor.chooses()) {
		if visible, modelErr := t.snap.LookupForModel(name); modelErr == nil {
			return visible, nil
		} else if err != nil {
			err = modelErr
		}
	}
	var ambiguous *registry.AmbiguousError
	if errors.As(err, &ambiguous) {
		r := t.ambiguous(name, ambiguous.Candidates)
		if ambiguous.Code != "" {
			r.Code, r.Message, r.worded = ambiguous.Code, ambiguous.Code+": "+field(ambiguous.Error()), true
		}
		if ambiguous.Message != "" {
			r.Message, r.worded = field(ambiguous.Message), true
		}
		return nil, r
	}
	r := t.unknown(name, err, tools)
	if rec != nil && actor.chooses() && len(rec.Reasons) > 0 {
		why := rec.Reasons[0]
		r.Message, r.Fix = fmt.Sprintf("skill %q is %s: %s", field(rec.Address), rec.State, why.Message), why.Fix
	}
	return nil, r
}

// fits reports whether a selector with separators really is the place of r: a lookup
// that folds names may drop the separators, and then a path would find a name.
func fits(r *registry.Record, selector string) bool {
	if selector == r.Skill.Name || selector == r.Address {
		return true // whatever the name looks like
	}
	p := strings.ReplaceAll(selector, `\`, "/")
	if at := strings.LastIndexByte(p, '@'); at > 0 || !strings.Contains(p, "/") || strings.Contains(p, "://") {
		return true
	}
	p = strings.TrimSuffix(strings.TrimRight(p, "/"), "/"+source.SkillFile)
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return false
	}
	last := p[i+1:]
	return last == path.Base(r.Path()) || last == path.Base(filepath.ToSlash(r.RealDir)) ||
		slices.ContainsFunc(r.Aliases, func(a string) bool { return last == path.Base(filepath.ToSlash(a)) })
}

// startable reports whether actor may know of the record at all.
func (t *Turn) startable(r *registry.Record, asked string, actor Actor) bool {
	person := actor.chooses()
	switch r.State {
	case registry.Available, registry.Unmet:
		return person || !r.Skill.Meta.DisableModelInvocation || exact(r, asked)
	case registry.Shadowed: // found by origin or path alone: chosen on purpose
		return person
	case registry.Hidden:
		return person || r.Skill.Meta.DisableModelInvocation && exact(r, asked)
	}
	return false
}

// exact reports whether asked is the skill's own name: only then does a model learn
// that there is a skill which the user alone can start.
func exact(r *registry.Record, asked string) bool {
	for _, name := range []string{r.Skill.Name, r.Skill.Handle, r.Address} {
		if strings.EqualFold(name, asked) {
			return true
		}
	}
	return false
}

func (t *Turn) ambiguous(name string, candidates []string) *Refusal {
	const most = 10
	shown := make([]string, 0, most)
	for _, address := range candidates[:min(most, len(candidates))] {
		text := field(address)
		if rec, err := t.snap.Lookup(address); err == nil {
			text += " (" + field(rec.Source.ID) + ")"
		}
		shown = append(shown, text)
	}
	return &Refusal{
		Name: name, Code: "skill_ambiguous",
		Message: fmt.Sprintf("%q fits %d skills: %s. Call again with one of these.", field(name), len(candidates), join(shown)),
	}
}

// unknown is the one answer for everything that actor may not know of: disabled,
// denied, hidden and absent skills cannot be told apart by it.
// err is what the lookup said, which knows the close names; nil = they are looked for.
func (t *Turn) unknown(name string, err error, tools ToolNames) *Refusal {
	shown := field(name)
	if isPath(name) {
		return &Refusal{
			Name: name, Code: "skill_name_is_path",
			Message: fmt.Sprintf("No skill %q: that is a path. Give the exact name from the list. Not loaded.", shown),
		}
	}
	if base, origin, ok := strings.Cut(name, "@"); ok && base != "" {
		if rec, err := t.snap.LookupForModel(base); err == nil {
			return &Refusal{
				Name: name, Code: "skill_source_unknown",
				Message: fmt.Sprintf("No skill %q from %q. It comes from: %s. Not loaded.", field(base), field(origin), join(t.origins(rec))),
			}
		}
	}
	var said *registry.UnknownError
	if !errors.As(err, &said) || len(said.Origins) > 0 {
		said = &registry.UnknownError{Suggestions: t.snap.Suggest(name)}
	}
	r := &Refusal{
		Name: name, Code: "skill_unknown", Close: t.visibleNames(said.Suggestions),
		Message: fmt.Sprintf("No skill %q.", shown),
	}
	if len(r.Close) > 0 {
		r.Message += " Close: " + join(r.Close) + "."
	}
	if tools.Search != "" {
		r.Message += fmt.Sprintf(" %s finds skills by what they do.", tools.Search)
	}
	r.Message += " Not loaded."
	return r
}

// origins are the sources from which a model may take the skill of this name.
func (t *Turn) origins(rec *registry.Record) []string {
	out := []string{field(rec.Source.ID)}
	for _, other := range t.snap.Winners {
		if other != rec && other.Skill.Key == rec.Skill.Key && other.ForModel() {
			out = append(out, field(other.Source.ID))
		}
	}
	return unique(out)
}

func (t *Turn) visibleNames(suggested []string) []string {
	var out []string
	for _, name := range suggested {
		out = append(out, field(name))
	}
	return out
}

// isPath tells a path by its form alone: nothing is opened.
func isPath(name string) bool {
	before, _, _ := strings.Cut(name, "@")
	return strings.ContainsAny(before, `/\`+"\x00") || before == "." || before == ".." || strings.Contains(before, "%2f") || strings.Contains(before, "%2F")
}

// Visible returns the record that name finds for actor, without any text: no refusal
// is counted and nothing tells why there is none.
func (t *Turn) Visible(ctx context.Context, name string, actor Actor) (*registry.Record, bool) {
	rec, refusal := t.find(t.s.own.name(name), actor, ToolNames{})
	if refusal != nil || actor == ActorModel && !rec.ForModel() {
		return nil, false
	}
	if t.s.o.Access != nil && t.s.o.Access.Check(ctx, actor, rec) != nil {
		return nil, false
	}
	return rec, true
}

// offers reports whether a model may start the skill.
func (t *Turn) offers(rec *registry.Record) bool {
	return rec.ForModel() && (t.s.o.Access == nil || t.s.o.Access.Check(context.Background(), ActorModel, rec) == nil)
}

// Ready reports whether the skill of that address is active, or was loaded in this
// turn by a dialect that keeps nothing active.
func (t *Turn) Ready(address string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	ready := t.ready[address]
	t.s.Layers().each(func(a *Applied) { ready = ready || a.active() != nil && a.Skill.Address == address })
	return ready
}

// ActiveSkill returns the newest activation that answers to name.
func (t *Turn) ActiveSkill(name string) (Activation, bool) {
	want := t.s.own.name(name)
	var found *Activation
	t.s.Layers().each(func(a *Applied) {
		if a.active() != nil && a.Skill.answersTo(want) {
			found = a.Skill
		}
	})
	if found == nil {
		return Activation{}, false
	}
	return *found, true
}

// Drifted reports whether the code of an active skill counted when it was started and
// does not any more: its files are not those that were granted.
func (t *Turn) Drifted(address string) bool {
	drifted := false
	t.s.Layers().each(func(a *Applied) {
		if a.Skill != nil && a.Skill.Address == address {
			drifted = a.Skill.Granted && !t.s.granted(a.Skill.Record)
		}
	})
	return drifted
}

// Resolve finds the skill whose files actor wants to read: an active one, or one
// that actor could start. A refusal counts as a failed load.
func (t *Turn) Resolve(ctx context.Context, name string, actor Actor, tools ToolNames) (*registry.Record, *Refusal, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil, nil, ErrEnded
	}
	if active, ok := t.ActiveSkill(name); ok {
		return active.Record, nil, nil
	}
	c := &candidate{asked: t.s.own.name(name)}
	for _, step := range checks[:checksBeforeText] {
		refusal, err := step(ctx, t, Request{Actor: actor, Tools: tools}, c)
		if err != nil {
			return nil, nil, err
		}
		if refusal != nil {
			refusal.settle(t, c, actor)
			return nil, refusal, nil
		}
	}
	return c.rec, nil, nil
}
