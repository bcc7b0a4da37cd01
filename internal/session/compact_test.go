package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/session"
)

var large = "remember this: " + strings.Repeat("large ", 20_000)

// compactLater requests a compaction and returns a channel for its outcome.
func (b *bench) compactLater(ctx context.Context) <-chan any {
	done := make(chan any, 1)
	go func() { // ends with the compaction or the session
		if o, err := b.Compact(ctx, "user"); err != nil {
			done <- err
		} else {
			done <- o
		}
	}()
	synctest.Wait()
	return done
}

func ended(t *testing.T, done <-chan any, reason event.Reason) {
	t.Helper()
	select {
	case x := <-done:
		if o, ok := x.(session.Outcome); !ok || o.Cause == nil || o.Cause.Reason != reason {
			t.Errorf("the compaction ended with %v", x)
		}
	default:
		t.Error("the compaction has not ended")
	}
}

func (b *bench) summaries() (out []string) {
	for _, t := range b.state().Turns {
		for _, c := range t.Changes {
			if c.Change == event.ChangeCompacted {
				out = append(out, c.Summary)
			}
		}
	}
	return out
}

func (b *bench) check() {
	b.t.Helper()
	if err := contract.Check(b.disk.events); err != nil {
		b.t.Error(err)
	}
}

func TestCompact(t *testing.T) {
	bubble(t, "behind a turn, before the next", func(t *testing.T) {
		b := fresh(t, slow("1", "the summary", "2"))
		b.submit(large, "")
		done := b.compactLater(t.Context())
		b.submit("b", "")
		time.Sleep(15 * time.Second)
		b.want([]string{large + ": completed", ": running"}, "b")
		time.Sleep(time.Minute)
		ended(t, done, "")
		b.want([]string{large + ": completed", ": completed", "b: completed"})
		if got := b.summaries(); len(got) != 1 || got[0] != "the summary" {
			t.Errorf("the summaries: %q", got)
		}
		b.check()
	})
	bubble(t, "nothing to compact", func(t *testing.T) {
		b := fresh(t, slow("1"))
		b.submit("a", "")
		time.Sleep(time.Minute)
		ended(t, b.compactLater(t.Context()), "")
		if got := b.summaries(); len(got) != 0 {
			t.Errorf("the summaries: %q", got)
		}
		b.check()
	})
	bubble(t, "interrupted", func(t *testing.T) { // C9, C10: and waiting inputs are held
		b := fresh(t, slow("1", "the summary", "2"))
		b.submit(large, "")
		time.Sleep(time.Minute)
		done := b.compactLater(t.Context())
		b.submit("b", "")
		if o, err := b.Interrupt(t.Context(), session.Request{By: "user"}); err != nil ||
			o.Cause.Reason != event.Interrupted {
			t.Errorf("the interrupt: %v, %v", o, err)
		}
		synctest.Wait()
		ended(t, done, event.Interrupted)
		b.want([]string{large + ": completed", ": aborted interrupted"}, "b held")
		b.check()
	})
	bubble(t, "closed", func(t *testing.T) {
		b := fresh(t, slow("1", "the summary"))
		b.submit(large, "")
		time.Sleep(time.Second)
		done := b.compactLater(t.Context()) // it waits for the turn
		if err := b.Close(t.Context(), "", "test"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if err, ok := (<-done).(error); !ok || !errors.Is(err, session.ErrClosed) {
			t.Errorf("the compaction ended with %v", err)
		}
		b.check()
	})
	bubble(t, "given up", func(t *testing.T) {
		b := fresh(t, slow("1"))
		b.submit(large, "")
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		done := b.compactLater(ctx)
		cancel()
		if err, ok := (<-done).(error); !ok || !errors.Is(err, context.Canceled) {
			t.Errorf("the compaction ended with %v", err)
		}
		time.Sleep(time.Minute)
		b.want([]string{large + ": completed"})
		b.check()
	})
}

// C2, C20: after a crash at any event of a compaction, the session opens and continues.
func TestCompactionCrashesAnywhere(t *testing.T) {
	for most := 1; ; most++ {
		all := 0
		synctest.Test(t, func(t *testing.T) {
			d := &disk{most: most}
			b := open(t, d, event.State{Session: "s"}, slow("1", "the summary", "2"))
			b.submit(large, "")
			time.Sleep(time.Minute)
			ended(t, b.compactLaterAfter(t, time.Minute), "")
			b.submit("b", "")
			time.Sleep(time.Minute)
			all = int(b.Log().Seq())
			again, state := d.reopen(t)
			next := open(t, again, state, slow("3", "4"))
			next.submit("c", "")
			time.Sleep(time.Minute)
			last := next.state().Turns[len(next.state().Turns)-1]
			if last.Cause == nil || last.Cause.Outcome != event.Completed {
				t.Errorf("crashed after %d events: the next turn ended with %v", most, last.Cause)
			}
			next.check()
		})
		if most >= all {
			return
		}
	}
}

func (b *bench) compactLaterAfter(t *testing.T, d time.Duration) <-chan any {
	t.Helper()
	done := b.compactLater(t.Context())
	time.Sleep(d)
	return done
}
