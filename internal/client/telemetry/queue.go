package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

const (
	maxQueue  = 4 << 20 // bytes of spans that wait; more are dropped
	spanBytes = 512     // counted size of a span without attributes
	maxBatch  = 512     // spans of an export that does not wait for the delay
	// maxContentBatch replaces maxBatch where spans have texts of up to maxText.
	maxContentBatch = 16
)

// queue is the SDK's batch processor with a bound in bytes, since it has one in spans
// only. Its exporter gives the bytes back.
type queue struct {
	sdktrace.SpanProcessor

	exporter *Exporter
}

// OnEnd queues a span, or counts it as dropped.
func (q queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if q.exporter.reserve(size(s)) {
		q.SpanProcessor.OnEnd(s)
	}
}

// newQueue returns the processor of spans that end.
func newQueue(x *Exporter) sdktrace.SpanProcessor {
	batch := maxBatch
	if x.settings.Content {
		batch = maxContentBatch
	}
	to := exported{otlptrace.NewUnstarted(upload{x}), x}
	return queue{sdktrace.NewBatchSpanProcessor(
		to, sdktrace.WithBatchTimeout(x.settings.Delay), sdktrace.WithMaxExportBatchSize(batch),
		sdktrace.WithMaxQueueSize(maxQueue/spanBytes), // so that only the bound in bytes drops spans
		sdktrace.WithExportTimeout(0),                 // deliver has its own
	), x}
}

// reserve takes bytes of the queue; false if there are too few.
func (x *Exporter) reserve(bytes int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.queued+bytes > maxQueue {
		x.lost++
		return false
	}
	x.queued += bytes
	return true
}

// release gives bytes of the queue back.
func (x *Exporter) release(bytes int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.queued -= bytes
}

// size is about how many bytes a span needs.
func size(s sdktrace.ReadOnlySpan) int {
	n := spanBytes + len(s.Name()) + len(s.Status().Description)
	for _, a := range s.Attributes() {
		n += len(a.Key)
		if a.Value.Type() == attribute.STRING {
			n += len(a.Value.AsString())
		}
	}
	return n
}

// exported is the SDK's encoder of spans; sent spans leave the queue.
type exported struct {
	*otlptrace.Exporter

	exporter *Exporter
}

// ExportSpans implements sdktrace.SpanExporter.
func (e exported) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	n := 0
	for _, s := range spans {
		n += size(s)
	}
	defer e.exporter.release(n)
	return e.Exporter.ExportSpans(ctx, spans)
}

// upload sends encoded spans. Errors are the exporter's to report, not the SDK's.
type upload struct{ exporter *Exporter }

// Start implements otlptrace.Client.
func (upload) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (upload) Stop(context.Context) error { return nil }

// UploadTraces implements otlptrace.Client. TracesData is encoded as a request is.
func (u upload) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	u.exporter.deliver(u.exporter.settings.Traces, &tracepb.TracesData{ResourceSpans: spans}, "spans")
	return nil
}
