package telemetry

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/protobuf/proto"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/metrics"
	boundary "github.com/settle-agent/settle/internal/scope"
)

// scope is the instrumentation scope of everything that is exported.
const scope = "github.com/settle-agent/settle"

// errClosing is the reason why a running export is cut off and sent again.
var errClosing = errors.New("the exporter is closing")

// Source is data to export besides the hooks' events.
type Source struct {
	// Version is the program's.
	Version string
	// Look calls a function with the state of a session, if that is open.
	Look func(session string, f func(event.State))
	// Held returns the counts of the open sessions.
	Held func() metrics.Held
	// Report, if set, receives an error when a signal begins to fail. Close does not
	// return it then.
	Report func(error)
}

// Exporter exports spans and metrics. Its hooks may be called by several goroutines.
type Exporter struct {
	source   Source
	settings Settings
	meter    metrics.Meter
	client   *http.Client
	resource *resource.Resource
	provider *sdktrace.TracerProvider // nil if spans are not exported
	tracer   trace.Tracer
	began    time.Time

	running context.Context // ends when Close begins
	stop    context.CancelCauseFunc
	ended   chan struct{} // closed after the last export of metrics

	mu      sync.Mutex      // guards the fields below
	queued  int             // bytes of spans
	lost    int             // spans that found no room
	finish  context.Context // bounds the last exports; set by Close
	failing map[*Endpoint]error
}

// newExporter returns an exporter, whose client follows redirects to the same host only. The
// caller closes it.
func newExporter(s Settings, from Source, client *http.Client) *Exporter {
	x := &Exporter{
		settings: s, source: from, client: client, began: time.Now(),
		ended: make(chan struct{}), failing: map[*Endpoint]error{}, tracer: noop.Tracer{},
	}
	x.resource = x.describe()
	x.running, x.stop = context.WithCancelCause(context.Background())
	if s.Traces != nil {
		x.provider = sdktrace.NewTracerProvider(
			sdktrace.WithResource(x.resource), sdktrace.WithIDGenerator(ids{}), sdktrace.WithSampler(s.sampler()),
			sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{AttributeValueLengthLimit: -1, AttributeCountLimit: -1}),
			sdktrace.WithSpanProcessor(newQueue(x)),
		)
		x.tracer = x.provider.Tracer(scope, trace.WithInstrumentationVersion(from.Version))
	}
	// Close ends it, and waits for it.
	go boundary.Shield(x.panicked, func() { x.exportMetrics() })()
	return x
}

// describe returns the resource that everything is from.
func (x *Exporter) describe() *resource.Resource {
	var instance [16]byte
	_, _ = rand.Read(instance[:]) // never fails
	all := map[string]string{
		"service.name":           "settle",
		"service.version":        x.source.Version,
		"service.instance.id":    hex.EncodeToString(instance[:]),
		"telemetry.sdk.name":     "opentelemetry",
		"telemetry.sdk.language": "go",
		"telemetry.sdk.version":  otel.Version(),
		"os.type":                runtime.GOOS,
	}
	maps.Copy(all, x.settings.Resource)
	var attributes []attribute.KeyValue
	for name, value := range all {
		if value != "" {
			attributes = append(attributes, attribute.String(name, valid(value)))
		}
	}
	return resource.NewSchemaless(attributes...)
}

// exportMetrics exports metrics at each interval until Close, and then once more.
func (x *Exporter) exportMetrics() {
	defer close(x.ended)
	if x.settings.Metrics == nil {
		return
	}
	tick := time.NewTicker(x.settings.Interval)
	defer tick.Stop()
	export := func() { x.deliver(x.settings.Metrics, x.measurements(time.Now()), "metrics") }
	for {
		select {
		case <-tick.C:
			export()
		case <-x.running.Done():
			export()
			return
		}
	}
}

// Close exports the queued data, until ctx ends, and returns an error about data that could not be
// delivered.
func (x *Exporter) Close(ctx context.Context) error {
	x.mu.Lock()
	x.finish = ctx
	x.mu.Unlock()
	x.stop(errClosing)
	if x.provider != nil {
		_ = x.provider.Shutdown(context.WithoutCancel(ctx)) // each of its exports ends with ctx
	}
	<-x.ended // also ends with ctx
	x.mu.Lock()
	defer x.mu.Unlock()
	var errs []error
	if x.source.Report == nil {
		errs = slices.Collect(maps.Values(x.failing))
	}
	if x.lost > 0 {
		errs = append(errs, fmt.Errorf("%d spans were dropped, since they came faster than they were exported", x.lost))
	}
	return together(errs)
}

// together returns errors as one of one line; nil if there are none.
func together(errs []error) error {
	if len(errs) < 2 {
		return errors.Join(errs...)
	}
	return fmt.Errorf("%w; %w", errs[0], together(errs[1:]))
}

// deliver sends a request to an endpoint, and remembers whether that worked. An export
// that Close cuts off is sent again, within the time that Close has.
func (x *Exporter) deliver(to *Endpoint, request proto.Message, what string) {
	body, err := proto.Marshal(request)
	if err == nil {
		err = errClosing
		if x.running.Err() == nil {
			err = x.send(x.running, to, body)
		}
		if err != nil && x.running.Err() != nil {
			x.mu.Lock()
			last := x.finish
			x.mu.Unlock()
			err = x.send(last, to, body)
		}
	}
	x.mu.Lock()
	_, failed := x.failing[to]
	if err == nil {
		delete(x.failing, to)
	} else {
		err = fmt.Errorf("cannot export %s to %s: %w", what, masked(to.URL), err)
		x.failing[to] = err
	}
	x.mu.Unlock()
	if err != nil && !failed && x.source.Report != nil {
		x.source.Report(err)
	}
}

// panicked reports a defect of an export; later data are not exported.
func (x *Exporter) panicked(err error) {
	if x.source.Report != nil {
		x.source.Report(err)
	}
}
