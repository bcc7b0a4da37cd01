// Package telemetry exports a host's turns as OpenTelemetry traces and metrics, over OTLP
// with HTTP and protobuf (https://opentelemetry.io/docs/specs/otlp/#otlphttp).
//
//	variables of OpenTelemetry ─► Read ─► Settings ─► New ─► Exporter
//	hooks of an observer ─► spans of the SDK ─► queue ─► batch processor ─┐
//	metrics.Meter, at each interval ──────────────────────────────────────┴─► deliver ─► POST
//
// OpenTelemetry's SDK makes, samples, batches and encodes the spans. This package names
// them (span.go), bounds the queue in bytes (queue.go), and sends requests (post.go),
// since the SDK's exporter over HTTP links gRPC (docs/adr/0037).
//
// Names follow the semantic conventions for generative AI
// (https://github.com/open-telemetry/semantic-conventions-genai). Other names begin with
// "settle.". Span IDs are hashes of settle's own IDs, so that the turn of a child agent
// finds the span of the call that started it, even if another process wrote that span.
//
// [Telemetry] opens the hosts whose turns are exported. A failed export is reported, and
// never changes a turn.
//
// A turn never waits for the network. Spans that do not fit into the queue are dropped,
// counted, and reported when the exporter closes.
//
// Other files:
//
//   - telemetry.go: the hooks; starts and ends the export
//   - settings.go: the variables of OpenTelemetry
//   - export.go: when and where data is sent
//   - measure.go: encodes the counters of package metrics
package telemetry
