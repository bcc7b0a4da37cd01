package proof

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/agent"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/fleet/pglog"
	"github.com/settle-agent/settle/fleet/worker"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/modeltest/leak"
)

// The variables that make the test binary, run anew, a worker.
const (
	workerVar   = "FLEET_PROOF_WORKER" // its id
	databaseVar = "FLEET_PROOF_DATABASE"
	dirVar      = "FLEET_PROOF_DIR"
	slotsVar    = "FLEET_PROOF_SLOTS"
)

// calls is how many commands a turn runs.
const calls = 3

var server pgtest.Server

func TestMain(m *testing.M) {
	settle.RunAsWarden()
	if id := os.Getenv(workerVar); id != "" {
		if err := work(id); err != nil {
			fmt.Fprintln(os.Stderr, "worker", id, "ended:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(leak.Run(server.Tests(m, stopEngine)))
}

// work is a worker whose agent runs commands, until SIGTERM.
func work(id string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	pool, err := pglog.Connect(ctx, os.Getenv(databaseVar))
	if err != nil {
		return err
	}
	defer pool.Close()
	logs, err := pglog.Open(ctx, pool)
	if err != nil {
		return err
	}
	defer logs.Close()
	engine, closeEngine, err := openEngine(ctx, pool)
	if err != nil {
		return err
	}
	defer closeEngine()
	slots, err := strconv.Atoi(os.Getenv(slotsVar))
	if err != nil {
		return err
	}
	data := filepath.Join(os.Getenv(dirVar), "data")
	w, err := worker.New(ctx, worker.Config{
		ID: id, Engine: engine, Logs: logs, Slots: slots, DataDir: data, Lease: leaseTimeout, Lost: 1000,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Session: func(ctx context.Context, a fleet.Attempt) (settle.SessionConfig, error) {
			return agent.Session(ctx, agent.Config{
				Model: model.Config{ProviderName: "test", Name: "test", Provider: fleettest.Model{Calls: calls, Call: command(a.Task.Dir)}},
				Dir:   a.Task.Dir, DataDir: data, Permission: settle.Allow, Tools: []string{"shell"}, IgnoreProject: true, System: "Work.",
			})
		},
	})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// leaseTimeout is that of the workers.
const leaseTimeout = 3 * time.Second

// command makes a call that counts itself, and takes a while.
func command(dir string) func(token string) (tool, arguments string) {
	return func(token string) (string, string) {
		return "shell", fmt.Sprintf(`{"command":"echo %s >> %s/calls; sleep 0.2"}`, token, dir)
	}
}
