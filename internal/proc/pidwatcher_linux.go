package proc

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// idleDelay is the pause between two reads of /proc outside of a termination, on kernels without
// pidfd_open.
const idleDelay = time.Second

// pidWatcher waits for the end of a process that need not be a child. The runtime's poller
// watches the descriptor, so that the wait needs no thread and no reads of /proc.
type pidWatcher struct {
	file *os.File
	dead chan struct{} // closed when the process is dead, or end was called
	once sync.Once
}

// watchPID returns nil if the kernel has no pidfd_open, or the process has ended.
func watchPID(pid int) *pidWatcher {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil
	}
	v := &pidWatcher{file: os.NewFile(uintptr(fd), "pidfd"), dead: make(chan struct{})}
	raw, err := v.file.SyscallConn()
	if err != nil || v.file.SetReadDeadline(time.Time{}) != nil { // not pollable
		v.file.Close()
		return nil
	}
	go func() { // ends with the process, or with end, which waits for it
		defer close(v.dead)
		_ = raw.Read(isReadable)
	}()
	return v
}

// isReadable reports whether the descriptor is readable, which means that the process has ended.
func isReadable(fd uintptr) bool {
	look := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(look, 0)
	return err != nil && err != unix.EINTR || n > 0
}

// died is closed when the process has ended. It is nil, which blocks, for a nil watcher.
func (v *pidWatcher) died() <-chan struct{} {
	if v == nil {
		return nil
	}
	return v.dead
}

// end stops the wait.
func (v *pidWatcher) end() {
	if v == nil {
		return
	}
	v.once.Do(func() { v.file.Close() })
	<-v.dead
}
