package lease_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/lease"
)

// crowd submits so many tasks of a tenant.
func crowd(t *testing.T, p *fleettest.Place, tenant string, n int) {
	t.Helper()
	tasks := make([]fleet.Task, n)
	for i := range tasks {
		tasks[i] = fleet.Task{Session: fmt.Sprintf("%s%d", tenant, i), Prompt: "work", Tenant: tenant}
	}
	p.Submit(t, tasks...)
}

// take has a worker take up to room units, and counts them by tenant.
func take(t *testing.T, p *fleettest.Place, room int) (count map[string]int, taken []fleet.Attempt) {
	t.Helper()
	o, err := p.Engine.Heartbeat(t.Context(), fleet.Beat{Worker: "w", Lease: time.Hour, Room: room})
	if err != nil {
		t.Fatal(err)
	}
	count = map[string]int{}
	for _, a := range o.Begin {
		count[a.Task.Tenant]++
	}
	return count, o.Begin
}

// end ends units.
func end(t *testing.T, p *fleettest.Place, attempts []fleet.Attempt) {
	t.Helper()
	for _, a := range attempts {
		if err := p.Engine.Complete(t.Context(), a, &fleet.Result{Outcome: "completed"}); err != nil {
			t.Fatal(err)
		}
	}
}

// slots makes a limit of a tenant's slots.
func slots(n int) *int { return &n }

// TestATenantWithManyTasksStarvesNone: one that comes later with few is served along
// with it, also where there is one slot in all.
func TestATenantWithManyTasksStarvesNone(t *testing.T) {
	for _, room := range []int{1, 4} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			p := fleettest.New(t, &server)
			crowd(t, p, "many", 1000)
			for range 40 / room {
				_, taken := take(t, p, room)
				end(t, p, taken)
			}
			crowd(t, p, "few", 10)
			few := 0
			for taken := 0; taken < 22; {
				count, attempts := take(t, p, room)
				end(t, p, attempts)
				few += count["few"]
				taken += len(attempts)
			}
			if few != 10 {
				t.Errorf("of 22 units that began, %d were those of the tenant with 10", few)
			}
		})
	}
}

// TestWeights: units begin in the proportion of the weights, and what a tenant did
// not use while it had nothing to do, it has not saved up.
func TestWeights(t *testing.T) {
	p := fleettest.New(t, &server)
	for name, weight := range map[string]float64{"a": 3, "b": 1} {
		if err := p.Engine.SetTenant(t.Context(), lease.Tenant{Name: name, Weight: weight}); err != nil {
			t.Fatal(err)
		}
	}
	crowd(t, p, "b", 300)
	for range 100 {
		take(t, p, 1)
	}
	crowd(t, p, "a", 200)
	sum := map[string]int{}
	for n := range 20 {
		count, _ := take(t, p, 4)
		sum["a"] += count["a"]
		sum["b"] += count["b"]
		if got := sum["a"] - 3*sum["b"]; got < -4 || got > 4 {
			t.Errorf("after %d: %v", 4*n+4, sum)
		}
	}
}

// TestSlots: no more of a tenant's units run than it has slots, whatever is free, and
// those of others do.
func TestSlots(t *testing.T) {
	p := fleettest.New(t, &server)
	if err := p.Engine.SetTenant(t.Context(), lease.Tenant{Name: "a", Weight: 5, Slots: slots(2)}); err != nil {
		t.Fatal(err)
	}
	crowd(t, p, "a", 10)
	crowd(t, p, "b", 10)
	count, first := take(t, p, 8)
	if count["a"] != 2 || count["b"] != 6 {
		t.Fatalf("%v", count)
	}
	if count, _ := take(t, p, 8); count["a"] != 0 || count["b"] != 4 {
		t.Fatalf("%v", count)
	}
	end(t, p, first)
	if count, _ := take(t, p, 8); count["a"] != 2 {
		t.Errorf("after two have ended: %v", count)
	}
	list, err := p.Engine.Tenants(t.Context())
	if err != nil || len(list) != 3 || list[0].Name != "a" || list[0].Running != 2 || list[0].Queued != 6 || *list[0].Slots != 2 || list[2].Name != "default" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := p.Engine.SetTenant(t.Context(), lease.Tenant{Name: "a"}); err == nil {
		t.Error("a weight of zero")
	}
}

// TestSlotsHoldAmongWorkers that take units at the same time.
func TestSlotsHoldAmongWorkers(t *testing.T) {
	p := fleettest.New(t, &server)
	if err := p.Engine.SetTenant(t.Context(), lease.Tenant{Name: "a", Weight: 1, Slots: slots(3)}); err != nil {
		t.Fatal(err)
	}
	crowd(t, p, "a", 100)
	const workers = 6
	errs := make(chan error, workers)
	for n := range workers {
		go func() { // ends with its beats, which are waited for
			for range 5 {
				if _, err := p.Engine.Heartbeat(t.Context(), fleet.Beat{Worker: fmt.Sprint("w", n), Lease: time.Hour, Room: 2}); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range workers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if c, err := p.Engine.Count(t.Context(), nil); err != nil || c.Running != 3 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestWeightsHaveBounds: one that is none would end the shares of all.
func TestWeightsHaveBounds(t *testing.T) {
	p := fleettest.New(t, &server)
	for _, weight := range []float64{0, -1, 1e-320, math.Inf(1), math.NaN()} {
		if err := p.Engine.SetTenant(t.Context(), lease.Tenant{Name: "a", Weight: weight}); err == nil {
			t.Errorf("a weight of %v is taken", weight)
		}
	}
}
