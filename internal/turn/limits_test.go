package turn_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

func faulty(kind model.ErrorKind) script.Step {
	return script.Fail(model.NewError(kind, "no"))
}

// Failures count in a row: a turn continues if each of its steps failed once.
func TestFailuresCountInARow(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := script.New()
		for range 60 {
			m.Add(faulty(model.ErrServer), script.Turn(script.Call("a", `{}`)))
		}
		m.Add(script.Text("done"))
		b := newBench(t, m, says("a", "A", 0))
		b.config.Limits.Repeats = -1
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Errorf("got %v", c)
		}
		if err := contract.Check(b.events()); err != nil {
			t.Error(err)
		}
	})
}

// 50 failures in a row, of any kinds, end a turn.
func TestFiftyFailuresInARow(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := script.New().Otherwise(faulty(model.ErrOverloaded))
		b := newBench(t, m)
		b.config.Retry.RetryFor = 1000 * time.Hour
		c := b.run(t.Context())
		if n := len(m.Requests()); n != 50 || c.Failure == nil ||
			!strings.Contains(c.Failure.Message, "50 attempts in a row failed") {
			t.Errorf("after %d requests: %v", n, c)
		}
	})
}

func unreachable() script.Step {
	e := model.NewError(model.ErrConnection, "cannot reach api.example.com: network is unreachable")
	e.Unreachable = true
	return script.Fail(e)
}

// Without a network, a turn waits as long as for an overloaded provider.
func TestWithoutNetwork(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		began := time.Now()
		back := script.Answer(func(model.Request) script.Step {
			if time.Since(began) < 9*time.Minute {
				return unreachable()
			}
			return script.Text("back")
		})
		b := newBench(t, script.New().Otherwise(back))
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Errorf("after %v: %v", time.Since(began), c)
		}
		b = newBench(t, script.New().Otherwise(unreachable()))
		began = time.Now()
		c := b.run(t.Context())
		if took := time.Since(began); took < 8*time.Minute || took > 10*time.Minute || c.Outcome != event.Failed ||
			c.Failure.Name != event.NameRetryExhausted {
			t.Errorf("after %v: %v", took, c)
		}
	})
}

// The number of the attempt that people see grows for all kinds of failures: attempt 2, 3, 4
// of 6.
func TestAttemptsAreNumberedInARow(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := script.New(
			faulty(model.ErrOverloaded),
			faulty(model.ErrServer),
			faulty(model.ErrStalled),
			unreachable(),
			faulty(model.ErrServer),
			script.Turn(script.Call("a", `{}`)),
			faulty(model.ErrServer),
			script.Text("done"),
		)
		b := newBench(t, m, says("a", "A", 0))
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Errorf("got %v", c)
		}
		var got [][2]int
		for _, e := range b.events() {
			if d, ok := e.Data.(event.AttemptEnded); ok && d.Failure != nil {
				got = append(got, [2]int{d.Failure.Attempt, d.Failure.RetryLimit})
			}
		}
		// The shown limit assumes that all later attempts fail in the same way.
		if diff := cmp.Diff([][2]int{{1, 0}, {2, 6}, {3, 4}, {4, 0}, {5, 8}, {1, 5}}, got); diff != "" {
			t.Errorf("attempts (-want +got)\n%s", diff)
		}
	})
}

// A response that makes progress without an end is cut.
func TestAnAttemptIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		drip := script.Repeat(2000, script.Turn(script.Delay(179*time.Second), script.Text("x")))
		b := newBench(t, script.New(drip, drip, drip, drip))
		began := time.Now()
		c := b.run(t.Context())
		if took := time.Since(began); took < 3*time.Hour || took > 3*time.Hour+time.Minute {
			t.Errorf("it took %v", took)
		}
		if c.Failure == nil || c.Failure.Kind != string(model.ErrTimeout) ||
			!strings.Contains(c.Failure.Message, "the response was not complete after 60 minutes (attempt_timeout)") {
			t.Errorf("got %v", c)
		}
		b = newBench(t, script.New(drip, script.Text("short")))
		b.config.Model.Timeouts = model.Timeouts{Attempt: 10 * time.Minute}
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Errorf("got %v", c)
		}
		long := script.Turn(script.Repeat(50, script.Turn(script.Delay(179*time.Second), script.Text("x"))))
		b = newBench(t, script.New(long))
		b.config.Model.Timeouts = model.Timeouts{Attempt: -1}
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Errorf("got %v", c)
		}
	})
}

// gated is a provider that admits requests after a while.
type gated struct {
	model.Provider
	wait time.Duration
	in   int
}

func (g *gated) Enter(ctx context.Context) (func(), error) {
	select {
	case <-time.After(g.wait):
		g.in++
		return func() { g.in-- }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// The wait for a slot is neither a stall nor an attempt; it ends with the turn.
func TestWaitingForAPlace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := &gated{Provider: script.New(script.Text("in")), wait: 5 * time.Hour}
		b := newBench(t, script.New())
		b.config.Model.Provider = g
		if c := b.run(t.Context()); c.Outcome != event.Completed || g.in != 0 {
			t.Errorf("%v, %d are in", c, g.in)
		}
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Hour, func() { cancel(enough) })
		if c := b.run(ctx); c.Outcome != event.Aborted || g.in != 0 {
			t.Errorf("%v, %d are in", c, g.in)
		}
	})
}

// An expired key costs a request, not the turn. A new key that is refused as well ends the
// turn. Neither is a retry.
func TestARenewedKey(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		expired := func() script.Step {
			e := model.NewError(model.ErrAuth, "expired")
			e.Status, e.Renewed = 401, true
			return script.Fail(e)
		}
		none := 0
		b := newBench(
			t,
			script.New(expired(), script.Turn(script.Call("a", `{}`)), expired(), script.Text("done")),
			says("a", "A", 0),
		)
		b.config.Retry.Retries = &none
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Errorf("got %v", c)
		}
		if err := contract.Check(b.events()); err != nil {
			t.Error(err)
		}
		m := script.New().Otherwise(expired())
		b = newBench(t, m)
		if c := b.run(t.Context()); c.Outcome != event.Failed || c.Failure.Kind != string(model.ErrAuth) ||
			len(m.Requests()) != 2 {
			t.Errorf("after %d requests: %v", len(m.Requests()), c)
		}
	})
}
