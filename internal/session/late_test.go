package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/model/script"
)

// C10: a turn's terminal event is visible before the turn has returned, especially if a stream
// does not return. An input that is accepted then is included in a later interrupt.
func TestAnInterruptCoversWhatFollowsATurnThatJustEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		defer close(never)
		b := fresh(t, script.New(script.Turn(script.Headers(), script.Deaf(never))).Otherwise(script.Stall()))
		b.submit("first", "")
		time.Sleep(time.Second)
		go func() { _, _ = b.Interrupt(t.Context(), session.Request{By: "user"}) }() // ends with the first turn
		for e, err := range b.Log().Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Terminal() {
				break
			}
		}
		b.submit("next", "")
		o, err := b.Interrupt(t.Context(), session.Request{By: "user"})
		if err != nil || o.Turn != "t000002" || o.Cause == nil || o.Cause.Reason != event.Interrupted {
			t.Errorf("%+v, %v", o, err)
		}
		b.want([]string{"first: aborted interrupted", "next: aborted interrupted"})
	})
}

// C10: an interrupt that arrives after a turn's terminal event and before the turn has
// returned is answered, even if the session is closed.
func TestCloseAnswersLateInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		defer close(never)
		b := fresh(t, script.New(script.Turn(script.Headers(), script.Deaf(never))))
		b.submit("first", "")
		time.Sleep(time.Second)
		go func() { _, _ = b.Interrupt(t.Context(), session.Request{By: "user"}) }() // ends with the turn
		for e, err := range b.Log().Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Terminal() {
				break
			}
		}
		late := make(chan error, 1)
		go func() { // ends when it is answered
			_, err := b.Interrupt(t.Context(), session.Request{By: "second"})
			late <- err
		}()
		synctest.Wait() // it is with the session
		if err := b.Close(t.Context(), "", "test"); err != nil {
			t.Error(err)
		}
		select {
		case err := <-late:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Hour):
			t.Fatal("it is never answered")
		}
	})
}
