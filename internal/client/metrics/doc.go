// Package metrics counts turns, calls and requests of a host, for Prometheus.
//
// A [Meter] has the hooks of an observer: they add to counters in memory under one lock,
// and do nothing else. Requests to models are also counted under the names of
// OpenTelemetry's semantic conventions for generative AI. [Meter.Write] writes the
// counters in Prometheus' text format, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/). Labels are names of
// providers, models, tools, outcomes and causes. Labels never contain text of a session,
// its ID, or a path.
//
// Files:
//
//   - meter.go: counts events; names of metrics, labels, buckets of histograms (boundsOf)
//   - write.go: Prometheus' text format
//
// Buckets are decided here for Prometheus and for OpenTelemetry; package telemetry only encodes
// and sends them.
package metrics
