package session

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// stateSchema is the version of State that this release writes and reads.
const stateSchema = 1

// State is what of a session outlives its process, as JSON: the session layer without
// pre-approvals and without values of environments.
type State struct {
	Schema  int     `json:"schema"`
	Session string  `json:"session"`
	Turns   int     `json:"turns"` // that were begun
	Patches []Saved `json:"patches,omitempty"`

	// Files that the session touched, and the locations of the skills that they or a person
	// brought within reach; see Session.Touch.
	Files   []string `json:"files,omitempty"`
	Reached []string `json:"reached,omitempty"`
}

// Saved is one patch of the session layer: a skill's, or a host's or tool's.
type Saved struct {
	Skill *SavedSkill `json:"skill,omitempty"` // set: nothing but Actor, Turn, At and Set is read
	Actor Actor       `json:"actor,omitempty"`
	Turn  int         `json:"turn,omitempty"`
	At    time.Time   `json:"at"`
	Set   int         `json:"set,omitempty"`  // equal for the members of one set
	Past  bool        `json:"past,omitempty"` // what the skill says of tools is all that is left of it

	OwnerKind OwnerKind      `json:"owner_kind,omitempty"`
	OwnerID   string         `json:"owner_id,omitempty"`
	Tool      string         `json:"tool,omitempty"`
	CallID    string         `json:"call_id,omitempty"`
	MessageID string         `json:"message_id,omitempty"`
	Allow     []string       `json:"allow,omitempty"`
	Deny      []string       `json:"deny,omitempty"`
	Model     *ModelOverride `json:"model,omitempty"`
	Prompt    *string        `json:"prompt,omitempty"`
	Discovery *Discovery     `json:"discovery,omitempty"`
	Context   *ContextPatch  `json:"context,omitempty"`
	EnvNames  []string       `json:"env_names,omitempty"` // their values come from the host again
}

// SavedSkill identifies one activation and what it was started with.
type SavedSkill struct {
	ID         skill.ID     `json:"id"`
	Name       string       `json:"name"`
	Source     string       `json:"source"`
	Trust      string       `json:"trust"`
	Scope      Scope        `json:"scope"`
	Digest     skill.Digest `json:"digest"`
	File       skill.Digest `json:"file"` // of SKILL.md alone
	TextDigest skill.Digest `json:"text_digest"`
	Args       string       `json:"args,omitempty"`
	HasArgs    bool         `json:"has_args,omitempty"`
	InResult   bool         `json:"in_result,omitempty"`
	Preload    bool         `json:"preload,omitempty"`
	OneShot    bool         `json:"one_shot,omitempty"`

	// What the model was given, for a conversation that goes on with it: see State.Told.
	Text   string `json:"text,omitempty"`
	Again  string `json:"again,omitempty"`
	Tokens int    `json:"tokens,omitempty"`
	Lost   bool   `json:"lost,omitempty"` // the text is not whole in the conversation any more
}

// ResumeReport says what became of the patches of a State.
type ResumeReport struct {
	Restored []string // addresses, in order
	Problems []ResumeProblem
}

// ResumeProblem is one skill or contribution that is not as it was. Code is
// resume_changed, resume_gone, resume_untrusted or resume_env.
type ResumeProblem struct {
	Name, Source, Code, Message, Fix string
	Active                           bool // it is active, with its former text
}

// State returns what Resume needs. The turn layer is not part of it.
func (s *Session) State() State { return s.saved(false) }

// Told is State with the texts as the model was given them: after Resume the prompt is the
// same, byte for byte, where the conversation goes on too. Without them the texts are made
// anew.
func (s *Session) Told() State { return s.saved(true) }

func (s *Session) saved(texts bool) State {
	s.mu.Lock()
	turns := s.turns
	s.mu.Unlock()
	st := State{Schema: stateSchema, Session: s.id, Turns: turns}
	st.Files, st.Reached = s.reach.saved()
	for _, a := range s.Layers().session {
		if a.hooksAlone() {
			continue // its skill is over
		}
		v := Saved{Actor: a.Actor, Turn: a.Provenance.Turn, At: a.At, Set: a.Set, Past: a.Past}
		if k := a.Skill; k != nil {
			v.Skill = &SavedSkill{
				ID: k.ID, Name: k.Name, Source: k.SourceID, Trust: k.Trust, Scope: k.Scope, Digest: k.Digest, File: k.Record.Skill.File,
				TextDigest: k.TextDigest, Args: k.Args, HasArgs: k.HasArgs, InResult: k.InResult, Preload: k.Preload, OneShot: k.OneShot,
			}
			if texts {
				v.Skill.Text, v.Skill.Again, v.Skill.Tokens, v.Skill.Lost = k.Text, k.Again, k.Tokens, k.lost
			}
			st.Patches = append(st.Patches, v)
			continue
		}
		v.OwnerKind, v.OwnerID, v.Tool, v.CallID, v.MessageID = a.Owner.Kind, a.Owner.ID, a.Tool, a.CallID, a.MessageID
		v.Model, v.Prompt, v.Discovery = a.Model, a.Prompt, a.Discovery
		if a.Tools != nil {
			v.Allow, v.Deny = a.Tools.Allow.Entries, a.Tools.Deny
		}
		env := maps.Clone(a.Env)
		if a.Context != nil {
			c := *a.Context
			env, c.Value.Environment = merged(env, c.Value.Environment), nil
			v.Context = &c
		}
		v.EnvNames = slices.Sorted(maps.Keys(env))
		st.Patches = append(st.Patches, v)
	}
	return st
}

// Resume opens a session with what was active in a former one. What cannot be as it was
// stands in the report; pre-approvals hold again once a skill is started again. A State
// of another release's schema is an error.
func Resume(ctx context.Context, st State, o Options) (*Session, ResumeReport, error) {
	if st.Schema != stateSchema {
		return nil, ResumeReport{}, fmt.Errorf("state of a session: schema %d, this release reads %d", st.Schema, stateSchema)
	}
	if o.ID == "" {
		o.ID = st.Session
	}
	s, err := New(ctx, o)
	if err != nil {
		return nil, ResumeReport{}, err
	}
	s.turns = st.Turns
	s.reach.restore(st.Files, st.Reached)
	r := resumption{s: s, turn: &Turn{s: s, snap: s.o.Snapshots.Snapshot(), resumes: true}}
	for _, v := range st.Patches {
		if err := ctx.Err(); err != nil {
			return nil, ResumeReport{}, err
		}
		s.seq = max(s.seq, v.Set)
		if v.Skill == nil {
			r.contribution(v)
		} else if err := r.skill(ctx, v); err != nil {
			return nil, ResumeReport{}, err
		}
	}
	if err := s.checkLimits(r.layers); err != nil {
		return nil, ResumeReport{}, err
	}
	if err := s.audit(ctx, Event{Action: "resume", Turn: st.Turns}, Layers{}, r.layers); err != nil {
		return nil, ResumeReport{}, err
	}
	s.swap(r.layers)
	return s, r.report, nil
}

// resumption is a session on its way back.
type resumption struct {
	s      *Session
	turn   *Turn // of no number, to prepare skills in
	layers Layers
	report ResumeReport
}

func (r *resumption) problem(name, src, code, fix, format string, args ...any) *ResumeProblem {
	r.report.Problems = append(r.report.Problems, ResumeProblem{Name: name, Source: src, Code: code, Fix: fix, Message: fmt.Sprintf(format, args...)})
	return &r.report.Problems[len(r.report.Problems)-1]
}

// contribution restores a patch of host or tool.
func (r *resumption) contribution(v Saved) {
	p := Patch{
		Scope: ScopeSession, Owner: Owner{v.OwnerKind, v.OwnerID},
		Model: v.Model, Prompt: v.Prompt, Discovery: v.Discovery, Context: v.Context,
	}
	if len(v.Allow)+len(v.Deny) > 0 {
		p.Tools = &ToolPolicy{Allow: declared(v.Allow), Deny: v.Deny}
	}
	if len(v.EnvNames) > 0 {
		r.problem(v.OwnerID, "", "resume_env", "set them again", "values of an environment are not kept: %s", join(v.EnvNames))
	}
	by := Provenance{Actor: v.Actor, Tool: v.Tool, CallID: v.CallID, MessageID: v.MessageID, At: v.At, Turn: v.Turn}
	r.layers = r.layers.With(Applied{Patch: p, Provenance: by, Seq: r.s.nextSeq()})
}

// skill restores one activation, or says why not.
func (r *resumption) skill(ctx context.Context, v Saved) error {
	k := v.Skill
	shown := field(k.Name)
	rec := find(r.turn.snap, k)
	if rec == nil {
		r.problem(k.Name, k.Source, "resume_gone", "install it again, or go on without", "skill %q of %s is not there any more", shown, k.Source)
		return nil
	}
	if now := string(rec.Source.Trust); trustRank(now) < trustRank(k.Trust) {
		r.problem(k.Name, k.Source, "resume_untrusted", "trust it again, then start it", "skill %q was %s and is %s now", shown, k.Trust, now)
		return nil
	}
	if a := r.s.o.Access; a != nil {
		if err := a.Check(ctx, v.Actor, rec); err != nil {
			r.problem(k.Name, k.Source, "resume_gone", "change the rule", "skill %q is denied: %v", shown, err)
			return nil
		}
	}
	c := &candidate{asked: rec.Address, rec: rec}
	body, err := r.s.o.Bodies.Load(ctx, rec)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || body.Skill == nil || !body.Skill.Valid {
		r.problem(k.Name, k.Source, "resume_gone", "run deft lint on its folder", "skill %q cannot be read (%s)", shown, reason(err))
		return nil
	}
	c.body = body
	if body.Skill.Digest != k.Digest && !r.former(c, k) {
		return nil
	}
	return r.activate(ctx, c, v)
}

// former puts the text that the skill had in place of the present one, where it is kept.
func (r *resumption) former(c *candidate, k *SavedSkill) bool {
	const fix = "start it again to take the new text"
	p := r.problem(k.Name, k.Source, "resume_changed", fix, "skill %q has changed since it was started", field(k.Name))
	if r.s.o.Kept == nil {
		return false
	}
	raw, ok := r.s.o.Kept(k.File)
	if !ok || skill.FileDigest(raw) != k.File {
		return false
	}
	old := skill.Parse(raw, skill.ParseOptions{Dialect: r.s.o.Dialect, Path: c.rec.Location, DirName: path.Base(c.rec.Path())})
	if !old.Valid {
		return false
	}
	old.Digest = k.Digest
	c.body.Skill, c.body.Text, c.body.File = old, skill.NormaliseBody(string(raw[old.Body.Start:old.Body.End])), string(raw)
	p.Active, p.Message = true, p.Message+"; its former text goes on"
	return true
}

func (r *resumption) activate(ctx context.Context, c *candidate, v Saved) error {
	k := v.Skill
	rec, entry := *c.rec, *c.rec.Entry
	entry.Skill = c.body.Skill
	rec.Entry, c.rec = &entry, &rec
	c.act.Actor = v.Actor
	req := Request{Args: k.Args, HasArgs: k.HasArgs, Actor: v.Actor, Preload: k.Preload, Insert: !k.InResult, Tools: ToolNames{Read: "skill_read"}}
	r.turn.effects(req, c)
	if _, err := r.turn.place(ctx, req, c); err != nil { // runs nothing, so that nothing is refused
		return err
	}
	if err := c.render(r.turn, req); err != nil {
		return err
	}
	c.act.Turn, c.act.At, c.act.Scope, c.act.InResult, c.act.Resumed = v.Turn, v.At, ScopeSession, k.InResult, true
	if k.Text != "" {
		c.act.Text, c.act.Again, c.act.Tokens, c.act.lost = k.Text, k.Again, k.Tokens, k.Lost
	}
	a := c.applied(r.turn, v.Set)
	if v.Past {
		a = a.pass()
	}
	r.layers = r.layers.with(a, r.s.own.stacks)
	r.report.Restored = append(r.report.Restored, c.act.Address)
	return nil
}

// find returns the record of a saved skill: of its source and name, whoever wins the name
// now.
func find(snap *registry.Snapshot, k *SavedSkill) *registry.Record {
	for _, list := range [][]*registry.Record{snap.Winners, snap.All} {
		for _, r := range list {
			if r.Source.ID != k.Source || r.Skill.Name != k.Name {
				continue
			}
			switch r.State {
			case registry.Available, registry.Hidden, registry.Unmet, registry.Shadowed:
				return r
			}
		}
	}
	return nil
}

func trustRank(trust string) int {
	return slices.Index([]string{string(source.Untrusted), trustWorkspace, trustTrusted}, trust)
}
