//go:build unix

package proof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
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
	"github.com/settle-agent/settle/fleet/fleettest/executortest"
	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/fleet/pglog"
	"github.com/settle-agent/settle/fleet/worker"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/modeltest/leak"
	"github.com/settle-agent/settle/tool"
)

// The variables that make the test binary, run anew, a worker.
const (
	workerVar   = "FLEET_PROOF_WORKER" // its id
	databaseVar = "FLEET_PROOF_DATABASE"
	dirVar      = "FLEET_PROOF_DIR"
	slotsVar    = "FLEET_PROOF_SLOTS"
	endVar      = "FLEET_PROOF_END"   // read by [newSignallingLogs]
	drainVar    = "FLEET_PROOF_DRAIN" // how long turns have at the end; "" is not at all
	lightVar    = "FLEET_PROOF_LIGHT" // if set, calls start no process: [lightSession]
)

// calls is how many commands a turn runs.
const calls = 3

var server pgtest.Server

func TestMain(m *testing.M) {
	settle.RunAsSupervisor()
	executortest.Play(os.Exit)
	if id := os.Getenv(workerVar); id != "" {
		if err := work(id); err != nil {
			fmt.Fprintln(os.Stderr, "worker", id, "ended:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(leak.Run(server.Tests(m, temporalServer.Stop)))
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
	engine, closeEngine, err := openEngine(pool)
	if err != nil {
		return err
	}
	defer closeEngine()
	slots, err := strconv.Atoi(os.Getenv(slotsVar))
	if err != nil {
		return err
	}
	drain, err := time.ParseDuration(cmp.Or(os.Getenv(drainVar), "0"))
	if err != nil {
		return err
	}
	signalling, err := newSignallingLogs(logs, os.Getenv(endVar))
	if err != nil {
		return err
	}
	data := filepath.Join(os.Getenv(dirVar), "data")
	w, err := worker.New(ctx, worker.Config{
		ID: id, Engine: engine, Logs: signalling, Slots: slots, DataDir: data, Drain: drain, Lost: 1000,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Session: func(ctx context.Context, a fleet.Attempt) (settle.SessionConfig, error) {
			if os.Getenv(lightVar) != "" {
				return lightSession(a.Task)
			}
			return session(ctx, a.Task, data)
		},
	})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// session is an agent that runs commands, here or at an executor.
func session(ctx context.Context, t fleet.Task, data string) (settle.SessionConfig, error) {
	m := model.Config{ProviderName: "test", Name: "test", Provider: fleettest.Model{Calls: calls, Call: command(t)}}
	if t.Executor == "" {
		return agent.Session(
			ctx,
			agent.Config{
				Model:         m,
				Dir:           t.Dir,
				DataDir:       data,
				Permission:    settle.Allow,
				Tools:         []string{"shell"},
				IgnoreProject: true,
				System:        "Work.",
			},
		)
	}
	settings, err := config.Load(config.Input{
		Dir: t.Dir, Getenv: os.Getenv, ProjectConfig: config.IgnoreProject, Flags: map[string]string{"executor": t.Executor, "executor_lease": executorLease(t.Session)},
	})
	if err != nil {
		return settle.SessionConfig{}, err
	}
	made, err := assemble.New(ctx, assemble.Options{
		Settings: settings, Dir: t.Dir, Environ: os.Environ(), Getenv: os.Getenv,
		HostOptions:       assemble.HostOptions{Frontend: "fleet", SharedExecutor: assemble.ShareExecutor("proof")},
		PermissionOptions: assemble.PermissionOptions{Permission: settle.Allow, Release: settle.Deny},
		PromptOptions:     assemble.PromptOptions{Project: assemble.IgnoreProject, Home: assemble.IgnoreHome},
		ModelOptions:      assemble.ModelOptions{Model: m},
	})
	if err != nil {
		return settle.SessionConfig{}, err
	}
	return made.Session, nil
}

// lightSession is one whose calls are cheap: one for each input, by a tool that counts it.
func lightSession(t fleet.Task) (settle.SessionConfig, error) {
	count, err := tool.New("count", "Counts.", func(_ context.Context, in struct {
		Token string `json:"token"`
	},
	) (string, error) {
		f, err := os.OpenFile(filepath.Join(t.Dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		_, err = fmt.Fprintln(f, in.Token) // one write
		return "counted", errors.Join(err, f.Close())
	})
	m := lightModel{delay: lightDelay}
	if t.Session == longSession {
		m.delay = 0
	}
	return settle.SessionConfig{
		Model:      model.Config{ProviderName: "test", Name: "test", Provider: m},
		Permission: settle.Allow, WorkDir: t.Dir, Tools: []tool.Tool{count},
	}, err
}

// lightModel makes a call for each input.
type lightModel struct{ delay time.Duration }

// Stream implements [model.Provider].
func (m lightModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	all, since := 0, 0 // calls, and those since the last input
	for _, i := range r.Input {
		switch i.Role {
		case model.Output:
			all, since = all+1, since+1
		case model.User:
			since = 0
		}
	}
	return fleettest.Model{Calls: all + 1 - min(since, 1), Delay: m.delay, Call: func(token string) (string, string) {
		return "count", fmt.Sprintf(`{"token":%q}`, token)
	}}.Stream(ctx, r)
}

// lightDelay is how long the model thinks before each of two answers, except in the session of
// many inputs.
const (
	lightDelay  = time.Second
	longSession = "long"
)

// executorLease is so long that the next worker finds what the dead one had started, or
// too short for that.
func executorLease(session string) string {
	if even(session) {
		return "6s"
	}
	return "18s"
}

func even(name string) bool { return crc32.ChecksumIEEE([]byte(name))%2 == 0 }

// silence is how long a turn may be without a heartbeat.
const silence = 3 * time.Second

// command makes a call that counts itself, and takes a while; longer than a death is
// found, if it is to be taken over.
func command(t fleet.Task) func(token string) (tool, arguments string) {
	return func(token string) (string, string) {
		seconds := "0.2"
		if t.Executor != "" && even(token) && !even(t.Session) {
			seconds = "5"
		}
		return "shell", fmt.Sprintf(`{"command":"echo %s >> %s/calls; sleep %s"}`, token, t.Dir, seconds)
	}
}
