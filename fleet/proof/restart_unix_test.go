//go:build unix

package proof

import (
	"context"
	"slices"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
)

// restarted is how many turns TestRollingRestart runs.
const restarted = 60

// TestRollingRestart: all workers are replaced under load, one after the other, each in the
// middle of turns that are shorter than the drain. No turn is aborted, and none moves.
func TestRollingRestart(t *testing.T) {
	c := newCrew(t)
	ctx, cancel := context.WithTimeout(t.Context(), *patience)
	defer cancel()
	defer c.end()
	c.env = func() []string { return []string{drainVar + "=" + patience.String()} }
	c.submit(restarted)
	for _, p := range slices.Clone(c.all) {
		c.await(ctx, p.id+" runs turns", func() bool { return len(c.tasksOf(ctx, p.id)) > 0 })
		p.signal(syscall.SIGTERM)
		c.start()
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("worker %s: %v", p.id, err)
		}
	}
	ended, aborted := c.place.Await(ctx, t), 0
	c.check(ended)
	for _, u := range ended {
		if u.Attempt != 1 || u.Result.Turns != 1 {
			t.Errorf("task %s had %d attempts and %d turns", u.ID, u.Attempt, u.Result.Turns)
		}
		for _, e := range c.place.Events(t, u.Task.Session) {
			if e.Kind() == event.KindTurnAborted {
				aborted++
			}
		}
	}
	if aborted > 0 || len(ended) != restarted {
		t.Errorf("%d turns were aborted, of %d tasks", aborted, len(ended))
	}
}
