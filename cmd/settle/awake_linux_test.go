package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// A command that stops settle does not keep it from ending the call (C9), and the attempt is
// reported.
func TestACommandStopsSettle(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	// The parent of the command is its supervisor, whose parent is settle.
	stop := `{"command":"read -r _ _ _ host _ </proc/$PPID/stat; kill -STOP $host; sleep 0.2; echo done"}`
	server := modeltest.NewServer(
		t, modeltest.Script(modeltest.Reply(modeltest.Call("shell", stop)), modeltest.Say("fine")),
	)
	cmd := p.run(server, "--session", "s", "go")
	started(t, cmd)
	exited(t, cmd, 0)
	if body := string(server.Exchanges()[1].Body); !strings.Contains(body, "settle was stopped while this ran") {
		t.Errorf("the model is not told: %s", body)
	}
	p.log("s")
}

// Ctrl-Z at a terminal stops settle, and it stays stopped until it is continued, regardless of its
// commands.
func TestATerminalStopsSettle(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", "78.5"), modeltest.Say("fine")))
	awake := p.fifo("fifo")
	cmd := p.run(server, "--session", "s", "go")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a job of a shell
	started(t, cmd)
	awake()
	for range 2 {
		signalled(t, cmd, syscall.SIGTSTP)
		awaitStopped(t, cmd.Process.Pid)
		<-time.After(1200 * time.Millisecond) // twice the time after which a supervisor would wake it
		if got := stateOf(t, cmd.Process.Pid); got != "T" {
			t.Fatalf("it was woken: %s", got)
		}
		signalled(t, cmd, syscall.SIGCONT)
		for stateOf(t, cmd.Process.Pid) == "T" {
			<-time.After(time.Millisecond) // it goes on at once
		}
	}
	signalled(t, cmd, syscall.SIGINT)
	exited(t, cmd, 130)
	awaitNoProcess(t, "sleep 78.5")
}

func stateOf(t *testing.T, pid int) string {
	t.Helper()
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, fields, _ := strings.Cut(string(raw), ") ")
	return fields[:1]
}
