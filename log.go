package deft

import (
	"io"
	"log/slog"

	"github.com/deftskills/deft/registry"
)

// LogJSON is a handler for Options.Log: one JSON object a line with the keys ts, level,
// msg, category, event, trace_id and session, and what else belongs to the event. The
// categories are skills/registry, skills/router, agent/loop, gate, signals and store; texts
// of requests, answers and skills are in none. level nil = slog.LevelInfo.
func LogJSON(w io.Writer, level slog.Leveler) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			a.Key = "ts"
			a.Value = slog.TimeValue(a.Value.Time().UTC())
		}
		return a
	}})
}

// log is the logger of the options.
func (o Options) log() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(o.Log)
}

// logSkills tells what was found, and each change of it.
func (e *Engine) logSkills() {
	if e.o.Log == nil {
		return
	}
	log, s := e.o.log(), e.Snapshot()
	log.Info("skills were found", "category", "skills/registry", "event", "opened",
		"skills", len(s.Winners), "sources", s.Metrics.Sources, "complete", s.Complete, "took_ms", s.Metrics.ElapsedMS)
	e.Subscribe(func(c registry.Change) {
		log.Info("skills changed", "category", "skills/registry", "event", "changed",
			"added", len(c.Added), "removed", len(c.Removed), "updated", len(c.Updated))
	})
}
