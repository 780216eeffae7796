package session

import (
	"slices"
	"time"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/skill"
)

// Scope says how long a patch holds.
type Scope string

// The scopes.
const (
	ScopeSession Scope = "session" // until it is deactivated or the session ends
	ScopeTurn    Scope = "turn"    // until the turn ends, however it ends
)

// OwnerKind says what kind of thing brought a patch.
type OwnerKind string

// The kinds of owners.
const (
	OwnerSkill OwnerKind = "skill"
	OwnerTool  OwnerKind = "tool"
	OwnerHost  OwnerKind = "host"
)

// Owner is who brought a patch. Deactivating an owner removes what it brought and
// nothing else. The ID of a skill is the address of its record.
type Owner struct {
	Kind OwnerKind
	ID   string
}

// ToolPolicy is what one owner says about tools, as patterns of tool lists. Allow
// counts only when it is declared and holds an entry. PreApprove needs no question
// for calls of ConfirmOnce.
type ToolPolicy struct {
	Allow      skill.ToolList
	Deny       []string
	PreApprove []string
}

// ModelOverride replaces the model or the effort, or both; an empty field says nothing.
type ModelOverride struct{ ID, Effort string }

// Patch is one change of what is in effect. Nil parts say nothing. A Patch is not
// changed after it was applied.
type Patch struct {
	Scope  Scope // "" counts as ScopeSession
	Owner  Owner
	Skill  *Activation // the identity of a skill; nil for host and tools
	Tools  *ToolPolicy
	Model  *ModelOverride
	Prompt *string // appended to the system prompt; blank = none

	// Discovery changes which tools are shown to the model though they are deferred.
	Discovery *Discovery
	Env       map[string]string // of what the agent runs
	Context   *ContextPatch

	Hooks     []command.Hook // registered while the patch is in force
	HookScope Scope          // how long they are; "" = as long as the patch
}

// Discovery adds tools to those that are shown. Reset forgets the ones of the patch's
// scope before.
type Discovery struct {
	Reset    bool
	Discover []string
}

// ContextPatch lays values over the context. Reset takes the overlays of the patch's scope
// away before.
type ContextPatch struct {
	Reset bool
	Value Context
}

// Context is what the host's tools are run with. Capabilities are replaced facet by facet,
// but for the filesystem facet, a map that is merged by key. The others merge by key.
type Context struct {
	Capabilities map[string]any
	Environment  map[string]string
	Metadata     map[string]any
	Extra        map[string]any
}

// Provenance says who applied a patch, through what, and when.
type Provenance struct {
	Actor                   Actor
	Tool, CallID, MessageID string
	At                      time.Time
	Turn                    int // 1 = the first turn of the session
}

// Applied is a patch in a layer. Seq grows over the life of a session. Set is not 0
// for the members of one replacing set, whose allow lists are united. Past marks what a
// skill said of tools that is active no more: in dialect blade a later skill takes the
// place of an earlier one, and the lists of that one hold on.
type Applied struct {
	Patch
	Provenance
	Seq  int
	Set  int
	Past bool
}

// active returns the skill that the patch keeps active, nil = none.
func (a *Applied) active() *Activation {
	if a.Past {
		return nil
	}
	return a.Skill
}

// pass returns what is left of the patch of a skill that another one took the place of.
func (a Applied) pass() Applied {
	a.Patch = Patch{Scope: a.Scope, Owner: a.Owner, Skill: a.Skill, Tools: a.Tools, Hooks: a.Hooks, HookScope: a.HookScope}
	a.Past = true
	return a
}

// Layers holds the patches of a session and of its turn, each in order of
// application. It is an immutable value: With, Without and EndTurn return another.
type Layers struct{ session, turn []Applied }

// Session returns the patches of the session layer, oldest first.
func (l Layers) Session() []Applied { return slices.Clone(l.session) }

// Turn returns the patches of the turn layer, oldest first.
func (l Layers) Turn() []Applied { return slices.Clone(l.turn) }

// Len returns the number of patches in both layers.
func (l Layers) Len() int { return len(l.session) + len(l.turn) }

// With returns l with a at the end of its scope. A skill's patch takes the place of
// its owner's former one and ends prompt and environment of every other skill of the
// scope; a host's or a tool's ends the former prompt of the same owner if it brings one.
// A reset takes from the scope what it names.
func (l Layers) With(a Applied) Layers { return l.with(a, false) }

// with is With; stacked, a skill's prompt and environment stand beside those of the
// skills before it, and a skill that brings none where one before it did takes its place.
func (l Layers) with(a Applied, stacked bool) Layers {
	layer := &l.session
	if a.Scope == ScopeTurn {
		layer = &l.turn
	}
	next := make([]Applied, 0, len(*layer)+1)
	for _, old := range *layer {
		skills := a.Owner.Kind == OwnerSkill && old.Owner.Kind == OwnerSkill
		if skills && old.Owner == a.Owner {
			continue
		}
		skills = skills && (a.Set == 0 || a.Set != old.Set) // a set is one
		if skills && stacked && !a.Past && (old.Prompt != nil && a.Prompt == nil || old.Env != nil && a.Env == nil) {
			if old.Tools == nil && old.Hooks == nil {
				continue
			}
			old = old.pass()
		}
		if skills && !stacked || a.Prompt != nil && old.Owner == a.Owner {
			old.Prompt = nil
		}
		if skills && !stacked {
			old.Env = nil
		}
		if a.Discovery != nil && a.Discovery.Reset {
			old.Discovery = nil
		}
		if a.Context != nil && a.Context.Reset {
			old.Context = nil
		}
		next = append(next, old)
	}
	*layer = append(next, a)
	return l
}

// Without returns l without the patches that match.
func (l Layers) Without(match func(Applied) bool) Layers {
	l.session = slices.DeleteFunc(slices.Clone(l.session), match)
	l.turn = slices.DeleteFunc(slices.Clone(l.turn), match)
	return l
}

// EndTurn returns l with an empty turn layer. Hooks that outlast the turn are in the
// session layer then, by themselves.
func (l Layers) EndTurn() Layers {
	ended := l.turn
	l.turn = nil
	for _, a := range ended {
		if len(a.Hooks) > 0 && a.HookScope == ScopeSession {
			a.Patch = Patch{Scope: ScopeSession, Owner: a.Owner, Hooks: a.Hooks, HookScope: ScopeSession}
			l.session = slices.DeleteFunc(slices.Clone(l.session), func(o Applied) bool { return o.Owner == a.Owner && o.hooksAlone() })
			l.session = append(l.session, a)
		}
	}
	return l
}

// hooksAlone reports what is left of a skill whose turn is over but whose hooks are not.
func (a *Applied) hooksAlone() bool { return a.Owner.Kind == OwnerSkill && a.Skill == nil }

// each calls f for the patches of the session layer, then of the turn layer.
func (l Layers) each(f func(*Applied)) {
	for i := range l.session {
		f(&l.session[i])
	}
	for i := range l.turn {
		f(&l.turn[i])
	}
}
