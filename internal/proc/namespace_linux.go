package proc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/sandbox"
)

// A supervisor of a command with processes of its own ([sandbox.Policy].OwnProcesses) is the
// first process of a process namespace. It still has the machine's /proc, in which processes
// have other numbers than in its system calls. Nodes and reports have the numbers of /proc,
// which are the host's.

// namespaces lets a supervisor start in the namespaces that its command's sandbox needs.
func namespaces(cmd *exec.Cmd, policy *sandbox.Policy) {
	if policy == nil || !policy.View && !policy.OwnNetwork && !policy.OwnProcesses {
		return
	}
	if !sandbox.Administers() {
		inUserNamespace(cmd.SysProcAttr)
	}
	if policy.OwnProcesses {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWPID
	}
}

// mapUser maps this process's user and group into the user namespace of a supervisor that
// has started in one. The kernel gives the files of a process that is not dumpable
// ([Seclude]) to root, and a child that has not executed anything yet shares the host's
// memory and its protection. The maps are therefore written once the supervisor runs: it
// has no secrets then, and becomes non-dumpable before it reads its first order.
func mapUser(cmd *exec.Cmd) error {
	if cmd.SysProcAttr.Cloneflags&unix.CLONE_NEWUSER == 0 {
		return nil
	}
	uid, gid := os.Geteuid(), os.Getegid()
	for _, file := range []struct{ name, content string }{
		{"uid_map", fmt.Sprintf("%d %d 1", uid, uid)},
		{"setgroups", "deny"},
		{"gid_map", fmt.Sprintf("%d %d 1", gid, gid)},
	} {
		path := fmt.Sprintf("/proc/%d/%s", cmd.Process.Pid, file.name)
		if err := os.WriteFile(path, []byte(file.content), 0); err != nil {
			return fmt.Errorf("cannot map the user into a user namespace: %w", err)
		}
	}
	return nil
}

// awaitOrder waits until the host has sent something, which it does once it has written
// the maps of this process's user namespace.
func awaitOrder(socket int) {
	list := []unix.PollFd{{Fd: int32(socket), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(list, -1); !errors.Is(err, unix.EINTR) {
			return // after an error, reading the order fails as well
		}
	}
}

// ownPID is this process's number in /proc.
func ownPID() int {
	if os.Getpid() != 1 {
		return os.Getpid()
	}
	target, err := os.Readlink("/proc/self")
	if err != nil {
		return os.Getpid()
	}
	pid, err := strconv.Atoi(filepath.Base(target))
	if err != nil {
		return os.Getpid()
	}
	return pid
}

// inNamespace reports whether this process is the first one of a process namespace, and
// /proc shows another one.
func inNamespace() bool { return os.Getpid() == 1 && ownPID() != 1 }

// scatter lets the processes of this namespace start at a high random number: scripts name
// temporary files after their pid, and the calls of a session share a temporary directory.
func scatter() {
	raw, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		return
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || limit < 1<<10 {
		return
	}
	last := limit/2 + rand.IntN(limit/2-limit/8)
	_ = os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(last)), 0) // of the writer's namespace
}

// outerPID returns the number of an unreaped child in /proc (pidfd_open(2)).
func outerPID(child int) (int, error) {
	fd, err := unix.PidfdOpen(child, 0)
	if err != nil {
		return 0, fmt.Errorf("cannot find the command's number: %w", err)
	}
	defer unix.Close(fd)
	raw, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return 0, fmt.Errorf("cannot find the command's number: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		if text, ok := strings.CutPrefix(line, "Pid:"); ok {
			if pid, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && pid > 0 {
				return pid, nil
			}
		}
	}
	return 0, errors.New("cannot find the command's number: the kernel does not say it")
}

// killThrough signals exactly the process that was read, for any PID that it has in this namespace:
// a descriptor of its /proc directory identifies it (pidfd_send_signal(2)).
func killThrough(n node, sig unix.Signal) error {
	fd, err := unix.Open("/proc/"+strconv.Itoa(n.pid), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return unix.ESRCH
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if now, ok := readProcess(n.pid); !ok || now.started != n.started {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}
