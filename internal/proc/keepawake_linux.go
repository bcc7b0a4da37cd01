package proc

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// wakeDelay is how long a host may be stopped before a warden wakes it.
const wakeDelay = 500 * time.Millisecond

// KeepAwake has wardens wake this process if somebody stops it, as a command
// can by "kill -STOP": nothing of what it keeps would end then (C9). A program
// that a terminal may stop catches the signals for that and calls [Pause].
func KeepAwake() { host.awake.Store(true) }

// Pause stops this process until somebody continues it; no warden does. As the
// kernel has it for SIGTSTP, nothing happens where no shell could continue it
// (setpgid(2), orphaned process groups). Go cannot give a signal that it has
// caught its default action back, so that SIGSTOP has to do it.
func Pause() {
	if !continuable() {
		return
	}
	host.starts.Lock()
	defer host.starts.Unlock()
	host.paused.Store(true)
	reportPause()
	runtime.LockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP) // this thread does not return before it goes on
	runtime.UnlockOSThread()
	host.paused.Store(false)
	reportPause()
}

// continuable reports whether a process above this one's group is of the same
// session, as the shell is that has made the group.
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

// reportPause tells each warden whether the host is stopped on purpose.
func reportPause() {
	host.mu.Lock()
	defer host.mu.Unlock()
	for k := range host.keepers {
		k.reportPaused()
	}
}

// reportPaused does not wait: a warden that does not listen is stopped itself.
func (k *supervisedProcess) reportPaused() {
	_ = k.socket.SetWriteDeadline(time.Now().Add(wakeDelay))
	_ = k.send(order{Pause: &pauseOrder{Paused: host.paused.Load()}}, nil)
	_ = k.socket.SetWriteDeadline(time.Time{})
}

// enlist has a keeper hear of pauses.
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

// watchHost wakes a host that has been stopped for a while. A host that stops on
// purpose says so before, but whoever reads that here may be slow.
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

// hostStopped reports whether somebody has stopped the host against its will.
// C23: it is the process that started this one, as long as it is its parent.
func (w *supervisor) hostStopped() bool {
	if w.host == 0 || w.paused || w.logged != nil || unix.Getppid() != w.host {
		return false
	}
	n, ok := readProcess(w.host)
	return ok && n.state == 'T' && !readable(w.socket)
}

// wakeHost lets a host go on that was stopped, and says so.
func (w *supervisor) wakeHost() {
	if w.hostStopped() && unix.Kill(w.host, unix.SIGCONT) == nil {
		w.tell(report{Woke: &struct{}{}})
	}
}

// readable reports whether there is something to be read.
func readable(fd int) bool {
	look := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(look, 0)
	return err == nil && n > 0
}
