package session_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/run"
	"github.com/settle-agent/settle/tool"
)

// A method may run when the session is closed and its log still accepts events. The state of
// its update decides, and the error is ErrClosed.
func TestMethodsOfClosedSessionReturnErrClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := fresh(t, script.New())
		log := b.Log()
		if err := log.Update(func(s event.State) []event.Event {
			return []event.Event{
				{By: "user", Data: event.InputAccepted{Input: "n1", Text: "later"}},
				{By: "user", Data: event.InputHeld{Input: "n1", Reason: event.Interrupted}},
				{Data: event.JobStarted{Job: s.NextJob(), PID: 4, Command: "serve"}},
				{Data: event.JobEnded{Job: s.NextJob(), How: event.JobExited}},
				{By: "host", Data: event.SessionClosed{}},
			}
		}); err != nil {
			t.Fatal(err)
		}
		jobs := session.Jobs{Log: log}
		verbs := map[string]func() error{
			"Submit": func() error {
				_, err := b.Submit(t.Context(), run.Input{Text: "more", By: "user"})
				return err
			},
			"Drop":       func() error { _, err := b.Drop("n1", "user"); return err },
			"JobStarted": func() error { _, err := jobs.JobStarted(t.Context(), event.JobStarted{PID: 5}); return err },
		}
		for name, verb := range verbs {
			if err := verb(); !errors.Is(err, session.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := jobs.JobEnded(t.Context(), event.JobEnded{Job: "j1", How: event.JobKilled}); err != nil {
			t.Errorf("JobEnded: %v", err)
		}
		if _, err := b.Interrupt(t.Context(), session.Request{By: "user", Input: "n1"}); err != nil {
			t.Errorf("Interrupt: %v", err)
		}
		if seq := log.Seq(); seq != 6 {
			t.Errorf("the log has %d events", seq)
		}
	})
}

// The same holds after the log was closed.
func TestMethodsAfterCloseReturnErrClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := attended(t, script.New())
		if err := b.Close(t.Context(), "", "test"); err != nil {
			t.Fatal(err)
		}
		_, err := b.Drop("n1", "user")
		_, started := session.Jobs{Log: b.Log()}.JobStarted(t.Context(), event.JobStarted{PID: 5})
		answered := b.Answer(t.Context(), approval.Answer{Approval: "p1", Verdict: event.Approved})
		for name, err := range map[string]error{"Drop": err, "JobStarted": started, "Answer": answered} {
			if !errors.Is(err, session.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// exploding is an approver of an embedding program that panics.
type exploding struct{}

func (exploding) Approve(context.Context, approval.Call) error { panic("no") }

// An approval whose approver panicked ends with its call, and the turn continues.
func TestApproverPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script.New(script.Turn(script.Call("look", "{}")), script.Text("went on"))
		set, err := tool.NewSet(call("look", 0))
		if err != nil {
			t.Fatal(err)
		}
		log := journal.NewMemory("s")
		approver := session.NewApprovals(log, &isPending{remembered: map[string]bool{}}, nil).Forwarding(exploding{})
		s, err := session.Open(session.Config{
			Log: log, Opened: event.SessionOpened{Dir: "/work"},
			Turn: turn.Config{
				Requests:  turn.Requests{Model: model.Config{Provider: m}},
				Execution: turn.Execution{Tools: set, Dir: "/work", Approver: approver},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Submit(t.Context(), run.Input{Text: "look", By: "user"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		log.View(func(state event.State) {
			last := state.Turns[0]
			if last.Cause == nil || last.Cause.Outcome != event.Completed {
				t.Errorf("the turn ended as: %v", last.Cause)
			}
			if a := last.Approvals; len(a) != 1 || a[0].Ended == nil || a[0].Ended.Verdict != event.Expired {
				t.Errorf("the approvals are %v", a)
			}
		})
		if err := s.Close(t.Context(), "", "test"); err != nil {
			t.Error(err)
		}
	})
}
