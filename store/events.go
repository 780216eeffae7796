package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/deftskills/deft/internal/applog"
	"github.com/deftskills/deft/internal/limits"
)

// Event is one thing that was said or happened in a conversation.
type Event struct {
	Seq     int64     // from 1; set by Append
	At      time.Time // whole microseconds UTC; set by Append
	Turn    int
	Kind    string          // lower-case letters and _
	Payload json.RawMessage // on one line; comes back byte for byte
}

// Events are those of all conversations: beside an SQLite file a log each, in a server's
// database rows.
type Events interface {
	// Open opens the events of a session for the one writer, and begins them where there
	// are none. ErrBusy while another process writes them, ErrDamaged where they are not as
	// they were written.
	Open(ctx context.Context, session string) (EventWriter, error)
	// Read serves the events from a number on, in order, without waiting for a writer. The
	// sequence ends with ErrDamaged after all that is sound, and with ErrNotFound where
	// there are none.
	Read(ctx context.Context, session string, from int64) iter.Seq2[Event, error]
	// Delete removes them. That there are none is no error.
	Delete(ctx context.Context, session string) error
}

// EventWriter adds to the events of one session. Safe for concurrent use.
type EventWriter interface {
	// Append outlives the process when it returns: all of the events, or none.
	Append(ctx context.Context, events ...Event) error
	// Sync brings what was appended to disk.
	Sync() error
	// Last is the number of the newest event; 0 = there is none.
	Last() int64
	// Torn says what of a tail was cut that a crash had left; "" = nothing.
	Torn() string
	Close() error
}

// Events returns the events of the tenant's conversations.
func (s *Store) Events() Events {
	if f, ok := s.b.(*file); ok {
		dir := filepath.Dir(f.path)
		e := fileEvents{f, filepath.Join(dir, "sessions"), filepath.Join(dir, "damaged")}
		if s.o.Tenant != "local" {
			e.dir = filepath.Join(e.dir, "tenant."+s.o.Tenant) // an id has no dot
		}
		return e
	}
	return tableEvents{s}
}

// fileEvents are logs beside the SQLite file.
type fileEvents struct {
	f            *file
	dir, damaged string
}

func (e fileEvents) path(session string) string { return filepath.Join(e.dir, session+".jsonl") }

func (e fileEvents) options(session string) applog.Options {
	return applog.Options{
		Kind: "session", ID: session, Damaged: e.damaged, Verb: e.f.o.Verb, Now: e.f.o.Now,
		Part: limits.LogPart, Max: limits.SessionBytes,
	}
}

// Open implements Events.
func (e fileEvents) Open(ctx context.Context, session string) (EventWriter, error) {
	switch err := checkSession(session); {
	case err != nil:
		return nil, err
	case e.f.o.ReadOnly:
		return nil, fmt.Errorf("%w: %s", ErrReadOnly, e.dir)
	}
	if err := e.f.guard(); err != nil {
		return nil, err
	}
	l, err := applog.Open(ctx, e.path(session), e.options(session))
	if err != nil {
		return nil, e.say(err)
	}
	return &fileWriter{e: e, l: l}, nil
}

// say wraps the sentinels of this package around those of the log.
func (e fileEvents) say(err error) error {
	for _, known := range []struct{ of, as error }{
		{applog.ErrBusy, ErrBusy}, {applog.ErrDamaged, ErrDamaged}, {applog.ErrForeign, ErrDamaged},
		{applog.ErrNewer, ErrNewerSchema}, {applog.ErrMissing, ErrNotFound}, {applog.ErrFull, ErrFull},
	} {
		if errors.Is(err, known.of) {
			return fmt.Errorf("%w: %w", known.as, err)
		}
	}
	return e.f.say(err)
}

// Read implements Events.
func (e fileEvents) Read(ctx context.Context, session string, from int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := checkSession(session); err != nil {
			yield(Event{}, err)
			return
		}
		seq := int64(0)
		for record, err := range applog.Read(e.path(session), e.options(session)) {
			if err == nil && ctx.Err() != nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Event{}, e.say(err))
				return
			}
			if seq++; seq < from {
				continue
			}
			ev, err := decode(record)
			if ev.Seq = seq; err != nil {
				err = fmt.Errorf("%w: %s: event %d: %w", ErrDamaged, e.path(session), seq, err)
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// Delete implements Events.
func (e fileEvents) Delete(ctx context.Context, session string) error {
	if err := checkSession(session); err != nil {
		return err
	}
	if _, err := os.Lstat(e.path(session)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if e.f.o.ReadOnly {
		return fmt.Errorf("%w: %s", ErrReadOnly, e.dir)
	}
	if err := applog.Remove(ctx, e.path(session), e.options(session)); err != nil {
		return e.say(err)
	}
	return nil
}

type fileWriter struct {
	e fileEvents
	l *applog.Log
}

// Append implements EventWriter.
func (w *fileWriter) Append(ctx context.Context, events ...Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now := w.e.f.o.Now().UTC()
	var lines [][]byte
	for _, ev := range events {
		ev.At = now
		line, err := encode(ev)
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	if err := w.l.Append(lines...); err != nil {
		return w.e.say(err)
	}
	return nil
}

func (w *fileWriter) Sync() error {
	if err := w.l.Sync(); err != nil {
		return w.e.say(err)
	}
	return nil
}

func (w *fileWriter) Last() int64  { return w.l.Count() }
func (w *fileWriter) Close() error { return w.l.Close() }

func (w *fileWriter) Torn() string {
	if t := w.l.Torn(); t != nil {
		return fmt.Sprintf("%s: %d bytes of an unfinished record are in %s now", t.Path, t.Bytes, t.Saved)
	}
	return ""
}

// lineHead is what of an event stands before its payload.
type lineHead struct {
	Kind string `json:"kind"`
	Turn int    `json:"turn"`
	At   int64  `json:"at"`
}

// dataKey stands between head and payload. No field of the head is a text that could hold
// it: kinds are words.
var dataKey = []byte(`,"data":`)

// encode writes an event as one line: {"kind":…,"turn":…,"at":…,"data":PAYLOAD}.
func encode(ev Event) ([]byte, error) {
	for _, r := range ev.Kind {
		if r != '_' && (r < 'a' || r > 'z') {
			return nil, fmt.Errorf("%w: kind of an event %.40q", ErrInvalid, ev.Kind)
		}
	}
	if ev.Kind == "" || len(ev.Payload) == 0 {
		return nil, fmt.Errorf("%w: an event without kind or payload", ErrInvalid)
	}
	head, err := json.Marshal(lineHead{ev.Kind, ev.Turn, ev.At.UnixMicro()})
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(head)+len(ev.Payload)+len(dataKey)+1)
	out = append(append(append(out, head[:len(head)-1]...), dataKey...), ev.Payload...)
	return append(out, '}'), nil
}

// decode reads the line of encode. The payload is not looked into: a transcript of many
// megabytes is read for its last part.
func decode(line []byte) (Event, error) {
	at := bytes.Index(line, dataKey)
	if at < 0 || line[len(line)-1] != '}' {
		return Event{}, errors.New("not an event")
	}
	var h lineHead
	if err := json.Unmarshal(append(bytes.Clone(line[:at]), '}'), &h); err != nil {
		return Event{}, err
	}
	return Event{Kind: h.Kind, Turn: h.Turn, At: time.UnixMicro(h.At).UTC(), Payload: line[at+len(dataKey) : len(line)-1]}, nil
}

// tableEvents are rows of a server's database.
type tableEvents struct{ s *Store }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Open implements Events. A second writer is found out by its first Append.
func (e tableEvents) Open(ctx context.Context, session string) (EventWriter, error) {
	switch err := checkSession(session); {
	case err != nil:
		return nil, err
	case e.s.o.ReadOnly:
		return nil, fmt.Errorf("%w: events of %s", ErrReadOnly, e.s.Path())
	}
	w := &tableWriter{s: e.s, session: session}
	err := e.s.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM session_events WHERE tenant = :tenant AND session = ?", session).Scan(&w.last)
	})
	return w, err
}

// Read implements Events.
func (e tableEvents) Read(ctx context.Context, session string, from int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		const batch = 1000
		next, found := max(from, 1), false
		for {
			list, err := e.page(ctx, session, next, batch)
			for _, ev := range list {
				if found = true; !yield(ev, nil) {
					return
				}
				next = ev.Seq + 1
			}
			if err == nil && !found && from <= 1 {
				err = fmt.Errorf("session %.140q: %w", session, ErrNotFound)
			}
			if err != nil {
				yield(Event{}, err)
			}
			if err != nil || len(list) < batch {
				return
			}
		}
	}
}

func (e tableEvents) page(ctx context.Context, session string, from int64, most int) (out []Event, err error) {
	err = e.s.read(ctx, func(q querier) error {
		out = nil
		rows, err := q.QueryContext(ctx, "SELECT seq, at, turn, kind, payload, crc FROM session_events WHERE tenant = :tenant AND session = ? AND seq >= ? ORDER BY seq LIMIT ?", session, from, most)
		if err != nil {
			return err
		}
		defer rows.Close()
		for want := from; rows.Next(); want++ {
			var ev Event
			var at, sum int64
			var payload []byte
			if err := rows.Scan(&ev.Seq, &at, &ev.Turn, &ev.Kind, &payload, &sum); err != nil {
				return err
			}
			if ev.Seq != want || int64(crc32.Checksum(payload, castagnoli)) != sum {
				return fmt.Errorf("%w: session %s: event %d", ErrDamaged, session, want)
			}
			ev.At, ev.Payload = time.UnixMicro(at).UTC(), payload
			out = append(out, ev)
		}
		return rows.Err()
	})
	return out, err
}

// Delete implements Events.
func (e tableEvents) Delete(ctx context.Context, session string) error {
	if err := checkSession(session); err != nil {
		return err
	}
	return e.s.write(ctx, "session.save", func(tx *tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM session_events WHERE tenant = :tenant AND session = ?", session)
		return err
	})
}

type tableWriter struct {
	s       *Store
	session string

	mu   sync.Mutex // held while events are numbered and written
	last int64
}

// Append implements EventWriter.
func (w *tableWriter) Append(ctx context.Context, events ...Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.s.write(ctx, "session.save", func(tx *tx) error {
		rows := make([][]any, len(events))
		for i, ev := range events {
			if _, err := encode(ev); err != nil {
				return err
			}
			rows[i] = []any{
				w.session, w.last + int64(i) + 1, tx.now.UnixMicro(), ev.Turn, ev.Kind, string(ev.Payload),
				int64(crc32.Checksum(ev.Payload, castagnoli)),
			}
		}
		return tx.insert(ctx, "session_events", []string{"session", "seq", "at", "turn", "kind", "payload", "crc"}, rows...)
	})
	if errors.Is(err, ErrExists) {
		return fmt.Errorf("%w: session %s is written by another process: %w", ErrBusy, w.session, err)
	}
	if err == nil {
		w.last += int64(len(events))
	}
	return err
}

func (w *tableWriter) Last() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

func (w *tableWriter) Sync() error  { return nil } // what is committed is on disk
func (w *tableWriter) Torn() string { return "" }
func (w *tableWriter) Close() error { return nil }
