package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// A killed settle leaves temporary files, and the next one removes them; it leaves files in use by
// another one alone (C23).
func TestTemporaryFilesAfterAKill(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tmp := filepath.Join(filepath.Dir(p.work), "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "TMPDIR="+tmp)
	waits := func(fifo string) modeltest.Turn {
		return modeltest.Reply(
			modeltest.Call(
				"shell",
				`{"command":"echo x > \"$TMPDIR/file\"; echo awake > `+filepath.Join(p.work, fifo)+`; sleep 94.7"}`,
			),
		)
	}
	begin := func(fifo string) func(sig os.Signal) {
		awake := p.fifo(fifo)
		server := modeltest.NewServer(t, modeltest.Script(waits(fifo), modeltest.Say("done")))
		run := p.run(server, "--ephemeral", "--sandbox", "auto", "go")
		started(t, run)
		awake()
		return func(sig os.Signal) {
			signalled(t, run, sig)
			_ = run.Wait() // by the signal
		}
	}
	there := func() map[string]bool {
		found := map[string]bool{}
		entries, err := os.ReadDir(tmp)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() { // and not a file that a command writes without a sandbox
				found[e.Name()] = true
			}
		}
		return found
	}
	begin("killed")(syscall.SIGKILL)
	tick := time.NewTicker(20 * time.Millisecond) // the operating system sends no notification
	defer tick.Stop()
	for late := time.After(patience); len(processes(filepath.Join(p.work, "killed"))) > 0; {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("the command of a killed run runs on")
		}
	}
	left := there()
	if len(left) == 0 {
		t.Fatal("a killed run left nothing, so that nothing is tested")
	}
	running := begin("running")
	used := there()
	for name := range left {
		if used[name] {
			t.Errorf("%s is there after the next run has begun", name)
		}
	}
	last := begin("last")
	for name := range used {
		if !there()[name] {
			t.Errorf("%s was removed while it is in use", name)
		}
	}
	running(os.Interrupt)
	last(os.Interrupt)
	if now := there(); len(now) > 0 {
		t.Errorf("left in the end: %v", now)
	}
}
