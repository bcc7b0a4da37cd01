package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/metrics"
	"github.com/settle-agent/settle/internal/retryafter"
)

// The fields of an export request, of what it has for each resource, and for each scope.
const (
	requestResource             = 1
	resourceItself, resourceAll = 1, 2
	scopeItself, scopeItems     = 1, 2
)

const (
	maxQueue   = 4 << 20   // bytes of spans; more are dropped
	fullQueue  = 512 << 10 // bytes of spans that do not wait for the delay
	retryDelay = time.Second
	maxDelay   = 10 * time.Second
	maxAnswer  = 64 << 10
)

// Source is what is exported beside what the hooks are told.
type Source struct {
	// Version is the program's.
	Version string
	// Look calls a function with the state of a session, if that is open.
	Look func(session string, f func(event.State))
	// Held returns what the open sessions have.
	Held func() metrics.Held
	// Report, if set, is told when a signal begins to fail, and Close does not say it.
	Report func(error)
}

// Exporter exports spans and metrics. Its hooks may be called by several goroutines.
type Exporter struct {
	source   Source
	settings Settings
	meter    metrics.Meter
	client   *http.Client
	resource message
	began    time.Time

	mu      sync.Mutex // guards what follows
	queue   message
	queued  int // spans
	lost    int // spans that found no room
	full    chan struct{}
	stop    context.CancelCauseFunc
	ended   chan struct{}
	finish  context.Context //nolint:containedctx // that of Close, for the last exports
	failing map[*Endpoint]error
}

// New returns an exporter, whose client follows redirects to the same host only. The
// caller closes it.
func New(s Settings, from Source, client *http.Client) *Exporter {
	x := &Exporter{
		settings: s, source: from, client: client, began: time.Now(),
		full: make(chan struct{}, 1), ended: make(chan struct{}), failing: map[*Endpoint]error{},
	}
	x.resource = x.describe()
	ctx, stop := context.WithCancelCause(context.Background())
	x.stop = stop
	// Close ends it, and waits for it.
	go x.run(ctx)
	return x
}

// describe returns the resource that everything is from.
func (x *Exporter) describe() message {
	var instance [16]byte
	_, _ = rand.Read(instance[:]) // never fails
	all := map[string]string{
		"service.name": "settle", "service.version": x.source.Version, "service.instance.id": hex.EncodeToString(instance[:]),
		"telemetry.sdk.name": "settle", "telemetry.sdk.language": "go", "telemetry.sdk.version": x.source.Version, "os.type": runtime.GOOS,
	}
	maps.Copy(all, x.settings.Resource)
	a := attributes{field: 1}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a.str(name, all[name])
	}
	return a.message
}

// add queues a span.
func (x *Exporter) add(span message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.queue)+len(span) > maxQueue {
		x.lost++
		return
	}
	x.queue.bytes(scopeItems, span)
	x.queued++
	if len(x.queue) > fullQueue {
		select {
		case x.full <- struct{}{}:
		default: // it knows already
		}
	}
}

// run exports until ctx ends, and then once more.
func (x *Exporter) run(ctx context.Context) {
	defer close(x.ended)
	spans, counts := time.NewTicker(x.settings.Delay), time.NewTicker(x.settings.Interval)
	defer spans.Stop()
	defer counts.Stop()
	for {
		select {
		case <-spans.C:
			x.exportSpans(ctx)
		case <-x.full:
			x.exportSpans(ctx)
		case <-counts.C:
			x.exportMetrics(ctx)
		case <-ctx.Done():
			x.mu.Lock()
			last := x.finish
			x.mu.Unlock()
			var both sync.WaitGroup
			both.Go(func() { x.exportSpans(last) })
			both.Go(func() { x.exportMetrics(last) })
			both.Wait()
			return
		}
	}
}

// Close exports what is left, until ctx ends, and says what could not be delivered.
func (x *Exporter) Close(ctx context.Context) error {
	x.mu.Lock()
	x.finish = ctx
	x.mu.Unlock()
	x.stop(nil)
	<-x.ended // ends with ctx
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

func (x *Exporter) exportSpans(ctx context.Context) {
	x.mu.Lock()
	spans, n := x.queue, x.queued
	x.queue, x.queued = nil, 0
	x.mu.Unlock()
	if n > 0 {
		x.deliver(ctx, x.settings.Traces, spans, n, "spans")
	}
}

func (x *Exporter) exportMetrics(ctx context.Context) {
	if x.settings.Metrics == nil {
		return
	}
	x.deliver(ctx, x.settings.Metrics, scopeMetrics(x.meter.Families(x.source.Held()), x.began, time.Now()), 0, "metrics")
}

// deliver sends items to an endpoint, and remembers whether that worked.
func (x *Exporter) deliver(ctx context.Context, to *Endpoint, items message, n int, what string) {
	var scope, scopes, of, request message
	scope.text(1, "github.com/settle-agent/settle")
	scope.text(2, x.source.Version)
	scopes.bytes(scopeItself, scope)
	scopes = append(scopes, items...)
	of.bytes(resourceItself, x.resource)
	of.bytes(resourceAll, scopes)
	request.bytes(requestResource, of)
	err := x.send(ctx, to, request)
	x.mu.Lock()
	_, failed := x.failing[to]
	switch {
	case err == nil:
		delete(x.failing, to)
	case ctx.Err() != nil && context.Cause(ctx) == context.Canceled: //nolint:errorlint // run's own; what is left is sent by Close
		x.restore(to, items, n)
		err = nil
	default:
		err = fmt.Errorf("cannot export %s to %s: %w", what, masked(to.URL), err)
		x.failing[to] = err
	}
	x.mu.Unlock()
	if err != nil && !failed && x.source.Report != nil {
		x.source.Report(err)
	}
}

// restore puts spans back that Close is to send. Callers hold x.mu.
func (x *Exporter) restore(to *Endpoint, items message, n int) {
	if to == x.settings.Traces {
		x.queue = append(slices.Clip(items), x.queue...)
		x.queued += n
	}
}

// send sends a request, again and again while its endpoint says so and there is time.
func (x *Exporter) send(ctx context.Context, to *Endpoint, request message) error {
	ctx, cancel := context.WithTimeout(ctx, to.Timeout)
	defer cancel()
	body := []byte(request)
	if to.Gzip {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(body) // a Buffer takes all
		_ = z.Close()
		body = b.Bytes()
	}
	for delay := retryDelay; ; delay = min(2*delay, maxDelay) {
		wait, err := x.post(ctx, to, body)
		if err == nil || wait < 0 {
			return err
		}
		wait = max(wait, delay)
		if until, ok := ctx.Deadline(); ok && time.Until(until) <= wait {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// post makes one request. If it fails, wait is how long to wait before another one, and
// negative if that is of no use.
func (x *Exporter) post(ctx context.Context, to *Endpoint, body []byte) (wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	for name, value := range to.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "settle/"+x.source.Version)
	if to.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := x.client.Do(req)
	if err != nil {
		var outer *url.Error // it repeats the URL, with what is secret in that
		if errors.As(err, &outer) {
			err = outer.Err
		}
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // its answer was read
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return -1, rejected(answer)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return max(retryafter.Wait(resp.Header, time.Now), 0), errors.New(resp.Status)
	}
	if at, failed := resp.Location(); failed == nil && resp.StatusCode/100 == 3 {
		return -1, fmt.Errorf("%s: the redirect to %s is not followed; check the endpoint", resp.Status, masked(at.String()))
	}
	return -1, errors.Join(errors.New(resp.Status), err)
}

// rejected is the error of an answer that says that a part was not taken.
func rejected(answer []byte) error {
	for len(answer) > 0 {
		field, _, partial, rest, err := next(answer)
		if err != nil {
			return nil //nolint:nilerr // the status says that it was taken
		}
		answer = rest
		var number uint64
		var text []byte
		for field == 1 && len(partial) > 0 {
			at, n, data, rest, err := next(partial)
			if err != nil {
				break
			}
			switch partial = rest; at {
			case 1:
				number = n
			case 2:
				text = data
			}
		}
		if number > 0 {
			return fmt.Errorf("%d were rejected: %s", number, text)
		}
	}
	return nil
}
