package deft_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// watched runs one turn that starts a skill, calls one tool that runs and one that is
// refused, and returns its spans, its figures and its log.
func watched(t *testing.T, content bool) (spans tracetest.SpanStubs, figures metricdata.ResourceMetrics, log string) {
	t.Helper()
	seen := tracetest.NewInMemoryExporter()
	reader := metric.NewManualReader()
	var out lockedBuffer
	p := &changing{names: []string{"mcp__srv__a"}, tier: gate.ReadOnly}
	refused := &changing{names: []string{"mcp__no__b"}, tier: gate.AlwaysConfirm}
	e := open(t, deft.Options{
		Workspace: t.TempDir(), OnlySources: true, Providers: []toolset.Provider{p, refused},
		Data: []source.Definition{{Name: "oak", Description: "Works with oak.", Content: "Work with oak: $ARGUMENTS"}},
		Observe: agent.Observe{
			Traces: trace.NewTracerProvider(trace.WithSyncer(seen)), Meters: metric.NewMeterProvider(metric.WithReader(reader)), Content: content,
		},
		Log: deft.LogJSON(&out, slog.LevelDebug),
	})
	m := &answering{answer: func(_ context.Context, r modelRequest) modelStep {
		if len(r.Messages[len(r.Messages)-1].Results) > 0 {
			return says("the answer is SESAME")
		}
		two := calls("mcp__srv__a", map[string]any{"word": "SESAME"})
		two.Calls = append(two.Calls, calls("mcp__no__b", map[string]any{}).Calls...)
		return two
	}}
	s := newSession(t, e, deft.SessionOptions{Model: m})
	for ev, err := range s.Run(t.Context(), deft.Input{Text: "/oak say SESAME", Origin: gate.Interactive, TraceID: "t_watched"}) {
		if err != nil {
			t.Fatal(ev, err)
		}
	}
	if err := reader.Collect(t.Context(), &figures); err != nil {
		t.Fatal(err)
	}
	return seen.GetSpans(), figures, out.String()
}

// lockedBuffer may be written by several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// tree is the spans as "parent > child", sorted.
func tree(spans tracetest.SpanStubs) []string {
	names := map[string]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID().String()] = s.Name
	}
	var out []string
	for _, s := range spans {
		out = append(out, names[s.Parent.SpanID().String()]+" > "+s.Name)
	}
	slices.Sort(out)
	return out
}

func TestATurnIsSeenAsSpans(t *testing.T) {
	t.Parallel()
	spans, _, _ := watched(t, false)
	want := []string{
		" > deft.turn", "deft.tool > deft.gate", "deft.tool > deft.gate", "deft.turn > deft.catalog", "deft.turn > deft.model", "deft.turn > deft.model",
		"deft.turn > deft.route", "deft.turn > deft.tool", "deft.turn > deft.tool",
	}
	if got := tree(spans); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	text := fmt.Sprintf("%+v", spans)
	for _, attr := range []string{"t_watched", "READ_ONLY", "no_answerer", "interactive", "mcp__srv__a"} {
		if !strings.Contains(text, attr) {
			t.Errorf("%s is in no span", attr)
		}
	}
	if strings.Contains(text, "SESAME") {
		t.Error("a text is in a span")
	}
	whole, _, _ := watched(t, true)
	found := 0
	for _, s := range whole {
		for _, a := range s.Attributes {
			if strings.Contains(a.Value.String(), "SESAME") {
				found++
			}
		}
	}
	if found != 3 { // request, arguments, answer
		t.Errorf("with texts there are %d", found)
	}
}

func TestATurnIsCounted(t *testing.T) {
	t.Parallel()
	_, figures, _ := watched(t, false)
	got := map[string][]string{}
	for _, scope := range figures.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					var labels []string
					for _, a := range p.Attributes.ToSlice() {
						labels = append(labels, string(a.Key)+"="+a.Value.String())
					}
					got[m.Name] = append(got[m.Name], fmt.Sprintf("%s %d", strings.Join(labels, ","), p.Value))
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					got[m.Name] = append(got[m.Name], fmt.Sprintf("%s %d", p.Attributes.Encoded(attribute.DefaultEncoder()), p.Count))
				}
			}
			slices.Sort(got[m.Name])
		}
	}
	for name, want := range map[string]string{
		"deft_turns_total":          "origin=interactive,stop=end 1",
		"deft_gate_decisions_total": "code=no_answerer,tier=ALWAYS_CONFIRM,verdict=deny 1|code=read_only,tier=READ_ONLY,verdict=allow 1",
		"deft_model_tokens_total":   "kind=input 20|kind=output 2",
		"deft_skill_loads_total":    "by=user 1",
	} {
		if text := strings.Join(got[name], "|"); text != want {
			t.Errorf("%s: %s, want %s", name, text, want)
		}
	}
	if len(got["deft_route_seconds"]) != 1 || len(got["deft_tool_seconds"]) != 1 {
		t.Errorf("times: %v", got)
	}
}

func TestTheLogHasIdsAndCodesAndNoText(t *testing.T) {
	t.Parallel()
	_, _, log := watched(t, false)
	events := map[string]string{}
	for line := range strings.Lines(log) {
		var l struct {
			TS, Level, Category, Event, Session, Msg string
			Trace                                    string `json:"trace_id"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.TS == "" || l.Level == "" || l.Category == "" || l.Event == "" || l.Msg == "" {
			t.Errorf("%v: %s", err, line)
		}
		if l.Category != "skills/registry" && (l.Trace != "t_watched" || l.Session == "") {
			t.Errorf("no ids: %s", line)
		}
		events[l.Event] = l.Category
	}
	want := map[string]string{
		"opened": "skills/registry", "turn_started": "agent/loop", "routed": "skills/router", "decision": "gate", "turn_finished": "agent/loop",
	}
	for event, category := range want {
		if events[event] != category {
			t.Errorf("event %s is of category %q", event, events[event])
		}
	}
	if strings.Contains(log, "SESAME") {
		t.Error("a text is in the log")
	}
}
