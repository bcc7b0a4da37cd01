package lease_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/lease"
)

func TestEngine(t *testing.T) {
	fleettest.RunEngine(t, func(t *testing.T) fleettest.EngineUnderTest {
		t.Helper()
		p := fleettest.New(t, &server)
		return fleettest.EngineUnderTest{Engine: p.Engine, Kill: func(worker string) { p.Kill(t, worker) }}
	})
}

// TestAUnitThatStandsStill goes to another worker, though its own is alive.
func TestAUnitThatStandsStill(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t, fleet.Task{Session: "s1", Prompt: "work"})
	hour := func(worker string, room int) fleet.Orders {
		o, err := p.Engine.Heartbeat(t.Context(), fleet.Beat{Worker: worker, Lease: time.Hour, Room: room})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := hour("w1", 1); len(o.Begin) != 1 {
		t.Fatalf("%+v", o)
	}
	if o := hour("w2", 1); len(o.Begin) != 0 {
		t.Fatalf("%+v", o)
	}
	if _, err := p.Pool.Exec(t.Context(), `UPDATE settle_fleet.session SET updated = now() - interval '3 h'; UPDATE settle_fleet.unit SET taken = now() - interval '3 h'`); err != nil {
		t.Fatal(err)
	}
	if o := hour("w2", 1); len(o.Begin) != 1 || o.Begin[0].Lost != 1 {
		t.Errorf("%+v", o)
	}
	if o := hour("w1", 1); len(o.Holds) > 0 || len(o.Begin) > 0 {
		t.Errorf("%+v", o)
	}
}

// TestList finds units by state and label, page by page.
func TestList(t *testing.T) {
	p := fleettest.New(t, &server)
	for _, label := range []string{"a", "b", "a"} {
		p.Submit(t, fleet.Task{Prompt: "work", Labels: map[string]string{"batch": label, "n": "1"}})
	}
	f := lease.Filter{Labels: map[string]string{"batch": "a"}, Limit: 1}
	for n, want := range []int{1, 1, 0} {
		units, last, err := p.Engine.List(t.Context(), f)
		if err != nil || len(units) != want {
			t.Fatalf("page %d: %+v, %v", n, units, err)
		}
		f.After = last
	}
	c, err := p.Engine.Count(t.Context(), map[string]string{"batch": "a"})
	if err != nil || c.Queued != 2 || c.Running+c.Ended != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestAnEarlierUnitThatIsSeenLater waits for the later one of its session, and stops no
// worker meanwhile: of two submissions at the same time, the second may be stored first.
func TestAnEarlierUnitThatIsSeenLater(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t, fleet.Task{Session: "s1", Input: "0", Prompt: "work"})
	tx, err := p.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `INSERT INTO settle_fleet.unit (id, session, input, task) VALUES ('s1/early', 's1', 'early', '{"session":"s1","input":"early","prompt":"work"}')`); err != nil {
		t.Fatal(err)
	}
	p.Submit(t, fleet.Task{Session: "s1", Input: "late", Prompt: "work"})
	_, first := take(t, p, 1)
	end(t, p, first)
	_, late := take(t, p, 1)
	if len(late) != 1 || late[0].Unit != "s1/late" {
		t.Fatalf("%+v", late)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, early := take(t, p, 1); len(early) > 0 {
		t.Errorf("two of a session run (C3): %+v", early)
	}
	p.Kill(t, "w")
	o, err := p.Engine.Heartbeat(t.Context(), fleet.Beat{Worker: "w2", Lease: time.Hour, Room: 2})
	if err != nil || len(o.Begin) != 1 || o.Begin[0].Unit != "s1/late" {
		t.Fatalf("after the worker's death: %+v, %v", o.Begin, err)
	}
	end(t, p, o.Begin)
	if _, early := take(t, p, 1); len(early) != 1 || early[0].Unit != "s1/early" {
		t.Errorf("%+v", early)
	}
}

// TestAResultWithANUL is stored, and ends its unit: jsonb has none.
func TestAResultWithANUL(t *testing.T) {
	p := fleettest.New(t, &server)
	crowd(t, p, "some", 2)
	_, taken := take(t, p, 2)
	for n, answer := range []string{"a\x00b\x00", `a\u0000b\\u0000`} {
		if err := p.Engine.Complete(t.Context(), taken[n], &fleet.Result{Outcome: "failed", Answer: answer, Message: "\x00"}); err != nil {
			t.Fatalf("%q: %v", answer, err)
		}
		u, err := p.Engine.State(t.Context(), taken[n].Unit)
		if want := strings.ReplaceAll(answer, "\x00", "\ufffd"); err != nil || u.State != fleet.Ended || u.Result.Answer != want || u.Result.Message != "\ufffd" {
			t.Errorf("%q: %+v, %v", answer, u.Result, err)
		}
	}
}
