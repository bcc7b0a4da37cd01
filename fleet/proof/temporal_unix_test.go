//go:build unix

package proof

import (
	"context"
	"math/rand/v2"
	"testing"
)

// TestTemporalFaults: Temporal is replaced by an empty server, as after a loss of its state, and settle-fleet recover
// submits what Postgres knows; Temporal stands still; workers
// are cut off from it, hear nothing of what it has done, and die. When all of that is
// over, each task has ended once and completed, and no call ran twice.
func TestTemporalFaults(t *testing.T) {
	c := newCrew(t)
	var gates []*gate
	c.env = func() []string {
		g := newGate(t, "tcp", temporalServer.Address(t))
		gates = append(gates, g)
		return []string{addressVar + "=" + g.at}
	}
	all := append(
		cuts("Temporal", func() []*gate { return gates[len(gates)-workers:] }),
		stops(
			"Temporal stands still",
			func(*crew, *rand.Rand) ([]int, error) { return []int{temporalServer.Process().Pid}, nil },
		),
		fault{"Temporal is replaced by an empty server", func(ctx context.Context, c *crew, _ *rand.Rand) error {
			if err := temporalServer.Crash(ctx); err != nil {
				return err
			}
			_, err := c.engineOf().Recover(ctx)
			return err
		}},
		workerDies(),
		workerStops(),
	)
	c.prove(t, *faulty, *seed, all)
}
