package cli

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/store"
)

// titleWidth is how much of a first request names the conversation, in characters.
const titleWidth = 72

// keeper keeps one conversation in the store. It begins with the first turn: what can not
// be kept then is said once, and the conversation goes on without.
type keeper struct {
	r     *run
	ctx   context.Context // of the run, without its end: what was said is kept after Ctrl-C
	id    string          // set before the first turn
	store *store.Store
	w     store.EventWriter
	row   store.Session
	begun bool // the row is there: what fails from now on is told
	off   bool
}

// surfaceJob is the surface of conversations that no person had; "last" is none of them.
const surfaceJob = "job"

// recentSessions is among how many conversations the last one of a person is looked for.
const recentSessions = 200

// newKeeper returns what keeps a conversation that begins.
func (r *run) newKeeper(ctx context.Context) *keeper {
	return &keeper{r: r, ctx: context.WithoutCancel(ctx), row: store.Session{
		Workspace: r.cwd, Dialect: r.globals.dialect, Profile: r.globals.profile, Origin: string(gate.Interactive),
		Surface: "cli", Principal: r.principal(), Status: store.SessionOpen,
	}}
}

// begin opens the events. An error of it switches the keeping off.
func (k *keeper) begin() (err error) {
	if k.store, err = k.r.openStore(k.ctx); err != nil {
		return err
	}
	k.row.ID = k.id
	k.w, err = k.store.Events().Open(k.ctx, k.id)
	return err
}

// Append implements agent.Keeper.
func (k *keeper) Append(entries ...agent.Entry) error {
	if k.off {
		return nil
	}
	if k.w == nil {
		if err := k.begin(); err != nil {
			return k.stop(err)
		}
	}
	events := make([]store.Event, len(entries))
	for i, e := range entries {
		events[i] = store.Event{Turn: e.Turn, Kind: e.Kind, Payload: e.Data}
	}
	if err := k.w.Append(k.ctx, events...); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Kind != agent.EntryTurn {
			continue
		}
		if err := k.turn(e); err != nil && k.begun {
			return err
		} else if err != nil {
			return k.stop(err)
		}
		k.begun = true
	}
	return nil
}

// stop says that nothing is kept.
func (k *keeper) stop(err error) error {
	if k.off = true; k.w != nil {
		err = errors.Join(err, k.w.Close())
		k.w = nil
	}
	k.r.hintf("%s", k.r.words.Say("resume.not_kept", err.Error()))
	return nil
}

// turn writes in the row that a turn has begun.
func (k *keeper) turn(e agent.Entry) error {
	var t agent.TurnEntry
	if err := json.Unmarshal(e.Data, &t); err != nil {
		return err
	}
	if k.row.Title == "" {
		line, _, _ := strings.Cut(strings.TrimSpace(t.Text), "\n")
		clean, _ := safetext.Field(line)
		k.row.Title = safetext.Clip(clean, titleWidth)
	}
	k.row.Turns, k.row.Model, k.row.Placement = e.Turn, t.Model, t.Placement
	return k.save(store.SessionOpen)
}

func (k *keeper) save(status store.SessionStatus) error {
	k.row.Status, k.row.LastSeq = status, k.w.Last()
	return k.store.SaveSession(k.ctx, k.row)
}

// Sync implements agent.Keeper.
func (k *keeper) Sync() error {
	if k.off || k.w == nil {
		return nil
	}
	if err := k.w.Sync(); err != nil {
		return err
	}
	return k.save(store.SessionIdle)
}

// close ends the keeping; kept reports whether there is something to go on with.
func (k *keeper) close() (kept bool) {
	if k == nil || k.w == nil {
		return false
	}
	err := errors.Join(k.save(store.SessionClosed), k.w.Close())
	if k.w = nil; err != nil && !k.off {
		k.r.hintf("%s", k.r.words.Say("resume.not_kept", err.Error()))
	}
	k.off = true
	return err == nil
}

// former is a conversation of another process that this run goes on with.
type former struct {
	row  store.Session
	talk *agent.Transcript
}

// goesOn opens the former conversation that the flags name, whose model is taken where they
// name none.
func (r *run) goesOn(ctx context.Context, o *askOptions) error {
	if o.resume == "" {
		return nil
	}
	if err := r.resume(ctx, o.resume); err != nil {
		return err
	}
	if o.model == "" {
		o.model = r.former.talk.Last.Model
	}
	if id, bound := strings.CutPrefix(r.keeper.row.Principal, "agent:"); bound && o.agent == "" {
		o.agent = id // what was bound stays so
	}
	return nil
}

// resume finds the conversation that id names, "last" or "" for the newest of this folder,
// opens it for this process and reads it.
func (r *run) resume(ctx context.Context, id string) error {
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	row, err := r.findSession(ctx, s, id)
	if err != nil {
		return err
	}
	k := r.newKeeper(ctx)
	k.id, k.row = row.ID, row
	if !r.writing.dryRun {
		if err := k.begin(); err != nil {
			return sessionFailure(row.ID, err)
		}
	}
	talk, err := agent.ReadTranscript(entriesOf(s.Events().Read(ctx, row.ID, 1)))
	if err != nil {
		if k.w != nil {
			err = errors.Join(err, k.w.Close())
		}
		return sessionFailure(row.ID, err)
	}
	r.keeper, r.former = k, &former{row, talk}
	if k.begun = true; k.w == nil {
		return nil
	}
	if k.w.Torn() != "" {
		r.hintf("%s", k.w.Torn())
	}
	if talk.Cut {
		return k.save(store.SessionInterrupted)
	}
	return nil
}

func (r *run) findSession(ctx context.Context, s *store.Store, id string) (row store.Session, err error) {
	if id == "" || id == "last" {
		list, err := s.Sessions(ctx, r.cwd, recentSessions)
		list = slices.DeleteFunc(list, func(x store.Session) bool { return x.Surface == surfaceJob })
		if err == nil && len(list) == 0 {
			err = fail(Negative, "session_unknown", "no conversation of %s is kept", r.cwd).hinted("hint.sessions")
		}
		if err != nil {
			return row, err
		}
		return list[0], nil
	}
	row, err = s.Session(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrInvalid):
		return row, fail(Negative, "session_unknown", "no conversation %.140q is kept", id).hinted("hint.sessions")
	case err == nil && row.Workspace != r.cwd:
		return row, usage("conversation %s is one of %s", id, row.Workspace).hinted("hint.session_elsewhere", row.Workspace)
	}
	return row, err
}

// sessionFailure says that a conversation is there and cannot be gone on with.
func sessionFailure(id string, err error) error {
	switch {
	case errors.Is(err, store.ErrBusy):
		return fail(Busy, "session_busy", "conversation %s is going on in another process: %v", id, err)
	case errors.Is(err, store.ErrDamaged):
		return fail(Damaged, "session_damaged", "conversation %s: %v", id, err)
	case errors.Is(err, store.ErrNotFound):
		return fail(Negative, "session_unknown", "conversation %s: its words are gone", id).hinted("hint.sessions")
	}
	return err
}

func entriesOf(events iter.Seq2[store.Event, error]) iter.Seq2[agent.Entry, error] {
	return func(yield func(agent.Entry, error) bool) {
		for e, err := range events {
			if !yield(agent.Entry{Kind: e.Kind, Turn: e.Turn, Data: e.Payload}, err) {
				return
			}
		}
	}
}

// keeps adds to the options of a session what keeps it, and what it goes on with.
func (r *run) keeps(ctx context.Context, o *deft.SessionOptions) {
	if r.former != nil {
		o.ID, o.Transcript = r.former.row.ID, r.former.talk
	} else if o.Model != nil && !r.writing.dryRun {
		r.keeper = r.newKeeper(ctx)
	}
	if r.keeper != nil && o.Model != nil && !r.writing.dryRun {
		o.Keep = r.keeper
	}
}

// resumedJSON says what became of a conversation that goes on.
type resumedJSON struct {
	Turns       int           `json:"turns"`
	Interrupted bool          `json:"interrupted"` // the last turn was not ended
	Unknown     int           `json:"unknown"`     // calls whose outcome nobody knows
	Problems    []problemJSON `json:"problems"`
}

type problemJSON struct {
	Name    string `json:"name"`
	Source  string `json:"source"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Fix     string `json:"fix"`
	Active  bool   `json:"active"` // with its former text
}

// resumed tells what became of the conversation; nil = none goes on.
func (r *run) resumed(s *deft.Session) *resumedJSON {
	if r.former == nil {
		return nil
	}
	t := r.former.talk
	doc := &resumedJSON{Turns: t.Turns, Interrupted: t.Cut, Unknown: len(t.Cancelled), Problems: []problemJSON{}}
	r.hintf("%s", r.words.Say("resume.goes_on", t.Turns, s.ID()))
	if t.Cut {
		r.hintf("%s %s", r.err.Paint(safetext.Yellow, "!"), r.words.Say("resume.interrupted", len(t.Cancelled)))
	}
	for _, p := range s.Resumed().Problems {
		doc.Problems = append(doc.Problems, problemJSON{p.Name, p.Source, p.Code, p.Message, p.Fix, p.Active})
		r.hintf("%s %s (%s)", r.err.Paint(safetext.Yellow, "!"), p.Message, p.Fix)
	}
	return doc
}
