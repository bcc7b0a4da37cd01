//go:build unix

package proof

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
)

var old = flag.String(
	"old", "", "a directory with proof.test and settle-fleet of an older version, with which TestRollingUpgrade begins",
)

// upgraded is how many turns TestRollingUpgrade runs.
const upgraded = 90

// TestRollingUpgrade: the database is migrated while workers run turns, and then the
// workers are replaced, one after the other. Each task has ended once and completed, no
// worker was lost, and no call ran twice.
func TestRollingUpgrade(t *testing.T) {
	c := newCrew(t)
	ctx, cancel := context.WithTimeout(t.Context(), *patience)
	defer cancel()
	defer c.end()
	if *old == "" {
		c.tasks(upgraded)
	} else {
		c.url, c.program = server.URL(t), filepath.Join(*old, "proof.test")
		c.submitOld()
	}
	for range workers {
		c.start()
	}
	time.Sleep(time.Second) // they are in the middle of turns
	c.place = fleettest.Migrate(t, c.url)
	c.program = os.Args[0]
	for _, p := range slices.Clone(c.all) {
		p.signal(syscall.SIGTERM)
		c.start()
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("worker %s: %v", p.id, err)
		}
	}
	ended, moved := c.place.Await(ctx, t), 0
	c.check(ended)
	for _, u := range ended {
		moved += u.Attempt - 1
		if u.Lost > 0 && *old == "" { // an older version may have had faults
			t.Errorf("task %s lost %d workers", u.ID, u.Lost)
		}
	}
	if moved == 0 {
		t.Error("no worker was in the middle of a turn")
	}
}

// submitOld makes the tables of the older version, and submits the tasks with it.
func (c *crew) submitOld() {
	c.t.Helper()
	var lines strings.Builder
	for n := range upgraded {
		line, err := json.Marshal(fleet.Task{Session: name(n), Prompt: "work", Dir: c.work})
		if err != nil {
			c.t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	for _, args := range [][]string{{"migrate"}, {"submit", "--file", "-"}} {
		cmd := exec.Command(filepath.Join(*old, "settle-fleet"), append(args, "--database", c.url)...)
		cmd.Stdin = strings.NewReader(lines.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			c.t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
}
