//go:build machine && linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/frontend/compat/execserver/execservertest"
	"github.com/settle-agent/settle/internal/test/setsid"
	"github.com/settle-agent/settle/modeltest"
)

// C5, C7 over an executor, for every connection, every escape of commands, and every sandbox: no
// process survives, and every call ends with its outcome, or with unknown effects.
func TestExecutorLeavesNoProcess(t *testing.T) {
	programs := programs(t)
	for name, l := range lands(t, programs) {
		for mode, flags := range map[string][]string{
			"off":       {"--sandbox", "off"},
			"workspace": {"--sandbox", "required", "--sandbox-mode", "workspace"},
			"read-only": {"--sandbox", "required", "--sandbox-mode", "read-only"},
		} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				for _, ending := range []func(*executorCell){(*executorCell).exit, (*executorCell).interrupt, (*executorCell).killExecutor, (*executorCell).killHost} {
					ending(newExecutorCell(t, l, programs, flags))
				}
				if l.cuts != nil && l.cuts.Load() == 0 {
					t.Error("nothing was cut")
				}
			})
		}
	}
}

// executorCell is one settle whose commands run in a land, and try to get away.
type executorCell struct {
	*place
	t      *testing.T
	way    string
	mark   string
	script string // the beginning of each command
	lease  string
	flags  []string
}

func newExecutorCell(t *testing.T, l land, programs string, flags []string) *executorCell {
	t.Helper()
	p := newPlace(t)
	dir := filepath.Dir(p.work)
	c := &executorCell{
		place: p,
		t:     t,
		mark:  fmt.Sprintf("executor-%d-%s-%s", os.Getpid(), filepath.Base(filepath.Dir(dir)), filepath.Base(dir)),
		flags: flags,
		lease: "15s",
	}
	if l.cuts != nil {
		c.lease = "45s" // on a busy machine it takes long to come back so often
	}
	there := filepath.Join(dir, "there")
	if l.root != "" {
		there, programs = "/tmp/"+c.mark, "/bin"
	}
	for _, name := range []string{"work", "home", "run"} {
		if err := os.MkdirAll(filepath.Join(l.root, there, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// The files that the escapes write first, for a sandbox in which they cannot.
	for _, escape := range execservertest.Escapes() {
		if _, text, ok := strings.Cut(escape.Command, "echo '"); ok {
			text, rest, _ := strings.Cut(text, "'")
			name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(rest), `>"$DIR/`), `"`)
			if err := os.WriteFile(filepath.Join(l.root, there, "work", name), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.script = fmt.Sprintf("DIR=%s/work\n", there)
	c.way = fmt.Sprintf(
		l.way,
		fmt.Sprintf(
			"cd %[1]s/work && export PATH=%[2]s:$PATH HOME=%[1]s/home XDG_RUNTIME_DIR=%[1]s/run %[3]s=%[4]s; exec settle executor",
			there, programs, execservertest.MarkVariable, c.mark,
		),
	)
	return c
}

// few makes the long chains of an escape short: their length does not matter.
var few = strings.NewReplacer(
	"chain 300", "chain 30", `chain" 200`, `chain" 20`, `deep" 50`, `deep" 20`, `"$DIR/`+setsid.Subreaper+`"`,
	setsid.Subreaper,
)

// start begins a turn whose commands all are ready, and go on as said.
func (c *executorCell) start(foreground string, then ...modeltest.Turn) (cmd *exec.Cmd, server *modeltest.Server) {
	c.t.Helper()
	var calls []modeltest.Item
	for _, escape := range execservertest.Escapes() {
		args, err := json.Marshal(map[string]string{"command": c.script + few.Replace(escape.Command) + foreground})
		if err != nil {
			c.t.Fatal(err)
		}
		calls = append(calls, modeltest.Call("shell", string(args)))
	}
	server = modeltest.NewServer(c.t, modeltest.Script(append([]modeltest.Turn{modeltest.Reply(calls...)}, then...)...))
	cmd = c.run(
		server,
		append(
			[]string{"--session", "s", "--json=deltas", "--executor-lease", c.lease, "--executor", c.way, "go"},
			c.flags...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	started(c.t, cmd)
	ready := map[string]bool{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	var said []string
	for len(ready) < len(calls) {
		if !lines.Scan() {
			c.t.Fatalf(
				"%d of %d commands are ready: %v; %s\n%s",
				len(ready),
				len(calls),
				lines.Err(),
				cmd.Stderr,
				strings.Join(said, "\n"),
			)
		}
		said = append(said, lines.Text())
		var e event.Event
		if err := e.UnmarshalJSON(lines.Bytes()); err != nil {
			c.t.Fatal(err)
		}
		switch data := e.Data.(type) {
		case event.ItemDelta:
			if data.Stream == event.Output && strings.Contains(data.Text, "ready") {
				ready[e.Item] = true
			}
		case event.ItemEnded:
			if data.Name == "shell" && strings.Contains(data.Output, "ready") {
				ready[e.Item] = true // it came with the end
			}
			if foreground == execservertest.Foreground && data.Status != event.ItemCompleted {
				c.t.Errorf("a call has ended: %+v", data)
			}
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with cmd
	return cmd, server
}

// executors are the processes of settle executor, which no call started.
func (c *executorCell) executors() (pids []int, others []string) {
	for _, line := range execservertest.Survivors(c.mark) {
		pid, command, _ := strings.Cut(line, " ")
		if n, err := strconv.Atoi(pid); err == nil && command == "settle executor" {
			pids = append(pids, n)
		} else {
			others = append(others, line)
		}
	}
	return pids, others
}

// nothing waits until no command is left, nor, unless they wait for a settle that may
// come back, any executor.
func (c *executorCell) nothing(ending string, waiting bool) {
	c.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond) // the operating system sends no notification
	defer tick.Stop()
	over := time.After(patience)
	for {
		executors, left := c.executors()
		if len(left) == 0 && (waiting || len(executors) == 0) {
			return
		}
		select {
		case <-tick.C:
		case <-over:
			c.t.Errorf("after %s, %d are left, and executors %v: %q", ending, len(left), executors, left)
			return
		}
	}
}

// ended counts how the calls ended, by the log.
func (c *executorCell) ended(ending string, want func(event.ItemEnded) bool) {
	c.t.Helper()
	calls := 0
	for _, e := range c.log("s") {
		if d, ok := e.Data.(event.ItemEnded); ok && d.Name == "shell" {
			calls++
			if !want(d) {
				c.t.Errorf(
					"after %s, a call ended as %s, effects %s, cause %+v: %q", ending, d.Status, d.Effects, d.Cause,
					d.Output,
				)
			}
		}
	}
	if calls != len(execservertest.Escapes()) {
		c.t.Errorf("after %s, %d calls ended", ending, calls)
	}
}

// exit: the commands exit, their remaining processes become jobs, and the jobs end with the
// session.
func (c *executorCell) exit() {
	cmd, _ := c.start("\necho ready", modeltest.Say("Done."))
	exited(c.t, cmd, 0)
	c.nothing("exit", false)
	c.ended("exit", func(d event.ItemEnded) bool { return d.Status == event.ItemCompleted })
}

func (c *executorCell) interrupt() {
	cmd, _ := c.start(execservertest.Foreground)
	signalled(c.t, cmd, os.Interrupt)
	exited(c.t, cmd, 130)
	c.nothing("an interrupt", false)
	c.ended("an interrupt", func(d event.ItemEnded) bool {
		return d.Status == event.ItemAborted && d.Cause != nil && d.Cause.Reason == event.Interrupted
	})
}

// killExecutor: the effects of the calls are unknown; the turn continues.
func (c *executorCell) killExecutor() {
	cmd, _ := c.start(execservertest.Foreground, modeltest.Say("Done."))
	pids, _ := c.executors()
	if len(pids) == 0 {
		c.t.Error("there is no executor")
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			c.t.Error(err)
		}
	}
	exited(c.t, cmd, 0)
	c.nothing("kill -9 of the executor", false)
	c.ended("kill -9 of the executor", func(d event.ItemEnded) bool {
		return d.Status == event.ItemAborted && d.Effects == event.EffectsUnknown && d.Cause != nil &&
			d.Cause.Reason == event.MachineLost
	})
}

// killHost: the executor ends everything, and the session can be opened again.
func (c *executorCell) killHost() {
	cmd, server := c.start(execservertest.Foreground)
	signalled(c.t, cmd, syscall.SIGKILL)
	exited(c.t, cmd, -1)
	c.nothing("kill -9 of settle", true)
	server.Then(modeltest.Say("All right."))
	again := c.run(server, append([]string{"--resume", "s", "--executor", c.way, "and now?"}, c.flags...)...)
	started(c.t, again)
	exited(c.t, again, 0)
	c.nothing("another settle", false)
	c.ended("kill -9 of settle", func(d event.ItemEnded) bool {
		return d.Status == event.ItemAborted && d.Effects == event.EffectsUnknown && d.Cause != nil &&
			d.Cause.Reason == event.Crashed
	})
}

// Settle copies itself into a container that has busybox and no settle, once.
func TestExecutorInstallsItselfOnce(t *testing.T) {
	programs, none := programs(t), t.TempDir()
	if err := os.Symlink(filepath.Join(programs, setsid.Subreaper), filepath.Join(none, setsid.Subreaper)); err != nil {
		t.Fatal(err)
	}
	l := container(t, none)
	p := newPlace(t)
	for range 2 {
		server := modeltest.NewServer(
			t,
			modeltest.Script(
				modeltest.Reply(modeltest.Call("shell", `{"command":"command -v settle || ls -l /root/.local/bin"}`)),
				modeltest.Say("Done."),
			),
		)
		cmd := p.run(
			server, "--json", "--executor-install", "--executor", fmt.Sprintf(l.way, "cd /tmp && exec settle executor"),
			"go",
		)
		cmd.Path = filepath.Join(programs, "settle") // the copied program must be static
		out := &strings.Builder{}
		cmd.Stdout = out
		started(t, cmd)
		exited(t, cmd, 0)
		if !strings.Contains(out.String(), "-rwxr-xr-x") || strings.Contains(out.String(), "total 0") {
			t.Errorf("%s", out)
		}
	}
	ours, err1 := os.ReadFile(filepath.Join(programs, "settle"))
	theirs, err2 := os.ReadFile(filepath.Join(l.root, "root/.local/bin/settle"))
	entries, err3 := os.ReadDir(filepath.Join(l.root, "root/.local/bin"))
	if err := errors.Join(err1, err2, err3); err != nil || string(ours) != string(theirs) || len(entries) != 1 {
		t.Errorf("%v; %d bytes were copied of %d; there is %v", err, len(theirs), len(ours), entries)
	}
}
