package main

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/fleet/temporaldev/temporaltest"
)

var temporalServer temporaltest.Server

// home makes the environment one of its own, with a database, and a task queue of Temporal's.
func home(t testing.TB) {
	t.Helper()
	address := temporalServer.Address(t) // or the test fails
	homeAlone(t)
	t.Setenv("TEMPORAL_ADDRESS", address)
	t.Setenv("TEMPORAL_CONFIG_FILE", "/dev/null")
	t.Setenv(queueVar, temporalServer.Queue())
}

// TestTemporalThatCannotBeReached: a worker does not start. A submission is accepted, and says that
// the tasks are not sent.
func TestTemporalThatCannotBeReached(t *testing.T) {
	homeAlone(t)
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	must(t, "", "migrate")
	if code, _, errs := command(t, "", "worker", "-m", "openai/x"); code != codeFailed ||
		!strings.Contains(errs, `Temporal at "127.0.0.1:1"`) {
		t.Errorf("%d, %s", code, errs)
	}
	code, out, errs := command(t, "", "submit", "-C", t.TempDir(), "--session", "s", "work")
	if code != 0 || out != "s/1\n" || !strings.Contains(errs, "Temporal does not have all of them yet") {
		t.Errorf("%d, %s%s", code, out, errs)
	}
	if out := must(t, "", "status"); !strings.Contains(out, "queued 1,") ||
		!strings.Contains(out, "1 not yet sent to Temporal") {
		t.Errorf("%s", out)
	}
	if code, _, errs := command(t, "", "worker", "--heartbeat-timeout", "10ms", "-m", "openai/x"); code == 0 ||
		!strings.Contains(errs, "--heartbeat-timeout must be at least 1s") {
		t.Errorf("%d, %s", code, errs)
	}
}
