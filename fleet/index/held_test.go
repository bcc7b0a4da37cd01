package index_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/index"
)

// hold has a task run and wait for a person.
func hold(t *testing.T, p *fleettest.Place, taskID string, calls ...string) {
	t.Helper()
	result := &fleet.Result{Outcome: fleet.OutcomeHeld, Turns: 1}
	for _, id := range calls {
		result.Held = append(result.Held, fleet.HeldCall{ID: id, Tool: "work"})
	}
	if err := p.Index.End(t.Context(), *claim(t, p, taskID, "w"), result); err != nil {
		t.Fatal(err)
	}
}

func approved(call string) fleet.Verdict {
	return fleet.Verdict{Call: call, Verdict: event.Approved, By: "ada", At: time.Now()}
}

// TestLateSentKeepsTheVerdictInTheOutbox: a sender that took a task when it was submitted reports that after the task
// was held and answered. The verdict still has to be sent.
func TestLateSentKeepsTheVerdictInTheOutbox(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
	first, err := p.Index.Take(t.Context(), []string{"s/1"})
	if err != nil || len(first) != 1 {
		t.Fatal(first, err)
	}
	hold(t, p, "s/1", "c1")
	if queued, err := p.Index.Answer(t.Context(), "s/1", approved("c1")); !queued || err != nil {
		t.Fatal(queued, err)
	}
	if err := p.Index.MarkSent(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	secondTake, err := p.Index.Take(t.Context(), []string{"s/1"})
	if err != nil || len(secondTake) != 1 {
		t.Fatalf("the verdict is not sent: %+v, %v", secondTake, err)
	}
	if err := p.Index.MarkSent(t.Context(), secondTake); err != nil {
		t.Fatal(err)
	}
	if c, err := p.Index.Tally(t.Context(), index.Filter{}); err != nil || c.Outbox != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestVerdictDoesNotInterruptAnotherTask: a task whose turn was cut short continues before an earlier one that has
// its verdict, so that the turns of two tasks of a session do not mix.
func TestVerdictDoesNotInterruptAnotherTask(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(
		t,
		fleet.Task{Session: "s", Input: "1", Prompt: "work"},
		fleet.Task{Session: "s", Input: "2", Prompt: "work"},
	)
	hold(t, p, "s/1", "c1")
	second := claim(t, p, "s/2", "w")
	if queued, err := p.Index.Answer(t.Context(), "s/1", approved("c1")); !queued || err != nil {
		t.Fatal(queued, err)
	}
	drain := func(a *fleet.Attempt) {
		t.Helper()
		if err := p.Index.End(t.Context(), *a, nil); err != nil {
			t.Fatal(err)
		}
	}
	drain(second)
	if a, err := p.Index.Claim(t.Context(), "s/1", "w"); a != nil || err != nil {
		t.Fatalf("a task runs within another one's work: %+v, %v", a, err)
	}
	if s, err := p.Index.Standing(t.Context(), "s/1"); err != nil || s.Next == nil || s.Next.TaskID != "s/2" {
		t.Errorf("%+v, %v", s, err)
	}
	if err := p.Index.End(t.Context(), *claim(t, p, "s/2", "w"), done()); err != nil {
		t.Fatal(err)
	}
	p.Submit(t, fleet.Task{Session: "s", Input: "3", Prompt: "work"})
	drain(claim(t, p, "s/1", "w")) // with its verdict; now it is cut short itself
	if a := claim(t, p, "s/1", "w"); len(a.Verdicts) != 1 || a.Number != 3 {
		t.Errorf("%+v", a)
	}
}

// TestAnswerRefusesWhatNoTaskCanTake: a verdict that no session accepts would keep its task from ending.
func TestAnswerRefusesWhatNoTaskCanTake(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
	hold(t, p, "s/1", "c1")
	for _, v := range []fleet.Verdict{
		{Call: "c1"},
		{Call: "c1", Verdict: event.Expired},
		{Call: "c1", Verdict: event.ApprovedSession},
		{Call: "c1", Verdict: event.Denied, Message: strings.Repeat("x", 1<<20)},
	} {
		if queued, err := p.Index.Answer(t.Context(), "s/1", v); queued || err == nil {
			t.Errorf("%q is accepted, with a message of %d bytes", v.Verdict, len(v.Message))
		}
	}
	if queued, err := p.Index.Answer(t.Context(), "s/1", approved("c1")); !queued || err != nil {
		t.Error(queued, err)
	}
}

// TestLateVerdictAfterCancel finds the call, and says who cancelled its task. A verdict that was given before the
// cancellation stays.
func TestLateVerdictAfterCancel(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
	hold(t, p, "s/1", "c1", "c2")
	if queued, err := p.Index.Answer(t.Context(), "s/1", approved("c1")); queued || err != nil {
		t.Fatal(queued, err)
	}
	if c, err := p.Index.Cancel(t.Context(), "s/1", "bob"); !c.Open || err != nil {
		t.Fatal(c, err)
	}
	ids, err := p.Index.WithVerdict(t.Context(), "c2")
	if err != nil || len(ids) != 1 || ids[0].ID != "s/1" || ids[0].State != fleet.Ended {
		t.Fatalf("%+v, %v", ids, err)
	}
	for call, want := range map[string]string{
		"c1": "approved before by ada; nothing was run", "c2": "cancelled by bob; nothing was run",
	} {
		_, err := p.Index.Answer(t.Context(), "s/1", approved(call))
		if !errors.As(err, new(*index.AnsweredError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", call, err)
		}
	}
}
