package cli

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/install"
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

// recordAction keeps that a person decided something about skills: trust, untrust, remove.
func (r *run) recordAction(ctx context.Context, action, name string, versions map[string]string) error {
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	detail, err := json.Marshal(map[string]string{"name": name, "verb": r.verb.path()})
	if err != nil {
		return err
	}
	return s.Audit().Append(ctx, store.AuditRow{
		Time: r.proc.Now().UTC(), Origin: "interactive", Action: action, Actor: "user", Versions: versions, Detail: detail,
	})
}

// gone ends the grants that are bound to skills which were removed, and records it.
func (r *run) gone(ctx context.Context, plan []install.Removal) error {
	keep, err := r.gateStore(ctx)
	if err != nil {
		return err
	}
	trees := map[string]string{}
	for _, p := range plan {
		if p.Missing {
			continue
		}
		trees[p.Name] = string(p.Tree())
		n, err := keep.RevokeGrantsOf(ctx, p.Tree(), "remove")
		if err != nil {
			return err
		}
		if n > 0 {
			r.hintf("%s", r.words.Say("grants.gone", n, p.Name))
		}
	}
	return r.recordAction(ctx, "remove", strings.Join(sortedKeys(trees), ", "), trees)
}
