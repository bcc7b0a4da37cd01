//go:build machine

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/modeltest"
)

// cannotMount is the exit code of the script of TestFullDisk on machines where no user can mount a
// file system.
const cannotMount = 77

// C4, C14, C20 on a real file system that is really full: the turn fails with the reason, its
// endings are in the log nevertheless, and with some room the session continues.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(
		modeltest.Say(strings.Repeat("an answer that is longer than the disk. ", 40_000)),
		modeltest.Say("there is room again"),
	))
	if err := os.Mkdir(p.data, 0o700); err != nil {
		t.Fatal(err)
	}
	script := `mount -t tmpfs -o size=1m,mode=700 none "$SETTLE_DATA_DIR" || exit 77
settle run --session s --json=deltas "$@" go >first 2>said; echo $? >code
settle sessions export s >log; settle sessions check s >check || exit 3
mount -o remount,size=16m none "$SETTLE_DATA_DIR" || exit 4
settle run --session s "$@" go on >second || exit 5
settle sessions export s >whole && settle sessions check s >>check`
	settle, err := exec.LookPath("settle")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(p.ctx, "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", "-m", "chat/m", "--base-url", server.OpenAI())
	cmd.Dir, cmd.Env = p.work, append(p.env, "PATH="+filepath.Dir(settle)+":"+os.Getenv("PATH"))
	said, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code == cannotMount || strings.Contains(string(said), "unshare: ") {
		t.Logf("not tried, since nothing can be mounted here: %s", said)
		return
	}
	read := func(name string) string {
		raw, _ := os.ReadFile(filepath.Join(p.work, name))
		return string(raw)
	}
	if err != nil {
		t.Fatalf("%v: %s\n%s%s", err, said, read("check"), read("said"))
	}
	if code := read("code"); code != "1\n" {
		t.Errorf("exit code %s", code)
	}
	if got := read("said"); !strings.HasPrefix(got, "settle: failed: the session's log cannot be written") || !strings.Contains(got, "no space left on device") {
		t.Errorf("stderr: %.300s", got)
	}
	shown := lastEvent(t, read("first"))
	if d, failed := shown.Data.(event.TurnFailed); !failed || d.Failure.Name != event.NameJournal {
		t.Errorf("the last event is %+v", shown)
	}
	if got := read("second"); got != "there is room again\n" {
		t.Errorf("stdout: %q", got)
	}
	ends := 0
	for _, name := range []string{"log", "whole"} {
		var events []event.Event
		for line := range bytes.Lines([]byte(read(name))) {
			var e event.Event
			if err := e.UnmarshalJSON(line); err != nil {
				t.Fatal(err)
			}
			events = append(events, e)
			if e.Terminal() {
				ends++
			}
		}
		if err := contract.Check(events); err != nil {
			t.Error(err)
		}
	}
	if ends != 3 {
		t.Errorf("%d turns ended: that which failed, and both", ends)
	}
}
