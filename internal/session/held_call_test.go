package session_test

import (
	"errors"
	"slices"
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
	"github.com/settle-agent/settle/run"
	"github.com/settle-agent/settle/tool"
)

// reasoned is a judge that requires approval of every call, for a reason.
type reasoned struct{ why string }

func (r reasoned) Judge(approval.Call) approval.Judgement {
	switch r.why {
	case "allow":
		return approval.Judgement{Decision: event.Allow}
	case "a, unconfined":
		return approval.Judgement{Decision: event.Ask, Why: "a"}
	}
	return approval.Judgement{Decision: event.Ask, Why: r.why, Sandbox: event.Workspace}
}
func (reasoned) Remember(approval.Call) {}

// denying is a judge that denies every call, for a reason.
type denying struct{ why string }

func (d denying) Judge(approval.Call) approval.Judgement {
	return approval.Judgement{Decision: event.Deny, Why: d.why}
}
func (denying) Remember(approval.Call) {}

// host opens the session on the disk, in a directory, with a judge; a nil judge lets no person answer.
func host(t *testing.T, d *disk, dir string, judge approval.Judge, m *script.Model) *bench {
	t.Helper()
	if judge == nil {
		return unattended(t, d, dir, reasoned{"a"}, m)
	}
	return hostOf(t, d, dir, m, func(c *session.Config) {
		c.Approvals = session.NewApprovals(c.Log, judge, nil)
		c.Turn.Approver = c.Approvals
	})
}

// unattended is host without a person who can answer.
func unattended(t *testing.T, d *disk, dir string, judge approval.Judge, m *script.Model) *bench {
	t.Helper()
	return hostOf(t, d, dir, m, func(c *session.Config) {
		c.Turn.Approver = session.NewApprovals(c.Log, judge, nil).Unattended()
	})
}

func hostOf(t *testing.T, d *disk, dir string, m *script.Model, approve func(*session.Config)) *bench {
	t.Helper()
	set, err := tool.NewSet(call("look", time.Second), call("propose_plan", time.Second))
	if err != nil {
		t.Fatal(err)
	}
	again, state := d.reopen(t)
	if state.Session == "" {
		state.Session = "s"
	}
	log := journal.New(again, state)
	c := session.Config{Log: log, Opened: event.SessionOpened{Dir: dir}, Turn: turn.Config{
		Requests:  turn.Requests{Model: model.Config{Provider: m}},
		Execution: turn.Execution{Tools: set, Dir: dir},
	}}
	approve(&c)
	s, err := session.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, Session: s, disk: again}
}

// end ends the host.
func (b *bench) end() *disk {
	b.t.Helper()
	if err := b.Close(b.t.Context(), "", "signal:SIGTERM"); err != nil {
		b.t.Error(err)
	}
	return b.disk
}

// held is a session whose host ended while a call waited, and the call.
func held(t *testing.T) (*disk, event.HeldCall) {
	t.Helper()
	b := host(t, &disk{}, "/work", reasoned{"a"}, script.New(script.Turn(script.Call("look", `{"a":1}`))))
	b.submit("go", "")
	synctest.Wait()
	if n := len(b.state().HeldCalls()); n > 0 {
		t.Errorf("%d calls are held, and their host lives", n)
	}
	d := b.end()
	_, state := d.reopen(t)
	list := state.HeldCalls()
	if len(list) != 1 || list[0].Approval.Text == "" || len(list[0].ID) != 64 {
		t.Fatalf("held: %+v", list)
	}
	return d, list[0]
}

// heldTwice is a session whose host ended while two calls waited.
func heldTwice(t *testing.T) *disk {
	t.Helper()
	calls := script.Turn(script.Call("look", `{"a":1}`), script.Call("look", `{"a":2}`))
	b := host(t, &disk{}, "/work", reasoned{"a"}, script.New(calls))
	b.submit("go", "")
	synctest.Wait()
	return b.end()
}

func verdictOn(h event.HeldCall, v event.Verdict) approval.Answer {
	return approval.Answer{Approval: h.ID, Verdict: v, By: "user", Message: "words"}
}

// C19: an approved call runs once, as it was, in a new turn; the model sees both, also where
// no person can be asked. C16: a second verdict runs nothing.
func TestHeldCallRunsWhenApproved(t *testing.T) {
	for name, judge := range map[string]approval.Judge{"attended": reasoned{"a"}, "unattended": nil} {
		bubble(t, name, func(t *testing.T) {
			d, h := held(t)
			m := script.New(script.Text("done"))
			b := host(t, d, "/work", judge, m)
			defer b.end()
			if err := b.Answer(t.Context(), verdictOn(h, event.Approved)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				var late *approval.AnsweredError
				err := b.Answer(t.Context(), verdictOn(h, event.Denied))
				if !errors.As(err, &late) || late.Verdict != event.Approved {
					t.Errorf("a second verdict: %v", err)
				}
				time.Sleep(time.Minute)
			}
			turns := b.state().Turns
			if len(turns) != 2 || turns[1].Cause.Outcome != event.Completed || len(turns[1].Approvals) != 0 {
				t.Fatalf("turns: %+v", turns)
			}
			old, now := h.Item.Content(), turns[1].Items[0]
			c := now.Content()
			if now.Status != event.ItemCompleted || c.Arguments != old.Arguments || c.Name != old.Name {
				t.Errorf("it ran as %+v, %+v", now, c)
			}
			var words []string
			for _, i := range m.Requests()[0].Input {
				words = append(words, i.Text)
			}
			all := strings.Join(words, "\n")
			for _, want := range []string{
				"before it started; it had no effects", "The user approved it since", `look {"a":1}`, c.Output,
			} {
				if !strings.Contains(all, want) {
					t.Errorf("the model does not see %q:\n%s", want, all)
				}
			}
		})
	}
}

// A rule, or the directory, that has changed since: the person is asked again.
func TestHeldCallIsAskedAgainWhenChanged(t *testing.T) {
	for name, now := range map[string]struct{ dir, why string }{
		"rule": {"/work", "b"}, "directory": {"/other", "a"}, "directory, allowed": {"/other", "allow"},
		"sandbox": {"/work", "a, unconfined"},
	} {
		bubble(t, name, func(t *testing.T) {
			d, h := held(t)
			b := host(t, d, now.dir, reasoned{now.why}, script.New(script.Text("done")))
			if err := b.Answer(t.Context(), verdictOn(h, event.Approved)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			open := b.state().OpenApprovals()
			if len(open) != 1 || !strings.HasPrefix(open[0].Why, "it is not what was approved before") {
				t.Fatalf("questions: %+v", open)
			}
			d = b.end() // the new question is held in turn
			b = host(t, d, now.dir, reasoned{now.why}, script.New(script.Text("done")))
			defer b.end()
			list := b.state().HeldCalls()
			if len(list) != 1 || list[0].ID == h.ID {
				t.Fatalf("held: %+v", list)
			}
			if err := b.Answer(t.Context(), verdictOn(list[0], event.Approved)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			turns := b.state().Turns
			if last := turns[len(turns)-1]; last.Cause.Outcome != event.Completed || !last.Items[0].Started {
				t.Errorf("the last turn: %+v", last)
			}
		})
	}
}

// A person who interrupts the second question has not decided: the call stays held, and runs when it is
// approved again and nothing has changed.
func TestInterruptedSecondQuestionKeepsCallHeld(t *testing.T) {
	bubble(t, "interrupted", func(t *testing.T) {
		d, h := held(t)
		b := host(t, d, "/work", reasoned{"b"}, script.New())
		if err := b.Answer(t.Context(), verdictOn(h, event.Approved)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if n := len(b.state().OpenApprovals()); n != 1 {
			t.Fatalf("%d questions", n)
		}
		if _, err := b.Interrupt(t.Context(), session.Request{By: "user"}); err != nil {
			t.Fatal(err)
		}
		b = host(t, b.end(), "/work", reasoned{"a"}, script.New(script.Text("done")))
		defer b.end()
		if list := b.state().HeldCalls(); len(list) != 1 || list[0].ID != h.ID {
			t.Fatalf("held: %+v", list)
		}
		if err := b.Answer(t.Context(), verdictOn(h, event.Approved)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		turns := b.state().Turns
		if last := turns[len(turns)-1]; last.Cause.Outcome != event.Completed || !last.Items[0].Started {
			t.Errorf("the last turn: %+v", last)
		}
	})
}

// Without a person, a verdict about a call that would be asked about again, or denied, is not taken.
func TestHeldCallIsNotApprovedUnattended(t *testing.T) {
	for name, now := range map[string]struct {
		dir, words string
		judge      approval.Judge
	}{
		"rule":      {"/work", "has changed", reasoned{"b"}},
		"directory": {"/other", "has changed", reasoned{"a"}},
		"deny":      {"/work", "no writes", denying{"no writes"}},
	} {
		bubble(t, name, func(t *testing.T) {
			d, h := held(t)
			b := unattended(t, d, now.dir, now.judge, script.New(script.Text("done")))
			err := b.Answer(t.Context(), verdictOn(h, event.Approved))
			if !errors.As(err, new(*approval.MisfitError)) || !strings.Contains(err.Error(), now.words) {
				t.Errorf("the verdict: %v", err)
			}
			time.Sleep(time.Minute)
			if s := b.state(); len(s.Turns) != 1 || len(s.HeldCalls()) != 1 || len(s.Waiting) != 0 {
				t.Errorf("%d turns, %d held calls, waiting %+v", len(s.Turns), len(s.HeldCalls()), s.Waiting)
			}
			if err := b.Answer(t.Context(), verdictOn(h, event.Denied)); err != nil {
				t.Errorf("a denial: %v", err)
			}
			b.end()
		})
	}
}

// The outcome of a held call is known: the call that ran for it, and the held call that follows it.
func TestHeldCallNamesWhatBecameOfIt(t *testing.T) {
	bubble(t, "again", func(t *testing.T) {
		d, h := held(t)
		b := host(t, d, "/work", reasoned{"b"}, script.New())
		if err := b.Answer(t.Context(), verdictOn(h, event.Approved)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		b = host(t, b.end(), "/work", reasoned{"b"}, script.New(script.Text("done")))
		defer b.end()
		s := b.state()
		next := s.HeldCalls()[0]
		if was, _ := s.HeldCall(h.ID); was.Next != next.ID || was.Run != next.Item || was.Run.Started {
			t.Errorf("the first: %+v", was)
		}
		if err := b.Answer(t.Context(), verdictOn(next, event.Approved)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if was, _ := b.state().HeldCall(next.ID); was.Next != "" || was.Run == nil || !was.Run.Started {
			t.Errorf("the second: %+v", was)
		}
	})
}

// A denial starts no turn: the model receives it with the next input.
func TestHeldCallDeniedLater(t *testing.T) {
	bubble(t, "denied", func(t *testing.T) {
		d, h := held(t)
		m := script.New(script.Text("done"))
		b := host(t, d, "/work", reasoned{"a"}, m)
		defer b.end()
		if err := b.Answer(t.Context(), verdictOn(h, event.ApprovedSession)); err == nil {
			t.Error("it can be approved for a session that has ended")
		}
		if err := b.Answer(t.Context(), verdictOn(h, event.Denied)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if s := b.state(); len(s.Turns) != 1 || len(s.HeldCalls()) != 0 || len(s.Waiting) != 1 || !s.Waiting[0].Held {
			t.Fatalf("%d turns, waiting: %+v", len(s.Turns), s.Waiting)
		}
		b.submit("next", "")
		time.Sleep(time.Minute)
		items := m.Requests()[0].Input
		text := items[len(items)-2].Text
		if !strings.Contains(text, "do not allow") || !strings.Contains(text, "words") {
			t.Errorf("the model receives %q", text)
		}
	})
}

// The user who ends a turn ends its question.
func TestInterruptHoldsNoCall(t *testing.T) {
	bubble(t, "interrupted", func(t *testing.T) {
		b := host(t, &disk{}, "/work", reasoned{"a"}, script.New(script.Turn(script.Call("look", `{"a":1}`))))
		defer b.end()
		b.submit("go", "")
		time.Sleep(time.Second)
		if _, err := b.Interrupt(t.Context(), session.Request{By: "user"}); err != nil {
			t.Fatal(err)
		}
		if list := b.state().HeldCalls(); len(list) > 0 {
			t.Errorf("held: %+v", list)
		}
	})
}

// A call that a person cancelled is not held, whatever ends its host later.
func TestCancelledCallIsNotHeld(t *testing.T) {
	bubble(t, "cancelled", func(t *testing.T) {
		calls := script.Turn(script.Call("look", `{"a":1}`), script.Call("look", `{"a":2}`))
		b := host(t, &disk{}, "/work", reasoned{"a"}, script.New(calls))
		b.submit("go", "")
		synctest.Wait()
		if !b.Cancel(b.state().Turns[0].Items[0].ID, "user") {
			t.Fatal("the call did not run")
		}
		synctest.Wait()
		_, state := b.end().reopen(t)
		if list := state.HeldCalls(); len(list) != 1 || list[0].Item.Content().Arguments != `{"a":2}` {
			t.Errorf("held: %+v", list)
		}
	})
}

// A copy of a session has the verdicts of its original: calls that ran there are not held.
func TestCopyKeepsVerdicts(t *testing.T) {
	bubble(t, "copied", func(t *testing.T) {
		d, h := held(t)
		b := host(t, d, "/work", reasoned{"a"}, script.New(script.Text("done")))
		if err := b.Answer(t.Context(), verdictOn(h, event.Approved)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		state := event.State{Session: "copy"}
		for _, e := range b.end().events {
			e.Session = "copy"
			var err error
			if state, err = event.Fold(state, e); err != nil {
				t.Fatal(err)
			}
		}
		if list := state.HeldCalls(); len(list) > 0 {
			t.Errorf("held in the copy: %+v", list)
		}
	})
}

// Approvals that must wait for the next input start no turn; then one turn runs all their calls.
func TestHeldCallsRunWithTheNextInput(t *testing.T) {
	bubble(t, "next", func(t *testing.T) {
		b := host(t, heldTwice(t), "/work", reasoned{"a"}, script.New(script.Text("done")))
		defer b.end()
		for _, h := range b.state().HeldCalls() {
			in := run.Input{Hold: true, By: "user", HeldCall: &event.HeldVerdict{Call: h.ID, Verdict: event.Approved}}
			if _, err := b.Submit(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if s := b.state(); len(s.Turns) != 1 || len(s.Waiting) != 2 || len(s.HeldCalls()) != 0 {
			t.Fatalf("%d turns, waiting: %+v", len(s.Turns), s.Waiting)
		}
		b.submit("next", "")
		time.Sleep(time.Minute)
		turns := b.state().Turns
		if last := turns[len(turns)-1]; len(turns) != 2 || last.Cause.Outcome != event.Completed ||
			!last.Items[0].Started || !last.Items[1].Started {
			t.Errorf("the last turn: %+v", last)
		}
	})
}

// A process that ends with its turn starts no other one. A held call that is approved there
// keeps waiting, and can be approved in the next process; other inputs are held (C19).
func TestLastInputIsFollowedByNoTurn(t *testing.T) {
	bubble(t, "last", func(t *testing.T) {
		b := host(t, heldTwice(t), "/work", reasoned{"a"}, script.New().Otherwise(script.Text("done")))
		calls := b.state().HeldCalls()
		verdict := &event.HeldVerdict{Call: calls[0].ID, Verdict: event.Approved}
		if _, err := b.Submit(t.Context(), run.Input{Last: true, By: "user", HeldCall: verdict}); err != nil {
			t.Fatal(err)
		}
		var misfit *approval.MisfitError
		if err := b.Answer(t.Context(), verdictOn(calls[1], event.Approved)); !errors.As(err, &misfit) {
			t.Errorf("the second approval: %v", err)
		}
		var answered *approval.AnsweredError
		if err := b.Answer(t.Context(), verdictOn(calls[0], event.Approved)); !errors.As(err, &answered) {
			t.Errorf("the first approval again: %v", err)
		}
		b.submit("during", "")
		time.Sleep(time.Minute)
		b.submit("after", "")
		time.Sleep(time.Minute)
		s := b.state()
		if len(s.Turns) != 2 || len(s.Waiting) != 2 || !s.Waiting[0].Held || !s.Waiting[1].Held ||
			len(s.HeldCalls()) != 1 {
			t.Fatalf("%d turns, waiting: %+v", len(s.Turns), s.Waiting)
		}
		if o, err := b.Compact(t.Context(), "user"); o.Turn != "" || err != nil {
			t.Errorf("a compaction: %+v, %v", o, err)
		}
		b = host(t, b.end(), "/work", reasoned{"a"}, script.New(script.Text("done")))
		defer b.end()
		if err := b.Answer(t.Context(), verdictOn(calls[1], event.Approved)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if s := b.state(); len(s.Turns) != 3 || !s.Turns[2].Items[0].Started {
			t.Errorf("%d turns", len(s.Turns))
		}
	})
}

// An input that another client sent before the last one runs before it.
func TestLastInputRunsAfterEarlierInputs(t *testing.T) {
	bubble(t, "earlier", func(t *testing.T) {
		b := fresh(t, script.New().Otherwise(script.Text("done")))
		b.submit("first", "")
		if _, err := b.Submit(t.Context(), run.Input{Text: "last", Last: true, By: "user"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		b.submit("after", "")
		time.Sleep(time.Minute)
		b.want([]string{"first: completed", "last: completed"}, "after held")
	})
}

// An approval that is held, since the turn before it was interrupted, runs its call when it is
// given again; then it has run.
func TestHeldApprovalRunsWhenGivenAgain(t *testing.T) {
	bubble(t, "again", func(t *testing.T) {
		d, h := held(t)
		m := script.New(script.Turn(script.Call("look", `{"a":3}`))).Otherwise(script.Text("done"))
		b := host(t, d, "/work", reasoned{"a"}, m)
		defer b.end()
		b.submit("go", "") // and waits for an approval
		synctest.Wait()
		if err := b.Answer(t.Context(), verdictOn(h, event.Approved)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Interrupt(t.Context(), session.Request{By: "user"}); err != nil {
			t.Fatal(err)
		}
		if s := b.state(); len(s.Waiting) != 1 || !s.Waiting[0].Held {
			t.Fatalf("waiting: %+v", s.Waiting)
		}
		if err := b.Answer(t.Context(), verdictOn(h, event.Approved)); err != nil {
			t.Fatal(err)
		}
		var late *approval.AnsweredError
		if err := b.Answer(t.Context(), verdictOn(h, event.Approved)); !errors.As(err, &late) {
			t.Errorf("a third approval: %v", err)
		}
		time.Sleep(time.Minute)
		turns := b.state().Turns
		last := turns[len(turns)-1]
		if len(turns) != 3 || last.Cause.Outcome != event.Completed || len(last.Items) == 0 || !last.Items[0].Started {
			t.Fatalf("%d turns; the last: %+v", len(turns), last)
		}
		if err := b.Answer(t.Context(), verdictOn(h, event.Approved)); !errors.As(err, &late) {
			t.Errorf("an approval of what ran: %v", err)
		}
	})
}

// An approval that is held can be given again with another permission, or be withdrawn.
func TestHeldApprovalIsReplaced(t *testing.T) {
	for _, verdict := range []event.Verdict{event.Approved, event.Denied} {
		bubble(t, string(verdict), func(t *testing.T) {
			d, h := heldPlan(t)
			b := host(t, d, "/work", reasoned{"a"}, script.New().Otherwise(script.Text("done")))
			defer b.end()
			first := run.Input{Hold: true, HeldCall: &event.HeldVerdict{
				Call: h.ID, Verdict: event.Approved, Permission: "allow",
			}}
			if _, err := b.Submit(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			answer := approval.Answer{Approval: h.ID, Verdict: verdict, By: "user"}
			if verdict == event.Approved {
				answer.Permission = "loose"
				if err := b.Answer(t.Context(), answer); !errors.As(err, new(*approval.MisfitError)) {
					t.Errorf("an unknown permission: %v", err)
				}
				answer.Permission = "ask"
			}
			if err := b.Answer(t.Context(), answer); err != nil {
				t.Fatal(err)
			}
			if verdict == event.Denied {
				b.submit("go on", "")
			}
			synctest.Wait()
			turns := b.state().Turns
			last := turns[len(turns)-1]
			in := last.Inputs[0].HeldCall
			if len(turns) != 2 || in == nil || in.Verdict != verdict || in.Permission != answer.Permission {
				t.Fatalf("%d turns; the last: %+v", len(turns), last.Inputs)
			}
		})
	}
}

// The receipt of a verdict has the number of the event that accepted it, also if it replaces another one.
func TestReceiptOfReplacingVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, h := held(t)
		b := host(t, d, "/work", reasoned{"a"}, script.New())
		var receipts []session.Receipt
		for _, in := range []run.Input{
			{Hold: true, HeldCall: &event.HeldVerdict{Call: h.ID, Verdict: event.Approved}},
			{HeldCall: &event.HeldVerdict{Call: h.ID, Verdict: event.Denied}},
		} {
			r, err := b.Submit(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			receipts = append(receipts, r)
		}
		events := b.end().events
		for _, r := range receipts {
			n := slices.IndexFunc(events, func(e event.Event) bool { return e.Seq == r.Seq })
			if n < 0 {
				t.Fatalf("no event %d", r.Seq)
			}
			if got, is := events[n].Data.(event.InputAccepted); !is || got.Input != r.Input {
				t.Errorf("%+v names %+v", r, events[n].Data)
			}
		}
	})
}

// heldPlan is a session whose host ended while a plan waited, and its call.
func heldPlan(t *testing.T) (*disk, event.HeldCall) {
	t.Helper()
	b := host(t, &disk{}, "/work", reasoned{"a"}, script.New(script.Turn(script.Call("propose_plan", `{"plan":"Do."}`))))
	b.submit("go", "")
	synctest.Wait()
	d := b.end()
	_, state := d.reopen(t)
	list := state.HeldCalls()
	if len(list) != 1 {
		t.Fatalf("held: %+v", list)
	}
	return d, list[0]
}

// The host dies around the start of an approved call. The approval can be given again until the
// call has started, and the call starts once.
func TestCrashAfterApprovalRunsCallOnce(t *testing.T) {
	bubble(t, "crash", func(t *testing.T) {
		d, h := held(t)
		b := host(t, d, "/work", reasoned{"a"}, script.New(script.Text("done")))
		if err := b.Answer(t.Context(), verdictOn(h, event.Approved)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		whole := b.end().events
		first := slices.IndexFunc(whole, func(e event.Event) bool {
			in, ok := e.Data.(event.InputAccepted)
			return ok && in.HeldCall != nil
		})
		for n := first + 1; n < len(whole); n++ {
			m := script.New().Otherwise(script.Text("done"))
			b := host(t, &disk{events: slices.Clone(whole[:n])}, "/work", reasoned{"a"}, m)
			var answered *approval.AnsweredError
			started := slices.ContainsFunc(whole[:n], func(e event.Event) bool {
				return e.Kind() == event.KindCallStarted && e.Seq > whole[first].Seq
			})
			err := b.Answer(t.Context(), verdictOn(h, event.Approved))
			if started != errors.As(err, &answered) || err != nil && !started {
				t.Errorf("after event %d: %v", n, err)
			}
			time.Sleep(time.Minute)
			ran := 0
			for _, turn := range b.state().Turns[1:] {
				for _, i := range turn.Items {
					if i.Type() == event.ToolCall && i.Started {
						ran++
					}
				}
			}
			if ran != 1 {
				t.Errorf("after event %d: the call started %d times", n, ran)
			}
			b.end()
		}
	})
}
