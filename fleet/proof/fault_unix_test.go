//go:build unix

package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// fault is something that happens to what turns need. It is over when it returns.
type fault struct {
	name string
	do   func(ctx context.Context, c *crew, r *rand.Rand) error
}

// runFaults runs each of the faults, and then random ones of them, until few tasks are left, which
// end undisturbed. Then it waits for these.
func (c *crew) runFaults(ctx context.Context, r *rand.Rand, all []fault) {
	c.t.Helper()
	began, happened := time.Now(), map[string]int{}
	for n := 0; n < len(all) || c.countOpen(ctx) >= slots*workers; n++ {
		f := all[r.IntN(len(all))]
		if n < len(all) {
			f = all[n]
		}
		if err := f.do(ctx, c, r); err != nil {
			c.t.Fatalf("%s: %v", f.name, err)
		}
		happened[f.name]++
		time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
	}
	c.await(ctx, "all tasks end", func() bool { return c.countOpen(ctx) == 0 })
	c.t.Logf("it took %s: %s", time.Since(began).Round(time.Second), fmt.Sprint(happened))
}

// countOpen returns the number of tasks that have not ended. It repeats the query while the database is down.
func (c *crew) countOpen(ctx context.Context) (n int) {
	c.t.Helper()
	c.await(ctx, "the database answers", func() bool {
		asking, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		var err error
		n, err = c.place.Open(asking)
		return err == nil
	})
	return n
}

// hold lets a fault last: less than a turn may be silent, or longer.
func hold(ctx context.Context, r *rand.Rand) {
	select {
	case <-time.After(time.Duration(r.Int64N(int64(2 * silence)))):
	case <-ctx.Done():
	}
}

// cuts are what can happen on the ways of the workers to a server.
func cuts(server string, ways func() []*gate) (all []fault) {
	for _, p := range []passage{closed, silent, dropsAnswers} {
		all = append(
			all,
			fault{"a way to " + server + " is " + string(p), func(ctx context.Context, _ *crew, r *rand.Rand) error {
				gates := ways()
				if r.IntN(3) > 0 {
					n := r.IntN(len(gates))
					gates = gates[n : n+1]
				}
				for _, g := range gates {
					g.set(p)
				}
				hold(ctx, r)
				for _, g := range gates {
					g.set(open)
				}
				return nil
			}},
		)
	}
	return all
}

// stops has processes stand still for a while.
func stops(what string, pids func(*crew, *rand.Rand) ([]int, error)) fault {
	return fault{what, func(ctx context.Context, c *crew, r *rand.Rand) error {
		all, err := pids(c, r)
		for _, pid := range all {
			_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
		}
		hold(ctx, r)
		for _, pid := range all {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
		return err
	}}
}

// workerStops and workerDies are what can happen to a worker.
func workerStops() fault {
	return stops("a worker stands still", func(c *crew, r *rand.Rand) ([]int, error) {
		p := c.running[r.IntN(len(c.running))]
		return []int{p.cmd.Process.Pid}, nil
	})
}

func workerDies() fault {
	return fault{"a worker is killed", func(ctx context.Context, c *crew, r *rand.Rand) error {
		n := r.IntN(len(c.running))
		p := c.running[n]
		c.deaths = append(c.deaths, death{pid: p.cmd.Process.Pid, at: time.Now(), until: time.Now().Add(time.Hour)})
		p.signal(syscall.SIGKILL)
		c.running = append(c.running[:n], c.running[n+1:]...)
		c.start()
		return ctx.Err()
	}}
}

// prove runs tasks in a crew while faults happen, and checks what became of them.
func (c *crew) prove(t *testing.T, tasks int, seed uint64, all []fault) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), *patience)
	defer cancel()
	defer c.end()
	c.submit(tasks)
	c.runFaults(ctx, rand.New(rand.NewPCG(seed, 1)), all)
	c.check(c.place.Await(ctx, t))
}
