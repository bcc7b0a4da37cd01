//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/modeltest"
)

// hostOf returns the PID of the process that hosts a session, from "settle sessions".
func (p *place) hostOf(session string) (pid int) {
	p.t.Helper()
	for line := range strings.Lines(p.says("sessions", "list", "--json")) {
		var one struct {
			Session string
			Host    struct {
				PID      int
				Frontend string `json:"face"`
			}
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			p.t.Fatal(err)
		}
		if one.Session == session && one.Host.Frontend == "detached" {
			pid = one.Host.PID
		}
	}
	return pid
}

// ends waits for the end of a process that is no child of the test.
func ends(t *testing.T, pid int) {
	t.Helper()
	look, late := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer look.Stop()
	for syscall.Kill(pid, 0) == nil {
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("pid %d does not end", pid)
		}
	}
}

// The command returns when the host has the prompt. The host works on without it, answers an
// interrupt, runs an attached terminal's input, and ends with everything at SIGTERM.
func TestRunDetach(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Call("shell", fmt.Sprintf(`{"command":"echo up > %s; sleep 300"}`, filepath.Join(p.work, "up"))),
		),
		modeltest.Say("It is done."),
	))
	up := p.fifo("up")
	run := p.run(server, "--session", "d", "--detach", "go")
	started(t, run)
	exited(t, run, 0)
	up()
	pid := p.hostOf("d")
	if pid == 0 {
		t.Fatal("no process hosts the session")
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil &&
		(bytes.HasSuffix(line, []byte("\x00go\x00")) || !bytes.Contains(line, []byte("detached-host"))) {
		t.Errorf("other users can read the prompt: %q", line)
	}
	if got := p.says("sessions", "interrupt", "d"); !strings.Contains(got, "turn t000001 interrupted") {
		t.Errorf("interrupt: %s", got)
	}
	cmd, keys, shot, _ := openTerminal(t, p, "attach", "--plain", "d")
	shot.shows(t, fmt.Sprintf("Attached to pid %d (detached)", pid))
	typed(t, keys, "more\n")
	shot.shows(t, "It is done.")
	typed(t, keys, "/quit\n")
	exited(t, cmd, 0)
	if p.hostOf("d") != pid {
		t.Error("the host has ended with the terminal")
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ends(t, pid)
	state, err := journal.Load(p.data, "d")
	if err != nil || state.Open || len(state.Turns) != 2 ||
		state.Turns[0].Cause.Reason != event.Interrupted || state.Turns[1].Cause.Outcome != event.Completed {
		t.Errorf("the log: %v, open %v, %d turns", err, state.Open, len(state.Turns))
	}
	log, err := os.ReadFile(filepath.Join(p.data, "log", "settle.log"))
	if err != nil || !strings.Contains(string(log), "ends by SIGTERM") {
		t.Errorf("the log does not say how the host ended: %v\n%s", err, log)
	}
	if left, _ := filepath.Glob(filepath.Join(p.data, "log", "detached-*")); len(left) != 0 {
		t.Errorf("files are left: %q", left)
	}
}

// The command receives the reason why the prompt was refused, and no process is left.
func TestRunDetachReportsRefusal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script())
	run := p.run(server, "--session", "d", "--image", filepath.Join(p.work, "none.png"), "--detach", "go")
	started(t, run)
	exited(t, run, 2)
	if pid := p.hostOf("d"); pid != 0 {
		t.Errorf("pid %d is left", pid)
	}
}

// An idle host ends, and the log names its session.
func TestDetachedHostEndsWhenIdle(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(modeltest.Say("Done.")))
	run := p.run(server, "--session", "d", "--detach", "--detached-idle", "1s", "go")
	started(t, run)
	exited(t, run, 0)
	look, late := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer look.Stop()
	for {
		log, _ := os.ReadFile(filepath.Join(p.data, "log", "settle.log"))
		if strings.Contains(string(log), "idle for 1s") && strings.Contains(string(log), "session=d") {
			break
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("the host does not end:\n%s", log)
		}
	}
}

// A detached session begins in plan mode if the command does.
func TestRunDetachPlans(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	write := modeltest.Call("write", fmt.Sprintf(`{"path":%q,"content":"x"}`, filepath.Join(p.work, "made")))
	server := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(write), modeltest.Say("It is planned.")))
	run := p.run(server, "--session", "d", "--detach", "--permission", "plan", "--"+idleFlag+"=1s", "go")
	started(t, run)
	exited(t, run, 0)
	if pid := p.hostOf("d"); pid > 0 {
		ends(t, pid)
	}
	state, err := journal.Load(p.data, "d")
	if err != nil || len(state.Turns) != 1 || state.Turns[0].Cause.Outcome != event.Completed {
		t.Fatalf("the log: %v, %d turns", err, len(state.Turns))
	}
	if _, err := os.Stat(filepath.Join(p.work, "made")); !os.IsNotExist(err) {
		t.Error("plan mode changed a file:", err)
	}
}

// A host does not start with the beginning of a prompt.
func TestReadOrderRefusesCutPrompt(t *testing.T) {
	var whole bytes.Buffer
	if err := json.NewEncoder(&whole).Encode(hostOrder{Prompt: "delete no file"}); err != nil {
		t.Fatal(err)
	}
	if got, err := readOrder(bytes.NewReader(whole.Bytes())); err != nil || got != "delete no file" {
		t.Errorf("%q, %v", got, err)
	}
	for n := range whole.Len() - 2 { // without the end of the object
		if got, err := readOrder(bytes.NewReader(whole.Bytes()[:n])); err == nil {
			t.Fatalf("%d bytes are taken: %q", n, got)
		}
	}
}
