package cli

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/store"
)

// auditOptions are the flags of audit.
type auditOptions struct{ trace, signal, session, since, until string }

func auditVerb() verb {
	var o auditOptions
	return verb{
		name: "audit", args: "[verify]", max: 0, group: groupHouse, joins: true, effects: effects{reads: true},
		short: "what happened: turns, skills, decisions and tool calls, by time",
		long: "A time is 14:00 (today), 2026-12-01, \"2026-12-01 14:00\", RFC 3339, or how long ago, as 30m, 12h or 7d.\n" +
			"Exit code 1 means that nothing was found.",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.trace, "trace", "", "of the turn with this trace `ID`")
			f.StringVar(&o.signal, "signal", "", "of turns that the signal with this `ID` started")
			f.StringVar(&o.session, "session", "", "of the conversation with this `ID`")
			f.StringVar(&o.since, "since", "", "not before `T`")
			f.StringVar(&o.until, "until", "", "before `T`")
		},
		run: func(ctx context.Context, r *run, _ []string) error { return r.audit(ctx, o) },
		below: []verb{{
			name: "verify", max: 0, effects: effects{reads: true},
			short: "are the chains of decisions whole: nothing changed, missing or cut off",
			long:  "Exit code 7: a chain is broken; the first bad row of each is named.",
			run:   func(ctx context.Context, r *run, _ []string) error { return r.auditVerify(ctx) },
		}},
	}
}

// auditJSON is the document of audit.
type auditJSON struct {
	Entries []entryJSON `json:"entries"`
}

// entryJSON is one thing that happened.
type entryJSON struct {
	Time    string          `json:"ts"` // "" = a turn that has not begun
	Kind    string          `json:"kind"`
	Trace   string          `json:"trace_id"`
	Session string          `json:"session"`
	What    string          `json:"what"`
	Verdict string          `json:"verdict"`
	Detail  string          `json:"detail"`
	Fields  json.RawMessage `json:"fields"`
}

// microTime is RFC 3339 to the microsecond, as rows are kept.
const microTime = "2006-01-02T15:04:05.000000Z07:00"

func (r *run) audit(ctx context.Context, o auditOptions) error {
	q := store.AuditQuery{Trace: o.trace, Signal: o.signal, Session: o.session}
	for _, t := range []struct {
		flag, text string
		at         *time.Time
	}{{"--since", o.since, &q.Since}, {"--until", o.until, &q.Until}} {
		if t.text == "" {
			continue
		}
		at, ok := moment(t.text, r.proc.Now())
		if !ok {
			return usage("%s %q is no time", t.flag, t.text).hinted("hint.see_help", "audit")
		}
		*t.at = at
	}
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	doc := auditJSON{Entries: []entryJSON{}}
	for e, err := range s.Audit().Query(ctx, q) {
		if err != nil {
			return err
		}
		ts := ""
		if !e.Time.IsZero() {
			ts = e.Time.Format(microTime)
		}
		doc.Entries = append(doc.Entries, entryJSON{ts, e.Kind, e.Trace, e.Session, e.What, e.Verdict, e.Detail, e.Fields})
	}
	if r.globals.json {
		r.printJSON(doc)
	} else {
		r.auditText(doc.Entries)
	}
	if len(doc.Entries) == 0 {
		r.hintf("%s", r.words.Say("audit.none"))
		return errNegative
	}
	return nil
}

// auditText prints entries under the trace that they belong to.
func (r *run) auditText(entries []entryJSON) {
	trace := ""
	for i, e := range entries {
		if i == 0 || e.Trace != trace {
			trace = e.Trace
			r.out.Printf("%s\n", r.out.Paint(safetext.Bold, r.words.Say("audit.trace", orElse(safetext.Line(trace), "-"), orElse(safetext.Line(e.Session), "-"))))
		}
		when := "-"
		if at, err := time.Parse(microTime, e.Time); err == nil {
			when = at.Local().Format("2006-01-02 15:04:05.000")
		}
		r.out.Printf("  %-23s  %-8s  %-22s %-9s %s\n", when, e.Kind, safetext.Clip(safetext.Line(e.What), 64),
			safetext.Line(e.Verdict), safetext.Clip(safetext.Line(e.Detail), 80))
	}
}

// moment reads a time as people write it.
func moment(text string, now time.Time) (time.Time, bool) {
	if days, ok := cutDays(text); ok {
		return now.Add(-days), true
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), true
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, true
	}
	for _, form := range []string{time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "15:04", time.TimeOnly} {
		at, err := time.ParseInLocation(form, text, time.Local)
		if err != nil {
			continue
		}
		if at.Year() == 0 { // a time of day
			day := now.In(time.Local)
			at = time.Date(day.Year(), day.Month(), day.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.Local)
		}
		return at, true
	}
	return time.Time{}, false
}

// chainsJSON is the document of audit verify.
type chainsJSON struct {
	OK      bool         `json:"ok"`
	Chains  int          `json:"chains"`
	Rows    int          `json:"rows"`
	Removed int          `json:"removed"` // chains of which retention removed rows
	Broken  []brokenJSON `json:"broken"`
}

type brokenJSON struct {
	Chain string `json:"chain"`
	Seq   int64  `json:"seq"` // of the first bad row
	Why   string `json:"why"`
}

func (r *run) auditVerify(ctx context.Context) error {
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	report, err := s.Audit().Verify(ctx)
	if err != nil {
		return err
	}
	doc := chainsJSON{OK: len(report.Broken) == 0, Chains: report.Chains, Rows: report.Rows, Removed: report.Removed, Broken: []brokenJSON{}}
	for _, b := range report.Broken {
		doc.Broken = append(doc.Broken, brokenJSON{b.Chain, b.Seq, b.Why})
	}
	if r.globals.json {
		r.printJSON(doc)
	} else {
		for _, b := range report.Broken {
			r.out.Printf("%s\n", safetext.Line(b.Error()))
		}
		said := r.words.Say("audit.whole", doc.Chains, doc.Rows)
		if !doc.OK {
			said = r.words.Say("audit.broken", doc.Chains, doc.Rows, len(doc.Broken))
		}
		r.out.Printf("%s\n", said)
	}
	if !doc.OK {
		r.note(Damaged)
	}
	return nil
}
