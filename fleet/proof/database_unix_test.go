//go:build unix && !temporal

package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/fleet/fleettest"
)

// fault is something that happens to the database, or to a worker's way to it. It is
// over when it returns.
type fault struct {
	name string
	do   func(ctx context.Context, c *crew, gates []*gate, r *rand.Rand) error
}

func faults() []fault {
	cut := func(p passage) func(context.Context, *crew, []*gate, *rand.Rand) error {
		return func(ctx context.Context, _ *crew, gates []*gate, r *rand.Rand) error {
			chosen := []*gate{gates[r.IntN(len(gates))]}
			if r.IntN(3) == 0 {
				chosen = gates
			}
			for _, g := range chosen {
				g.set(p)
			}
			hold(ctx, r)
			for _, g := range chosen {
				g.set(open)
			}
			return nil
		}
	}
	return []fault{
		{"a way that is cut", cut(closed)},
		{"a way on which nothing arrives", cut(silent)},
		{"a way on which answers are lost", cut(deaf)},
		{"a database that stands still", func(ctx context.Context, _ *crew, _ []*gate, r *rand.Rand) error {
			all, err := family(server.Process().Pid)
			for _, pid := range all {
				_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
			}
			hold(ctx, r)
			for _, pid := range all {
				_ = syscall.Kill(pid, syscall.SIGCONT)
			}
			return err
		}},
		{"a database that crashes", func(ctx context.Context, _ *crew, _ []*gate, _ *rand.Rand) error { return server.Crash(ctx) }},
		{"a worker that is killed", func(ctx context.Context, c *crew, _ []*gate, r *rand.Rand) error {
			n := r.IntN(len(c.alive))
			p := c.alive[n]
			c.deaths = append(c.deaths, death{pid: p.cmd.Process.Pid, at: time.Now(), until: time.Now().Add(time.Hour)})
			p.signal(syscall.SIGKILL)
			c.alive = append(c.alive[:n], c.alive[n+1:]...)
			c.start()
			return ctx.Err()
		}},
	}
}

// hold lets a fault last: less than a lease, or longer.
func hold(ctx context.Context, r *rand.Rand) {
	select {
	case <-time.After(time.Duration(r.Int64N(int64(2 * leaseTimeout)))):
	case <-ctx.Done():
	}
}

// family returns a process and its children.
func family(pid int) ([]int, error) {
	out, err := exec.Command("sh", "-c", `for f in /proc/[0-9]*/stat; do { read -r line <"$f" && echo "$line"; } 2>/dev/null; done`).Output()
	all := []int{pid}
	for line := range strings.Lines(string(out)) {
		first, rest, _ := strings.Cut(line, " (")
		at := strings.LastIndex(rest, ") ")
		if f := strings.Fields(rest[at+1:]); at > 0 && len(f) > 1 && f[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(first)
			if err != nil {
				return nil, err
			}
			all = append(all, child)
		}
	}
	return all, err
}

// TestDatabaseFaults: the database crashes and stands still, workers are cut off from
// it, hear nothing of what it has done, and die. When all of that is over, each unit has
// ended once and completed, and no call ran twice.
func TestDatabaseFaults(t *testing.T) {
	place := fleettest.New(t, &server)
	c := &crew{t: t, place: place, dir: t.TempDir()}
	var gates []*gate
	c.url = func(string) string {
		g := newGate(t, place.URL)
		gates = append(gates, g)
		return g.url(t, place.URL)
	}
	work := filepath.Join(c.dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	defer c.end()
	c.submit(*faulty, work)
	r, all, happened := rand.New(rand.NewPCG(*seed, 1)), faults(), map[string]int{}
	began := time.Now()
	for n := 0; c.unended(ctx) >= slots*workers; n++ { // what is left is to end undisturbed
		f := all[r.IntN(len(all))]
		if n < len(all) {
			f = all[n]
		}
		if err := f.do(ctx, c, gates[len(gates)-workers:], r); err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
		happened[f.name]++
		time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
	}
	c.await(ctx, "all units end", func() bool { return c.unended(ctx) == 0 })
	t.Logf("%d turns in %s: %s", *faulty, time.Since(began).Round(time.Second), fmt.Sprint(happened))
	c.check(place.Await(ctx, t), work)
	if t.Failed() {
		for _, p := range c.all {
			t.Logf("worker %s:\n%s", p.id, p.said())
		}
	}
}

// unended returns how many units have not ended. The database may be away.
func (c *crew) unended(ctx context.Context) (n int) {
	c.t.Helper()
	c.await(ctx, "the database answers", func() bool {
		asking, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		var err error
		n, err = c.place.Engine.Open(asking)
		return err == nil
	})
	return n
}
