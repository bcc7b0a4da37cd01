package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fakeServer ends when the test says so.
type fakeServer struct {
	exited  chan struct{}
	stopped bool
}

func (s *fakeServer) Exited() <-chan struct{} { return s.exited }
func (s *fakeServer) ExitStatus() string      { return "signal: killed" }
func (s *fakeServer) Stop()                   { s.stopped = true }

// TestDevChildStartsAgain: a server that ends is started again, after a pause that doubles,
// and stops with dev. A server that ran for a while has not failed.
func TestDevChildStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []time.Duration
		var running *fakeServer
		began := time.Now()
		c := devChild{name: "the database", log: "/log", start: func(context.Context) (devServer, error) {
			starts = append(starts, time.Since(began))
			if len(starts) == 1 {
				return nil, errors.New("its memory is in use")
			}
			running = &fakeServer{exited: make(chan struct{})}
			return running, nil
		}}
		first := &fakeServer{exited: make(chan struct{})}
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.keep(ctx, first, slog.New(slog.NewTextHandler(&log, nil))) }() // ends with ctx
		close(first.exited)
		time.Sleep(time.Minute)
		close(running.exited)
		time.Sleep(time.Minute)
		cancel()
		if err := <-done; err != nil || !running.stopped {
			t.Errorf("%v, stopped %v", err, running.stopped)
		}
		if want := []time.Duration{
			200 * time.Millisecond,
			600 * time.Millisecond,
			time.Minute + 200*time.Millisecond,
		}; len(starts) != 3 || starts[0] != want[0] || starts[1] != want[1] ||
			starts[2] != want[2] {
			t.Errorf("started after %v, want %v", starts, want)
		}
		for _, want := range []string{
			"the database has ended and is started again", "signal: killed", "log=/log", "its memory is in use",
			"the database runs again",
		} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("no %q in %s", want, log.String())
			}
		}
	})
}

// TestDevChildGivesUp: a server that fails again and again ends dev, which names its log.
func TestDevChildGivesUp(t *testing.T) {
	for name, start := range map[string]func(context.Context) (devServer, error){
		"it does not start": func(context.Context) (devServer, error) { return nil, errors.New("no room on the disk") },
		"it ends at once": func(context.Context) (devServer, error) {
			s := &fakeServer{exited: make(chan struct{})}
			close(s.exited)
			return s, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				starts := 0
				c := devChild{
					name: "Temporal",
					log:  "/dir/temporal.log",
					start: func(ctx context.Context) (devServer, error) {
						starts++
						return start(ctx)
					},
				}
				first := &fakeServer{exited: make(chan struct{})}
				close(first.exited)
				err := c.keep(t.Context(), first, slog.New(slog.DiscardHandler))
				if e := (*restartError)(
					nil,
				); !errors.As(err, &e) || !strings.Contains(err.Error(), "/dir/temporal.log") ||
					starts != maxRestarts {
					t.Errorf("%v after %d starts", err, starts)
				}
			})
		})
	}
}

// TestUnreachable: a command that cannot reach a server says which address it tried, why, and
// what to start.
func TestUnreachable(t *testing.T) {
	home(t)
	t.Setenv(databaseVar, "")
	code, _, stderr := command(t, "", "status", "--database", "postgres://someone:a-password-here@127.0.0.1:1/tasks")
	for _, want := range []string{"127.0.0.1:1", `"tasks"`, "connection refused", "settle-fleet dev"} {
		if code != codeFailed || !strings.Contains(stderr, want) {
			t.Errorf("%d: no %q in %s", code, want, stderr)
		}
	}
	if strings.Contains(stderr, "a-password-here") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("a password, or more than one line: %s", stderr)
	}
}

// TestDevChecksFirst: without a key or without Temporal's server, dev says so before it
// starts or writes anything.
func TestDevChecksFirst(t *testing.T) {
	home(t)
	t.Setenv(databaseVar, "")
	t.Setenv("OPENAI_API_KEY", "")
	dir := t.TempDir() + "/dev"
	refuses := func(want string) {
		t.Helper()
		code, out, stderr := command(t, "", "dev", "--dir", dir, "--sandbox", "off", "-m", "openai/gpt-5.2")
		if code == 0 || out != "" || !strings.Contains(stderr, want) {
			t.Errorf("%d, %s, %s", code, out, stderr)
		}
	}
	refuses("OPENAI_API_KEY")
	t.Setenv("PATH", "/nowhere")
	t.Setenv("SETTLE_FLEET_TEMPORAL", "/nowhere/settle-fleet-temporal")
	t.Setenv("OPENAI_API_KEY", "sk-0123456789abcdefghijkl")
	refuses("SETTLE_FLEET_TEMPORAL")
	if _, err := os.Stat(dir); err == nil {
		t.Error("dev has made its directory")
	}
}

// TestDevNamesOtherFleet: a variable that leads other commands away from dev is named.
func TestDevNamesOtherFleet(t *testing.T) {
	for text, c := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"nothing":           {},
		"an empty variable": {env: map[string]string{databaseVar: ""}},
		"a database":        {map[string]string{databaseVar: "postgres://db/settle"}, []string{databaseVar}},
		"both": {
			map[string]string{databaseVar: "postgres://db/settle", "TEMPORAL_ADDRESS": "t:7233"},
			[]string{databaseVar, "TEMPORAL_ADDRESS"},
		},
	} {
		if got := otherFleet(func(name string) string { return c.env[name] }); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q are named, want %q", text, got, c.want)
		}
	}
}
