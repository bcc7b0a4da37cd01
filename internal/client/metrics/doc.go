// Package metrics counts turns, calls and requests of a host, for Prometheus.
//
// A [Meter] has the hooks of an observer: they add to counters in memory under one lock,
// and do nothing else. Requests to models are also counted under the names of
// OpenTelemetry's semantic conventions for generative AI. [Meter.Write] writes the
// counters in Prometheus' text format, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/). Labels are names of
// providers, models, tools, outcomes and causes. Labels never contain text of a session,
// its ID, or a path.
package metrics
