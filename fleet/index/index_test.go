package index_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/index"
)

// done is a result without a log.
func done() *fleet.Result { return &fleet.Result{Outcome: event.Completed, Answer: "yes"} }

func claim(t *testing.T, p *fleettest.Place, taskID, worker string) *fleet.Attempt {
	t.Helper()
	a, err := p.Index.Claim(t.Context(), taskID, worker)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestClaimKeepsTheOrder of a session's tasks (C3), and says which one is next.
func TestClaimKeepsTheOrder(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(
		t,
		fleet.Task{Session: "s", Input: "b", Prompt: "work", Tenant: "acme"},
		fleet.Task{Session: "s", Input: "a", Prompt: "work", Tenant: "acme", Batch: "x", Model: "m/n"},
	)
	if a := claim(t, p, "s/a", "w"); a != nil {
		t.Fatalf("the second task is taken: %+v", a)
	}
	s, err := p.Index.Standing(t.Context(), "s/a")
	if err != nil || !s.Known || s.State != fleet.Queued || s.Next == nil || s.Next.TaskID != "s/b" ||
		s.Next.Tenant != "acme" {
		t.Errorf("%+v, %v", s, err)
	}
	a := claim(t, p, "s/b", "w")
	if a == nil || a.Number != 1 || a.Epoch != 1 || a.Rescued || a.Lost != 0 {
		t.Fatalf("%+v", a)
	}
	if err := p.Index.End(t.Context(), *a, done()); err != nil {
		t.Fatal(err)
	}
	s, err = p.Index.Standing(t.Context(), "s/b")
	if want := (index.Ref{TaskID: "s/a", Tenant: "acme", Weight: 1, Batch: "x", Model: "m/n"}); err != nil ||
		s.State != fleet.Ended ||
		s.Outcome != event.Completed ||
		s.Next == nil ||
		*s.Next != want {
		t.Errorf("%+v, %+v, %v", s, s.Next, err)
	}
	if s, err := p.Index.Standing(t.Context(), "s/none"); err != nil || s.Known || s.Next == nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestAClaimFencesTheWorkerBefore: its result does not count, and neither does one that the log
// does not have.
func TestAClaimFencesTheWorkerBefore(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
	first, second := claim(t, p, "s/1", "w1"), claim(t, p, "s/1", "w2")
	if second.Epoch != first.Epoch+1 || second.Number != 2 || second.Lost != 1 || !second.Rescued {
		t.Errorf("%+v after %+v", second, first)
	}
	for _, r := range []*fleet.Result{done(), nil} {
		if err := p.Index.End(t.Context(), *first, r); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("what the first worker says: %v", err)
		}
	}
	early := *done()
	early.Seq = 17
	if err := p.Index.End(t.Context(), *second, &early); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("a result that the log does not have: %v", err)
	}
	if err := p.Index.End(t.Context(), *second, nil); err != nil {
		t.Fatal(err)
	}
	if third := claim(t, p, "s/1", "w1"); third.Number != 3 || third.Lost != 1 || third.Rescued ||
		third.Epoch != first.Epoch+2 {
		t.Errorf("after it was given back: %+v", third)
	}
}

// TestRecover fences all workers, and puts what has not ended into the outbox.
func TestRecover(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(
		t,
		fleet.Task{Session: "a", Prompt: "work"},
		fleet.Task{Session: "b", Prompt: "work"},
		fleet.Task{Session: "c", Prompt: "work"},
	)
	if err := p.Index.End(t.Context(), *claim(t, p, "a/1", "w"), done()); err != nil {
		t.Fatal(err)
	}
	runs := claim(t, p, "b/1", "w")
	taken, err := p.Index.Take(t.Context(), []string{"b/1", "c/1"})
	if err == nil {
		err = p.Index.MarkSent(t.Context(), taken)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := p.Index.Recover(t.Context()); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if err := p.Index.End(t.Context(), *runs, done()); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("the worker of before ends its task: %v", err)
	}
	parcels, err := p.Index.TakeDue(t.Context(), 10)
	if err != nil || len(parcels) != 2 {
		t.Errorf("%+v, %v", parcels, err)
	}
	if a := claim(t, p, "b/1", "w"); a == nil || a.Epoch <= runs.Epoch+1000 {
		t.Errorf("%+v", a)
	}
	// Sessions that the restored database does not know had epochs as well.
	for n, last := 0, runs.Epoch; n < 2; n++ {
		session := fmt.Sprint("forgotten", n)
		p.Submit(t, fleet.Task{Session: session, Prompt: "work"})
		a := claim(t, p, session+"/1", "w")
		if a == nil || a.Epoch <= last+1000 {
			t.Errorf("after %d: %+v", last, a)
		}
		last = a.Epoch
		if _, err := p.Pool.Exec(t.Context(), `DELETE FROM settle_fleet.session WHERE id = $1`, session); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Index.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if newest, err := p.Index.LastChange(t.Context()); err != nil || newest.IsZero() {
		t.Error(newest, err)
	}
}

// TestOutbox: each task is taken by one sender, until that has had its time.
func TestOutbox(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(
		t,
		fleet.Task{Session: "s", Input: "1", Prompt: "work"},
		fleet.Task{Session: "s", Input: "2", Prompt: "work"},
		fleet.Task{Session: "t", Prompt: "work"},
	)
	if parcels, err := p.Index.TakeDue(t.Context(), 10); err != nil || len(parcels) > 0 {
		t.Errorf("who submits them has no time: %+v, %v", parcels, err)
	}
	parcels, err := p.Index.Take(t.Context(), []string{"s/1", "s/2"})
	if err != nil || len(parcels) != 1 || parcels[0].Session != "s" || parcels[0].Queue != "settle" ||
		len(parcels[0].Refs) != 2 ||
		parcels[0].Refs[0].TaskID != "s/1" {
		t.Errorf("%+v, %v", parcels, err)
	}
	if err := p.Index.MarkSent(t.Context(), parcels); err != nil {
		t.Fatal(err)
	}
	if c, err := p.Index.Tally(t.Context(), index.Filter{}); err != nil || c.Outbox != 1 || c.Queued != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := p.Pool.Exec(t.Context(), `UPDATE settle_fleet.unit SET outbox = now() WHERE outbox IS NOT NULL`); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if parcels, err := p.Index.TakeDue(t.Context(), 10); err != nil || len(parcels) != want {
			t.Errorf("%+v, %v", parcels, err)
		}
	}
}

// TestCancel ends what no worker has had, and notes it of what one has.
func TestCancel(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t, fleet.Task{Session: "a", Prompt: "work"}, fleet.Task{Session: "b", Prompt: "work"})
	claim(t, p, "b/1", "w")
	if c, err := p.Index.Cancel(t.Context(), "a/1", "ada"); err != nil || !c.Open || c.Running {
		t.Errorf("%+v, %v", c, err)
	}
	if u, err := p.Index.State(t.Context(), "a/1"); err != nil || u.State != fleet.Ended ||
		u.Result.Reason != event.Interrupted ||
		u.Cancel != "ada" {
		t.Errorf("%+v, %v", u, err)
	}
	for range 2 {
		if c, err := p.Index.Cancel(t.Context(), "b/1", "ada"); err != nil || !c.Open || !c.Running || c.By != "ada" ||
			c.Queue != "settle" {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if by, err := p.Index.Requesters(t.Context(), []string{"b/1", "c/1"}); err != nil || len(by) != 1 ||
		by["b/1"] != "ada" {
		t.Errorf("%v, %v", by, err)
	}
	if c, err := p.Index.Cancel(t.Context(), "a/1", "bob"); err != nil || c.Open {
		t.Errorf("one that has ended: %+v, %v", c, err)
	}
	if _, err := p.Index.Cancel(t.Context(), "none/1", "bob"); !errors.As(err, new(*fleet.UnknownError)) {
		t.Errorf("%v", err)
	}
}

// TestList finds tasks by what they are, page by page.
func TestList(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t,
		fleet.Task{Session: "a", Prompt: "work", Batch: "x", Labels: map[string]string{"n": "1"}},
		fleet.Task{Session: "b", Prompt: "work", Batch: "y", Tenant: "acme", Labels: map[string]string{"n": "1"}},
		fleet.Task{Session: "c", Prompt: "work", Batch: "x", Tenant: "acme"})
	r := done()
	r.Summary.Usage.Input, r.Summary.Usage.Output, r.Summary.Cost = 40, 2, 0.5
	if err := p.Index.End(t.Context(), *claim(t, p, "a/1", "w"), r); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		filter index.Filter
		want   string
	}{
		{index.Filter{}, "a b c"},
		{index.Filter{Batch: "x"}, "a c"},
		{index.Filter{Tenant: "acme"}, "b c"},
		{index.Filter{Tenant: "acme", Batch: "x"}, "c"},
		{index.Filter{State: fleet.Ended}, "a"},
		{index.Filter{State: fleet.Ended, Since: time.Now().Add(-time.Hour)}, "a"},
		{index.Filter{Since: time.Now().Add(time.Hour)}, ""},
		{index.Filter{Labels: map[string]string{"n": "1"}}, "a b"},
	} {
		var found []string
		for c.filter.Limit = 1; ; {
			tasks, last, err := p.Index.List(t.Context(), c.filter)
			if err != nil {
				t.Fatal(err)
			}
			if len(tasks) == 0 {
				break
			}
			c.filter.After = last
			found = append(found, tasks[0].Task.Session)
		}
		if got := strings.Join(found, " "); got != c.want {
			t.Errorf("%+v: %s", c.filter, got)
		}
	}
	if c, err := p.Index.Tally(t.Context(), index.Filter{Batch: "x"}); err != nil || c.Queued != 1 || c.Ended != 1 ||
		c.Completed != 1 ||
		c.Tokens != 42 ||
		c.USD != 0.5 {
		t.Errorf("%+v, %v", c, err)
	}
	if n, err := p.Index.Open(t.Context(), index.Filter{Tenant: "acme"}); err != nil || n != 2 {
		t.Errorf("%d, %v", n, err)
	}
}

// TestAnEarlierTaskThatIsSeenLater waits for the later one of its session, and stops no
// worker meanwhile: of two submissions at the same time, the second may be stored first.
func TestAnEarlierTaskThatIsSeenLater(t *testing.T) {
	p := fleettest.New(t, &server)
	tx, err := p.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `INSERT INTO settle_fleet.unit (id, session, input, task) VALUES ('s1/early', 's1', 'early', '{"session":"s1","input":"early","prompt":"work"}')`); err != nil {
		t.Fatal(err)
	}
	p.Submit(t, fleet.Task{Session: "s1", Input: "late", Prompt: "work"})
	late := claim(t, p, "s1/late", "w")
	if late == nil {
		t.Fatal("the later task waits for one that nobody sees")
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if early := claim(t, p, "s1/early", "w"); early != nil {
		t.Errorf("two of a session run (C3): %+v", early)
	}
	if s, err := p.Index.Standing(t.Context(), "s1/early"); err != nil || s.Next == nil || s.Next.TaskID != "s1/late" {
		t.Errorf("%+v, %v", s, err)
	}
	late = claim(t, p, "s1/late", "w2") // the first worker has died
	if err := p.Index.End(t.Context(), *late, done()); err != nil {
		t.Fatal(err)
	}
	if early := claim(t, p, "s1/early", "w"); early == nil {
		t.Error("the earlier task does not run")
	}
}

// TestAResultWithANUL is stored, and ends its task: jsonb has none.
func TestAResultWithANUL(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t, fleet.Task{Session: "a", Prompt: "work"}, fleet.Task{Session: "b", Prompt: "work"})
	for session, answer := range map[string]string{"a": "a\x00b\x00", "b": `a\u0000b\\u0000`} {
		a := claim(t, p, session+"/1", "w")
		if err := p.Index.End(t.Context(), *a, &fleet.Result{Outcome: "failed", Answer: answer, Message: "\x00"}); err != nil {
			t.Fatalf("%q: %v", answer, err)
		}
		u, err := p.Index.State(t.Context(), a.TaskID)
		if want := strings.ReplaceAll(answer, "\x00", "\ufffd"); err != nil || u.State != fleet.Ended ||
			u.Result.Answer != want ||
			u.Result.Message != "\ufffd" {
			t.Errorf("%q: %+v, %v", answer, u.Result, err)
		}
	}
}

// TestTenants have weights that Temporal takes.
func TestTenants(t *testing.T) {
	p := fleettest.New(t, &server)
	if err := p.Index.SetTenant(t.Context(), index.Tenant{Name: "acme", Weight: 3}); err != nil {
		t.Fatal(err)
	}
	if err := p.Index.SetTenant(t.Context(), index.Tenant{Name: "acme", Weight: 1e6}); err == nil {
		t.Error("a weight that is too large")
	}
	p.Submit(t, fleet.Task{Session: "a", Prompt: "work", Tenant: "acme"})
	all, err := p.Index.Tenants(t.Context())
	if err != nil || len(all) != 2 || all[0] != (index.Tenant{Name: "acme", Weight: 3, Queued: 1}) {
		t.Errorf("%+v, %v", all, err)
	}
	if parcels, err := p.Index.Take(t.Context(), []string{"a/1"}); err != nil || len(parcels) != 1 ||
		parcels[0].Refs[0].Weight != 3 {
		t.Errorf("%+v, %v", parcels, err)
	}
}
