package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// ToolNames are the names under which the model sees the skill tools, for texts that
// mention them. Read "" counts as skill_read unless NoRead is set: then no text names a
// reader. Search "" means that it is not exposed.
type ToolNames struct {
	Read, Search string
	NoRead       bool
}

// Request asks to start one skill, or to make a set the active one.
type Request struct {
	Names   []string // one, or with Replace any number
	Replace bool     // the session's set becomes exactly Names
	Args    string
	HasArgs bool
	Actor   Actor
	Scope   *Scope // host only; nil = as the skill declares
	Preload bool   // before the first model call
	Insert  bool   // the text goes into the prompt, not into the result of the call
	Tools   ToolNames
	By      Provenance // tool and call, for the record; Actor, At and Turn are filled in
}

// Activation is one active skill, a value.
type Activation struct {
	Name, Address    string
	ID               skill.ID
	SourceID         string
	SourceKind       string
	Trust            string
	Granted          bool // its code counts, by kind of source or by a grant
	Location         string
	Dir              string // absolute, slash-separated; "" for skills without a directory
	Digest           skill.Digest
	TextDigest       skill.Digest // of the body as the model got it
	Scope            Scope
	Text             string // what the model was given, wrapper included
	Args             string // as typed
	HasArgs          bool
	Actor            Actor
	Turn             int
	At               time.Time
	InResult         bool // the text is the result of a tool call; else the prompt's tail carries it
	Preload, OneShot bool
	Tokens           int // of Text; 0 where the text went into a result
	ToolNames        []string
	Scripts          []string          // what can be run of it, sorted; listed, not opened
	Commands         []command.Outcome // of its text, in order; nil = it had none, or they are off
	Unrun            string            // why commands of its text are off: "2 inline commands were not run: …"
	Record           *registry.Record
	Findings         []skill.Diagnostic // for people: what of it does not count, and why

	// Resumed says that it was started in a former process: its grants do not hold until
	// it is started again.
	Resumed bool

	// Again is what the prompt carries in place of Text since the conversation was
	// shortened; "" = Text. See Session.Renew.
	Again string

	placeholders bool // the body takes arguments
	lost         bool // the conversation was shortened, and the text is not whole in it
}

// effectful reports whether the skill's effects beyond its text and its restrictions count.
func (a *Activation) effectful() bool { return a.Trust == trustTrusted || a.Trust == trustWorkspace }

func (a *Activation) answersTo(name string) bool {
	return name == a.Name || name == a.Address || name == string(a.ID) || name == a.Record.Skill.Handle
}

// Loaded is one skill that a request started or found active.
type Loaded struct {
	Activation
	Fork        *Fork // set: a sub-agent carries it out, and nothing is active
	Repeat      bool  // the text was in the context already
	Cut         bool  // the text is longer than a model is given at once
	Diagnostics []skill.Diagnostic
}

// Refusal says why one name was not started. Message is for whoever asked; for a
// model it does not tell what the model may not know.
type Refusal struct {
	Name    string   `json:"name"`
	Code    string   `json:"code"` // skill_unknown, skill_ambiguous, skill_manual_only, …
	Message string   `json:"message"`
	Fix     string   `json:"fix,omitempty"`   // what a person can do; never for a model
	Close   []string `json:"close,omitempty"` // at most 3 close names, for unknown ones
	Final   bool     `json:"final,omitempty"` // the answer will not change in this turn
	Soft    bool     `json:"-"`               // the dialect gives it as an answer, not as an error
	Needs   string   `json:"-"`               // of skill_conditions: what is missing

	Commands []command.Outcome `json:"-"` // of inline_failed: all of the load

	worded bool // in the words of the dialect
}

// Result is the outcome of a Request. A refusal of a name is not a Go error.
type Result struct {
	Loaded   []Loaded
	Replaced []string // names that a set took out
	Refused  []Refusal
	Already  bool     // the same set was active; nothing changed
	Limiting []string // names of the set's members that limit tools
	Text     string   // for one skill: what goes to the model
}

// Activate starts one skill, or with Replace a set. The whole is one step: after an
// error or a cancel the layers are what they were. Names that are refused stand in
// the Result; the error is for a cancelled context, ErrEnded, or an *Error.
func (t *Turn) Activate(ctx context.Context, r Request) (Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return Result{}, ErrEnded
	}
	if r.Tools.Read == "" {
		r.Tools.Read = "skill_read"
	}
	return t.attempt(ctx, r, func() (Result, error) {
		if r.Replace {
			return t.replace(ctx, r)
		}
		name := ""
		if len(r.Names) > 0 {
			name = r.Names[0]
		}
		return t.start(ctx, r, name)
	})
}

// start starts one skill.
func (t *Turn) start(ctx context.Context, r Request, name string) (Result, error) {
	c, refusal, err := t.prepare(ctx, r, name)
	if err != nil {
		return Result{}, err
	}
	if refusal != nil {
		refusal.settle(t, c, r.Actor)
		return Result{Refused: []Refusal{*refusal}, Text: refusal.Message},
			t.record(ctx, "activate", r, name, c, refusal.Code, t.s.Layers(), t.s.Layers())
	}
	if c.forked(t) {
		return t.fork(ctx, r, name, c)
	}
	c.repeat(t)
	if err := c.render(t, r); err != nil {
		return Result{}, err
	}
	now := t.s.Layers()
	next := now.with(c.applied(t, 0), t.s.own.stacks)
	if t.s.own.forgets && c.act.InResult {
		next = now
	}
	if err := t.commit(ctx, "activate", r, name, c, now, next); err != nil {
		return Result{}, err
	}
	t.ready[c.act.Address] = true
	return Result{Loaded: []Loaded{c.loaded()}, Text: c.text}, nil
}

// commit holds the new layers against the limits, records them and makes them visible.
func (t *Turn) commit(ctx context.Context, action string, r Request, name string, c *candidate, now, next Layers) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.s.checkLimits(next); err != nil {
		return err
	}
	if err := t.s.lay(next); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		t.s.withdraw()
		return err
	}
	if err := t.record(ctx, action, r, name, c, "", now, next); err != nil {
		t.s.withdraw()
		return err
	}
	t.s.swap(next)
	return nil
}

func (t *Turn) record(ctx context.Context, action string, r Request, name string, c *candidate, code string, now, next Layers) error {
	t.recorded = true
	e := Event{Action: action, Turn: t.number, Actor: r.Actor, Name: name, Code: code, Preload: r.Preload}
	if c != nil && c.rec != nil {
		e.Address, e.Digest, e.Scope = c.rec.Address, c.rec.Skill.Digest, c.act.Scope
	}
	if r.HasArgs {
		e.ArgsBytes, e.ArgsHash = len(r.Args), string(digestOf(r.Args))
	}
	return t.s.audit(ctx, e, now, next)
}

// candidate is a skill on its way through the checks.
type candidate struct {
	asked    string // the name as it was given, cleaned
	rec      *registry.Record
	body     Body
	act      Activation
	tools    *ToolPolicy
	model    *ModelOverride
	prompt   *string
	env      map[string]string
	hooks    []command.Hook
	hooked   bool // its trust lets hooks count
	diags    []skill.Diagnostic
	dropped  []skill.Diagnostic // for people; the text says it in its own way
	notes    []string
	content  string // the body with its arguments in place
	appended string // ARGUMENTS: …, when no placeholder took them
	text     string
	again    bool // the text is in the context already
	anew     bool // it is, but what its commands print may differ now
	short    bool // the text was cut
}

func (c *candidate) loaded() Loaded {
	act := c.act
	act.Findings = slices.Concat(c.diags, c.dropped)
	return Loaded{Activation: act, Repeat: c.again, Cut: c.short, Diagnostics: act.Findings}
}

// applied is the patch of the candidate.
func (c *candidate) applied(t *Turn, set int) Applied {
	act := c.act
	act.Findings = slices.Concat(c.diags, c.dropped)
	return Applied{
		Patch: Patch{
			Scope: act.Scope, Owner: Owner{OwnerSkill, act.Address},
			Skill: &act, Tools: c.tools, Model: c.model, Prompt: c.prompt, Env: c.env,
			Hooks: c.hooks, HookScope: t.s.hookScope(act.Scope),
		},
		Provenance: Provenance{Actor: act.Actor, At: act.At, Turn: act.Turn},
		Seq:        t.s.nextSeq(), Set: set,
	}
}

// check is one step on the way; the first that refuses decides.
type check func(ctx context.Context, t *Turn, r Request, c *candidate) (*Refusal, error)

// checks are in order: no text is read before the body step.
var checks = []check{checkName, checkLookup, checkAccess, checkActor, checkConditions, checkPaths, checkFork, checkBody, checkArguments}

// checksBeforeText is how many of them need no text.
const checksBeforeText = 6

func (t *Turn) prepare(ctx context.Context, r Request, name string) (*candidate, *Refusal, error) {
	c := &candidate{asked: t.s.own.name(name)}
	for _, step := range checks {
		if err := ctx.Err(); err != nil {
			return c, nil, err
		}
		refusal, err := step(ctx, t, r, c)
		if refusal != nil || err != nil {
			return c, refusal, err
		}
	}
	t.effects(r, c)
	refusal, err := t.place(ctx, r, c)
	return c, refusal, err
}

func checkName(_ context.Context, _ *Turn, _ Request, c *candidate) (*Refusal, error) {
	if c.asked == "" {
		return &Refusal{Code: "skill_name_empty", Message: "name is empty. Give the exact name from the list."}, nil
	}
	return nil, nil
}

func checkLookup(_ context.Context, t *Turn, r Request, c *candidate) (*Refusal, error) {
	rec, refusal := t.find(c.asked, r.Actor, r.Tools)
	c.rec = rec
	return refusal, nil
}

// checkAccess asks the rules of user and host. A model is told the same as for a
// name that does not exist: rules are not its business.
func checkAccess(ctx context.Context, t *Turn, r Request, c *candidate) (*Refusal, error) {
	if t.s.o.Access == nil {
		return nil, nil
	}
	err := t.s.o.Access.Check(ctx, r.Actor, c.rec)
	if err == nil {
		return nil, nil
	}
	if r.Actor == ActorModel {
		c.rec = nil
		return t.unknown(c.asked, nil, r.Tools), nil
	}
	return &Refusal{Name: c.asked, Code: "skill_denied", Message: fmt.Sprintf("skill %q is denied: %v", field(c.asked), err)}, nil
}

// checkActor keeps manual-only skills to the user, whose own words in this turn
// count as well: then the user is on record as the actor.
func checkActor(_ context.Context, t *Turn, r Request, c *candidate) (*Refusal, error) {
	c.act.Actor = r.Actor
	if !c.rec.Skill.Meta.DisableModelInvocation || r.Actor.chooses() {
		return nil, nil
	}
	if r.Actor == ActorModel && Mentions(t.text, c.rec.Skill.Name) {
		c.act.Actor = ActorUser
		return nil, nil
	}
	name := field(c.rec.Address)
	return &Refusal{
		Name: c.asked, Code: "skill_manual_only",
		Message: fmt.Sprintf("%q can only be started by the user with /%s. Ask them; do not imitate it.", name, name),
	}, nil
}

func checkConditions(_ context.Context, t *Turn, _ Request, c *candidate) (*Refusal, error) {
	unmet := t.s.unmet(c.rec)
	if len(unmet) == 0 {
		return nil, nil
	}
	return &Refusal{
		Name: c.asked, Code: "skill_conditions",
		Message: fmt.Sprintf("%q needs %s and cannot be loaded now.", field(c.rec.Address), field(join(unmet))),
		Needs:   join(unmet),
	}, nil
}

// checkBody reads the text. A file that changed since discovery was parsed again; it
// has to pass the checks that its header answers for once more.
func checkBody(ctx context.Context, t *Turn, r Request, c *candidate) (*Refusal, error) {
	body, err := t.s.o.Bodies.Load(ctx, c.rec)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil || body.Skill == nil || !body.Skill.Valid {
		return &Refusal{
			Name: c.asked, Code: "skill_unreadable",
			Message: fmt.Sprintf("%q is listed but its file cannot be read (%s). Not loaded.", field(c.rec.Address), reason(err)),
			Fix:     "run deft lint on its folder",
		}, nil
	}
	c.body = body
	if !body.Drift {
		return nil, nil
	}
	rec := *c.rec
	entry := *rec.Entry
	entry.Skill = body.Skill
	rec.Entry = &entry
	c.rec = &rec
	c.notes = append(c.notes, "the file changed after it was listed; this is its present text")
	for _, again := range []check{checkAccess, checkActor, checkConditions, checkPaths} {
		if refusal, err := again(ctx, t, r, c); refusal != nil || err != nil {
			return refusal, err
		}
	}
	return nil, nil
}

// checkArguments bounds the arguments.
func checkArguments(_ context.Context, t *Turn, r Request, c *candidate) (*Refusal, error) {
	limit := t.s.o.Limits.ArgsUser
	if !r.Actor.chooses() {
		limit = t.s.o.Limits.ArgsModel
	}
	if len(r.Args) > limit {
		return &Refusal{
			Name: c.asked, Code: "args_too_long",
			Message: fmt.Sprintf("arguments: %d bytes, limit %d. Not loaded.", len(r.Args), limit),
		}, nil
	}
	return nil, nil
}

// settle gives a refusal its last words: after three failures the answer is final.
func (r *Refusal) settle(t *Turn, c *candidate, actor Actor) {
	key := ""
	if c != nil && c.rec != nil {
		key = c.rec.Address
	}
	if r.Name == "" && c != nil {
		r.Name = c.asked
	}
	r.say(t, actor)
	if r.Final = t.failed(key); r.Final && !r.worded {
		r.Message += FinalText
	}
}

// repeat finds out whether the same text, with the same arguments, is in the context.
func (c *candidate) repeat(t *Turn) {
	former := t.former(c.act.Address)
	if former == nil || c.anew {
		return
	}
	if former.Actor == ActorUser {
		c.act.Actor = ActorUser // what the user started stays the user's
	}
	switch {
	case former.Digest != c.act.Digest:
		c.notes = append(c.notes, fmt.Sprintf("content changed since turn %d", former.Turn))
	case former.Args == c.act.Args:
		c.again = true
		c.appended = ""
	case !former.placeholders:
		c.again = true
		c.appended = "ARGUMENTS: " + c.act.Args
	}
	if c.again {
		c.text = fmt.Sprintf("skill %q is already loaded (turn %d); follow it", field(former.Address), former.Turn)
		if c.appended != "" {
			c.text += "\n\n" + c.appended
		}
		keep := *former
		keep.Resumed = false
		keep.Args, keep.HasArgs, keep.Scope = c.act.Args, c.act.HasArgs, c.act.Scope
		c.act = keep
	}
}

// skillsOf returns the patches of skills in both layers, oldest first.
func (l Layers) skillsOf(match func(*Applied) bool) []Applied {
	var out []Applied
	l.each(func(a *Applied) {
		if a.Skill != nil && match(a) {
			out = append(out, *a)
		}
	})
	return slices.Clip(out)
}
