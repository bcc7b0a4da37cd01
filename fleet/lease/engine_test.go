package lease_test

import (
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
		return fleettest.EngineUnderTest{Engine: p.Engine, Kill: func(worker string) {
			if _, err := p.Pool.Exec(t.Context(), `UPDATE settle_fleet.worker SET until = now() - interval '1 s' WHERE id = $1`, worker); err != nil {
				t.Fatal(err)
			}
		}}
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
