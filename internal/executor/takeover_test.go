package executor

import (
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/proc"
)

// another is a later client of the same session, which takes over the running commands.
func another(l *land, epoch uint64) *Remote {
	return l.remote(func(c *RemoteConfig) { c.Epoch, c.TakeOver = epoch, TakeOver })
}

// keptFor returns the command that was taken over for a call.
func keptFor(t *testing.T, r *Remote, call string) (*TakenCommand, *sink) {
	t.Helper()
	for _, k := range TakenCommands(r) {
		if k.Call == call {
			out := newSink()
			k.Take(out)
			return k, out
		}
	}
	t.Fatalf("there is nothing for call %q", call)
	return nil, nil
}

// C5: the commands of a dead client continue as the next client's, with their output and ending;
// the ids also continue. From then on, the earlier client is refused.
func TestTakeOver(t *testing.T) {
	l := newLand(t)
	first := l.remote(nil)
	of := func(call string) func(*Command) { return func(c *Command) { c.Call, c.Input = call, "pipe" } }
	p, out := begin(t, first, "echo on; read line; echo got $line; exit 3", of("runs"))
	out.await(t, "on\n")
	done, _ := begin(t, first, "echo short; exit 5", of("ended"))
	awaitExit(t, done)
	second := another(l, 2)
	if ended := second.Ended(); len(ended) > 0 {
		t.Errorf("%+v were ended", ended)
	}
	e, stderr := keptFor(t, second, "ended")
	awaitExit(t, e.Process)
	if exit := e.Process.Exit(); !e.Ended || e.Expired || exit.Code != 5 || stderr.String() != "short\n" {
		t.Errorf("%+v, %+v, %q", e, exit, stderr.String())
	}
	k, _ := keptFor(t, second, "runs")
	if k.Ended || k.Command != "echo on; read line; echo got $line; exit 3" || k.Process.PID() != p.PID() {
		t.Errorf("%+v", k)
	}
	awaitExit(t, p)
	if p.Lost() == "" {
		t.Error("the first client still has it")
	}
	if _, err := first.Start(t.Context(), Command{Script: "true", Dir: "/"}); err == nil ||
		!strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v", err)
	}
	q, _ := begin(t, second, "exit 4", nil)
	if exit := wait(t, q); exit.Code != 4 {
		t.Errorf("got %+v", exit)
	}
	third := another(l, 3) // and again, with nobody there in between
	k, stderr = keptFor(t, third, "runs")
	if err := k.Process.Write(t.Context(), []byte("it\n")); err != nil {
		t.Error(err)
	}
	awaitExit(t, k.Process)
	if exit := k.Process.Exit(); exit.Code != 3 || stderr.String() != "on\ngot it\n" {
		t.Errorf("%+v, %q", exit, stderr.String())
	}
}

// A command whose client did not come back in time was ended, and that is reported.
func TestTakeOverTooLate(t *testing.T) {
	l := newLand(t)
	first := l.remote(func(c *RemoteConfig) { c.Lease, c.Return = 10*time.Second, 20*time.Millisecond })
	_, out := begin(t, first, "echo on; sleep 1000", func(c *Command) { c.Call = "c" })
	out.await(t, "on\n")
	l.close(true)
	l.cut()
	awaitExit(t, l.server.host.command(1).process) // there
	l.close(false)
	k, stderr := keptFor(t, another(l, 2), "c")
	awaitExit(t, k.Process)
	if exit := k.Process.Exit(); !k.Expired || exit.OK() || stderr.String() != "on\n" {
		t.Errorf("%+v, %+v, %q", k, exit, stderr.String())
	}
}

// A command that had ended by itself before the lease did is not reported as ended by the lease, to
// any later client.
func TestTakeOverEndedBefore(t *testing.T) {
	l := newLand(t)
	first := l.remote(func(c *RemoteConfig) { c.Lease, c.Return = 10*time.Second, 20*time.Millisecond })
	_, out := begin(t, first, "echo on; sleep 1000", func(c *Command) { c.Call = "killed" })
	out.await(t, "on\n")
	done, _ := begin(t, first, "exit 7", func(c *Command) { c.Call = "ended" })
	awaitExit(t, done)
	l.close(true)
	l.cut()
	awaitExit(t, l.server.host.command(1).process) // there
	l.close(false)
	var waits *proc.Process // of the client before
	for epoch := uint64(2); epoch < 4; epoch++ {
		r := another(l, epoch)
		if waits != nil {
			awaitExit(t, waits) // that one knows that it was followed
		}
		waits, _ = begin(t, r, "read line", func(c *Command) { c.Input = proc.PipeInput })
		if k, _ := keptFor(t, r, "ended"); !k.Ended || k.Expired {
			t.Errorf("epoch %d: %+v", epoch, k)
		}
		k, _ := keptFor(t, r, "killed")
		awaitExit(t, k.Process)
		if !k.Expired {
			t.Errorf("epoch %d: %+v", epoch, k)
		}
	}
}

// The next client receives all commands in one frame, however long their scripts are.
func TestTakeOverLongScripts(t *testing.T) {
	l := newLand(t)
	first := l.remote(nil)
	p, _ := begin(t, first, "exit 3 # "+strings.Repeat("é", 20<<10), func(c *Command) { c.Call = "c" })
	awaitExit(t, p)
	waits, _ := begin(t, first, "read line", func(c *Command) { c.Input = proc.PipeInput })
	k, _ := keptFor(t, another(l, 2), "c")
	awaitExit(t, waits) // the first knows that it was followed
	awaitExit(t, k.Process)
	if n := len(k.Command); n > handedBytes+len("…") || !strings.HasPrefix(k.Command, "exit 3 # éé") ||
		!strings.HasSuffix(k.Command, "é…") {
		t.Errorf("%d bytes: %q", n, k.Command)
	}
}

// Output that comes while the clients change comes once, in order.
func TestTakeOverInAFlood(t *testing.T) {
	l := newLand(t)
	r := l.remote(nil)
	_, out := begin(
		t,
		r,
		"n=0; while [ $n -lt 3000 ]; do n=$((n+1)); echo $n; done; echo end",
		func(c *Command) { c.Call = "c" },
	)
	out.await(t, "10\n")
	var stderr *sink
	for epoch := uint64(2); epoch < 6; epoch++ {
		var k *TakenCommand
		k, stderr = keptFor(t, another(l, epoch), "c")
		if epoch == 5 {
			awaitExit(t, k.Process)
		}
	}
	lines := strings.Split(stderr.String(), "\n")
	if first := strings.Index(stderr.String(), "\n"); first < 0 ||
		!strings.HasSuffix(stderr.String(), "2999\n3000\nend\n") {
		t.Fatalf("%q", stderr.String())
	}
	n := 0
	for i, line := range lines[1 : len(lines)-2] { // the first may be a part of one
		var now int
		for _, c := range line {
			now = now*10 + int(c-'0')
		}
		if i > 0 && now != n+1 {
			t.Fatalf("%d comes after %d", now, n)
		}
		n = now
	}
}
