package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// inquirer is a tool that requests a form, for a limited time if that is set.
type inquirer struct{ patience time.Duration }

func (inquirer) Spec() tool.Spec {
	return tool.Spec{Name: "inquire", Schema: json.RawMessage(`{"type":"object"}`), Timeout: time.Minute}
}

func (i inquirer) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	asked := ctx
	if i.patience > 0 {
		var cancel context.CancelFunc
		asked, cancel = context.WithTimeout(ctx, i.patience)
		defer cancel()
	}
	content, err := call.Ask(asked, event.Form{
		Server: "db", Message: "Which one?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	})
	var declined *tool.DeclinedError
	switch {
	case ctx.Err() != nil:
		return tool.Result{Aborted: true, Output: "cut"}, nil
	case errors.As(err, &declined):
		return tool.Result{Output: "declined: " + declined.Message}, nil
	case err != nil:
		return tool.Result{Output: "gave up"}, nil
	}
	return tool.Result{Output: string(content)}, nil
}

// inquiring opens a session, attended or not, whose model calls the tool.
func inquiring(t *testing.T, x inquirer, isAttended bool) *bench {
	t.Helper()
	set, err := tool.NewSet(x)
	if err != nil {
		t.Fatal(err)
	}
	log := journal.NewMemory("s")
	c := session.Config{
		Log: log, Opened: event.SessionOpened{Dir: "/work"},
		Turn: turn.Config{
			Requests: turn.Requests{
				Model: model.Config{
					Provider: script.New(script.Turn(script.Call("inquire", `{}`)), script.Text("done")),
				},
			},
			Execution: turn.Execution{Tools: set, Dir: "/work"},
		},
	}
	if isAttended {
		approvals := session.NewApprovals(log, nil, nil) // no call needs approval
		c.Approvals, c.Turn.Filler = approvals, approvals
	}
	s, err := session.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background(), "", "test"); err != nil {
			t.Error(err)
		}
	})
	return &bench{t: t, Session: s}
}

func synctested(f func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, f) }
}

// approvalEnd returns how the approval of a turn ended, and its call.
func approvalEnd(b *bench) string {
	t := b.state().Turns[0]
	a := t.Approvals[0]
	if a.Ended == nil {
		return "open"
	}
	return fmt.Sprintf("%s %s: %s %s", a.Ended.Verdict, a.Ended.Policy, t.Items[0].Status, t.Items[0].Content().Output)
}

func TestForms(t *testing.T) {
	given := func(v event.Verdict, content string) approval.Answer {
		return approval.Answer{Approval: "p000001", Verdict: v, By: "user", Content: json.RawMessage(content)}
	}
	cases := map[string]struct {
		patience time.Duration
		answer   approval.Answer
		turn     string
		want     string
	}{
		"filled in":      {0, given(event.Approved, `{"name":"x"}`), "completed", `approved : completed {"name":"x"}`},
		"declined":       {0, given(event.Denied, ""), "completed", "denied : completed declined: the user declined"},
		"aborted":        {0, given(event.ApprovalAborted, ""), "aborted interrupted", "aborted : aborted cut"},
		"the asker left": {time.Minute, approval.Answer{}, "completed", "expired : completed gave up"},
	}
	for name, tc := range cases {
		t.Run(name, synctested(func(t *testing.T) {
			b := inquiring(t, inquirer{tc.patience}, true)
			b.submit("a", "")
			time.Sleep(time.Second)
			if got := b.state().Turns[0].Approvals[0]; got.Form == nil || !strings.Contains(got.Text, "Which one?") ||
				!strings.Contains(got.Text, "name: string") {
				t.Errorf("asked: %+v", got)
			}
			for _, misfit := range []approval.Answer{given(event.Approved, `{}`), given(event.Approved, `{"name":1}`), given(event.Approved, "no"), given(event.ApprovedSession, `{"name":"x"}`)} {
				var refused *approval.FormError
				if err := b.Answer(t.Context(), misfit); !errors.As(err, &refused) || approvalEnd(b) != "open" {
					t.Errorf("%s %s: %v, %s", misfit.Verdict, misfit.Content, err, approvalEnd(b))
				}
			}
			time.Sleep(time.Hour) // a person takes their time, which does not count as the call's (C12)
			if tc.answer.Approval != "" {
				if err := b.Answer(t.Context(), tc.answer); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
			b.want([]string{"a: " + tc.turn})
			if got := approvalEnd(b); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			var late *approval.AnsweredError
			if err := b.Answer(t.Context(), given(event.Approved, `{"name":"y"}`)); !errors.As(err, &late) {
				t.Errorf("a late answer: %v", err)
			}
			if denied := b.state().Turns[0].Summary.Denied; denied != 0 {
				t.Errorf("%d calls were denied", denied)
			}
		}))
	}
}

func TestUnattendedFormsAreDeclined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inquiring(t, inquirer{}, false)
		b.submit("a", "")
		time.Sleep(time.Second)
		b.want([]string{"a: completed"})
		if got := approvalEnd(b); got != "denied nobody to ask: completed declined: no person can be asked" {
			t.Errorf("got %q", got)
		}
	})
}

func TestFormsExpireWithTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inquiring(t, inquirer{}, true)
		b.submit("a", "")
		time.Sleep(time.Second)
		if _, err := b.Interrupt(t.Context(), session.Request{By: "user"}); err != nil {
			t.Fatal(err)
		}
		b.want([]string{"a: aborted interrupted"})
		if got := approvalEnd(b); got != "expired : aborted cut" {
			t.Errorf("got %q", got)
		}
	})
}
