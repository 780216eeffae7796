package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options says what is set up.
type Options struct {
	// Getenv returns OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER,
	// OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, and OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS,
	// _TIMEOUT and _PROTOCOL with their forms for traces and metrics.
	Getenv  func(name string) string
	Version string // of the program
	Scrape  bool   // figures are kept for Handler, whether they are sent or not
	// Report is told the first error of each kind of document; nil = nobody is. It may be
	// called by several goroutines.
	Report func(error)
}

// Telemetry is where the spans and figures of a program go. Safe for concurrent use.
type Telemetry struct {
	traces *sdktrace.TracerProvider
	meters *sdkmetric.MeterProvider
	reader *sdkmetric.ManualReader
}

// The two kinds of documents, as the variables spell them.
const (
	kindTraces  = "TRACES"
	kindMetrics = "METRICS"
)

// Open sets up what the variables ask for. The result is nil where that is nothing. The
// error is for a variable that cannot be used.
func Open(o Options) (*Telemetry, error) {
	spans, err := o.target(kindTraces, "v1/traces")
	if err != nil {
		return nil, err
	}
	figures, err := o.target(kindMetrics, "v1/metrics")
	if err != nil {
		return nil, err
	}
	if spans == nil && figures == nil && !o.Scrape {
		return nil, nil
	}
	about := o.resource()
	t := &Telemetry{}
	if spans != nil {
		t.traces = sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(spanExporter{spans}))
	}
	readers := []sdkmetric.Option{sdkmetric.WithResource(about)}
	if figures != nil {
		readers = append(readers, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(figureExporter{figures})))
	}
	if o.Scrape {
		t.reader = sdkmetric.NewManualReader()
		readers = append(readers, sdkmetric.WithReader(t.reader))
	}
	if len(readers) > 1 {
		t.meters = sdkmetric.NewMeterProvider(readers...)
	}
	return t, nil
}

// Traces is for agent.Observe; nil where nobody collects spans, or t is nil.
func (t *Telemetry) Traces() trace.TracerProvider {
	if t == nil || t.traces == nil {
		return nil
	}
	return t.traces
}

// Meters is for agent.Observe; nil where nobody collects figures, or t is nil.
func (t *Telemetry) Meters() metric.MeterProvider {
	if t == nil || t.meters == nil {
		return nil
	}
	return t.meters
}

// Handler answers with the figures in the text form; nil without Options.Scrape.
func (t *Telemetry) Handler() http.Handler {
	if t == nil || t.reader == nil {
		return nil
	}
	return scrape{t.reader}
}

// Close sends what is left, until ctx ends, and stops. It may be called on nil.
func (t *Telemetry) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	var all sync.WaitGroup
	var errs [2]error
	if t.traces != nil {
		all.Go(func() { errs[0] = t.traces.Shutdown(ctx) })
	}
	if t.meters != nil {
		all.Go(func() { errs[1] = t.meters.Shutdown(ctx) })
	}
	all.Wait()
	return errors.Join(errs[:]...)
}

// of returns a variable in its form for one kind, else in the common one.
func (o Options) of(kind, name string) string {
	if v := strings.TrimSpace(o.Getenv("OTEL_EXPORTER_OTLP_" + kind + "_" + name)); v != "" {
		return v
	}
	return strings.TrimSpace(o.Getenv("OTEL_EXPORTER_OTLP_" + name))
}

// sendTime is how long one document may take where nothing else is said.
const sendTime = 10 * time.Second

// target is where documents of one kind go; nil = nowhere.
func (o Options) target(kind, path string) (*target, error) {
	if strings.EqualFold(strings.TrimSpace(o.Getenv("OTEL_SDK_DISABLED")), "true") {
		return nil, nil
	}
	if by := strings.TrimSpace(o.Getenv("OTEL_" + kind + "_EXPORTER")); by != "" && by != "otlp" {
		return nil, nil
	}
	address, base := strings.TrimSpace(o.Getenv("OTEL_EXPORTER_OTLP_"+kind+"_ENDPOINT")), ""
	if address == "" {
		if address = strings.TrimSpace(o.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")); address == "" {
			return nil, nil
		}
		base = path
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %q is no http or https address", address)
	}
	if base != "" {
		address = strings.TrimSuffix(address, "/") + "/" + base
	}
	if p := o.of(kind, "PROTOCOL"); p != "" && p != "http/json" && o.Report != nil {
		o.Report(fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q; documents are sent as http/json all the same", p))
	}
	t := &target{url: address, what: strings.ToLower(kind), header: http.Header{}, timeout: sendTime, report: o.Report}
	if ms, err := strconv.Atoi(o.of(kind, "TIMEOUT")); err == nil && ms > 0 {
		t.timeout = time.Duration(ms) * time.Millisecond
	}
	for name, value := range pairs(o.of(kind, "HEADERS")) {
		t.header.Set(name, value)
	}
	return t, nil
}

// pairs reads "a=b,c=d"; values may be percent-encoded. What is no pair is left out.
func pairs(list string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(list, ",") {
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if plain, err := url.PathUnescape(value); err == nil {
			value = plain
		}
		if ok && name != "" && !strings.ContainsAny(name+value, "\r\n") {
			out[name] = value
		}
	}
	return out
}

// resource says who sends.
func (o Options) resource() *resource.Resource {
	name := strings.TrimSpace(o.Getenv("OTEL_SERVICE_NAME"))
	var attrs []attribute.KeyValue
	for key, value := range pairs(o.Getenv("OTEL_RESOURCE_ATTRIBUTES")) {
		switch {
		case key != "service.name":
			attrs = append(attrs, attribute.String(key, value))
		case name == "":
			name = value
		}
	}
	if name == "" {
		name = "deft"
	}
	return resource.NewSchemaless(append(attrs, attribute.String("service.name", name), attribute.String("service.version", o.Version))...)
}
