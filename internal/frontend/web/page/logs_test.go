//go:build machine

package page_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/test/proof"
)

var (
	sessions = flag.Int("sessions", 24, "how many sessions of the simulation the page shows")
	seed     = flag.Int("seed", 0, "the seed of the first one; each further one has the next")
)

// drawnLogs writes the logs of simulated sessions to a file, one a line, and returns its path.
func drawnLogs(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "logs")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	to := json.NewEncoder(file)
	for n := *seed; n < *seed+*sessions; n++ {
		var log []event.Event
		synctest.Test(t, func(*testing.T) { log = proof.Play(proof.Draw(n)).Events })
		if err := to.Encode(log); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
