package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/question"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// isPending is a judge that requires approval of every call that it does not remember.
type isPending struct {
	mu         sync.Mutex
	remembered map[string]bool
	once       bool // as in approval.Judgement
}

func (a *isPending) Judge(call approval.Call) approval.Judgement {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.remembered[call.Arguments] {
		return approval.Judgement{Decision: event.Allow}
	}
	return approval.Judgement{Decision: event.Ask, Why: "it could change something", Once: a.once}
}

func (*isPending) Places(approval.Call) []event.ResolvedPath { return nil }

func (a *isPending) Remember(call approval.Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remembered[call.Arguments] = true
}

// attended opens a session whose calls need approval.
func attended(t *testing.T, m *script.Model) *bench {
	t.Helper()
	return attendedBy(t, &isPending{remembered: map[string]bool{}}, call("look", time.Second), m)
}

// attendedBy opens a session with a judge.
func attendedBy(t *testing.T, judge approval.Judge, look tool.Tool, m *script.Model) *bench {
	t.Helper()
	set, err := tool.NewSet(look)
	if err != nil {
		t.Fatal(err)
	}
	log := journal.NewMemory("s")
	approvals := session.NewApprovals(log, judge, nil)
	s, err := session.Open(session.Config{
		Log: log, Opened: event.SessionOpened{Dir: "/work"}, Approvals: approvals,
		Turn: turn.Config{
			Requests:  turn.Requests{Model: model.Config{Provider: m}},
			Execution: turn.Execution{Tools: set, Dir: "/work", Approver: approvals},
		},
	})
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

func look() *script.Model {
	call := script.Turn(script.Call("look", `{"a":1}`))
	return script.New(call, call, script.Text("done"))
}

func answer(id string, v event.Verdict, by string) approval.Answer {
	return approval.Answer{Approval: id, Verdict: v, By: by, Message: "words"}
}

func TestApprovals(t *testing.T) {
	cases := map[string]struct {
		answers []event.Verdict // to p000001, p000002, …
		turn    string
		calls   []event.Status
	}{
		"approved twice": {
			[]event.Verdict{event.Approved, event.Approved},
			"completed",
			[]event.Status{event.ItemCompleted, event.ItemCompleted},
		},
		"for the session": {
			[]event.Verdict{event.ApprovedSession},
			"completed",
			[]event.Status{event.ItemCompleted, event.ItemCompleted},
		},
		"denied": {
			[]event.Verdict{event.Denied, event.Approved},
			"completed",
			[]event.Status{event.ItemFailed, event.ItemCompleted},
		},
		"aborts the turn": {
			[]event.Verdict{event.ApprovalAborted},
			"aborted interrupted",
			[]event.Status{event.ItemAborted},
		},
	}
	for name, tc := range cases {
		bubble(t, name, func(t *testing.T) {
			b := attended(t, look())
			b.submit("a", "")
			for n, v := range tc.answers {
				time.Sleep(time.Hour) // a person takes their time, which is no stall (C12)
				if err := b.Answer(t.Context(), answer(fmt.Sprintf("p%06d", n+1), v, "user")); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
			b.want([]string{"a: " + tc.turn})
			for n, status := range tc.calls {
				if got := b.state().Turns[0].Items[n]; got.Status != status {
					t.Errorf("call %d: %s, want %s: %s", n+1, got.Status, status, got.Content().Output)
				}
			}
		})
	}
}

// slowJudge needs longer to judge a call the earlier the call is.
type slowJudge struct{ isPending }

func (j *slowJudge) Judge(c approval.Call) approval.Judgement {
	var in struct{ A int }
	if json.Unmarshal([]byte(c.Arguments), &in) == nil {
		time.Sleep(time.Duration(10-in.A) * time.Second)
	}
	if in.A == 2 {
		return approval.Judgement{Decision: event.Allow}
	}
	return j.isPending.Judge(c)
}

// The questions about the calls of one response have the order of the calls, however long settle takes to
// judge each. The second call needs no approval, and does not wait.
func TestQuestionsHaveOrderOfCalls(t *testing.T) {
	bubble(t, "order", func(t *testing.T) {
		var calls []script.Step
		for n := range 4 {
			calls = append(calls, script.Call("look", fmt.Sprintf(`{"a":%d}`, n+1)))
		}
		judge := &slowJudge{isPending{remembered: map[string]bool{}}}
		b := attendedBy(t, judge, call("look", time.Second), script.New(script.Turn(calls...), script.Text("done")))
		b.submit("a", "")
		time.Sleep(time.Minute)
		var asked []string
		for _, a := range b.state().OpenApprovals() {
			asked = append(asked, b.state().Running().Item(a.Call).Content().Arguments)
		}
		if want := []string{`{"a":1}`, `{"a":3}`, `{"a":4}`}; !slices.Equal(asked, want) {
			t.Errorf("asked about %v, want %v", asked, want)
		}
		if i := b.state().Running().Items[1]; i.Status != event.ItemCompleted {
			t.Errorf("the call that needs no approval is %s", i.Status)
		}
	})
}

// An approval for the session of a call that can be allowed only once is an approval of that call,
// also in the log: clients offer it although the request forbids it.
func TestApprovalForSessionOfSingleCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := attendedBy(
			t, &isPending{remembered: map[string]bool{}, once: true}, call("look", time.Second), look(),
		)
		b.submit("a", "")
		for n := range 2 {
			time.Sleep(time.Minute)
			a := b.state().Turns[0].Approvals[n]
			if !a.Once {
				t.Errorf("the request %s does not say that it is for one call: %+v", a.Approval, a)
			}
			if err := b.Answer(t.Context(), answer(a.Approval, event.ApprovedSession, "user")); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		b.want([]string{"a: completed"})
		for _, a := range b.state().Turns[0].Approvals {
			if a.Ended.Verdict != event.Approved {
				t.Errorf("%s ended with %q", a.Approval, a.Ended.Verdict)
			}
		}
	})
}

// A person reads the complete call, with hidden characters spelled out. A call that is too
// long is refused for that reason (C16).
func TestCompleteCallIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := `{"a":"` + strings.Repeat("x", question.MaxText) + `"}`
		b := attended(
			t,
			script.New(
				script.Turn(script.Call("look", long)),
				script.Turn(script.Call("look", `{"a":"one\ntwo\u202e"}`)),
				script.Text("done"),
			),
		)
		b.submit("a", "")
		time.Sleep(time.Second)
		all := b.state().Turns[0].Approvals
		if len(all) != 2 || all[0].Ended == nil || all[0].Ended.Verdict != event.Denied ||
			all[0].Ended.Policy != "too long to show" {
			t.Fatalf("approvals: %+v", all)
		}
		if out := b.state().Turns[0].Items[0].Content().Output; !strings.Contains(out, "too long to be shown whole") ||
			!strings.Contains(out, "Nothing was done") {
			t.Errorf("the model is told %q", out)
		}
		if want := "look\n  a:\n      one\n      two⟨U+202E⟩"; all[1].Text != want || all[1].Covers == "" {
			t.Errorf("somebody is asked %q, covering %q", all[1].Text, all[1].Covers)
		}
		if err := b.Answer(t.Context(), answer("p000002", event.Denied, "user")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		b.want([]string{"a: completed"})
	})
}

// TestLateAnswerRunsNothing: C16.
func TestLateAnswerRunsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := attended(t, look())
		b.submit("a", "")
		time.Sleep(time.Second)
		asked := time.Now()
		if _, err := b.Interrupt(t.Context(), session.Request{By: "user"}); err != nil {
			t.Fatal(err)
		}
		if a := b.state().Turns[0].Approvals[0]; a.Ended == nil || a.Ended.Verdict != event.Expired ||
			time.Since(asked) > time.Second {
			t.Errorf("approval %+v", a)
		}
		var late *approval.AnsweredError
		if err := b.Answer(t.Context(), answer("p000001", event.Approved, "late")); !errors.As(err, &late) ||
			late.Verdict != event.Expired {
			t.Errorf("err = %v", err)
		}
		var unknown *approval.UnknownError
		if err := b.Answer(t.Context(), answer("p000009", event.Approved, "user")); !errors.As(err, &unknown) {
			t.Errorf("err = %v", err)
		}
		time.Sleep(time.Minute)
		if n := b.state().Turns[0].Summary.Calls; n != 0 {
			t.Errorf("%d calls ran", n)
		}
	})
}

func TestTheFirstAnswerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := attended(t, look())
		b.submit("a", "")
		time.Sleep(time.Second)
		var mu sync.Mutex
		var wg sync.WaitGroup
		won := 0
		for n := range 10 {
			wg.Go(func() {
				err := b.Answer(t.Context(), answer("p000001", event.Approved, fmt.Sprint("client ", n)))
				var second *approval.AnsweredError
				switch {
				case err == nil:
					mu.Lock()
					won++
					mu.Unlock()
				case !errors.As(err, &second) || second.Verdict != event.Approved:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won != 1 {
			t.Errorf("%d answers counted", won)
		}
	})
}

// The approval of a cancelled call ends, nothing runs, and the turn continues.
func TestPendingCallCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := attended(t, look())
		b.submit("a", "")
		time.Sleep(time.Second)
		if !b.Cancel(b.state().Turns[0].Items[0].ID, "user") {
			t.Fatal("the call does not run")
		}
		synctest.Wait()
		first := b.state().Turns[0]
		if i := first.Items[0]; i.Status != event.ItemAborted || i.Effects != event.EffectsNone {
			t.Errorf("the call is %s, effects %q", i.Status, i.Effects)
		}
		if a := first.Approvals[0]; a.Ended == nil || a.Ended.Verdict != event.Expired {
			t.Errorf("approval %+v", a)
		}
		time.Sleep(time.Second)
		if err := b.Answer(t.Context(), answer("p000002", event.Approved, "user")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		b.want([]string{"a: completed"})
	})
}
