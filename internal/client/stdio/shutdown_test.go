package stdio

import (
	"cmp"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

// host is one session whose turn takes its time to end, unless it is hurried.
type host struct {
	*testing.T

	ends    time.Duration
	stays   bool // also where it is hurried
	drains  time.Duration
	hurried chan settle.Interruption
	drained bool
}

func (h *host) Interrupt(_ context.Context, i settle.Interruption) (settle.Outcome, error) {
	h.hurried <- i
	return settle.Outcome{}, nil
}

func (h *host) close(ctx context.Context, reason event.Reason, by string) error {
	if reason != event.Shutdown || by != "stdin" {
		h.Errorf("closed by %q: %s", by, reason)
	}
	hurried := h.hurried
	if h.stays {
		hurried = nil
	}
	select {
	case i := <-hurried:
		if !i.Hurry || i.By != "signal:SIGTERM" || i.Reason != event.Shutdown {
			h.Errorf("hurried: %+v", i)
		}
		return nil
	case <-time.After(h.ends):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *host) drain(ctx context.Context) {
	h.drained = Await(ctx, func() {
		select {
		case <-time.After(h.drains):
		case <-ctx.Done(): // in a frontend, the awaited work ends later
			time.Sleep(time.Millisecond)
		}
	})
}

func TestShutdownRunEscalatesWithEachStop(t *testing.T) {
	const second = time.Second
	const long = time.Hour
	for name, tt := range map[string]struct {
		host
		stops   []time.Duration // after the first one
		by      string          // who stops, SIGTERM if it is empty
		want    time.Duration
		fails   string
		drained bool
	}{
		"in time":           {host: host{ends: second}, want: second, drained: true},
		"said for long":     {host: host{ends: second, drains: 7 * second}, want: 8 * second, drained: true},
		"said for too long": {host: host{ends: second, drains: long}, want: 10 * second},
		"not in time":       {host: host{ends: long}, want: 8 * second, fails: "it took longer than 8s", drained: true},
		"hurried":           {host: host{ends: long}, stops: []time.Duration{2 * second}, want: 2 * second, drained: true},
		"given up": {
			host: host{ends: long, stays: true}, stops: []time.Duration{second, 3 * second}, want: 3 * second,
			fails: errGivenUp.Error(),
		},
		"the client is gone": {
			host: host{ends: long}, stops: []time.Duration{second, 3 * second}, by: "stdout", want: 8 * second,
			fails: "it took longer than 8s", drained: true,
		},
		"the terminal is gone": {
			host: host{ends: long}, stops: []time.Duration{second, 3 * second}, by: "signal:SIGHUP",
			want: 8 * second, fails: "it took longer than 8s", drained: true,
		},
		"given up afterwards": {
			host: host{ends: second, drains: long}, stops: []time.Duration{2 * second, 3 * second},
			want: 3 * second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := tt.host
				h.T, h.hurried = t, make(chan settle.Interruption, 1)
				stops := make(chan Stop, len(tt.stops))
				for _, at := range tt.stops {
					time.AfterFunc(
						at,
						func() { stops <- Stop{Reason: event.Shutdown, By: cmp.Or(tt.by, "signal:SIGTERM")} },
					)
				}
				began, exits := time.Now(), make(chan time.Duration, 1)
				err := Shutdown{
					Close: h.close, Hurry: Hurry(func() []*host { return []*host{&h} }), Drain: h.drain,
					Timeout: 8 * second, DrainTimeout: 2 * second, Stops: stops, Exit: func(code int) {
						if code != CodeFailed {
							t.Errorf("exit code %d", code)
						}
						exits <- time.Since(began)
					},
				}.Run(Stop{Reason: event.Shutdown, By: "stdin"})
				if took := time.Since(began); took != tt.want || h.drained != tt.drained {
					t.Errorf("it took %v; drained: %t", took, h.drained)
				}
				if err == nil && tt.fails != "" || err != nil && err.Error() != tt.fails {
					t.Errorf("got %v, want %q", err, tt.fails)
				}
				if at := <-exits; at != 11*second { // even if a call of the shutdown hangs
					t.Errorf("the process ends after %v", at)
				}
			})
		})
	}
}
