package cli

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/fetch"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/store"
)

// ledger hands what the gate and the loop have kept to the state, which is opened with the
// first of it: a run that decides nothing makes no file.
type ledger struct{ r *run }

// gateStore returns what keeps the gate's things, one a run: it says once that there are
// grants which cannot be read.
func (r *run) gateStore(ctx context.Context) (*store.Gate, error) {
	s, err := r.openStore(ctx)
	if err != nil {
		return nil, err
	}
	r.recording.Lock()
	defer r.recording.Unlock()
	if r.gate == nil {
		r.gate = s.Gate(func(err error) { r.err.Printf("%s\n", r.words.Say("grants.unread", err)) })
	}
	return r.gate, nil
}

// recordable says why nothing of this run could be kept; then it does nothing either. What
// was kept long enough goes.
func (r *run) recordable(ctx context.Context) error {
	s, err := r.openStore(ctx)
	if err == nil {
		err = s.Writable(ctx)
	}
	if err != nil {
		return err
	}
	_, err = s.Audit().Retain(ctx, store.Retention{})
	return err
}

// Record implements gate.Sink.
func (k ledger) Record(ctx context.Context, row gate.Row) error {
	g, err := k.r.gateStore(ctx)
	if err != nil {
		return err
	}
	return g.Record(ctx, row)
}

// Candidates implements gate.GrantStore.
func (k ledger) Candidates(ctx context.Context, q gate.GrantQuery) ([]gate.Grant, error) {
	g, err := k.r.gateStore(ctx)
	if err != nil {
		return nil, err
	}
	return g.Candidates(ctx, q)
}

// Use implements gate.GrantStore.
func (k ledger) Use(ctx context.Context, id string, now time.Time, row gate.Row) error {
	g, err := k.r.gateStore(ctx)
	if err != nil {
		return err
	}
	return g.Use(ctx, id, now, row)
}

// Open implements gate.ConfirmStore.
func (k ledger) Open(ctx context.Context, c gate.Confirmation, row gate.Row) error {
	g, err := k.r.gateStore(ctx)
	if err != nil {
		return err
	}
	return g.Open(ctx, c, row)
}

// Resolve implements gate.ConfirmStore.
func (k ledger) Resolve(ctx context.Context, r gate.Resolution) error {
	g, err := k.r.gateStore(ctx)
	if err != nil {
		return err
	}
	return g.Resolve(ctx, r)
}

// Drop implements gate.ConfirmStore.
func (k ledger) Drop(ctx context.Context, session string, now time.Time) error {
	g, err := k.r.gateStore(ctx)
	if err != nil {
		return err
	}
	return g.Drop(ctx, session, now)
}

// Expire implements gate.ConfirmStore.
func (k ledger) Expire(ctx context.Context, now time.Time) error {
	g, err := k.r.gateStore(ctx)
	if err != nil {
		return err
	}
	return g.Expire(ctx, now)
}

// Keep implements agent.Recorder.
func (k ledger) Keep(ctx context.Context, h agent.Happened) error {
	s, err := k.r.openStore(ctx)
	if err != nil {
		return err
	}
	kept := store.Happened{Turn: (*store.Instance)(h.Turn)}
	for _, row := range h.Skills {
		kept.Skills = append(kept.Skills, store.AuditRow(row))
	}
	for _, row := range h.Tools {
		kept.Tools = append(kept.Tools, store.ToolEvent(row))
	}
	return s.Audit().Keep(ctx, kept)
}

// recordCommand keeps what became of one command of a text. The row holds no argument of a
// request.
func (r *run) recordCommand(ctx context.Context, e session.CommandEvent) error {
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	o := e.Outcome
	detail, err := json.Marshal(map[string]any{
		"address": e.Address, "line": o.Line, "command": o.Written, "hash": e.Hash, "reason": o.Reason, "rule": o.Rule,
		"level": o.Level, "ran": o.Ran, "exit": o.Exit, "ms": o.Duration.Milliseconds(), "bytes": o.Bytes, "stderr": o.Stderr,
	})
	if err != nil {
		return err
	}
	return s.Audit().Append(ctx, store.AuditRow{
		Time: r.proc.Now().UTC(), Trace: e.Trace, Session: e.Session, Turn: strconv.Itoa(e.Turn), Action: "inline_command", Actor: "host",
		Versions: map[string]string{e.Address: string(e.Digest)}, Detail: detail,
	})
}

// recordAction keeps that a person decided something about skills: trust, untrust.
func (r *run) recordAction(ctx context.Context, action, name string, versions map[string]string) error {
	return r.recordRow(ctx, store.AuditRow{Action: action, Versions: versions}, map[string]any{"name": name})
}

// recordRow keeps what a person had deft do, with the verb that did it.
func (r *run) recordRow(ctx context.Context, row store.AuditRow, detail map[string]any) error {
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	detail["verb"] = r.verb.path()
	if row.Detail, err = json.Marshal(detail); err != nil {
		return err
	}
	if row.Time.IsZero() {
		row.Time = r.proc.Now().UTC()
	}
	row.Origin, row.Actor = "interactive", "user"
	return s.Audit().Append(ctx, row)
}

// installRecord keeps every change of installed skills in the history.
type installRecord struct {
	r     *run
	ready bool // asked once a run
}

// Ready implements install.Recorder.
func (k *installRecord) Ready(ctx context.Context) error {
	if k.ready {
		return nil
	}
	err := k.r.recordable(ctx)
	k.ready = err == nil
	return err
}

// Record implements install.Recorder.
func (k *installRecord) Record(ctx context.Context, c install.Change) {
	if err := k.keep(ctx, c); err != nil {
		k.r.note(Partial)
		k.r.err.Printf("%s\n", k.r.words.Say("audit.unrecorded", c.Action, c.Name, err.Error()))
	}
}

func (k *installRecord) keep(ctx context.Context, c install.Change) error {
	if c.Action == install.DidRemove {
		if err := k.r.gone(ctx, c); err != nil {
			return err
		}
	}
	if c.Again {
		if there, err := k.has(ctx, c); err != nil || there {
			return err
		}
	}
	row := store.AuditRow{Action: c.Action, Time: c.At, Versions: map[string]string{}}
	if c.From != "" {
		row.Before, row.Versions[c.Name] = []string{c.Name}, string(c.From)
	}
	if c.To != "" {
		row.After, row.Versions[c.Name] = []string{c.Name}, string(c.To)
	}
	c.Source.URL = fetch.Redacted(c.Source.URL)
	return k.r.recordRow(ctx, row, map[string]any{"name": c.Name, "change": c})
}

// has reports whether a process that ended in the middle has recorded a change.
func (k *installRecord) has(ctx context.Context, c install.Change) (bool, error) {
	s, err := k.r.openStore(ctx)
	if err != nil {
		return false, err
	}
	for e, err := range s.Audit().Query(ctx, store.AuditQuery{Since: c.At}) {
		if err != nil {
			return false, err
		}
		var f struct {
			Detail struct{ Change install.Change }
		}
		if e.Kind == "skill" && json.Unmarshal(e.Fields, &f) == nil && f.Detail.Change.ID == c.ID {
			return true, nil
		}
	}
	return false, nil
}

// gone ends the grants that are bound to a skill which was removed.
func (r *run) gone(ctx context.Context, c install.Change) error {
	keep, err := r.gateStore(ctx)
	if err != nil {
		return err
	}
	n, err := keep.RevokeGrantsOf(ctx, c.From, "remove")
	if err == nil && n > 0 {
		r.hintf("%s", r.words.Say("grants.gone", n, c.Name))
	}
	return err
}
