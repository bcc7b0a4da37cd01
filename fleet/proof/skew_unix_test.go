//go:build unix && skew

package proof

import (
	"fmt"
	"testing"
	"time"
)

// skewVar is by how many seconds the clock of a process is wrong; skew.sh builds what
// obeys it.
const skewVar = "FLEET_PROOF_SKEW"

// TestClockSkew: the clocks of the workers differ by hours, and workers die. Each task has
// ended once and completed, and no call ran twice.
func TestClockSkew(t *testing.T) {
	c := newCrew(t)
	c.env = func() []string {
		hours := []int{-3, 0, 5}[len(c.all)%3]
		return []string{fmt.Sprintf("%s=%d", skewVar, hours*3600)}
	}
	c.prove(t, *tasks, *seed, []fault{workerDies(), workerStops(), workerDies()})
	early, late := 0, 0
	for n := range *tasks {
		for _, e := range c.place.Events(t, name(n)) {
			switch off := time.Until(e.At); {
			case off < -time.Hour:
				early++
			case off > time.Hour:
				late++
			}
		}
	}
	t.Logf("%d events by clocks that are late, %d by clocks that are early", early, late)
	if early == 0 || late == 0 {
		t.Error("the clocks are right; run skew.sh")
	}
}
