package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/index"
)

// TestASchedule submits its task again and again, each time in a session of its own, until it is
// deleted. Temporal does not know the prompt (C15), and may forget the schedule.
func TestASchedule(t *testing.T) {
	p, e := newPlace(t)
	c := &crew{t: t, e: e}
	c.work(e, fleet.Work{Worker: "w", Slots: 2}, nil)
	s := index.Schedule{Name: "nightly", Every: time.Second, Task: fleet.Task{Prompt: "the prompt", Tenant: "acme"}}
	if err := e.Schedule(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := e.Schedule(t.Context(), s); err == nil || !strings.Contains(err.Error(), "delete it first") {
		t.Errorf("a second one of the name: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		counts, err := e.Index.Tally(ctx, index.Filter{Tenant: "acme"})
		if err != nil {
			t.Fatal(err)
		}
		if counts.Completed >= 2 {
			break
		}
	}
	all, err := e.Schedules(t.Context())
	if err != nil || len(all) != 1 || all[0].Next == nil || all[0].Missing || all[0].Task.Prompt != "the prompt" {
		t.Errorf("%+v, %v", all, err)
	}
	queue := temporalServer.Last()
	schedules := temporalServer.Client(t).ScheduleClient()
	handle := schedules.GetHandle(t.Context(), "schedule~"+queue+"~nightly")
	if d, err := handle.Describe(t.Context()); err != nil || len(d.Info.RecentActions) == 0 {
		t.Errorf("%+v, %v", d, err)
	}
	if err := handle.Delete(t.Context()); err != nil { // as with a lost state
		t.Fatal(err)
	}
	if all, err := e.Schedules(t.Context()); err != nil || !all[0].Missing {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := e.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, err := e.Schedules(t.Context()); err != nil || all[0].Missing {
		t.Errorf("after recover: %+v, %v", all, err)
	}
	if found, err := e.Unschedule(t.Context(), "nightly"); err != nil || !found {
		t.Errorf("%v, %v", found, err)
	}
	if found, err := e.Unschedule(t.Context(), "nightly"); err != nil || found {
		t.Errorf("%v, %v", found, err)
	}
	for _, u := range await(t, p) {
		if !strings.HasPrefix(u.Task.Session, "nightly-20") || u.Task.Prompt != "the prompt" {
			t.Errorf("%+v", u)
		}
	}
}
