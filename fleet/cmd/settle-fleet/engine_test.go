package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/fleet/engine"
)

// TestKeysOfTemporal: C15, what Temporal's configuration has of keys is known, to be masked.
func TestKeysOfTemporal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "temporal.toml")
	if err := os.WriteFile(file, []byte("[profile.default]\naddress = \"a:1\"\napi_key = \"key-of-the-file\"\n[profile.default.grpc_meta]\nx-token = \"token-of-the-file\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", file)
	secrets := temporalSecrets()
	if slices.Sort(secrets); !slices.Equal(secrets, []string{"key-of-the-file", "token-of-the-file"}) {
		t.Errorf("from the file: %q", secrets)
	}
	t.Setenv("TEMPORAL_API_KEY", "key-of-the-variable")
	if secrets := temporalSecrets(); !slices.Contains(secrets, "key-of-the-variable") {
		t.Errorf("from the variable: %q", secrets)
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("TEMPORAL_API_KEY", "")
	if secrets := temporalSecrets(); len(secrets) > 0 {
		t.Errorf("from nothing: %q", secrets)
	}
}

// TestTheServerOfTemporal is that of Temporal's own file before that of settle-fleet dev,
// unless the database is dev's.
func TestTheServerOfTemporal(t *testing.T) {
	for _, c := range []struct {
		flag, variable, file, devs string
		dev                        bool
		want                       string
	}{
		{"flag:1", "variable:1", "file:1", "dev:1", true, "flag:1"},
		{"", "variable:1", "file:1", "dev:1", true, "variable:1"},
		{"", "", "file:1", "dev:1", true, "dev:1"},
		{"", "", "file:1", "dev:1", false, "file:1"},
		{"", "", "", "dev:1", false, "dev:1"},
		{"", "", "file:1", "", true, "file:1"},
		{"", "", "", "", false, ""},
	} {
		t.Setenv("TEMPORAL_ADDRESS", c.variable)
		configured := c.file // the variable goes before the file there
		if c.variable != "" {
			configured = c.variable
		}
		if got := (&engineFlags{address: c.flag}).server(configured, c.devs, c.dev); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestClientReportsOnlyWarnings: also where the client adds attributes to its logger.
func TestClientReportsOnlyWarnings(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(discardInfo{slog.NewTextHandler(&out, nil)}).With("queue", "settle").WithGroup("worker")
	logger.Info("Started Worker")
	logger.Warn("a failure", "task", "s/1")
	if text := out.String(); strings.Contains(text, "Started") || !strings.Contains(text, "worker.task=s/1") {
		t.Errorf("%q", text)
	}
}

// TestQueueWithAColon gets no new tasks, and its workers go on.
func TestQueueWithAColon(t *testing.T) {
	t.Setenv(queueVar, "a:b")
	for _, command := range [][]string{
		{"submit", "work"}, {"schedule", "create", "s", "--every", "1h", "work"},
	} {
		var d database
		cmd := newSubmit(&d)
		if command[0] == "schedule" {
			cmd = newSchedule(&d)
		}
		cmd.SetArgs(command[1:])
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), `"a:b": its name has a colon`) {
			t.Errorf("%s: %v", command, err)
		}
	}
	if _, err := (&engineFlags{silence: minSilence}).heartbeatTimeout(); err != nil {
		t.Errorf("a worker: %v", err)
	}
}

// TestHeartbeatTimeout: the flag precedes the variable, and the variable the default.
func TestHeartbeatTimeout(t *testing.T) {
	for _, c := range []struct {
		flag     time.Duration
		variable string
		want     time.Duration
		fails    string
	}{
		{want: engine.DefaultSilence},
		{variable: "20s", want: 20 * time.Second},
		{flag: 10 * time.Second, variable: "20s", want: 10 * time.Second},
		{variable: "20", fails: `$SETTLE_FLEET_HEARTBEAT_TIMEOUT is not a duration such as 6s: "20"`},
		{variable: "0s", fails: "$SETTLE_FLEET_HEARTBEAT_TIMEOUT must be at least 1s"},
		{flag: time.Millisecond, fails: "--heartbeat-timeout must be at least 1s"},
	} {
		t.Setenv(heartbeatVar, c.variable)
		got, err := (&engineFlags{silence: c.flag}).heartbeatTimeout()
		if got != c.want || (err == nil) != (c.fails == "") || err != nil && err.Error() != c.fails {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}

// TestNamespace: the flag precedes the variable, and the variable the file, for clients and for the server of dev.
func TestNamespace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "temporal.toml")
	if err := os.WriteFile(file, []byte("[profile.default]\nnamespace = \"file\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", file)
	for _, c := range []struct{ flag, variable, want string }{
		{want: "file"}, {variable: "variable", want: "variable"}, {flag: "flag", variable: "variable", want: "flag"},
	} {
		t.Setenv("TEMPORAL_NAMESPACE", c.variable)
		if c.variable == "" { // an empty one would count
			if err := os.Unsetenv("TEMPORAL_NAMESPACE"); err != nil {
				t.Fatal(err)
			}
		}
		f := engineFlags{namespace: c.flag, address: "t:7233"}
		if o, err := f.configured(); err != nil || o.Namespace != c.want {
			t.Errorf("%+v: %q, %v", c, o.Namespace, err)
		}
	}
}
