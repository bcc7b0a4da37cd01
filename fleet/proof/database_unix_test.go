//go:build unix && !temporal

package proof

import (
	"context"
	"math/rand/v2"
	"testing"
)

// TestDatabaseFaults: the database crashes and stands still, workers are cut off from
// it, hear nothing of what it has done, and die. When all of that is over, each unit has
// ended once and completed, and no call ran twice.
func TestDatabaseFaults(t *testing.T) {
	c := newCrew(t)
	var gates []*gate
	c.env = func() []string {
		g, url := newDatabaseGate(t, c.place.URL)
		gates = append(gates, g)
		return []string{databaseVar + "=" + url}
	}
	all := append(cuts("the database", func() []*gate { return gates[len(gates)-workers:] }),
		stops("the database stands still", func(*crew, *rand.Rand) ([]int, error) { return family(server.Process().Pid) }),
		fault{"the database crashes", func(ctx context.Context, _ *crew, _ *rand.Rand) error { return server.Crash(ctx) }},
		workerDies())
	c.prove(t, *faulty, *seed, all)
}
