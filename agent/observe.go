package agent

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/session"
)

// Observe says to whom turns show how they go: spans and figures with ids and codes, and
// never a text unless Content is set. With the zero value nobody looks and nothing is paid.
type Observe struct {
	Traces trace.TracerProvider // nil = no spans
	Meters metric.MeterProvider // nil = no figures
	// Content puts the request, the answer, and the arguments and results of tools into
	// spans, at most 4 KiB of each. They hold what people write: leave it off.
	Content bool
}

// scope names who makes the spans and figures.
const scope = "github.com/deftskills/deft"

// maxContent bounds a text in a span, in bytes.
const maxContent = 4 << 10

// eyes are the instruments of a Runner; nil = nobody looks. All methods may be called on
// nil.
type eyes struct {
	tracer  trace.Tracer
	content bool

	turns, decisions, tokens, loads metric.Int64Counter
	route, tool                     metric.Float64Histogram
}

// eyes makes the instruments once for a Runner.
func (o Observe) eyes() (*eyes, error) {
	if o.Traces == nil && o.Meters == nil {
		return nil, nil
	}
	if o.Traces == nil {
		o.Traces = tracenoop.NewTracerProvider()
	}
	if o.Meters == nil {
		o.Meters = metricnoop.NewMeterProvider()
	}
	e := &eyes{tracer: o.Traces.Tracer(scope), content: o.Content}
	meter := o.Meters.Meter(scope)
	var err error
	count := func(into *metric.Int64Counter, name, about string) {
		if err == nil {
			*into, err = meter.Int64Counter(name, metric.WithDescription(about))
		}
	}
	timed := func(into *metric.Float64Histogram, name, about string) {
		if err == nil {
			*into, err = meter.Float64Histogram(name, metric.WithDescription(about), metric.WithUnit("s"),
				metric.WithExplicitBucketBoundaries(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300))
		}
	}
	count(&e.turns, "deft_turns_total", "Turns that ended.")
	count(&e.decisions, "deft_gate_decisions_total", "Decisions about tool calls.")
	count(&e.tokens, "deft_model_tokens_total", "Tokens of requests and answers.")
	count(&e.loads, "deft_skill_loads_total", "Skills that were started.")
	timed(&e.route, "deft_route_seconds", "Ranking the skills for a request.")
	timed(&e.tool, "deft_tool_seconds", "Running a tool.")
	if err != nil {
		return nil, fmt.Errorf("instruments: %w", err)
	}
	return e, nil
}

// span is one span that may not be there.
type span struct{ of trace.Span }

// start begins a span below the one of ctx.
func (e *eyes) start(ctx context.Context, name string, attrs ...attribute.KeyValue) (context.Context, span) {
	if e == nil {
		return ctx, span{}
	}
	ctx, of := e.tracer.Start(ctx, name, trace.WithAttributes(attrs...))
	return ctx, span{of}
}

// end ends it; code is "" for what went well.
func (s span) end(code string, attrs ...attribute.KeyValue) {
	if s.of == nil {
		return
	}
	s.of.SetAttributes(attrs...)
	if code != "" {
		s.of.SetAttributes(attribute.String("deft.code", code))
		s.of.SetStatus(codes.Error, code)
	}
	s.of.End()
}

// text adds a text, where texts are wanted.
func (e *eyes) text(s span, key, text string) {
	if e != nil && e.content && s.of != nil {
		s.of.SetAttributes(attribute.String(key, safetext.Text(text[:min(len(text), maxContent)])))
	}
}

// watch begins the span of a turn. Ids stand in it, so that it is found by them.
func (t *turn) watch() {
	e := t.r.eyes
	if e == nil {
		return
	}
	t.ctx, t.span = e.start(t.ctx, "deft.turn",
		attribute.String("deft.trace_id", t.trace), attribute.String("deft.session", t.s.ID()), attribute.Int("deft.turn", t.number()),
		attribute.String("deft.origin", originLabel(t.in.Origin)))
	e.text(t.span, "deft.request", t.in.Text)
}

// watched ends the span of the turn and counts the turn; a mere plan is not counted.
func (t *turn) watched(stop Stop, code string) {
	e := t.r.eyes
	if e == nil || t.over {
		return
	}
	t.over = true
	e.text(t.span, "deft.answer", t.answer)
	t.span.end(code, attribute.String("deft.stop", string(stop)))
	if !t.plans {
		e.turns.Add(t.parent, 1, metric.WithAttributes(attribute.String("origin", originLabel(t.in.Origin)), attribute.String("stop", string(stop))))
	}
}

// originLabel is one of the few origins: what else stands there is no label.
func originLabel(o gate.Origin) string {
	switch o {
	case gate.Interactive, gate.Cron, gate.Webhook, gate.Event, gate.Workflow:
		return string(o)
	}
	return "other"
}

// planned tells how long the router and the catalog took, by what the planner says.
func (e *eyes) planned(ctx context.Context, p Plan) {
	if e == nil || p.Began.IsZero() || p.Routed.IsZero() {
		return
	}
	e.route.Record(ctx, p.Routed.Sub(p.Began).Seconds())
	part := func(name string, from, to time.Time, attrs ...attribute.KeyValue) {
		_, of := e.tracer.Start(ctx, name, trace.WithTimestamp(from), trace.WithAttributes(attrs...))
		of.End(trace.WithTimestamp(to))
	}
	part("deft.route", p.Began, p.Routed, attribute.Int("deft.hits", len(p.Route.Hits)), attribute.String("deft.fit", string(p.Route.Fit)))
	if !p.Rendered.IsZero() {
		part("deft.catalog", p.Routed, p.Rendered, attribute.Int("deft.tokens", p.Catalog.Report.Used), attribute.Int("deft.omitted", p.Catalog.Report.Omitted))
	}
}

// decided counts one decision of the gate.
func (e *eyes) decided(ctx context.Context, d gate.Decision) {
	if e != nil {
		e.decisions.Add(ctx, 1, metric.WithAttributes(
			attribute.String("verdict", string(d.Verdict)), attribute.String("code", d.Code), attribute.String("tier", d.Tier.String())))
	}
}

// used counts the tokens of a step.
func (e *eyes) used(ctx context.Context, u model.Usage) {
	if e == nil {
		return
	}
	for _, k := range [...]struct {
		kind string
		n    int
	}{{"input", u.Input}, {"cached", u.Cached}, {"output", u.Output}} {
		if k.n > 0 {
			e.tokens.Add(ctx, int64(k.n), metric.WithAttributes(attribute.String("kind", k.kind)))
		}
	}
}

// ran notes how long a tool ran.
func (e *eyes) ran(ctx context.Context, tool string, took time.Duration) {
	if e != nil {
		e.tool.Record(ctx, took.Seconds(), metric.WithAttributes(attribute.String("tool", tool)))
	}
}

// loaded tells that a skill was started, and counts it by who started it, never by its
// name.
func (t *turn) loaded(a session.Activation, s SkillEvent) {
	t.usedLoad(a, s.By, a.Text)
	if e := t.r.eyes; e != nil {
		e.loads.Add(t.ctx, 1, metric.WithAttributes(attribute.String("by", s.By)))
	}
	t.emit(Event{Type: SkillActivated, Skill: &s})
}

// log tells one thing about the turn.
func (t *turn) log(level slog.Level, msg, category, event string, more ...any) {
	l := t.r.d.Log
	if l.Enabled(t.parent, level) {
		l.With("category", category, "event", event, "trace_id", t.trace, "session", t.s.ID()).Log(t.parent, level, msg, more...)
	}
}

// outcomeOf is the code of a call that went wrong, "" of one that went well.
func outcomeOf(p *pending) string {
	if !p.result.IsError {
		return ""
	}
	if p.result.Code == "" {
		return "error"
	}
	return p.result.Code
}
