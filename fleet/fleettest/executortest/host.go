//go:build unix

package executortest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// endTimeout bounds the end of the executors after the test.
const endTimeout = time.Minute

// Host is a machine with executors.
type Host struct {
	// Socket is the path of the socket that takes connections.
	Socket string

	t     *testing.T
	dir   string
	env   []string
	group sync.WaitGroup

	mu        sync.Mutex
	executors []*exec.Cmd // that run
}

// New starts a host whose executors work in a directory, in the environment that this
// process has now. They have to end with the sessions that use them.
func New(t *testing.T, dir string) *Host {
	t.Helper()
	socketDir, err := os.MkdirTemp("/tmp", "settle-fleet-") // sockets have short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(socketDir) })
	h := &Host{Socket: filepath.Join(socketDir, "sshd"), t: t, dir: dir}
	h.env = append(os.Environ(), "XDG_RUNTIME_DIR="+socketDir, roleVar+"="+roleExecutor)
	listener, err := net.Listen("unix", h.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.end)
	t.Cleanup(func() { _ = listener.Close() })
	h.group.Go(func() { h.accept(listener) }) // ends with the listener
	return h
}

// DialCommand returns a command line that connects to the executor from a process in whose environment
// [HostVar] is the host's socket, or one that leads there.
func (h *Host) DialCommand() string {
	return fmt.Sprintf("%s=%s exec %s", roleVar, roleProxy, os.Args[0])
}

// Executors returns the processes that run: executors, and those that lead to them from a later
// connection.
func (h *Host) Executors() (all []*os.Process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, cmd := range h.executors {
		all = append(all, cmd.Process)
	}
	return all
}

func (h *Host) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		file, err := conn.(*net.UnixConn).File()
		_ = conn.Close()
		if err != nil {
			continue
		}
		cmd := exec.Command(os.Args[0])
		cmd.Dir, cmd.Env = h.dir, h.env
		cmd.Stdin, cmd.Stdout, cmd.SysProcAttr = file, file, &syscall.SysProcAttr{Setsid: true}
		if cmd.Start() == nil {
			h.mu.Lock()
			h.executors = append(h.executors, cmd)
			h.mu.Unlock()
			h.group.Go(func() { h.wait(cmd) }) // end kills it, if nothing else ends it
		}
		_ = file.Close()
	}
}

func (h *Host) wait(cmd *exec.Cmd) {
	_ = cmd.Wait() // it may have been killed
	h.mu.Lock()
	defer h.mu.Unlock()
	h.executors = slices.DeleteFunc(h.executors, func(c *exec.Cmd) bool { return c == cmd })
}

// end waits for the end of all executors.
func (h *Host) end() {
	ended := make(chan struct{})
	go func() { h.group.Wait(); close(ended) }() // ends with the executors
	select {
	case <-ended:
		return
	case <-time.After(endTimeout):
		h.t.Error("executors are left, though the sessions are closed")
	}
	for _, p := range h.Executors() {
		_ = p.Kill() // it may have ended
	}
	<-ended
}
