package asker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// client is a protocol's end: it is asked, and its person answers after a while.
type client struct {
	answer  asker.Answer
	err     error
	after   time.Duration
	ignores bool // it does not hear that the question has ended

	questions, withdrawn int
}

func (c *client) ask(context.Context, asker.Question) asker.SentQuestion { c.questions++; return c }

func (c *client) Withdraw() { c.withdrawn++ }

func (c *client) Await(ctx context.Context) (asker.Answer, error) {
	done := ctx.Done()
	if c.ignores {
		done = nil
	}
	select {
	case <-time.After(c.after):
		return c.answer, c.err
	case <-done:
		return asker.Answer{}, context.Cause(ctx)
	}
}

// turn runs a turn with one call that needs an approval. Each of the askers follows the turn; made,
// if set, receives them. The turn is interrupted after a minute. turn returns the approval, and
// whether the call ran.
func turn(t *testing.T, made func(*asker.Asker), askers ...asker.Options) (approval event.Approval, ran bool) {
	t.Helper()
	act, err := tool.New(
		"act", "Acts.", func(context.Context, struct{}) (string, error) { ran = true; return "acted", nil },
	)
	if err != nil {
		t.Fatal(err)
	}
	host, err := settle.Open(t.Context(), settle.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := host.Session(t.Context(), "s", settle.SessionConfig{
		Model: model.Config{
			Provider: script.New(script.Call("act", "{}")).Otherwise(script.Text("done")), Name: "m",
		}, Tools: []tool.Tool{act},
		Permission: settle.Ask, Attended: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	followed := make(chan struct{}, len(askers))
	for n, o := range askers {
		o.Session, o.By = s, func() string { return fmt.Sprint("client", n) }
		o.Failed = func(err error) { t.Error(err) }
		a := asker.New(context.WithoutCancel(t.Context()), o)
		if made != nil {
			made(a)
		}
		go func() { // ends with the session
			defer func() { a.Close(); followed <- struct{}{} }()
			for e, err := range s.Events(context.WithoutCancel(t.Context()), 0) {
				if err != nil {
					return
				}
				a.Take(e)
			}
		}()
	}
	if _, err := s.Submit(t.Context(), "act"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	if _, err := s.Interrupt(t.Context(), settle.Interruption{By: "user"}); err != nil {
		t.Error(err)
	}
	state := s.State()
	if err := host.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for range askers {
		<-followed
	}
	return *state.Turns[0].Approvals[0], ran
}

func TestAsker(t *testing.T) {
	const long = time.Hour
	for name, tt := range map[string]struct {
		client    client
		nobody    bool
		want      event.ApprovalEnded
		by        string
		withdrawn int
		ran       bool
	}{
		"allowed": {
			client: client{answer: asker.Answer{Verdict: event.Approved}, after: time.Second},
			want:   event.ApprovalEnded{Verdict: event.Approved}, by: "client0", withdrawn: 1, ran: true,
		},
		"denied": {
			client: client{answer: asker.Answer{Verdict: event.Denied, Message: "no"}},
			want:   event.ApprovalEnded{Verdict: event.Denied, Message: "no"}, by: "client0", withdrawn: 1,
		},
		"and the turn is to end": {
			client: client{answer: asker.Answer{Verdict: event.ApprovalAborted}},
			want:   event.ApprovalEnded{Verdict: event.ApprovalAborted}, by: "client0", withdrawn: 1,
		},
		"the client fails": {
			client: client{err: errors.New("no dialog")},
			want: event.ApprovalEnded{
				Verdict: event.Denied, Message: "The client could not ask: no dialog",
			}, by: "client0", withdrawn: 1,
		},
		"the client is gone, which ends the turn": {
			client: client{err: fmt.Errorf("lost: %w", asker.ErrGone)},
			want:   event.ApprovalEnded{Verdict: event.Expired}, by: "user", withdrawn: 1,
		},
		"nobody answers": {
			client: client{after: long},
			want:   event.ApprovalEnded{Verdict: event.Expired}, by: "user", withdrawn: 1,
		},
		"too late": {
			client: client{answer: asker.Answer{Verdict: event.Approved}, after: 2 * time.Minute, ignores: true},
			want:   event.ApprovalEnded{Verdict: event.Expired}, by: "user", withdrawn: 1,
		},
		"nobody is there": {
			nobody: true,
			want:   event.ApprovalEnded{Verdict: event.Denied, Policy: "ask", Message: "nobody listens"}, by: "client0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := tt.client
				o := asker.Options{Ask: c.ask}
				if tt.nobody {
					o.Ask = func(context.Context, asker.Question) asker.SentQuestion { return asker.Nobody("ask", "nobody listens") }
				}
				got, ran := turn(t, nil, o)
				tt.want.Approval = got.Approval
				if diff := cmp.Diff(&tt.want, got.Ended); diff != "" || got.EndedBy != tt.by {
					t.Errorf("by %q (-want +got):\n%s", got.EndedBy, diff)
				}
				if ran != tt.ran || c.withdrawn != tt.withdrawn {
					t.Errorf("ran: %t, withdrawn %d times", ran, c.withdrawn)
				}
			})
		})
	}
}

// Of two that follow the turn, one asks.
func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var one, two client
		one.answer.Verdict, two.answer.Verdict = event.Approved, event.Approved
		one.after, two.after = time.Second, time.Second
		claims := &asker.Claims{}
		_, ran := turn(t, nil, asker.Options{Ask: one.ask, Claims: claims}, asker.Options{Ask: two.ask, Claims: claims})
		if !ran || one.questions+two.questions != 1 || one.withdrawn+two.withdrawn != 1 {
			t.Errorf("ran: %t, %d and %d were asked", ran, one.questions, two.questions)
		}
	})
}

// If the client disconnects, its open questions are denied.
func TestDeny(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client{after: time.Hour}
		got, ran := turn(t, func(a *asker.Asker) {
			time.AfterFunc(time.Second, func() { a.Deny("nobody subscribes", "they left") })
		}, asker.Options{Ask: c.ask})
		if ran || got.Ended.Verdict != event.Denied || got.Ended.Policy != "nobody subscribes" ||
			got.Ended.Message != "they left" {
			t.Errorf("ran: %t, %+v", ran, got.Ended)
		}
	})
}
