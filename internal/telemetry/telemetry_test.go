package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// collector is a real receiver over HTTP.
type collector struct {
	url    string
	status int

	mu    sync.Mutex
	paths []string
	heads []http.Header
	docs  map[string]map[string]any // by path, the last one
}

func newCollector(t *testing.T, status int) *collector {
	t.Helper()
	c := &collector{status: status, docs: map[string]map[string]any{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var doc map[string]any
		if err := json.NewDecoder(r.Body).Decode(&doc); err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.paths, c.heads = append(c.paths, r.URL.Path), append(c.heads, r.Header)
		c.docs[r.URL.Path] = doc
		w.WriteHeader(c.status)
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

// vars are the variables of a test.
func vars(list map[string]string) func(string) string {
	return func(name string) string { return list[name] }
}

// work makes two spans and some figures.
func work(t *testing.T, tel *Telemetry) {
	t.Helper()
	ctx := t.Context()
	if p := tel.Traces(); p != nil {
		ctx, outer := p.Tracer("scope").Start(ctx, "outer", trace.WithAttributes(
			attribute.String("s", "text"), attribute.Int("i", 7), attribute.Bool("b", true), attribute.Float64("f", 1.5), attribute.StringSlice("l", []string{"x"})))
		_, inner := p.Tracer("scope").Start(ctx, "inner")
		inner.SetStatus(codes.Error, "denied")
		inner.End()
		outer.End()
	}
	if p := tel.Meters(); p != nil {
		n, err := p.Meter("scope").Int64Counter("deft_turns_total", metric.WithDescription("Turns\nthat ended."))
		h, also := p.Meter("scope").Float64Histogram("deft_route_seconds", metric.WithExplicitBucketBoundaries(0.1, 1))
		if err := errors.Join(err, also); err != nil {
			t.Fatal(err)
		}
		n.Add(ctx, 2, metric.WithAttributes(attribute.String("stop", "end"), attribute.String("origin", `in"teractive`)))
		n.Add(ctx, 1, metric.WithAttributes(attribute.String("stop", "cancelled")))
		for _, f := range []float64{0.05, 0.5, 5} {
			h.Record(ctx, f)
		}
	}
}

// at walks a document by keys and indexes.
func at(doc any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := doc.(map[string]any)
			doc = m[p]
		case int:
			l, _ := doc.([]any)
			if p >= len(l) {
				return nil
			}
			doc = l[p]
		}
	}
	return doc
}

func TestSpansAndFiguresReachACollector(t *testing.T) {
	t.Parallel()
	c := newCollector(t, http.StatusOK)
	tel, err := Open(Options{Version: "1", Getenv: vars(map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.url + "/base/", "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20sesame, broken ,x=1",
		"OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "service.name=other,team=blue",
	}), Report: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	work(t, tel)
	if err := tel.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, h := range c.heads {
		if h.Get("Authorization") != "Bearer sesame" || h.Get("X") != "1" || h.Get("Content-Type") != "application/json" {
			t.Errorf("%s: headers %v", c.paths[i], h)
		}
	}
	spans := at(c.docs["/base/v1/traces"], "resourceSpans", 0, "scopeSpans", 0, "spans")
	outer, inner := at(spans, 1), at(spans, 0)
	if at(outer, "name") != "outer" || at(inner, "name") != "inner" || at(inner, "parentSpanId") != at(outer, "spanId") || at(inner, "traceId") != at(outer, "traceId") {
		t.Errorf("spans %v", spans)
	}
	if id, _ := at(outer, "traceId").(string); len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		t.Errorf("trace id %q", id)
	}
	if start, _ := at(outer, "startTimeUnixNano").(string); len(start) != 19 {
		t.Errorf("start %v", at(outer, "startTimeUnixNano"))
	}
	want := []any{
		map[string]any{"key": "s", "value": map[string]any{"stringValue": "text"}},
		map[string]any{"key": "i", "value": map[string]any{"intValue": "7"}},
		map[string]any{"key": "b", "value": map[string]any{"boolValue": true}},
		map[string]any{"key": "f", "value": map[string]any{"doubleValue": 1.5}},
		map[string]any{"key": "l", "value": map[string]any{"arrayValue": map[string]any{"values": []any{map[string]any{"stringValue": "x"}}}}},
	}
	if diff := cmp.Diff(want, at(outer, "attributes")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"code": 2.0, "message": "denied"}, at(inner, "status")); diff != "" || at(inner, "kind") != 1.0 {
		t.Error(diff, at(inner, "kind"))
	}
	about := at(c.docs["/base/v1/traces"], "resourceSpans", 0, "resource", "attributes")
	if text, _ := json.Marshal(about); !strings.Contains(string(text), `"mine"`) || !strings.Contains(string(text), `"blue"`) || strings.Contains(string(text), "other") {
		t.Errorf("resource %s", text)
	}
	metrics := at(c.docs["/base/v1/metrics"], "resourceMetrics", 0, "scopeMetrics", 0, "metrics")
	text, _ := json.Marshal(metrics)
	for _, part := range []string{
		`"asInt":"2"`, `"isMonotonic":true`, `"aggregationTemporality":2`, `"bucketCounts":["1","1","1"]`, `"explicitBounds":[0.1,1]`, `"count":"3"`, `"sum":5.55`,
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is not in %s", part, text)
		}
	}
}

func TestNothingIsOpenedWithoutAnEndpoint(t *testing.T) {
	t.Parallel()
	for _, list := range []map[string]string{
		{}, {"OTEL_SERVICE_NAME": "x"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
	} {
		tel, err := Open(Options{Getenv: vars(list)})
		if tel != nil || err != nil || tel.Traces() != nil || tel.Meters() != nil || tel.Handler() != nil || tel.Close(t.Context()) != nil {
			t.Errorf("%v: %+v, %v", list, tel, err)
		}
	}
	c := newCollector(t, http.StatusOK)
	tel, err := Open(Options{Getenv: vars(map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.url + "/exactly"})})
	if err != nil || tel.Meters() != nil {
		t.Fatal(err)
	}
	work(t, tel)
	if err := tel.Close(t.Context()); err != nil || strings.Join(c.paths, " ") != "/exactly" {
		t.Errorf("%v, paths %q", err, c.paths)
	}
	for _, bad := range []string{"localhost:4318", "ftp://x", "http://", "::"} {
		if _, err := Open(Options{Getenv: vars(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": bad})}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestWhatCannotBeDeliveredIsToldOnce(t *testing.T) {
	t.Parallel()
	c := newCollector(t, http.StatusServiceUnavailable)
	var mu sync.Mutex
	var told []string
	tel, err := Open(Options{
		Getenv: vars(map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.url, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}),
		Report: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, err.Error())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		work(t, tel)
		if err := tel.traces.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := tel.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if len(told) != 2 || !strings.Contains(told[0], "http/json") || !strings.Contains(told[1], "503") {
		t.Errorf("told %q", told)
	}
}

func TestACollectorThatHangsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-left:
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(left) })
	tel, err := Open(Options{Getenv: vars(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": s.URL})})
	if err != nil {
		t.Fatal(err)
	}
	work(t, tel)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_ = tel.Close(ctx) // returns: that is the test
	if ctx.Err() == nil {
		t.Error("the documents were taken")
	}
}

func TestFiguresAreScraped(t *testing.T) {
	t.Parallel()
	tel, err := Open(Options{Getenv: vars(map[string]string{"OTEL_SDK_DISABLED": " true ", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}), Scrape: true})
	if err != nil || tel.Traces() != nil { // what is disabled is not sent, scraped or not
		t.Fatal(err)
	}
	work(t, tel)
	want := `# HELP deft_route_seconds 
# TYPE deft_route_seconds histogram
deft_route_seconds_bucket{le="0.1"} 1
deft_route_seconds_bucket{le="1"} 2
deft_route_seconds_bucket{le="+Inf"} 3
deft_route_seconds_sum 5.55
deft_route_seconds_count 3
# HELP deft_turns_total Turns\nthat ended.
# TYPE deft_turns_total counter
deft_turns_total{origin="in\"teractive",stop="end"} 2
deft_turns_total{stop="cancelled"} 1
`
	for range 2 {
		w := httptest.NewRecorder()
		tel.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != http.StatusOK {
			t.Errorf("%d %s", w.Code, diff)
		}
	}
	if err := tel.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	tel.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("after the end: %d", w.Code)
	}
}
