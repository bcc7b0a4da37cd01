package session_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/session"
)

// C7, C23: recovery ends the processes that a dead host left behind, records that, and spares
// released jobs.
func TestRecoverySweepsAllButWhatWasReleased(t *testing.T) {
	d := &disk{}
	log := journal.New(d, event.State{Session: "s"})
	for _, e := range []event.Event{
		{By: "host", Data: event.SessionOpened{Dir: "/work", PID: 7}},
		{Data: event.JobStarted{Job: "j000001", PID: 8, Command: "server", Mark: "m/s/released"}},
		{Data: event.JobEnded{Job: "j000001", How: event.JobReleased}},
		{Data: event.JobStarted{Job: "j000002", PID: 9, Command: "server", Mark: "m/s/ended"}},
		{Data: event.JobEnded{Job: "j000002", How: event.JobExited}},
		{Data: event.JobStarted{Job: "j000003", PID: 10, Command: "server", Mark: "m/s/running"}},
	} {
		if err := log.Update(func(event.State) []event.Event { return []event.Event{e} }); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(t.Context()); err != nil { // as a crash leaves it: without session.closed
		t.Fatal(err)
	}
	again, state := d.reopen(t)
	var spared [][]string
	s, err := session.Open(session.Config{
		Log: journal.New(again, state), Opened: event.SessionOpened{Dir: "/work"},
		Sweep: func(released []string) []int { spared = append(spared, released); return []int{4711} },
	})
	if err != nil {
		t.Fatal(err)
	}
	var recovered event.SessionRecovered
	for e, err := range s.Log().Events(t.Context(), state.Seq) {
		if err != nil {
			t.Fatal(err)
		}
		if r, is := e.Data.(event.SessionRecovered); is {
			recovered = r
			break
		}
	}
	if diff := cmp.Diff([][]string{{"m/s/released"}}, spared); diff != "" {
		t.Errorf("the sweeps, and what each spares (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(event.SessionRecovered{PID: 7, Ended: 1, Swept: []int{4711}}, recovered); diff != "" {
		t.Errorf("the recovery (-want +got):\n%s", diff)
	}
	if err := s.Close(t.Context(), "", "test"); err != nil {
		t.Error(err)
	}
}
