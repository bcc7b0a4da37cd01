//go:build unix

package proof

import (
	"context"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/fleet/fleettest/executortest"
)

// TestExecutorFaults: commands run at executors on another machine. Executors die and stand still,
// workers are cut off from them, die and stand still. When all of that is over, each
// task has ended once and completed, no call ran twice, and no executors are left.
func TestExecutorFaults(t *testing.T) {
	c := newCrew(t)
	host := executortest.New(t, c.work)
	c.executor = host.DialCommand()
	var gates []*gate
	c.env = func() []string {
		g := newGate(t, "unix", host.Socket)
		gates = append(gates, g)
		return []string{executortest.HostVar + "=" + g.at}
	}
	some := func(_ *crew, r *rand.Rand) (pids []int, _ error) {
		all := host.Executors()
		most := len(all)
		if r.IntN(3) > 0 {
			most = min(1, most)
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, p := range all[:most] {
			pids = append(pids, p.Pid)
		}
		return pids, nil
	}
	all := append(cuts("the executor", func() []*gate { return gates[len(gates)-workers:] }),
		stops("executors stand still", some),
		fault{"executors are killed", func(_ context.Context, c *crew, r *rand.Rand) error {
			pids, err := some(c, r)
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
			return err
		}},
		workerDies(), workerStops())
	c.prove(t, *handy, *seed, all)
}
