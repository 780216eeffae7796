package telemetry

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// scrape answers with the figures as text.
type scrape struct{ reader *sdkmetric.ManualReader }

// ServeHTTP implements http.Handler.
func (s scrape) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(r.Context(), &all); err != nil {
		http.Error(w, "the figures could not be gathered", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = writeText(w, all) // whoever left does not read it
}

// writeText writes figures in the text form, by name and labels, so that equal figures are
// equal texts.
func writeText(w io.Writer, all metricdata.ResourceMetrics) error {
	var blocks []string
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if lines, kind := linesOf(m); len(lines) > 0 {
				head := fmt.Sprintf("# HELP %s %s\n# TYPE %s %s\n", m.Name, oneLine(m.Description), m.Name, kind)
				blocks = append(blocks, head+strings.Join(lines, ""))
			}
		}
	}
	slices.Sort(blocks)
	_, err := io.WriteString(w, strings.Join(blocks, ""))
	return err
}

func linesOf(m metricdata.Metrics) (lines []string, kind string) {
	line := func(name, labels, value string) string {
		if labels != "" {
			labels = "{" + labels + "}"
		}
		return name + labels + " " + value + "\n"
	}
	add := func(labels attribute.Set, value string) { lines = append(lines, line(m.Name, labelsOf(labels), value)) }
	kind = "gauge"
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		if d.IsMonotonic {
			kind = "counter"
		}
		for _, p := range d.DataPoints {
			add(p.Attributes, strconv.FormatInt(p.Value, 10))
		}
	case metricdata.Gauge[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, strconv.FormatInt(p.Value, 10))
		}
	case metricdata.Histogram[float64]:
		kind = "histogram"
		for _, p := range d.DataPoints {
			labels, below, one := labelsOf(p.Attributes), uint64(0), ""
			for i, n := range p.BucketCounts {
				bound := "+Inf"
				if below += n; i < len(p.Bounds) {
					bound = number(p.Bounds[i])
				}
				one += line(m.Name+"_bucket", strings.TrimPrefix(labels+`,le="`+bound+`"`, ","), strconv.FormatUint(below, 10))
			}
			one += line(m.Name+"_sum", labels, number(p.Sum)) + line(m.Name+"_count", labels, strconv.FormatUint(p.Count, 10))
			lines = append(lines, one)
		}
	}
	slices.Sort(lines)
	return lines, kind
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func labelsOf(set attribute.Set) string {
	var parts []string
	for _, a := range set.ToSlice() {
		name := strings.Map(func(r rune) rune {
			if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				return r
			}
			return '_'
		}, string(a.Key))
		parts = append(parts, name+`="`+escapes.Replace(strings.ToValidUTF8(a.Value.String(), "\uFFFD"))+`"`)
	}
	return strings.Join(parts, ",")
}

func oneLine(s string) string { return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(s) }
