package settle_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// approver is a program's own Approver.
type approver func(context.Context, settle.Approval) error

func (a approver) Approve(ctx context.Context, call settle.Approval) error { return a(ctx, call) }

// The answer of an Approver is in the log before the call runs (C2, C16).
func TestApproverAnswersAreLogged(t *testing.T) {
	denied := &settle.DeniedError{Message: "not today"}
	byPolicy := &settle.DeniedError{Message: "not here", Policy: "house"}
	never := errors.New("waits for ever")
	for name, tt := range map[string]struct {
		says   error
		want   event.ApprovalEnded
		status event.Status
	}{
		"approved":         {nil, event.ApprovalEnded{Verdict: event.Approved}, event.ItemCompleted},
		"denied":           {denied, event.ApprovalEnded{Verdict: event.Denied, Message: "not today"}, event.ItemFailed},
		"denied, policy":   {byPolicy, event.ApprovalEnded{Verdict: event.Denied, Message: "not here", Policy: "house"}, event.ItemFailed},
		"fails":            {errors.New("no line"), event.ApprovalEnded{Verdict: event.Denied, Message: "no line"}, event.ItemFailed},
		"asked for longer": {never, event.ApprovalEnded{Verdict: event.Expired}, event.ItemAborted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				act, err := tool.New(
					"act",
					"Acts.",
					func(context.Context, struct{}) (string, error) { ran++; return "acted", nil },
				)
				if err != nil {
					t.Fatal(err)
				}
				host := newHost(t, "", settle.SessionConfig{
					Model: model.Config{
						Provider: script.New(script.Call("act", "{}")).Otherwise(script.Text("done")),
					}, Tools: []tool.Tool{act},
					Approver: approver(func(ctx context.Context, _ settle.Approval) error {
						if errors.Is(tt.says, never) {
							<-ctx.Done()
						}
						return tt.says
					}),
				})
				s := newSession(t, host, "s")
				turn, err := s.Submit(t.Context(), "act")
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if _, err := s.Interrupt(t.Context(), settle.Interruption{By: "user"}); err != nil {
					t.Fatal(err)
				}
				if _, err := turn.Wait(t.Context()); err != nil && tt.want.Verdict != event.Expired {
					t.Error(err)
				}
				var all []event.Event
				for e, err := range s.Events(t.Context(), 0) {
					if err != nil {
						t.Fatal(err)
					}
					if all = append(all, e); e.Terminal() {
						break
					}
				}
				if err := (contract.Checker{Unfinished: true}).Check(all); err != nil {
					t.Error(err)
				}
				call := s.State().Turns[0]
				tt.want.Approval = call.Approvals[0].Approval
				if diff := cmp.Diff(&tt.want, call.Approvals[0].Ended); diff != "" {
					t.Errorf("approval (-want +got):\n%s", diff)
				}
				if call.Items[0].Status != tt.status || (ran == 1) != (tt.says == nil) {
					t.Errorf("the call is %s and ran %d times", call.Items[0].Status, ran)
				}
			})
		})
	}
}

// A held call is compared with the approved call, even if every call is allowed and the verdict
// arrives after the session was opened.
func TestHeldCallIsComparedWhereEveryCallIsAllowed(t *testing.T) {
	for name, want := range map[string]int{"same directory": 1, "another directory": 0} {
		t.Run(name, func(t *testing.T) {
			ran, asked, dir := 0, make(chan struct{}), t.TempDir()
			act, err := tool.New(
				"act",
				"Acts.",
				func(context.Context, struct{}) (string, error) { ran++; return "acted", nil },
			)
			if err != nil {
				t.Fatal(err)
			}
			host := newHost(t, t.TempDir(), settle.SessionConfig{
				WorkDir: dir, Tools: []tool.Tool{act},
				Model: model.Config{Provider: script.New(script.Call("act", "{}")).Otherwise(script.Text("done"))},
				Approver: approver(func(ctx context.Context, _ settle.Approval) error {
					close(asked)
					<-ctx.Done()
					return context.Cause(ctx)
				}),
			})
			s := newSession(t, host, "s")
			if _, err := s.Submit(t.Context(), "act"); err != nil {
				t.Fatal(err)
			}
			<-asked
			if err := s.CloseFor(t.Context(), event.Shutdown, "test"); err != nil {
				t.Fatal(err)
			}
			host.config.Approver, host.config.Permission = nil, settle.Allow
			if want == 0 {
				host.config.WorkDir = t.TempDir()
			}
			s = newSession(t, host, "s")
			verdict := &event.HeldVerdict{Call: s.State().HeldCalls()[0].ID, Verdict: event.Approved}
			turn, err := s.Submit(t.Context(), "", settle.AsVerdict(verdict))
			if err == nil {
				_, err = turn.Wait(t.Context())
			}
			if refused := errors.As(err, new(*settle.MisfitError)); refused != (want == 0) || ran != want {
				t.Errorf("the call ran %d times, not %d: %v", ran, want, err)
			}
		})
	}
}

// A completed turn lists the calls that were denied.
func TestDenialsAreInTheOutcome(t *testing.T) {
	deny := approver(func(context.Context, settle.Approval) error { return &settle.DeniedError{Message: "not today"} })
	for name, tt := range map[string]struct {
		config settle.SessionConfig
		want   []settle.Denial
	}{
		"by default, nobody being there": {settle.SessionConfig{}, []settle.Denial{{Tool: "act", Title: "act", Policy: "ask"}}},
		"by the policy":                  {settle.SessionConfig{Permission: settle.Deny}, []settle.Denial{{Tool: "act", Title: "act", Policy: "deny"}}},
		"by an approver":                 {settle.SessionConfig{Approver: deny}, []settle.Denial{{Tool: "act", Title: "act", By: "approver", Message: "not today"}}},
		"not at all":                     {settle.SessionConfig{Permission: settle.Allow}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			act, err := tool.New(
				"act",
				"Acts.",
				func(context.Context, struct{}) (string, error) { return "acted", nil },
			)
			if err != nil {
				t.Fatal(err)
			}
			tt.config.Tools = []tool.Tool{act}
			tt.config.Model.Provider = script.New(script.Call("act", "{}"), script.Text("All is done."))
			turn, err := newSession(t, newHost(t, "", tt.config), "").Submit(t.Context(), "act")
			if err != nil {
				t.Fatal(err)
			}
			o, err := turn.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for n := range o.Denied {
				if o.Denied[n].Item == "" {
					t.Error("it does not name the call")
				}
				o.Denied[n].Item = ""
				if o.Denied[n].Policy != "" {
					o.Denied[n].Message = ""
				}
			}
			if diff := cmp.Diff(tt.want, o.Denied); diff != "" || o.Summary.Denied != len(tt.want) {
				t.Errorf("denied (-want +got), of %d:\n%s", o.Summary.Denied, diff)
			}
		})
	}
}
