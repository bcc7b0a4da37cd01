package history_test

import (
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
)

// Events are in the order of their numbers: the clock that dates them can be set back, or forward.
func TestJobsWhenTheClockJumps(t *testing.T) {
	for _, by := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		p := newTape(t).turn("serve")
		p.add(
			event.Event{Data: event.JobStarted{Job: "j000001", PID: 1, Command: "short"}},
			event.Event{Data: event.JobStarted{Job: "j000002", PID: 2, Command: "web"}},
		)
		p.attempt().text("Looking.").ends(event.Abort(event.Interrupted, "user"))
		p.at = p.at.Add(by)
		p.add(event.Event{Data: event.JobEnded{Job: "j000001", How: event.JobExited}})
		p.at = p.at.Add(-by)
		p.turn("go on").attempt()
		p.at = p.at.Add(-by)
		p.add(event.Event{Data: event.JobStarted{Job: "j000003", PID: 3, Command: "later"}})
		const want = "Jobs still running: j000002 (web).]"
		if got := show(history.Request(p.state, target(), "", nil).Input); !strings.Contains(got, want) {
			t.Errorf("the clock jumps by %v, and the model is told:\n%s\nwant: %s", by, got, want)
		}
	}
}

// After an interrupt the model receives every running job of any call, in its state when the next
// turn began; later ends do not change that text.
func TestJobsAfterAnInterrupt(t *testing.T) {
	ends := func(job string) event.Event { return event.Event{Data: event.JobEnded{Job: job, How: event.JobExited}} }
	p := newTape(t).turn("serve")
	p.add(
		event.Event{Data: event.JobStarted{Job: "j000001", PID: 1, Command: "web"}},
		event.Event{Data: event.JobStarted{Job: "j000002", PID: 2, Command: "watch"}},
		event.Event{Data: event.JobStarted{Job: "j000003", PID: 3, Command: "short"}},
	)
	p.ends(event.Complete())
	p.turn("look").attempt().text("Looking.")
	p.add(ends("j000003")).ends(event.Abort(event.Interrupted, "user"))
	p.add(ends("j000002"))
	const want = "[The turn was interrupted by the user here. Do not resume it unless the user asks. Jobs still running: j000001 (web).]"
	for _, change := range []func(){
		func() { p.turn("go on").attempt() },
		func() { p.add(ends("j000001")) },
		func() {
			p.add(event.Event{Data: event.JobStarted{Job: "j000004", PID: 4, Command: "new"}}).ends(event.Complete()).turn("more")
		},
	} {
		change()
		if got := show(history.Request(p.state, target(), "", nil).Input); !strings.Contains(got, want) {
			t.Errorf("the model is told:\n%s\nwant: %s", got, want)
		}
	}
}
