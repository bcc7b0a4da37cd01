//go:build unix && temporal

package proof

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/engine"
	"github.com/settle-agent/settle/fleet/fleettest"
)

var (
	backlog = flag.Int("backlog", 300, "how many tasks TestBacklog has, those of its long session included")
	inputs  = flag.Int("inputs", 60, "how many of them are of one session")
	killed  = flag.Int("killed", 3, "how many workers TestBacklog kills")
)

const (
	// submitSize is how many tasks are submitted at a time.
	submitSize = 500
	// maxResume is within which time a lost turn must be another worker's.
	maxResume = 10 * time.Second
)

// TestBacklog: while thousands of tasks wait, many of them in one session, workers are killed one
// after another, in even steps until the last task has ended. Each lost turn is another worker's
// within [maxResume], before the tasks that wait; each task has ended once and completed, and no
// call ran twice.
func TestBacklog(t *testing.T) {
	c := newCrew(t)
	c.silence = engine.DefaultSilence // what users have
	c.place.Engine = c.engineOf()
	c.env = func() []string { return []string{lightVar + "=1", slotsVar + "=20"} }
	ctx, cancel := context.WithTimeout(t.Context(), *patience)
	defer cancel()
	defer c.end()
	began := time.Now()
	c.pile()
	t.Logf("%d tasks submitted in %s", *backlog, time.Since(began).Round(time.Second))
	for range workers {
		c.start()
	}
	began = time.Now()
	r := rand.New(rand.NewPCG(*seed, 2))
	var durations []time.Duration
	for n := range *killed {
		c.await(ctx, "tasks end", func() bool { return c.countOpen(ctx) <= *backlog-*backlog*(n+1)/(*killed+2) })
		lost := c.killOne(ctx, r)
		slowest := slices.Max(append(lost, 0))
		t.Logf("worker %d of %d was killed: its %d turns resumed within %s", n+1, *killed, len(lost), slowest)
		durations = append(durations, lost...)
	}
	ended := c.place.Await(ctx, t)
	passed := time.Since(began)
	rate := float64(len(ended)) / passed.Seconds()
	t.Logf("%d turns in %s, %.1f/s; %d workers were killed", len(ended), passed.Round(time.Second), rate, *killed)
	c.checkBacklog(ended, len(durations))
	slices.Sort(durations)
	if len(durations) == 0 {
		t.Fatal("no turn was lost")
	}
	p50 := durations[len(durations)/2].Round(time.Millisecond)
	p99 := durations[len(durations)*99/100].Round(time.Millisecond)
	t.Logf("%d turns were lost, and resumed after p50 %s, p99 %s", len(durations), p50, p99)
	if p99 > maxResume {
		t.Errorf("lost turns resume after %s", p99)
	}
}

// pile submits the tasks: those of the long session are among the first.
func (c *crew) pile() {
	c.t.Helper()
	tasks := make([]fleet.Task, *backlog)
	for n := range tasks {
		tasks[n] = fleet.Task{Session: name(n), Prompt: "work", Dir: c.work}
		if n < *inputs {
			tasks[n].Session, tasks[n].Input = longSession, fmt.Sprint(n+1)
		}
	}
	for part := range slices.Chunk(tasks, submitSize) {
		c.place.Submit(c.t, part...)
	}
}

// killOne kills a worker that runs turns, starts another one, and returns how long each of the
// turns took to be another worker's.
func (c *crew) killOne(ctx context.Context, r *rand.Rand) (durations []time.Duration) {
	c.t.Helper()
	n := r.IntN(len(c.running))
	p := c.running[n]
	c.await(ctx, p.id+" has something to do", func() bool {
		return c.countOpen(ctx) == 0 || len(c.tasksOf(ctx, p.id)) > 0
	})
	at := time.Now()
	p.signal(syscall.SIGKILL)
	c.running = slices.Delete(c.running, n, n+1)
	c.start()
	time.Sleep(100 * time.Millisecond) // what the database has received from it is done
	lost := c.tasksOf(ctx, p.id)
	c.await(ctx, "what "+p.id+" had is taken over", func() bool { return len(c.tasksOf(ctx, p.id)) == 0 })
	const moved = `SELECT taken FROM settle_fleet.unit WHERE id = ANY($1) AND worker <> $2`
	rows, err := c.place.Pool.Query(ctx, moved, lost, p.id)
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var taken time.Time
		if err := rows.Scan(&taken); err != nil {
			c.t.Fatal(err)
		}
		durations = append(durations, taken.Sub(at))
	}
	if err := rows.Err(); err != nil || len(durations) != len(lost) {
		c.t.Errorf("%d of %d lost turns were taken over: %v", len(durations), len(lost), err)
	}
	return durations
}

// checkBacklog checks what the tasks and logs say, and what the calls counted.
func (c *crew) checkBacklog(ended []fleet.TaskStatus, lost int) {
	c.t.Helper()
	runs := counted(c.t, filepath.Join(c.work, "calls"))
	fleettest.CheckOnce(c.t, runs)
	sessions, deaths := map[string]bool{}, 0
	for _, u := range ended {
		if u.Result == nil || u.Result.Outcome != event.Completed {
			c.t.Errorf("task %s: %+v", u.ID, u.Result)
		}
		deaths += u.Lost
		sessions[u.Task.Session] = true
	}
	turns := 0
	for session := range sessions {
		for _, e := range c.place.Events(c.t, session) {
			if e.Kind() == event.KindTurnCompleted {
				turns++
			}
		}
	}
	c.t.Logf("%d sessions, %d completed turns, %d calls, %d lost attempts", len(sessions), turns, len(runs), deaths)
	if len(ended) != *backlog || turns != *backlog || deaths != lost {
		c.t.Errorf("%d of %d tasks, %d turns, %d of %d lost attempts", len(ended), *backlog, turns, deaths, lost)
	}
}
