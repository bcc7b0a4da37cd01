// Package metrics counts what a worker does, for Prometheus.
//
// What is about requests to models has the names of OpenTelemetry's semantic conventions
// for generative AI (docs/gen-ai/gen-ai-metrics.md of open-telemetry/semantic-conventions:
// gen_ai.client.operation.duration and gen_ai.client.token.usage, with their buckets),
// as its rules for Prometheus spell them. What begins with settle_fleet is about the queue
// and the worker. The rest is what settle serve counts, by the same names and labels.
package metrics
