package telemetry

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

type (
	metricsDoc struct {
		ResourceMetrics []resourceMetrics `json:"resourceMetrics"`
	}
	resourceMetrics struct {
		Resource     resourceDoc    `json:"resource"`
		ScopeMetrics []scopeMetrics `json:"scopeMetrics"`
	}
	scopeMetrics struct {
		Scope   scopeDoc    `json:"scope"`
		Metrics []metricDoc `json:"metrics"`
	}
	metricDoc struct {
		Name        string     `json:"name"`
		Description string     `json:"description,omitempty"`
		Unit        string     `json:"unit,omitempty"`
		Sum         *pointsDoc `json:"sum,omitempty"`
		Gauge       *pointsDoc `json:"gauge,omitempty"`
		Histogram   *pointsDoc `json:"histogram,omitempty"`
	}
	pointsDoc struct {
		Points      []pointDoc `json:"dataPoints"`
		Temporality int        `json:"aggregationTemporality,omitempty"`
		Monotonic   bool       `json:"isMonotonic,omitempty"`
	}
	pointDoc struct {
		Attributes []keyValue `json:"attributes"`
		Start      string     `json:"startTimeUnixNano,omitempty"`
		Time       string     `json:"timeUnixNano"`
		Int        *string    `json:"asInt,omitempty"`
		Double     *float64   `json:"asDouble,omitempty"`
		Count      string     `json:"count,omitempty"`
		Sum        *float64   `json:"sum,omitempty"`
		Buckets    []string   `json:"bucketCounts,omitempty"`
		Bounds     []float64  `json:"explicitBounds,omitempty"`
	}
)

// cumulative is the number of OTLP for figures that count from the start.
const cumulative = 2

// figureExporter sends figures. It implements sdkmetric.Exporter.
type figureExporter struct{ to *target }

// Temporality implements sdkmetric.Exporter.
func (figureExporter) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

// Aggregation implements sdkmetric.Exporter.
func (figureExporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

// Export implements sdkmetric.Exporter.
func (e figureExporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	out := resourceMetrics{Resource: resourceDoc{attributes(rm.Resource.Attributes())}}
	for _, s := range rm.ScopeMetrics {
		part := scopeMetrics{Scope: scopeDoc{s.Scope.Name, s.Scope.Version}}
		for _, m := range s.Metrics {
			if doc, ok := metricOf(m); ok {
				part.Metrics = append(part.Metrics, doc)
			}
		}
		if len(part.Metrics) > 0 {
			out.ScopeMetrics = append(out.ScopeMetrics, part)
		}
	}
	if len(out.ScopeMetrics) > 0 {
		e.to.send(ctx, metricsDoc{[]resourceMetrics{out}})
	}
	return nil
}

// ForceFlush implements sdkmetric.Exporter.
func (figureExporter) ForceFlush(context.Context) error { return nil }

// Shutdown implements sdkmetric.Exporter.
func (figureExporter) Shutdown(context.Context) error { return nil }

// metricOf is one figure; false for a kind that nothing here makes.
func metricOf(m metricdata.Metrics) (metricDoc, bool) {
	doc := metricDoc{Name: m.Name, Description: m.Description, Unit: m.Unit}
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		doc.Sum = &pointsDoc{numbers(d.DataPoints), cumulative, d.IsMonotonic}
	case metricdata.Sum[float64]:
		doc.Sum = &pointsDoc{numbers(d.DataPoints), cumulative, d.IsMonotonic}
	case metricdata.Gauge[int64]:
		doc.Gauge = &pointsDoc{Points: numbers(d.DataPoints)}
	case metricdata.Gauge[float64]:
		doc.Gauge = &pointsDoc{Points: numbers(d.DataPoints)}
	case metricdata.Histogram[float64]:
		doc.Histogram = &pointsDoc{Temporality: cumulative}
		for _, p := range d.DataPoints {
			one := pointAt(p.Attributes, p.StartTime, p.Time)
			one.Count, one.Sum, one.Bounds = strconv.FormatUint(p.Count, 10), &p.Sum, p.Bounds
			for _, n := range p.BucketCounts {
				one.Buckets = append(one.Buckets, strconv.FormatUint(n, 10))
			}
			doc.Histogram.Points = append(doc.Histogram.Points, one)
		}
	default:
		return doc, false
	}
	return doc, true
}

func pointAt(labels attribute.Set, start, at time.Time) pointDoc {
	return pointDoc{Attributes: attributes(labels.ToSlice()), Start: nanos(start), Time: nanos(at)}
}

func numbers[N int64 | float64](list []metricdata.DataPoint[N]) []pointDoc {
	var out []pointDoc
	for _, p := range list {
		one := pointAt(p.Attributes, p.StartTime, p.Time)
		switch n := any(p.Value).(type) {
		case int64:
			text := strconv.FormatInt(n, 10)
			one.Int = &text
		case float64:
			one.Double = &n
		}
		out = append(out, one)
	}
	return out
}
