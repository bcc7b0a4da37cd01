package telemetry

import (
	"slices"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/settle-agent/settle/internal/client/metrics"
)

// measurements returns all metrics that have a value, as an export request.
func (x *Exporter) measurements(now time.Time) *metricspb.MetricsData {
	began, at := uint64(x.began.UnixNano()), uint64(now.UnixNano())
	var all []*metricspb.Metric
	for _, f := range x.meter.Families(x.source.Held()) {
		if len(f.Samples) == 0 {
			continue
		}
		name, unit := nameOf(f.Name)
		m := &metricspb.Metric{Name: name, Description: f.Help, Unit: unit}
		switch f.Type {
		case "histogram":
			m.Data = &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{
				AggregationTemporality: cumulative, DataPoints: distributions(f.Samples, began, at),
			}}
		case "gauge":
			m.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: numbers(f.Samples, began, at)}}
		default:
			m.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{
				AggregationTemporality: cumulative,
				IsMonotonic:            f.Type == "counter",
				DataPoints:             numbers(f.Samples, began, at),
			}}
		}
		all = append(all, m)
	}
	return &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{
		Resource: &resourcepb.Resource{Attributes: x.resourceAttributes()},
		ScopeMetrics: []*metricspb.ScopeMetrics{{
			Scope: &commonpb.InstrumentationScope{Name: scope, Version: x.source.Version}, Metrics: all,
		}},
	}}}
}

const cumulative = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE

// resourceAttributes returns the attributes of the resource, encoded.
func (x *Exporter) resourceAttributes() (all []*commonpb.KeyValue) {
	for _, a := range x.resource.Attributes() {
		all = append(all, text(string(a.Key), a.Value.AsString()))
	}
	return all
}

// text returns an encoded attribute.
func text(name, value string) *commonpb.KeyValue {
	encoded := &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: valid(value)}}
	return &commonpb.KeyValue{Key: name, Value: encoded}
}

// numbers returns the points of a sum or a gauge.
func numbers(samples []metrics.Sample, began, at uint64) (points []*metricspb.NumberDataPoint) {
	for _, s := range samples {
		points = append(points, &metricspb.NumberDataPoint{
			StartTimeUnixNano: began, TimeUnixNano: at, Attributes: labels(s.Labels),
			Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: s.Value},
		})
	}
	return points
}

// distributions returns the points of a histogram.
func distributions(samples []metrics.Sample, began, at uint64) (points []*metricspb.HistogramDataPoint) {
	for _, s := range samples {
		var n uint64
		for _, count := range s.Counts {
			n += count
		}
		points = append(points, &metricspb.HistogramDataPoint{
			StartTimeUnixNano: began, TimeUnixNano: at, Attributes: labels(s.Labels),
			Count: n, Sum: &s.Value, BucketCounts: s.Counts, ExplicitBounds: s.Bounds,
		})
	}
	return points
}

// nameOf returns OpenTelemetry's name for a metric of Prometheus, and its unit: a
// collector that serves it for Prometheus gives it the former name again.
func nameOf(name string) (otel, unit string) {
	if name == "gen_ai_client_token_usage" {
		return "gen_ai.client.token.usage", "{token}"
	}
	short := strings.TrimSuffix(name, "_total")
	seconds, isTime := strings.CutSuffix(short, "_seconds")
	if isTime {
		short, unit = seconds, "s"
	}
	if rest, ok := strings.CutPrefix(short, "gen_ai_client_operation_"); ok {
		return "gen_ai.client.operation." + rest, unit
	}
	return strings.Replace(short, "_", ".", 1), unit
}

// labels returns labels as attributes, with the names that the semantic conventions have.
// Empty values are left out.
func labels(pairs []string) (all []*commonpb.KeyValue) {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			all = append(all, text(attributeName(pair[0]), pair[1]))
		}
	}
	return all
}

func attributeName(label string) string {
	if rest, ok := strings.CutPrefix(label, "gen_ai_"); ok {
		return "gen_ai." + strings.ReplaceAll(rest, "_", ".")
	}
	if label == "error_type" {
		return "error.type"
	}
	return label
}
