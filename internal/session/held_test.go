package session_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/model/script"
)

// ending is a session whose turn "a" was interrupted and ends slowly.
func ending(t *testing.T, earlier ...event.Mode) (b *bench, interrupted *sync.WaitGroup) {
	t.Helper()
	m := script.New(script.Turn(script.Call("stay", `{}`))).Otherwise(script.Text("ok"))
	b = fresh(t, m, deaf{waiting{"stay", 10 * time.Second}})
	b.submit("a", "")
	time.Sleep(time.Second)
	for n, mode := range earlier {
		b.submit([]string{"before", "before too"}[n], mode)
	}
	interrupted = &sync.WaitGroup{}
	interrupted.Go(func() {
		if o, err := b.Interrupt(t.Context(), session.Request{By: "user"}); err != nil || o.Turn != "t000001" {
			t.Errorf("%+v, %v", o, err)
		}
	})
	synctest.Wait()
	return b, interrupted
}

// A new input runs after the interrupted turn, even if that turn ends slowly (C18).
func TestInputAfterInterruptRuns(t *testing.T) {
	for _, mode := range []event.Mode{event.Queue, event.Steer, event.Replace} {
		bubble(t, string(mode), func(t *testing.T) {
			b, interrupted := ending(t)
			b.submit("after", mode)
			interrupted.Wait()
			time.Sleep(time.Minute)
			b.want([]string{"a: aborted interrupted", "after: completed"})
		})
	}
	bubble(t, "it takes along what was held", func(t *testing.T) {
		b, interrupted := ending(t, event.Queue, event.Steer)
		b.submit("after", "")
		interrupted.Wait()
		time.Sleep(time.Minute)
		b.want([]string{"a: aborted interrupted", "before before too after: completed"})
	})
	bubble(t, "a second interrupt covers it", func(t *testing.T) {
		b, interrupted := ending(t)
		b.submit("after", "")
		if _, err := b.Interrupt(t.Context(), session.Request{By: "user"}); err != nil {
			t.Error(err)
		}
		interrupted.Wait()
		time.Sleep(time.Minute)
		b.want([]string{"a: aborted interrupted"}, "after held")
	})
}

// C10: also if the turn already ends because of a replacement.
func TestAnInterruptCoversWhatWaits(t *testing.T) {
	bubble(t, "replacing", func(t *testing.T) {
		b, interrupted := ending(t, event.Queue, event.Replace)
		interrupted.Wait()
		time.Sleep(time.Minute)
		b.want([]string{"a: aborted replaced"}, "before held", "before too held")
	})
}

// A replacement is replaced like any other turn, even before it has started.
func TestTheLastReplacementWins(t *testing.T) {
	bubble(t, "three", func(t *testing.T) {
		m := script.New(script.Turn(script.Call("stay", `{}`)), script.Text("ok")).Otherwise(script.Text("more"))
		b := fresh(t, m, deaf{waiting{"stay", 10 * time.Second}})
		b.submit("a", "")
		time.Sleep(time.Second)
		b.submit("b", event.Replace)
		b.submit("c", event.Queue)
		b.submit("d", event.Replace)
		time.Sleep(time.Minute)
		b.want([]string{"a: aborted replaced", "b: aborted replaced", "d: completed", "c: completed"})
		if n := len(m.Requests()); n != 3 {
			t.Errorf("%d requests were sent, want none for what was replaced before it began", n)
		}
	})
}
