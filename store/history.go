package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/deftskills/deft/gate"
)

// Audit is the history of turns, skills and tool calls, and the reading of all that is
// recorded. Rows are added, never changed.
type Audit struct{ s *Store }

// Audit returns the history.
func (s *Store) Audit() Audit { return Audit{s} }

// AuditRow says what became of the set of active skills, or how a request was routed.
// JSON fields that are empty are kept as an empty list or object.
type AuditRow struct {
	Time                 time.Time
	Trace, Session, Turn string
	Origin, Signal       string
	Action               string // route, preload, activate, replace, deactivate, clear, resource_read, …
	Actor                string // model, user, signal, scenario, host
	Before, After        []string
	CatalogHash          string
	Top                  json.RawMessage // at most ten of {id, score, reasons}
	Versions             map[string]string
	Stages               []string
	Fit                  string
	Detail               json.RawMessage // an object
}

// ToolEvent says what became of one tool call.
type ToolEvent struct {
	Time                 time.Time
	Call                 string // its id
	Trace, Session, Turn string
	Step                 int
	Tool, CallHash       string
	Args                 json.RawMessage // without secrets; at most MaxArgs are kept
	Secret               bool            // Args held secrets: CallHash is kept under a key
	Started              time.Time
	Status               string // ok, error, timeout, denied, cancelled, unknown
	Code                 string // of what was no success
	Duration             time.Duration
	BytesIn, BytesOut    int
	OutputDigest         string
	Sandbox              string // level; "" = nothing was run in one
	Exit                 *int   // nil = nothing was run
}

// MaxArgs is how many bytes of a call's arguments are kept; of longer ones only how long
// they were.
const MaxArgs = 8 << 10

// Instance is one turn as it is told from outside: what started it and how it ended.
type Instance struct {
	ID                 string
	Definition         string // what it is a turn of
	DefinitionDigest   string
	Trigger            string // cron, webhook, event, manual
	Signal             string
	Trace, ParentTrace string
	Status             string // queued, running, done, failed, cancelled, interrupted
	Attempt            int
	Replica, Session   string
	Started, Ended     time.Time
	Stop, Error        string
}

// Happened is what is written together.
type Happened struct {
	Skills []AuditRow
	Tools  []ToolEvent
	// Turn is added, or brought to its end where there is one with its ID; nil = neither. One
	// of a trace that another row is about, a queue's, is left alone.
	Turn *Instance
}

// Writable says why nothing could be written now. It makes the database where there is none.
func (s *Store) Writable(ctx context.Context) error {
	return s.write(ctx, "audit.insert", func(*tx) error { return errUnchanged })
}

// Append adds rows about skills, all or none.
func (a Audit) Append(ctx context.Context, rows ...AuditRow) error {
	return a.Keep(ctx, Happened{Skills: rows})
}

// Keep writes what happened, all or nothing of it. Secrets of known shapes are taken out of
// every text; those of declared variables whoever calls has taken out.
func (a Audit) Keep(ctx context.Context, h Happened) error {
	return a.s.write(ctx, "audit.insert", func(tx *tx) error {
		skills := make([][]any, 0, len(h.Skills))
		for _, r := range h.Skills {
			skills = append(skills, r.values())
		}
		tools := make([][]any, 0, len(h.Tools))
		for _, e := range h.Tools {
			hash, err := a.s.keyed(ctx, tx, e.CallHash, e.Secret)
			if err != nil {
				return err
			}
			tools = append(tools, e.values(hash))
		}
		if err := tx.insert(ctx, "skill_audit", skillColumns, skills...); err != nil {
			return err
		}
		if err := tx.insert(ctx, "tool_events", toolColumns, tools...); err != nil {
			return err
		}
		if h.Turn != nil {
			return keepTurn(ctx, tx, *h.Turn)
		}
		return nil
	})
}

var skillColumns = []string{
	"ts", "trace_id", "session", "turn", "origin", "signal_id", "action", "actor", "ids_before", "ids_after", "catalog_hash",
	"top", "versions", "stages", "fit", "detail",
}

func (r AuditRow) values() []any {
	versions := r.Versions
	if versions == nil {
		versions = map[string]string{}
	}
	return []any{
		r.Time.UnixMicro(), said(r.Trace), said(r.Session), said(r.Turn), said(r.Origin), said(r.Signal), said(r.Action), said(r.Actor),
		cleanList(r.Before), cleanList(r.After), said(r.CatalogHash), cleanJSON(r.Top, "[]"), cleanJSON([]byte(jsonText(versions)), "{}"),
		cleanList(r.Stages), said(r.Fit), cleanJSON(r.Detail, "{}"),
	}
}

var toolColumns = []string{
	"ts", "call_id", "trace_id", "session", "turn", "step", "tool", "call_hash", "args", "started_at", "status", "error_code",
	"duration_us", "bytes_in", "bytes_out", "output_digest", "sandbox_level", "exit_code",
}

func (e ToolEvent) values(hash string) []any {
	args := cleanJSON(e.Args, "{}")
	if len(args) > MaxArgs {
		args = fmt.Sprintf(`"[cut: %d bytes]"`, len(args))
	}
	var exit any
	if e.Exit != nil {
		exit = int64(*e.Exit)
	}
	return []any{
		e.Time.UnixMicro(), said(e.Call), said(e.Trace), said(e.Session), said(e.Turn), int64(e.Step), said(e.Tool), hash, args,
		micro(e.Started), e.Status, said(e.Code), e.Duration.Microseconds(), int64(e.BytesIn), int64(e.BytesOut), e.OutputDigest,
		said(e.Sandbox), exit,
	}
}

func keepTurn(ctx context.Context, tx *tx, t Instance) error {
	n, err := tx.changed(ctx, "UPDATE workflow_instances SET session = ?, status = ?, started = coalesce(started, ?), ended = ?, stop = ?, error = ?"+
		" WHERE tenant = :tenant AND id = ?", said(t.Session), t.Status, micro(t.Started), micro(t.Ended), said(t.Stop), said(t.Error), t.ID)
	if err != nil || n > 0 {
		return err
	}
	// The row of a turn that a queue started is the queue's to keep.
	var others int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM workflow_instances WHERE tenant = :tenant AND trace_id = ?", said(t.Trace)).Scan(&others); err != nil || others > 0 {
		return err
	}
	return tx.insert(ctx, "workflow_instances", []string{
		"id", "definition", "definition_digest", "trigger_kind", "signal_id", "trace_id", "parent_trace_id", "status", "attempt", "replica",
		"session", "started", "ended", "stop", "error",
	}, []any{
		t.ID, said(t.Definition), t.DefinitionDigest, t.Trigger, said(t.Signal), said(t.Trace), said(t.ParentTrace), t.Status, int64(t.Attempt),
		said(t.Replica), said(t.Session), micro(t.Started), micro(t.Ended), said(t.Stop), said(t.Error),
	})
}

func micro(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// said is a text as every database takes it, without secrets.
func said(text string) string {
	text, _ = gate.Redactor{}.Text(strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD"))
	return text
}

func cleanList(list []string) string {
	if len(list) == 0 {
		return "[]"
	}
	return cleanJSON([]byte(jsonText(list)), "[]")
}

func cleanJSON(src []byte, empty string) string {
	if len(src) == 0 {
		return empty
	}
	clean, _ := gate.Redactor{}.JSON(src)
	return string(clean)
}

// AuditQuery says which entries of the history are wanted; zero fields don't narrow.
type AuditQuery struct {
	Trace   string
	Signal  string // entries of every trace that it started
	Session string
	Since   time.Time // this moment is in
	Until   time.Time // this one is not
}

// Entry is one thing that happened, of any table of the record.
type Entry struct {
	Time           time.Time // zero = a turn that has not begun
	Trace, Session string
	Kind           string // workflow, skill, gate, tool
	What           string // definition, action, tool
	Verdict        string // status, actor, verdict
	Detail         string // what started it, ids, code, digest of the output
	Fields         json.RawMessage
}

// Query yields what happened, by time, in one query. An error ends it.
func (a Audit) Query(ctx context.Context, q AuditQuery) iter.Seq2[Entry, error] {
	where, args := q.where()
	query := "SELECT ts, trace_id, session, kind, what, verdict, detail, fields FROM trace_timeline WHERE " + where + " ORDER BY ts, ord, seq"
	return func(yield func(Entry, error) bool) {
		stopped := false
		err := a.s.read(ctx, func(db querier) error {
			rows, err := db.QueryContext(ctx, query, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var e Entry
				var ts int64
				var fields string
				if err := rows.Scan(&ts, &e.Trace, &e.Session, &e.Kind, &e.What, &e.Verdict, &e.Detail, &fields); err != nil {
					return err
				}
				if e.Fields = json.RawMessage(fields); ts != 0 {
					e.Time = time.UnixMicro(ts).UTC()
				}
				if !yield(e, nil) {
					stopped = true
					return nil
				}
			}
			return rows.Err()
		})
		if err != nil && !stopped {
			yield(Entry{}, err)
		}
	}
}

func (q AuditQuery) where() (string, []any) {
	where, args := []string{"tenant = :tenant"}, []any{}
	add := func(when bool, text string, values ...any) {
		if when {
			where, args = append(where, text), append(args, values...)
		}
	}
	add(q.Trace != "", "trace_id = ?", q.Trace)
	add(q.Session != "", "session = ?", q.Session)
	add(!q.Since.IsZero(), "ts >= ?", q.Since.UnixMicro())
	add(!q.Until.IsZero(), "ts < ?", q.Until.UnixMicro())
	add(q.Signal != "", "trace_id IN (SELECT trace_id FROM workflow_instances WHERE tenant = :tenant AND signal_id = ?"+
		" UNION SELECT trace_id FROM skill_audit WHERE tenant = :tenant AND signal_id = ?)", q.Signal, q.Signal)
	return strings.Join(where, " AND "), args
}
