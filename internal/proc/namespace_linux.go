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

// A supervisor of a command with processes of its own ([sandbox.Policy].OwnProcesses) is
// the first process of a process namespace. It still has the machine's /proc, where it and
// all that it watches have other numbers than system calls take and return. Nodes and
// reports have the numbers of /proc, which are those of the host.

// namespaces has a supervisor start in the namespaces that its command's sandbox takes.
func namespaces(cmd *exec.Cmd, box *sandbox.Policy) {
	if box == nil || !box.View && !box.OwnNetwork && !box.OwnProcesses {
		return
	}
	if !sandbox.Administers() {
		inUserNamespace(cmd.SysProcAttr)
	}
	if box.OwnProcesses {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWPID
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

// scatter has the processes of this namespace begin at a random number, high up: scripts
// name temporary files after their process, and the calls of a session share a folder for
// those. A number that somebody carries outside is hardly ever a process's there.
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

// outerPID returns the number that a child of this process, which is not reaped yet, has
// in /proc (pidfd_open(2)).
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

// killThrough signals exactly the process that was seen, whatever its number is in this
// namespace: a descriptor of its folder in /proc stands for it (pidfd_send_signal(2)).
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
