package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// Recorder keeps what became of turns, skills and tool calls. Keep returns when the rows are
// safe, all or none. A turn goes on without them and says so at its end. Decisions are the
// gate's own to record. Safe for concurrent use.
type Recorder interface {
	Keep(ctx context.Context, h Happened) error
}

// Happened are rows that are written together.
type Happened struct {
	Skills []SkillRow
	Tools  []ToolRow
	Turn   *TurnRow // that begins or is over; nil = neither
}

// SkillRow says how a request was routed, or what became of the set of active skills.
type SkillRow struct {
	Time                 time.Time
	Trace, Session, Turn string
	Origin, Signal       string
	Action               string   // route, preload, activate, replace, deactivate, clear, resource_read
	Actor                string   // model, user, signal, host
	Before, After        []string // addresses
	CatalogHash          string
	Top                  json.RawMessage   // of a route: at most ten of {id, score, reasons}
	Versions             map[string]string // digests by address
	Stages               []string
	Fit                  string
	Detail               json.RawMessage // an object
}

// ToolRow says what became of one tool call.
type ToolRow struct {
	Time                 time.Time
	Call                 string // its id
	Trace, Session, Turn string
	Step                 int
	Tool, CallHash       string
	Args                 json.RawMessage // without secrets
	Secret               bool            // there were some: the hash is to be kept under a key
	Started              time.Time       // zero = it did not run
	Status               string          // ok, error, timeout, denied, cancelled, unknown
	Code                 string          // of what was no success
	Duration             time.Duration
	BytesIn, BytesOut    int
	OutputDigest         string
	Sandbox              string // level; "" = nothing was run in one
	Exit                 *int   // nil = nothing was run
}

// TurnRow is a turn as it is told from outside.
type TurnRow struct {
	ID                 string // its trace id
	Definition         string // on whose account it runs
	DefinitionDigest   string
	Trigger            string // cron, webhook, event, manual
	Signal             string
	Trace, ParentTrace string
	Status             string // running, done, failed, cancelled
	Attempt            int
	Replica, Session   string
	Started, Ended     time.Time
	Stop, Error        string
}

// Journal is where a session notes what becomes of its skills until the turn writes it
// down: its Note is for session.Options.Audit. Safe for concurrent use.
type Journal struct {
	mu     sync.Mutex
	events []session.Event
}

// Note takes one event. It never fails: what cannot be written is told at the turn's end.
func (j *Journal) Note(_ context.Context, e session.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
	return nil
}

func (j *Journal) take() []session.Event {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	events := j.events
	j.events = nil
	return events
}

// recording is what a turn has yet to write.
type recording struct {
	rows  Happened
	begun bool  // the row of the turn is there
	over  bool  // and has its end
	err   error // the first write that failed
}

// recorded reports whether the turn is one that is recorded.
func (t *turn) recorded() bool { return t.r.d.Record != nil && t.turn != nil && !t.plans }

// noted takes over what the session has noted of its skills.
func (t *turn) noted() {
	for _, e := range t.r.d.Journal.take() {
		if row, ok := t.skillRow(e); ok {
			t.rec.rows.Skills = append(t.rec.rows.Skills, row)
		}
	}
}

// flush writes what there is. Of a turn that is not recorded nothing stays for the next.
func (t *turn) flush() {
	if !t.recorded() {
		t.r.d.Journal.take()
		return
	}
	t.noted()
	rows := t.rec.rows
	if len(rows.Skills) == 0 && len(rows.Tools) == 0 && rows.Turn == nil {
		return
	}
	t.rec.rows = Happened{}
	if err := t.r.d.Record.Keep(context.WithoutCancel(t.parent), rows); err != nil {
		t.rec.err = cmp.Or(t.rec.err, fmt.Errorf("%w: %w", ErrPersist, err))
		t.log(slog.LevelError, "a record was not written", "store", "persist_failed", "err", err)
	}
}

// recordBegin writes that the turn runs and how its request was routed.
func (t *turn) recordBegin() {
	if !t.recorded() || t.rec.begun {
		return
	}
	t.rec.begun = true
	t.rec.rows.Turn = t.turnRow("running")
	t.noted() // what was started before it was routed
	t.rec.rows.Skills = append(t.rec.rows.Skills, t.routeRow())
	t.flush()
}

// recordEnd writes how the turn ended.
func (t *turn) recordEnd(end *End) {
	if !t.recorded() || t.rec.over {
		return
	}
	t.rec.over = true
	status := "done"
	switch end.Stop {
	case StopCancelled:
		status = "cancelled"
	case StopModel, StopRefused, StopError, StopOffline:
		status = "failed"
	}
	if row := t.turnRow(status); row != nil {
		row.Ended, row.Stop, row.Error = t.r.d.Now(), string(end.Stop), end.Code
		t.rec.rows.Turn = row
	}
	t.flush()
}

// turnRow is nil for a sub-agent: it is part of its parent's turn.
func (t *turn) turnRow(status string) *TurnRow {
	if t.in.task {
		return nil
	}
	trigger := "manual"
	switch t.in.Origin {
	case "cron", "webhook":
		trigger = string(t.in.Origin)
	case "event", "workflow":
		trigger = "event"
	}
	return &TurnRow{
		ID: t.trace, Definition: cmp.Or(t.in.Principal, "unknown"), Trigger: trigger, Signal: t.signalID(), Trace: t.trace,
		ParentTrace: t.in.ParentTrace, Status: status, Attempt: 1, Session: t.s.ID(), Started: t.started,
	}
}

func (t *turn) signalID() string {
	if t.in.Signal == nil {
		return ""
	}
	return t.in.Signal.ID
}

// row is what every row about skills has.
func (t *turn) row(action string) SkillRow {
	row := SkillRow{
		Time: t.r.d.Now(), Trace: t.trace, Session: t.s.ID(), Turn: strconv.Itoa(t.number()), Origin: string(t.in.Origin),
		Signal: t.signalID(), Action: action, Versions: map[string]string{},
	}
	for _, a := range t.s.Active() {
		row.After = append(row.After, a.Address)
		row.Versions[a.Address] = string(a.Digest)
	}
	row.Before = row.After
	return row
}

// topSkills is how many skills of a ranking are recorded.
const topSkills = 10

func (t *turn) routeRow() SkillRow {
	row, r := t.row("route"), t.plan.Route
	row.Actor, row.CatalogHash, row.Stages, row.Fit = "host", t.plan.Catalog.Key, t.stages(), string(r.Fit)
	type ranked struct {
		ID      string   `json:"id"`
		Score   int      `json:"score"`
		Reasons []string `json:"reasons"`
	}
	top := []ranked{}
	for _, h := range r.Hits[:min(len(r.Hits), topSkills)] {
		top = append(top, ranked{h.Address, h.Score, append([]string{}, h.Reasons...)})
	}
	row.Top, _ = json.Marshal(top) // texts and numbers: it cannot fail
	return row
}

// skillActions are the actions of a session's events as the record has them; others change
// no set of skills.
var skillActions = map[string]string{
	"activate": "activate", "replace": "replace", "clear": "clear", "deactivate": "deactivate", "end_turn": "clear",
	"resume": "activate", "fork": "activate",
}

func (t *turn) skillRow(e session.Event) (SkillRow, bool) {
	row := t.row(skillActions[e.Action])
	if row.Action == "" {
		return row, false
	}
	if e.Preload && row.Action == "activate" {
		row.Action = "preload"
	}
	row.Time, row.Before, row.After = e.At, e.ActiveBefore, e.ActiveAfter
	row.Actor = cmp.Or(string(e.Actor), map[string]string{"deactivate": "model"}[e.Action], "host")
	if e.Address != "" && e.Digest != "" {
		row.Versions[e.Address] = string(e.Digest)
	}
	detail := map[string]any{}
	for key, value := range map[string]string{"name": e.Name, "address": e.Address, "scope": string(e.Scope), "code": e.Code} {
		if value != "" {
			detail[key] = value
		}
	}
	if e.Action != row.Action && row.Action != "preload" {
		detail["event"] = e.Action
	}
	if e.ArgsBytes > 0 {
		detail["args_bytes"] = e.ArgsBytes
	}
	row.Detail, _ = json.Marshal(detail)
	return row, true
}

// recordCall notes what became of a call; output is what the model gets of it.
func (t *turn) recordCall(p *pending, output string, elapsed time.Duration) {
	if !t.recorded() {
		return
	}
	args := p.args
	if args == nil {
		args = p.call.Input
	}
	sum := sha256.Sum256([]byte(output))
	row := ToolRow{
		Time: t.r.d.Now(), Call: p.call.ID, Trace: t.trace, Session: t.s.ID(), Turn: strconv.Itoa(t.number()), Step: t.account.steps,
		Tool: p.call.Name, CallHash: p.judged.CallHash, Started: p.started, Status: p.status(), Code: p.result.Code, Duration: elapsed,
		BytesIn: len(args), BytesOut: len(output), OutputDigest: "sha256:" + hex.EncodeToString(sum[:]),
	}
	row.Args, row.Secret = gate.Redactor{Values: t.r.d.Redact}.JSON(args)
	row.Secret = row.Secret || p.judged.Secret
	if ran, ok := p.result.Structured.(toolset.RunResult); ok {
		row.Sandbox, row.Exit = ran.Level, &ran.Exit
		if ran.TimedOut() {
			row.Status = "timeout"
		}
	}
	t.rec.rows.Tools = append(t.rec.rows.Tools, row)
	if m := p.result.Meta; m.ReadOf != "" && !p.result.IsError {
		read := t.row("resource_read")
		read.Actor = string(session.ActorModel)
		read.Detail, _ = json.Marshal(map[string]string{"address": m.ReadOf, "path": m.Read})
		t.rec.rows.Skills = append(t.rec.rows.Skills, read)
	}
}

// status says in a word what became of a call.
func (p *pending) status() string {
	switch {
	case p.result.Code == codeCancelled && p.lost:
		return "unknown"
	case p.result.Code == codeCancelled:
		return "cancelled"
	case p.started.IsZero():
		return "denied"
	case p.result.IsError && slices.Contains([]string{"timeout", "command_timeout"}, p.result.Code):
		return "timeout"
	case p.result.IsError:
		return "error"
	}
	return "ok"
}
