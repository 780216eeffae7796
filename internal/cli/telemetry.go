package cli

import (
	"context"
	"time"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/internal/telemetry"
	"github.com/deftskills/deft/skill"
)

// observe is where the turns of a run are seen: where the usual variables name a collector,
// and where figures are scraped. Only verbs that run turns open it.
func (r *run) observe() agent.Observe {
	if r.seen == nil && r.verb.effects.network && r.verb.effects.runsCode && !r.writing.dryRun {
		var err error
		r.seen, err = telemetry.Open(telemetry.Options{
			Getenv: r.env, Version: build().Version, Scrape: r.scraped,
			Report: func(err error) { r.serverReport(skill.Finding("telemetry_lost", "", "%v", err)) },
		})
		if err != nil {
			r.serverReport(skill.Finding("telemetry_lost", "", "%v", err))
		}
	}
	return agent.Observe{Traces: r.seen.Traces(), Meters: r.seen.Meters(), Content: r.config.Content}
}

// lastSend is how long the end of a run waits for a collector.
const lastSend = 2 * time.Second

// closeTelemetry sends what is left. A collector that does not answer is no failure of the
// run.
func (r *run) closeTelemetry() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastSend)
	defer cancel()
	_ = r.seen.Close(ctx) // what was lost is told
	r.tellServers()
	return nil
}
