package telemetry

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The OTLP documents in JSON: ids in hexadecimal, 64-bit numbers as texts, kinds as
// numbers.
type (
	keyValue struct {
		Key   string   `json:"key"`
		Value anyValue `json:"value"`
	}
	anyValue struct {
		String *string   `json:"stringValue,omitempty"`
		Bool   *bool     `json:"boolValue,omitempty"`
		Int    *string   `json:"intValue,omitempty"`
		Double *float64  `json:"doubleValue,omitempty"`
		Array  *anyArray `json:"arrayValue,omitempty"`
	}
	anyArray struct {
		Values []anyValue `json:"values"`
	}
	resourceDoc struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeDoc struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	tracesDoc struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resourceDoc  `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	scopeSpans struct {
		Scope scopeDoc  `json:"scope"`
		Spans []spanDoc `json:"spans"`
	}
	spanDoc struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		ParentID   string     `json:"parentSpanId,omitempty"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes"`
		Status     statusDoc  `json:"status"`
	}
	statusDoc struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
)

// spanExporter sends spans. It implements sdktrace.SpanExporter and has no errors: the
// library's handler would print them.
type spanExporter struct{ to *target }

// ExportSpans implements sdktrace.SpanExporter.
func (e spanExporter) ExportSpans(ctx context.Context, list []sdktrace.ReadOnlySpan) error {
	if len(list) == 0 {
		return nil
	}
	byScope := map[instrumentation.Scope]int{}
	out := resourceSpans{Resource: resourceDoc{attributes(list[0].Resource().Attributes())}}
	for _, s := range list {
		at, known := byScope[s.InstrumentationScope()]
		if !known {
			at = len(out.ScopeSpans)
			byScope[s.InstrumentationScope()] = at
			out.ScopeSpans = append(out.ScopeSpans, scopeSpans{Scope: scopeDoc{s.InstrumentationScope().Name, s.InstrumentationScope().Version}})
		}
		out.ScopeSpans[at].Spans = append(out.ScopeSpans[at].Spans, spanOf(s))
	}
	e.to.send(ctx, tracesDoc{[]resourceSpans{out}})
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (e spanExporter) Shutdown(context.Context) error { return nil }

// statuses are the numbers of OTLP, which are others than the library's.
var statuses = map[codes.Code]int{codes.Unset: 0, codes.Ok: 1, codes.Error: 2}

func spanOf(s sdktrace.ReadOnlySpan) spanDoc {
	doc := spanDoc{
		TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(), Kind: int(s.SpanKind()),
		Start: nanos(s.StartTime()), End: nanos(s.EndTime()), Attributes: attributes(s.Attributes()),
		Status: statusDoc{statuses[s.Status().Code], s.Status().Description},
	}
	if p := s.Parent(); p.SpanID().IsValid() {
		doc.ParentID = p.SpanID().String()
	}
	return doc
}

func nanos(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}

func attributes(list []attribute.KeyValue) []keyValue {
	out := make([]keyValue, 0, len(list))
	for _, a := range list {
		out = append(out, keyValue{string(a.Key), valueOf(a.Value)})
	}
	return out
}

func valueOf(v attribute.Value) anyValue {
	text := func(s string) anyValue { return anyValue{String: &s} }
	switch v.Type() {
	case attribute.BOOL:
		b := v.AsBool()
		return anyValue{Bool: &b}
	case attribute.INT64:
		n := strconv.FormatInt(v.AsInt64(), 10)
		return anyValue{Int: &n}
	case attribute.FLOAT64:
		if f := v.AsFloat64(); f-f == 0 { // neither infinite nor no number, which JSON has not
			return anyValue{Double: &f}
		}
	case attribute.STRINGSLICE:
		list := anyArray{Values: []anyValue{}}
		for _, s := range v.AsStringSlice() {
			list.Values = append(list.Values, text(s))
		}
		return anyValue{Array: &list}
	}
	return text(v.String())
}
