package shell

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool"
)

func (r *room) background(command string, extra object) tool.Result {
	r.t.Helper()
	args := object{"command": command, "background": true}
	for name, value := range extra {
		args[name] = value
	}
	return r.run(r.t.Context(), "shell", args)
}

func (r *room) job(args object) tool.Result {
	r.t.Helper()
	return r.run(r.t.Context(), "job", args)
}

func wantOutput(t *testing.T, got tool.Result, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got.Output, part) {
			t.Errorf("output %q, want %q in it", got.Output, part)
		}
	}
}

func TestBackground(t *testing.T) {
	r := newRoom(t, nil)
	got := r.background("echo started; read x; echo got $x; read x; exit 4", nil)
	wantOutput(t, got, "started\n[job job1 runs in the background")
	wantOutput(t, r.job(object{"action": "list"}), "job job1 running", "read x; echo got $x")
	wantOutput(t, r.job(object{"action": "write", "job": "job1", "input": "one\n"}), "wrote 4 bytes")
	wantOutput(t, r.job(object{"action": "wait", "job": "job1", "pattern": "^got (one|two)$"}),
		"got one\n[a line matches: \"got one\"]")
	wantOutput(t, r.job(object{"action": "read", "job": "job1"}), "[no new output]\n[job job1 running")
	wantOutput(t, r.job(object{"action": "write", "job": "job1", "eof": true}), "wrote 0 bytes")
	wantOutput(t, r.job(object{"action": "wait", "job": "job1"}), "[job job1 ended]")
	wantOutput(t, r.job(object{"action": "list"}), "job job1 exited with code 4")
	if len(r.ended) != 1 || r.ended[0].How != event.JobExited || *r.ended[0].ExitCode != 4 {
		t.Errorf("ended %+v", r.ended)
	}
}

// An early failure is an ordinary failure, and no job.
func TestBackgroundFailsAtOnce(t *testing.T) {
	r := newRoom(t, nil)
	got := r.background("echo address in use; exit 1", nil)
	if !got.Failed || len(got.Jobs) > 0 || got.Output != "address in use\n[exit code 1]" {
		t.Errorf("got %+v", got)
	}
	if len(r.started) > 0 {
		t.Errorf("jobs %v", r.started)
	}
}

func TestLeftBehind(t *testing.T) {
	r := newRoom(t, nil)
	got := r.sh("(echo server up; sleep 1000) & echo done")
	if got.Failed || len(got.Jobs) != 1 || r.started[0].PID == 0 || r.started[0].Log == "" {
		t.Errorf("got %+v, told of %+v", got, r.started)
	}
	wantOutput(t, r.job(object{"action": "kill", "job": "job1"}), "[job job1 killed")
	if len(r.ended) != 1 || r.ended[0].How != event.JobKilled || r.ended[0].ExitCode != nil {
		t.Errorf("ended %+v", r.ended)
	}
}

func TestKillAll(t *testing.T) {
	r := newRoom(t, nil)
	r.sh("sleep 1000 &")
	r.sh("trap '' TERM; sleep 1000 &")
	if left, err := r.jobs.KillAll(t.Context()); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
	if len(r.ended) != 2 {
		t.Errorf("ended %+v", r.ended)
	}
	if got := r.sh("echo on"); got.Output != "on\n" {
		t.Errorf("nothing can be run any more: %+v", got)
	}
}

func TestWait(t *testing.T) {
	r := newRoom(t, nil)
	r.background("echo one; printf 'password: '; read x; echo last", nil)
	wantOutput(t, r.job(object{"action": "wait", "job": "job1", "pattern": "password"}), `a line matches: "password: "`)
	got := r.job(object{"action": "wait", "job": "job1", "pattern": "never", "timeout_ms": 20})
	if !got.Failed {
		t.Errorf("got %+v", got)
	}
	wantOutput(t, got, "the time was up")
	r.job(object{"action": "write", "job": "job1", "input": "x\n"})
	got = r.job(object{"action": "wait", "job": "job1", "pattern": "never"})
	if !got.Failed {
		t.Errorf("got %+v", got)
	}
	wantOutput(t, got, "last\n", "the job ended first", "job job1 exited with code 0")
}

func TestWaitForPort(t *testing.T) {
	r := newRoom(t, nil)
	r.background("sleep 1000", nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	wantOutput(t, r.job(object{"action": "wait", "job": "job1", "port": port}), fmt.Sprintf("port %d accepts", port))
	listener.Close()
	if got := r.job(object{"action": "wait", "job": "job1", "port": port, "timeout_ms": 50}); !got.Failed {
		t.Errorf("a closed port: %+v", got)
	}
}

func TestJobTerminal(t *testing.T) {
	r := newRoom(t, nil)
	r.background("test -t 0 && printf 'name? '; read x; printf '\\033[1mhi %s\\033[0m\\n' $x; sleep 1000",
		object{"tty": true})
	wantOutput(t, r.job(object{"action": "wait", "job": "job1", "pattern": `name\?`}), `a line matches: "name? "`)
	r.job(object{"action": "write", "job": "job1", "input": "you\n"})
	wantOutput(t, r.job(object{"action": "wait", "job": "job1", "pattern": "hi"}), "hi you\n")
}

func TestTerminalForeground(t *testing.T) {
	r := newRoom(t, nil)
	got := r.run(t.Context(), "shell", object{"command": "test -t 1 && echo $TERM; tty | cut -c1-4", "tty": true})
	if got.Output != "xterm-256color\n/dev\n" || *got.ExitCode != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestJobErrors(t *testing.T) {
	r := newRoom(t, nil)
	r.background("sleep 1000", nil)
	for _, args := range []object{
		{"action": "read", "job": "job9"},
		{"action": "dance", "job": "job1"},
		{"action": "wait", "job": "job1", "pattern": "("},
		{"action": "release", "job": "job1"},
	} {
		if _, err := r.tools["job"].Run(t.Context(), r.call("job", args)); err == nil ||
			!strings.HasPrefix(err.Error(), "cannot ") {
			t.Errorf("%v: %v", args, err)
		}
	}
	for _, args := range []object{
		{"command": " "},
		{"command": "sleep 1000", "release": true},
		{"command": "sleep 1000", "release": true, "background": true},
	} {
		if _, err := r.tools["shell"].Run(t.Context(), r.call("shell", args)); err == nil ||
			!strings.HasPrefix(err.Error(), "cannot ") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// A registry that cannot record a job gets none.
func TestRegistryFails(t *testing.T) {
	r := newRoom(t, func(c *Config) { c.Registry = brokenRegistry{} })
	got := r.sh("sleep 1000 & echo out")
	if len(got.Jobs) > 0 || got.Output != "out\n[the processes that it left running were ended: the log is full]" {
		t.Errorf("got %+v", got)
	}
}

type brokenRegistry struct{}

func (brokenRegistry) JobStarted(context.Context, event.JobStarted) (string, error) {
	return "", errors.New("the log is full")
}

func (brokenRegistry) JobEnded(context.Context, event.JobEnded) error { return nil }

func TestClosed(t *testing.T) {
	r := newRoom(t, nil)
	r.close()
	if _, err := r.tools["shell"].Run(t.Context(), r.call("shell", object{"command": "true"})); !errors.Is(err,
		ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A second interrupt skips the grace.
func TestHurry(t *testing.T) {
	r := newRoom(t, func(c *Config) { c.Grace = patience })
	hurry := make(chan struct{})
	ctx, cancel := context.WithCancelCause(tool.WithHurry(t.Context(), hurry))
	go func() { // ends when the command is ready
		r.awaitProgress("ready")
		cancel(errors.New("interrupted"))
		close(hurry)
	}()
	got := r.run(ctx, "shell", object{"command": "trap '' TERM; echo ready; while :; do sleep 1000; done"})
	if !got.Aborted || len(got.Survivors) > 0 {
		t.Errorf("got %+v", got)
	}
}

func TestEnvironment(t *testing.T) {
	secret := func(name, _ string) bool { return strings.HasSuffix(name, "_KEY") }
	env, withheld := Environment([]string{"PATH=/bin", "B_KEY=1", "A_KEY=2", "C_KEY=3"}, secret, []string{"C_KEY"})
	if got := fmt.Sprint(env, withheld); got != "[PATH=/bin C_KEY=3] [A_KEY B_KEY]" {
		t.Errorf("got %s", got)
	}
	r := newRoom(t, func(c *Config) { c.Withheld = withheld })
	if doc := r.tools["shell"].Spec().Description; !strings.Contains(doc, "A_KEY, B_KEY") {
		t.Errorf("the model is not told what is withheld: %q", doc)
	}
}

// Sessions share an environment without secrets, and none changes it for the others.
func TestEnvironmentWithoutSecretsIsShared(t *testing.T) {
	environ := make([]string, 1, 8)
	environ[0] = "PATH=/bin"
	none := func(string, string) bool { return false }
	first, _ := Environment(environ, none, nil)
	second, _ := Environment(environ, none, nil)
	if &first[0] != &second[0] {
		t.Error("two sessions have an environment each")
	}
	a, b := append(first, "A=1"), append(second, "B=2")
	if a[1] != "A=1" || b[1] != "B=2" || len(environ) != 1 {
		t.Errorf("one session changed another one: %q and %q", a, b)
	}
}

// A call with yield_ms returns its output if the command exits in time, and makes the
// command a job otherwise.
func TestYield(t *testing.T) {
	r := newRoom(t, nil)
	got := r.run(r.t.Context(), "shell", object{"command": "echo out; exit 3", "yield_ms": 60_000})
	if !got.Failed || len(got.Jobs) > 0 || got.Output != "out\n[exit code 3]" {
		t.Errorf("in time: %+v", got)
	}
	got = r.run(r.t.Context(), "shell",
		object{"command": "echo out; read x; echo got $x; exit 4", "yield_ms": 1, "tty": true})
	wantOutput(t, got, "[job job1 runs in the background")
	wantOutput(t, r.job(object{"action": "wait", "job": "job1", "pattern": "^out"}), "a line matches")
	wantOutput(t, r.job(object{"action": "write", "job": "job1", "input": "one\n", "timeout_ms": 60_000}),
		"wrote 4 bytes", "got one", "exited with code 4")
	wantOutput(t, r.job(object{"action": "read", "job": "job1", "timeout_ms": 60_000}), "[no new output]")
}
