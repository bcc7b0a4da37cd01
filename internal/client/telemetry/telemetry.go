package telemetry

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/metrics"

	"github.com/settle-agent/settle/model/transport"
)

// flushTimeout bounds the last export, when everything else has ended.
const flushTimeout = 3 * time.Second

// Telemetry exports. A nil *Telemetry does nothing.
type Telemetry struct {
	// Report, if set, receives an error as soon as exporting fails; otherwise Close returns
	// it.
	Report func(error)

	settings *Settings // nil if nothing is exported
	invalid  error
	client   *http.Client

	mu       sync.Mutex // guards the fields below
	opened   bool       // a host
	exporter *Exporter
	hosts    []*settle.Host
}

// New reads the variables.
func New(getenv func(string) string) *Telemetry {
	t := &Telemetry{}
	t.settings, t.invalid = Read(getenv)
	if t.settings != nil {
		// OpenTelemetry's SDK also reads variables, and prints errors to the terminal. Read
		// and the exporter report these errors instead.
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
		c := transport.Config{Proxy: http.ProxyFromEnvironment}
		if file := getenv("OTEL_EXPORTER_OTLP_CERTIFICATE"); file != "" {
			c.CAFiles = []string{file}
		}
		// Prepared keeps headers and spans from other hosts that a redirect names.
		t.client = transport.NewClient(c)
	}
	return t
}

// Open opens a host whose turns are exported.
func (t *Telemetry) Open(ctx context.Context, c settle.Config) (*settle.Host, error) {
	if t == nil {
		return settle.Open(ctx, c)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.opened && t.invalid != nil && t.Report != nil {
		t.Report(t.invalid)
		t.invalid = nil
	}
	t.opened = true
	if t.settings == nil {
		return settle.Open(ctx, c)
	}
	if t.exporter == nil {
		t.exporter = newExporter(
			*t.settings, Source{Version: c.Version, Look: t.look, Held: t.held, Report: t.Report}, t.client,
		)
	}
	x := t.exporter
	c.Observer = Join(c.Observer, settle.Observer{Turn: x.Turn, Attempt: x.Attempt, Output: x.Output, Call: x.Call})
	host, err := settle.Open(ctx, c)
	if err == nil {
		t.hosts = append(t.hosts, host)
	}
	return host, err
}

// hook is one of an observer's.
type hook = func(context.Context, event.Event) (context.Context, func(event.Event))

// Join returns an observer that calls a and b.
func Join(a, b settle.Observer) settle.Observer {
	joined := settle.Observer{Turn: both(a.Turn, b.Turn), Attempt: both(a.Attempt, b.Attempt), Output: b.Output}
	if a.Output != nil {
		joined.Output = func(ctx context.Context, started, first event.Event) {
			a.Output(ctx, started, first)
			if b.Output != nil {
				b.Output(ctx, started, first)
			}
		}
	}
	if joined.Call = b.Call; a.Call != nil {
		joined.Call = func(ctx context.Context, tool string, started event.Event) (context.Context, func(event.Event)) {
			on := func(o settle.Observer) hook {
				if o.Call == nil {
					return nil
				}
				return func(ctx context.Context, e event.Event) (context.Context, func(event.Event)) {
					return o.Call(ctx, tool, e)
				}
			}
			return both(on(a), on(b))(ctx, started)
		}
	}
	return joined
}

func both(a, b hook) hook {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return func(ctx context.Context, started event.Event) (context.Context, func(event.Event)) {
		within, endA := a(ctx, started)
		if within == nil {
			within = ctx
		}
		within, endB := b(within, started)
		return within, func(ended event.Event) {
			if endB != nil {
				endB(ended)
			}
			if endA != nil {
				endA(ended)
			}
		}
	}
}

func (t *Telemetry) all() []*settle.Host {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hosts
}

func (t *Telemetry) look(session string, f func(event.State)) {
	for _, host := range t.all() {
		if s := host.Get(session); s != nil {
			s.View(f)
		}
	}
}

func (t *Telemetry) held() (all metrics.Held) {
	for _, host := range t.all() {
		for _, s := range host.Sessions() {
			s.View(all.Add)
		}
	}
	return all
}

// Close exports the remaining data, after the hosts were closed, and returns the errors of all
// exports. If no host was opened, there is nothing to export, and Close returns nil.
func (t *Telemetry) Close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	x, opened, err := t.exporter, t.opened, t.invalid
	t.mu.Unlock()
	if x != nil {
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		defer cancel()
		if failed := x.Close(ctx); err == nil {
			err = failed
		} else if failed != nil {
			err = fmt.Errorf("%w; %w", err, failed)
		}
	}
	if err == nil || !opened {
		return nil
	}
	return fmt.Errorf("telemetry: %w", err)
}
