// Package metrics counts what a worker does, for Prometheus.
//
// What is about requests to models has the names of OpenTelemetry's semantic conventions
// for generative AI (docs/gen-ai/gen-ai-metrics.md of open-telemetry/semantic-conventions:
// gen_ai.client.operation.duration and gen_ai.client.token.usage, with their buckets),
// as its rules for Prometheus spell them. The rest begins with settle_fleet.
package metrics
