//go:build unix

package proc

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/event"
)

const (
	// pollDelay is the pause between two checks of a group: no event reports the death of a
	// process that is not a child.
	pollDelay = 5 * time.Millisecond
)

// groupProcess tracks a command by its process group, and by its marker where environments are
// readable. A descendant that leaves both escapes.
type groupProcess struct {
	p      *Process
	cmd    *exec.Cmd
	spec   Spec
	marker string

	mu          sync.Mutex
	deadline    time.Time     // of the grace; zero until the end is asked for
	endRequests chan struct{} // has room for one; wakes watch
}

func startGroup(spec Spec) (*Process, error) {
	path, err := spec.program()
	if err != nil {
		return nil, err
	}
	argv := spec.Argv
	if spec.Sandbox != nil {
		if path, argv, err = confined(*spec.Sandbox, path, argv); err != nil {
			return nil, err
		}
	}
	std, err := openFiles(spec)
	if err != nil {
		return nil, err
	}
	defer std.closeTheirs()
	k := &groupProcess{spec: spec, endRequests: make(chan struct{}, 1)}
	k.cmd = &exec.Cmd{
		Path: path, Args: argv, Dir: spec.Dir,
		Stdin: std.stdin, Stdout: std.stdout, Stderr: std.stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: spec.Terminal != nil},
	}
	k.cmd.Env, k.marker = withMarker(spec.Env, spec.Marker)
	err = spawn(func() (int, error) {
		if err := k.cmd.Start(); err != nil {
			return 0, err
		}
		return k.cmd.Process.Pid, nil
	})
	if err != nil {
		std.closeOurs()
		return nil, err
	}
	k.p = newProcess()
	k.p.pid, k.p.mark, k.p.keep = k.cmd.Process.Pid, k.marker, k
	std.attach(k.p, spec)
	go k.watch() // ends with the group; Done waits for it
	return k.p, nil
}

func (k *groupProcess) watch() {
	died := make(chan Exit, 1)
	go func() { // ends with the command
		_ = k.cmd.Wait()
		forget(k.p.pid)
		died <- exitOf(k.cmd.ProcessState)
	}()
	exited, killed := false, time.Time{}
	var member *pidWatcher
	defer func() { member.end() }()
	for {
		if exited && !k.ending() && member == nil {
			member = k.awaitMember()
		}
		select {
		case exit := <-died:
			exited = true
			k.commandGone(exit)
		case <-k.endRequests:
		case <-member.died():
			member.end()
			member = nil
		case <-k.pause(exited && member == nil):
		}
		if exited && !k.alive() {
			k.p.treeGone(nil)
			return
		}
		killed = k.press(killed)
		if !killed.IsZero() && time.Since(killed) > groupKillTimeout {
			k.p.treeGone(k.remains())
			return
		}
	}
}

// groupKillTimeout is the time after which killed processes count as unkillable.
const groupKillTimeout = time.Second

// commandGone reports the exit and the remaining processes.
func (k *groupProcess) commandGone(exit Exit) {
	var rest []event.Process
	switch {
	case !k.alive() || k.ending():
	case k.spec.Rest == KeepRest:
		rest = k.members("")
	default:
		k.end(k.spec.grace())
	}
	k.p.commandExited(exit, rest)
}

// press kills after the grace, at each call; it returns the time of the first KILL.
func (k *groupProcess) press(since time.Time) time.Time {
	k.mu.Lock()
	deadline := k.deadline
	k.mu.Unlock()
	if deadline.IsZero() || time.Now().Before(deadline) {
		return since
	}
	k.signal(unix.SIGKILL)
	if since.IsZero() {
		return time.Now()
	}
	return since
}

// pause returns when to check again: soon during a termination, after a while if no event
// reports the end of the remaining processes, and otherwise never.
func (k *groupProcess) pause(untold bool) <-chan time.Time {
	switch {
	case k.ending():
		return time.After(pollDelay)
	case untold:
		return time.After(idleDelay)
	}
	return nil
}

// awaitMember starts to watch one of the remaining processes: while it lives, the group is not
// empty. It returns nil if the system cannot watch it.
func (k *groupProcess) awaitMember() *pidWatcher {
	for _, m := range k.members("") {
		v := watchPID(m.PID)
		if v == nil {
			continue
		}
		for _, member := range k.members("") {
			if member.PID == m.PID { // its number was not reused
				return v
			}
		}
		v.end()
	}
	return nil
}

func (k *groupProcess) ending() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.deadline.IsZero()
}

func (k *groupProcess) end(grace time.Duration) {
	deadline := time.Now().Add(grace)
	k.mu.Lock()
	first := k.deadline.IsZero()
	if first || deadline.Before(k.deadline) {
		k.deadline = deadline
	}
	k.mu.Unlock()
	if first && grace > 0 {
		k.signal(unix.SIGTERM)
		k.signal(unix.SIGCONT)
	}
	select {
	case k.endRequests <- struct{}{}:
	default:
	}
}

func (k *groupProcess) signal(sig unix.Signal) {
	_ = unix.Kill(-k.p.pid, sig)
	signalMarked(k.marker, k.p.pid, sig)
}

func (k *groupProcess) interrupt() { _ = unix.Kill(-k.p.pid, unix.SIGINT) }

func (k *groupProcess) alive() bool { return len(k.members("")) > 0 }

func (k *groupProcess) members(why string) []event.Process {
	return groupMembers(k.p.pid, k.marker, why)
}

func (k *groupProcess) remains() []event.Process { return k.members("it is still being ended") }

func (k *groupProcess) keeper() *event.Identity { return nil }

// identityOf knows only the command, which is a child of this process.
func (k *groupProcess) identityOf(pid int) *event.Identity {
	if pid != k.p.pid {
		return nil
	}
	return Identify(pid)
}

func (k *groupProcess) release(*os.File, Log) error { return ErrCannotRelease }

func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1, Lost: true}
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return Exit{Code: 128 + int(status.Signal()), Signal: int(status.Signal())}
	}
	return Exit{Code: state.ExitCode()}
}

// groupExists reports whether a group has members, including unreaped zombies.
func groupExists(group int) bool { return !errors.Is(unix.Kill(-group, 0), unix.ESRCH) }
