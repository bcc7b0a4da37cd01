//go:build temporal

package main

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/fleet/temporaldev/temporaltest"
)

var temporalServer temporaltest.Server

// setEngine has the commands use Temporal.
func setEngine(t *testing.T) {
	t.Helper()
	t.Setenv(engineVar, engineTemporal)
	t.Setenv("TEMPORAL_ADDRESS", temporalServer.Address(t))
	t.Setenv("TEMPORAL_CONFIG_FILE", "/dev/null")
}

func stopEngine() { temporalServer.Stop() }

// TestEngineFlags: an engine that there is not, or that cannot be reached, is told.
func TestEngineFlags(t *testing.T) {
	home(t)
	must(t, "", "migrate")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"worker", "--engine", "cron"}, codeUsage, "there is no engine"},
		{[]string{"worker", "--engine", "lease", "--temporal", "localhost:1"}, codeUsage, "--temporal is for"},
		{[]string{"worker", "--temporal", "127.0.0.1:1"}, codeFailed, "cannot reach Temporal at \"127.0.0.1:1\""},
	} {
		if code, _, stderr := command(t, "", c.args...); code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("settle-fleet %v: %d, %s", c.args, code, stderr)
		}
	}
}
