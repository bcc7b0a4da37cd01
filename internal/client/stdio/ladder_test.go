package stdio

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

// turn is a session whose turn takes its time to end, unless it is hurried.
type turn struct{ hurried chan settle.Interruption }

func (s turn) Interrupt(_ context.Context, i settle.Interruption) (settle.Outcome, error) {
	s.hurried <- i
	return settle.Outcome{}, nil
}

func TestLadder(t *testing.T) {
	const second = time.Second
	term := Stop{Reason: event.Shutdown, By: "signal:SIGTERM"}
	for name, tt := range map[string]struct {
		takes   time.Duration   // the end
		stops   []time.Duration // after the first one
		want    time.Duration
		hurried int
		fails   error
	}{
		"in time":     {takes: second, want: second},
		"not in time": {takes: time.Hour, want: 8 * second, fails: context.DeadlineExceeded},
		"hurried":     {takes: time.Hour, stops: []time.Duration{2 * second}, want: 2 * second, hurried: 1},
		"given up":    {takes: time.Hour, stops: []time.Duration{second, 3 * second}, want: 3 * second, hurried: 1, fails: errGivenUp},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stops := make(chan Stop, len(tt.stops))
				for _, at := range tt.stops {
					time.AfterFunc(at, func() { stops <- term })
				}
				one := turn{make(chan settle.Interruption, 1)}
				hurried, began := 0, time.Now()
				err := Ladder{Timeout: 8 * second, Stops: stops, Hurry: Hurry(func() []turn { return []turn{one} }), Close: func(ctx context.Context, reason event.Reason, by string) error {
					if reason != event.Shutdown || by != "stdin" {
						t.Errorf("closed by %q: %s", by, reason)
					}
					select {
					case i := <-one.hurried:
						hurried++
						if !i.Hurry || i.By != term.By {
							t.Errorf("hurried: %+v", i)
						}
						if len(tt.stops) == 1 {
							return nil
						}
						<-ctx.Done()
					case <-time.After(tt.takes):
						return nil
					case <-ctx.Done():
					}
					return errors.Join(ctx.Err(), context.Cause(ctx))
				}}.Descend(Stop{Reason: event.Shutdown, By: "stdin"})
				if took := time.Since(began); took != tt.want || hurried != tt.hurried || !errors.Is(err, tt.fails) || (err == nil) != (tt.fails == nil) {
					t.Errorf("it took %v, hurried %d times: %v", took, hurried, err)
				}
			})
		})
	}
}
