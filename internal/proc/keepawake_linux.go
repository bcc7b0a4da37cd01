package proc

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// wakeDelay is the time after which a supervisor wakes a stopped host.
const wakeDelay = 500 * time.Millisecond

// KeepAwake lets supervisors continue this process if another process stops it, such as a command
// with "kill -STOP": otherwise nothing could end (C9). A program that a terminal may stop catches
// the terminal's stop signals and calls [Pause].
func KeepAwake() { host.awake.Store(true) }

// Pause stops this process until it is continued, which no supervisor does. Like SIGTSTP, it has
// no effect without a shell that could continue the process (setpgid(2), orphaned process
// groups). Go cannot restore the default action of a caught signal, so that Pause uses SIGSTOP.
func Pause() {
	if !continuable() {
		return
	}
	host.starts.Lock()
	defer host.starts.Unlock()
	host.paused.Store(true)
	reportPause()
	runtime.LockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP) // this thread returns after the process was continued
	runtime.UnlockOSThread()
	host.paused.Store(false)
	reportPause()
}

// continuable reports whether an ancestor outside of this process's group belongs to the same
// session, like the shell that created the group.
func continuable() bool {
	n, ok := readProcess(os.Getpid())
	for ok && n.parent > 0 {
		parent, found := readProcess(n.parent)
		if !found || parent.session != n.session {
			return false
		}
		if parent.group != n.group {
			return true
		}
		n = parent
	}
	return false
}

// reportPause sends the current pause state to all supervisors.
func reportPause() {
	host.mu.Lock()
	defer host.mu.Unlock()
	for k := range host.keepers {
		k.reportPaused()
	}
}

// reportPaused does not block: a supervisor that does not read is stopped itself.
func (k *supervisedProcess) reportPaused() {
	_ = k.socket.SetWriteDeadline(time.Now().Add(wakeDelay))
	_ = k.send(order{Pause: &pauseOrder{Paused: host.paused.Load()}}, nil)
	_ = k.socket.SetWriteDeadline(time.Time{})
}

// addKeeper registers a supervisor for pauses.
func addKeeper(k *supervisedProcess) {
	if !host.awake.Load() {
		return
	}
	host.mu.Lock()
	defer host.mu.Unlock()
	if host.keepers == nil {
		host.keepers = make(map[pausable]bool)
	}
	host.keepers[k] = true
}

func removeKeeper(k *supervisedProcess) {
	host.mu.Lock()
	defer host.mu.Unlock()
	delete(host.keepers, k)
}

// watchHost wakes a host that has been stopped for a while. A host reports a pause before it
// stops, but the supervisor can read the report late.
func (w *supervisor) watchHost(now time.Time) {
	switch {
	case !w.hostStopped():
		w.stopped = time.Time{}
	case w.stopped.IsZero():
		w.stopped = now
	case now.Sub(w.stopped) >= wakeDelay/2:
		w.wakeHost()
	}
}

// hostStopped reports whether the host was stopped involuntarily. C23: the host is the parent of
// this process, as long as the parent is the process that started it.
func (w *supervisor) hostStopped() bool {
	if w.host == 0 || w.paused || w.logged != nil || unix.Getppid() != w.host {
		return false
	}
	n, ok := readProcess(w.host)
	return ok && n.state == 'T' && !readable(w.socket)
}

// wakeHost continues a stopped host and reports that.
func (w *supervisor) wakeHost() {
	if w.hostStopped() && unix.Kill(w.host, unix.SIGCONT) == nil {
		w.tell(report{Woke: &struct{}{}})
	}
}

// readable reports whether a read would return data.
func readable(fd int) bool {
	look := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(look, 0)
	return err == nil && n > 0
}
