//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/modeltest"
)

// A signal ends the turn by the contract, even if the tool ignores it, and the next run continues
// with a history that the server accepts.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		signal syscall.Signal
		name   string
		reason event.Reason
		code   int
		says   string
	}{
		{syscall.SIGINT, "SIGINT", event.Interrupted, 130, "settle: interrupted by SIGINT\n"},
		{syscall.SIGTERM, "SIGTERM", event.Shutdown, 143, "settle: ended by SIGTERM\n"},
		{syscall.SIGHUP, "SIGHUP", event.Shutdown, 129, "settle: ended by SIGHUP\n"},
		{syscall.SIGQUIT, "SIGQUIT", event.Shutdown, 131, "settle: ended by SIGQUIT\n"},
	} {
		for _, format := range []string{"--json", "--json=deltas", "-q"} {
			t.Run(tt.name+format, func(t *testing.T) {
				p := newPlace(t)
				server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", "81.5"), modeltest.Say("I see")))
				awake := p.fifo("fifo")
				cmd := p.run(server, format, "--session", "s", "go")
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				started(t, cmd)
				awake()
				signalled(t, cmd, tt.signal)
				exited(t, cmd, tt.code)
				awaitNoProcess(t, "sleep 81.5")
				if !strings.HasPrefix(stderr.String(), tt.says) {
					t.Errorf("stderr: %q, want %q first", stderr.String(), tt.says)
				}
				if format == "-q" {
					if stdout.Len() > 0 {
						t.Errorf("stdout: %s", stdout.String())
					}
				} else {
					e := lastEvent(t, stdout.String())
					aborted, ok := e.Data.(event.TurnAborted)
					if !ok || aborted.Reason != tt.reason || e.By != "signal:"+tt.name {
						t.Errorf("the last event is %+v", e)
					}
				}
				again := p.run(server, "--session", "s", "what happened?")
				started(t, again)
				exited(t, again, 0)
			})
		}
	}
}

// Impatience does no harm: one terminal event, the same code.
func TestSignalTwice(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", "82.5")))
	awake := p.fifo("fifo")
	cmd := p.run(server, "--json", "go")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	started(t, cmd)
	awake()
	signalled(t, cmd, os.Interrupt)
	signalled(t, cmd, os.Interrupt)
	exited(t, cmd, 130)
	awaitNoProcess(t, "sleep 82.5")
	if n := strings.Count(stdout.String(), `"kind":"turn.aborted"`); n != 1 {
		t.Errorf("%d terminal events", n)
	}
}

// Before the first request, the only process to end is the command that finds the key.
func TestSignalBeforeTheTurn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	awake := p.fifo("fifo")
	config := p.work + "/config"
	if err := os.MkdirAll(config+"/settle", 0o755); err != nil {
		t.Fatal(err)
	}
	text := "[providers.own]\nwire = \"chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\nkey_command = \"echo awake > " + p.work + "/fifo; sleep 83.5\"\n"
	if err := os.WriteFile(config+"/settle/config.toml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "XDG_CONFIG_HOME="+config)
	cmd := p.command("run", "-m", "own/m", "hi")
	started(t, cmd)
	awake()
	signalled(t, cmd, os.Interrupt)
	exited(t, cmd, 130)
	awaitNoProcess(t, "sleep 83.5")
	if said := cmd.Stderr.(*bytes.Buffer).String(); !strings.Contains(said, "SIGINT before anything was sent") {
		t.Errorf("stderr: %s", said)
	}
}

// nohup means it.
func TestIgnoredHangup(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", "84.5")))
	awake := p.fifo("fifo")
	cmd := p.run(server, "--json", "go")
	cmd.Args = append([]string{"sh", "-c", `trap '' HUP; exec "$0" "$@"`}, cmd.Args...)
	sh := p.command()
	cmd.Path, cmd.Err = "/bin/sh", sh.Err
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	started(t, cmd)
	awake()
	signalled(t, cmd, syscall.SIGHUP)
	signalled(t, cmd, syscall.SIGTERM)
	exited(t, cmd, 143)
	awaitNoProcess(t, "sleep 84.5")
	if e := lastEvent(t, stdout.String()); e.By != "signal:SIGTERM" {
		t.Errorf("the last event is %+v", e)
	}
}

// A wait for a provider ends at once, and the streamed text is kept to the byte.
func TestSignalWhileTheModelIsAwaited(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		turn  modeltest.Turn
		until string // the event after which the signal is sent
		holds string // expected part of the output
	}{
		"backoff": {modeltest.Fail(modeltest.Status(529, "60")), `"retry_in_ms":6`, `"kind":"turn.aborted"`},
		"silence": {modeltest.Say("never").With(modeltest.Silence(modeltest.BeforeHeaders)), `"kind":"attempt.started"`, `"kind":"turn.aborted"`},
		"stream": {
			modeltest.Say("the beginning of it").With(modeltest.Silence(modeltest.AfterDelta(1))), `"kind":"item.delta"`,
			`"status":"aborted","cause":{"outcome":"aborted","reason":"interrupted","by":"signal:SIGINT"},"type":"message","text":"the beginnin"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			server := modeltest.NewServer(t, modeltest.Script(tt.turn))
			cmd := p.run(server, "--json=deltas", "go")
			lines, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			started(t, cmd)
			var all strings.Builder
			reader := bufio.NewReader(lines)
			for !strings.Contains(all.String(), tt.until) {
				line, err := reader.ReadString('\n')
				if err != nil {
					t.Fatalf("%v after\n%s", err, all.String())
				}
				all.WriteString(line)
			}
			signalled(t, cmd, os.Interrupt)
			rest, err := io.ReadAll(reader)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(rest)
			exited(t, cmd, 130)
			if !strings.Contains(all.String(), tt.holds) {
				t.Errorf("the output has no %s:\n%s", tt.holds, all.String())
			}
			if e := lastEvent(t, all.String()); !e.Terminal() {
				t.Errorf("the last event is %+v", e)
			}
		})
	}
}
