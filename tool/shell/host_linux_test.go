package shell

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/tool"
)

// roleVariable gives this test binary a role instead of tests.
const roleVariable = "SETTLE_TEST_ROLE"

// play plays the role in the environment, if there is one.
func play() {
	switch os.Getenv(roleVariable) {
	case "":
		return
	case "host":
		playHost()
	case "subreaper":
		playSubreaper()
	case "setuid":
		playSetuidProcess()
	}
	syscall.Exit(0) // os.Exit waits a second under the race detector
}

// playHost is a small host: it holds a session's lock, runs one command and ends like
// settle on SIGTERM.
func playHost() {
	if _, err := proc.BecomeReaper(); err != nil {
		panic(err)
	}
	lock, err := os.OpenFile(os.Getenv("TEST_LOCK"), os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, unix.SIGTERM)
	go func() {
		<-asked
		cancel(errors.New("shutdown"))
	}()
	jobs := NewJobs(Config{
		Env:    []string{"PATH=" + os.Getenv("PATH"), "SELF=" + os.Getenv("SELF")},
		Marker: os.Getenv("TEST_MARKER"), SpoolDir: os.Getenv("TEST_SPOOL"), Lock: lock,
		EndTimeout: patience,
	})
	raw, _ := json.Marshal(object{"command": os.Getenv("TEST_COMMAND")})
	result, err := jobs.Tools()[0].Run(ctx, tool.Call{
		ID: "call", Name: "shell", Args: raw, Dir: "/", Progress: func(text string) { fmt.Print(text) },
	})
	if err != nil {
		panic(err)
	}
	if os.Getenv("TEST_LINGER") != "" {
		fmt.Println("lingering")
		<-ctx.Done() // the test ends this process
	}
	survivors, err := jobs.Close(context.Background())
	fmt.Printf("\nRESULT %+v %v %v\n", result, survivors, err)
}

// playSubreaper adopts its own orphans and never ends by itself.
func playSubreaper() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	cmd := exec.Command("sh", "-c", "(setsid sleep 1000 &)")
	cmd.Stdout = os.Stdout
	if err := cmd.Run(); err != nil {
		panic(err)
	}
	pause()
}

// pause waits to be killed. Without cgo, Go treats "select {}" as a deadlock.
func pause() {
	for {
		_ = unix.Pause()
	}
}

// playSetuidProcess becomes root permanently, like sudo, and waits to be killed.
func playSetuidProcess() {
	if err := syscall.Setresuid(0, 0, 0); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	pause()
}

// settleHost is a running playHost.
type settleHost struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *bufio.Reader
	lock   string
	marker string
}

func startHost(t *testing.T, command, marker string, extra ...string) *settleHost {
	t.Helper()
	h := &settleHost{t: t, lock: t.TempDir() + "/lock", marker: marker}
	if err := os.WriteFile(h.lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.cmd = exec.Command("/proc/self/exe")
	h.cmd.Env = append(os.Environ(), roleVariable+"=host", "TEST_LOCK="+h.lock, "TEST_MARKER="+marker,
		"TEST_COMMAND="+command, "TEST_SPOOL="+t.TempDir(), "SELF=/proc/"+strconv.Itoa(os.Getpid())+"/exe")
	h.cmd.Env = append(h.cmd.Env, extra...)
	h.cmd.Stderr = os.Stderr
	pipe, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.out = bufio.NewReader(pipe)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
		_, _ = proc.Sweep(marker)
	})
	return h
}

// awaitReady waits until the command is ready.
func (h *settleHost) awaitReady() { h.await("ready\n") }

func (h *settleHost) await(what string) {
	h.t.Helper()
	for {
		line, err := h.out.ReadString('\n')
		if err != nil {
			h.t.Fatalf("the host ended: %v", err)
		}
		if line == what {
			return
		}
	}
}

// rest returns the host's remaining output.
func (h *settleHost) rest() string {
	h.t.Helper()
	text, err := io.ReadAll(h.out)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.cmd.Wait(); err != nil {
		h.t.Errorf("the host failed: %v: %s", err, text)
	}
	return string(text)
}

// supervisor returns the host's supervisor, its only child.
func (h *settleHost) supervisor() int {
	h.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", h.cmd.Process.Pid, h.cmd.Process.Pid))
	pids := strings.Fields(string(raw))
	if len(pids) == 0 {
		pids = childrenOf(h.cmd.Process.Pid)
	}
	if len(pids) != 1 {
		h.t.Fatalf("the host has the children %v (%v), want one", pids, err)
	}
	pid, err := strconv.Atoi(pids[0])
	if err != nil {
		h.t.Fatal(err)
	}
	return pid
}

func childrenOf(parent int) (pids []string) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		raw, _ := os.ReadFile("/proc/" + entry.Name() + "/stat")
		_, rest, found := strings.Cut(string(raw), ") ")
		if found && strings.Fields(rest)[1] == strconv.Itoa(parent) {
			pids = append(pids, entry.Name())
		}
	}
	return pids
}

// awaitUnlocked waits for the session's lock: its next holder finds no running process of
// the session.
func (h *settleHost) awaitUnlocked() {
	h.t.Helper()
	lock, err := os.OpenFile(h.lock, os.O_RDWR, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		h.t.Fatal(err)
	}
}

// marked returns the living processes with a marker. One look can miss processes that fork
// and exit at that moment.
func marked(marker string) (found []string) {
	looked := make(map[string]bool)
	for range 20 {
		entries, _ := os.ReadDir("/proc")
		for _, entry := range entries {
			pid := entry.Name()
			if looked[pid] {
				continue
			}
			looked[pid] = true
			environ, err := os.ReadFile("/proc/" + pid + "/environ")
			if err == nil && strings.Contains("\x00"+string(environ), "\x00"+proc.MarkerName+"="+marker+"/") {
				line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
				found = append(found, pid+" "+strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
	}
	return found
}

// unprivilegedUser is a user without privileges.
func unprivilegedUser() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}
