//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet/fleettest/executortest"
	"github.com/settle-agent/settle/modeltest"
)

// patience bounds what a test waits for.
const patience = time.Minute

// reattaching is a fleet whose executor is on another machine.
type reattaching struct {
	t           *testing.T
	dir         string // where the executor works
	env         []string
	model       *modeltest.Server
	workerDeath time.Time // the first worker's death
}

func newReattaching(t *testing.T, turns ...modeltest.Turn) *reattaching {
	t.Helper()
	home(t)
	r := &reattaching{t: t, dir: t.TempDir()}
	host := executortest.New(t, r.dir)
	t.Setenv(executortest.HostVar, host.Socket)
	r.env = os.Environ()
	command := fmt.Sprintf(
		`{"command":"echo $$ >> %[1]s/ran; while [ ! -e %[1]s/go ]; do sleep 0.02; done; echo the end of it; exit 3"}`,
		r.dir,
	)
	r.model = modeltest.NewServer(
		t, modeltest.Script(append([]modeltest.Turn{modeltest.Reply(modeltest.Call("shell", command))}, turns...)...),
	)
	must(t, "", "migrate")
	must(
		t, "", "submit", "--heartbeat-timeout", "2s", "-C", r.dir, "--session", "s", "--executor", host.DialCommand(),
		"-m", "openai/gpt-5.2", "work",
	)
	return r
}

// worker starts one as a process.
func (r *reattaching) worker(id string) (*exec.Cmd, *bytes.Buffer) {
	r.t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(os.Args[0])
	args := []string{"worker", "--id", id, "--drain-timeout", "0", "--base-url", r.model.OpenAI()}
	cmd.Env = append(r.env[:len(r.env):len(r.env)], roleVar+"="+roleCommand, argsVar+"="+strings.Join(args, "\t"))
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT) // it may have ended
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if r.t.Failed() {
			r.t.Logf("worker %s: %s", id, stderr.String())
		}
	})
	return cmd, &stderr
}

// await polls until the condition holds.
func (r *reattaching) await(what string, condition func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("waited in vain: %s\n%s", what, must(r.t, "", "logs", "s"))
		}
	}
}

// runs returns the pids of the command, one for each time that it ran.
func (r *reattaching) runs() []string {
	data, _ := os.ReadFile(filepath.Join(r.dir, "ran")) // it may not have begun
	return strings.Fields(string(data))
}

func (r *reattaching) release() {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// running reports whether the command's process is there.
func (r *reattaching) running() bool {
	var pid int
	_, err := fmt.Sscan(r.runs()[0], &pid)
	return err == nil && syscall.Kill(pid, 0) == nil
}

// events returns the log.
func (r *reattaching) events() (all []event.Event) {
	r.t.Helper()
	for line := range strings.Lines(must(r.t, "", "logs", "--json", "s")) {
		var e event.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			r.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// has reports whether the log has events for which the condition holds.
func (r *reattaching) has(condition func(event.Event) bool) bool {
	for _, e := range r.events() {
		if condition(e) {
			return true
		}
	}
	return false
}

func isJobStart(e event.Event) bool { return e.Kind() == event.KindJobStarted }

// lastInput returns the text of the last input.
func (r *reattaching) lastInput() (text string) {
	for _, e := range r.events() {
		if d, ok := e.Data.(event.InputAccepted); ok {
			text = d.Text
		}
	}
	return text
}

// kill ends the worker when the command runs, and says when.
func (r *reattaching) kill(cmd *exec.Cmd) {
	r.await("the command runs", func() bool { return len(r.runs()) > 0 })
	r.workerDeath = time.Now()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// check waits for the task's end, and for the end of the executor.
func (r *reattaching) check() {
	r.t.Helper()
	must(r.t, "", "results", "--wait")
	for _, e := range r.events() {
		if e.Kind() == event.KindSessionRecovered && !r.workerDeath.IsZero() {
			r.t.Logf("settled %s after the worker's death", e.At.Sub(r.workerDeath).Round(time.Millisecond))
			if e.At.Sub(r.workerDeath) > 10*time.Second {
				r.t.Log("that is more than ten seconds; the machine may be slow")
			}
		}
	}
	if n := len(r.runs()); n != 1 {
		r.t.Errorf("C5: the command ran %d times", n)
	}
	if r.running() {
		r.t.Error("C7: the command is still there")
	}
}

// TestReattachEnded: a worker dies while a command runs at the executor, and the command
// ends before the next worker comes. The model gets its ending and its output.
func TestReattachEnded(t *testing.T) {
	r := newReattaching(t, modeltest.Say("I know."))
	first, _ := r.worker("first")
	r.kill(first)
	r.release()
	r.await("the command ends", func() bool { return !r.running() })
	r.worker("second")
	r.check()
	if text := r.lastInput(); !strings.Contains(text, "ran to its end") || !strings.Contains(text, "the end of it\n") ||
		!strings.Contains(text, "[exit code 3]") {
		t.Errorf("%q", text)
	}
}

// TestReattachRunning: the command goes on as a job of the next worker's session.
func TestReattachRunning(t *testing.T) {
	r := newReattaching(
		t,
		modeltest.Reply(modeltest.Call("job", `{"action":"wait","job":"j000001"}`)),
		modeltest.Say("I know."),
	)
	first, _ := r.worker("first")
	r.kill(first)
	r.worker("second")
	r.await("the command is a job", func() bool { return r.has(isJobStart) })
	if !r.running() {
		t.Error("it does not run any more")
	}
	r.release()
	r.check()
	if text := r.lastInput(); !strings.Contains(text, "is still running: it is job j000001 now") {
		t.Errorf("%q", text)
	}
	if !r.has(func(e event.Event) bool {
		d, ok := e.Data.(event.ItemEnded)
		return ok && d.Name == "job" && strings.Contains(d.Output, "the end of it")
	}) {
		t.Errorf("%s", must(t, "", "logs", "s"))
	}
}

// TestReattachStopped: a worker that was stopped and wakes is refused, by the executor as
// by the log, and what it had started is the next one's.
func TestReattachStopped(t *testing.T) {
	r := newReattaching(
		t,
		modeltest.Reply(modeltest.Call("job", `{"action":"wait","job":"j000001"}`)),
		modeltest.Say("I know."),
	)
	first, stderr := r.worker("first")
	r.await("the command runs", func() bool { return len(r.runs()) > 0 })
	_ = first.Process.Signal(syscall.SIGSTOP)
	r.worker("second")
	r.await("the command is a job", func() bool { return r.has(isJobStart) })
	_ = first.Process.Signal(syscall.SIGCONT)
	_ = first.Process.Signal(syscall.SIGTERM) // it ends when it has ended what it ran
	_ = first.Wait()
	if text := stderr.String(); !strings.Contains(text, "another worker has the task now") {
		t.Errorf("it says %s", text)
	}
	if !r.running() {
		t.Error("the first worker has ended what is the second one's")
	}
	r.release()
	r.check()
}
