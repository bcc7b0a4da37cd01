package proc

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// helper is a child of this process that this package did not start, as a
// script's is that has replaced itself by settle. It writes its process id to
// a pipe, reads a line, starts another process, which does the same, and exits.
type helper struct {
	cmd   *exec.Cmd
	lines io.Closer
	pids  string // the fifo that each process writes its id to
}

func startHelper(t *testing.T, first, second string) (h *helper, next func() int) {
	t.Helper()
	pids := filepath.Join(t.TempDir(), "pids")
	if err := unix.Mkfifo(pids, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := os.OpenFile(pids, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = read.Close() })
	h = &helper{cmd: exec.Command("sh", "-c", first, "sh", pids, second), pids: pids}
	in, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.lines = in
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return h, func() int {
		t.Helper()
		buf := make([]byte, 32)
		n, err := read.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
}

// killSupervisor ends a supervisor and returns when the host has done its work.
func killSupervisor(t *testing.T, p *Process) {
	t.Helper()
	if err := unix.Kill(parentOf(t, p.PID()), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	done(t, p)
}

// C23: the children that a script had before it became settle are unmanaged processes. The
// processes that these children start later are unmanaged as well, even if settle becomes their
// parent.
func TestChildrenAtTheStartAreNotOurs(t *testing.T) {
	const stays = `echo $$ >"$1"; exec sleep 1000`
	_, oldPID := startHelper(t, stays, "")
	parent, parentPID := startHelper(
		t, `echo $$ >"$1"; read x; sh -c "$2" sh "$1" & exit 0`,
		`exec env -i setsid sh -c 'echo $$ >"$1"; exec sleep 1000' sh "$1"`,
	)
	pids := []int{oldPID()}
	parentPID()
	t.Cleanup(func() {
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
			_, _ = unix.Wait4(pid, nil, 0, nil)
		}
	})

	stop, err := BecomeReaper()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	p, out := begin(t, sh("trap '' TERM; sleep 1000 & echo ready $!; wait"))
	out.await(t, "ready ")
	own := descendants(parentOf(t, p.PID()))

	_ = parent.lines.Close()
	pids = append(pids, parentPID()) // an orphan, and ours to reap
	killSupervisor(t, p)
	for _, pid := range pids {
		if n, ok := readProcess(pid); !ok || n.zombie() {
			t.Errorf("process %d, which is not ours, was ended", pid)
		}
	}
	for _, n := range own { // processes that are provably managed are ended as usual
		if now, ok := readProcess(n.pid); ok && now.started == n.started && !now.zombie() {
			t.Errorf("process %d, which is ours, runs on", n.pid)
		}
		_ = kill(n, unix.SIGKILL)
	}
}

// A released command runs on, even if its supervisor is killed and the host ends the orphans of
// another supervisor.
func TestReleasedOrphansAreNotOursAnyMore(t *testing.T) {
	stop, err := BecomeReaper()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	released, out := begin(
		t,
		sh(
			"(setsid env -i sh -c 'echo one; exec sleep 1000' &); (setsid sh -c 'echo two; exec sleep 1000' &); echo ready; exec sleep 1000",
		),
	)
	for _, line := range []string{"one\n", "two\n", "ready\n"} {
		out.await(t, line)
	}
	supervisor := parentOf(t, released.PID())
	if err := released.Release(Log{Path: filepath.Join(t.TempDir(), "log"), MaxBytes: 1 << 10}); err != nil {
		t.Fatal(err)
	}
	kept := slices.DeleteFunc(
		descendants(supervisor),
		func(n node) bool { return n.pid == released.PID() },
	) // the command itself dies with its supervisor
	if len(kept) < 2 {
		t.Fatalf("only %v", kept)
	}
	defer func() { // before the reaper stops
		for _, n := range kept {
			_ = kill(n, unix.SIGKILL)
			_, _ = unix.Wait4(n.pid, nil, 0, nil)
		}
	}()
	if err := unix.Kill(supervisor, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, supervisor)
	other, out := begin(t, sh("(setsid sleep 1000 &); echo ready; sleep 1000"))
	out.await(t, "ready\n")
	ours := descendants(parentOf(t, other.PID()))
	killSupervisor(t, other)
	for _, n := range kept {
		if now, ok := readProcess(n.pid); !ok || now.zombie() {
			t.Errorf("process %+v of the released command was ended: %+v", n, now)
		}
	}
	for _, n := range ours {
		if now, ok := readProcess(n.pid); ok && now.started == n.started && !now.zombie() {
			t.Errorf("process %d of the other command runs on", n.pid)
		}
	}
}

// C7: a supervisor that was killed while its command was being started leaves
// nothing behind either, wherever that has gone.
func TestDiscardEndsOrphans(t *testing.T) {
	stop, err := BecomeReaper()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	spec := sh("(setsid sh -c 'echo up; exec sleep 1000' &); exec sleep 1000")
	std, err := openFiles(spec)
	if err != nil {
		t.Fatal(err)
	}
	k, err := forkSupervisor(spec, std)
	if err != nil {
		t.Fatal(err)
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	env, marker := withMarker(spec.Env, "discard")
	k.marker = marker
	if _, err := k.begin(t.Context(), order{Start: &startOrder{Path: shell, Argv: spec.Argv, Env: env}}, nil); err != nil {
		t.Fatal(err)
	}
	std.closeTheirs()
	defer std.closeOurs()
	if _, err := std.out.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	kept := descendants(k.cmd.Process.Pid)
	if len(kept) < 2 {
		t.Fatalf("only %v", kept)
	}
	if err := k.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	k.discard()
	for _, n := range kept {
		if now, ok := readProcess(n.pid); ok && now.started == n.started && !now.zombie() {
			t.Errorf("process %d runs on", n.pid)
			_ = kill(n, unix.SIGKILL)
		}
	}
}
