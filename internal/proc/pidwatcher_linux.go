package proc

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// idleDelay is the pause between two looks at /proc while nothing is being ended,
// where the kernel is too old for a vigil.
const idleDelay = time.Second

// vigil waits for the end of a process that need not be our child, by a descriptor
// that the runtime's poller watches along with all others: nobody looks at /proc, and
// no thread waits.
type pidWatcher struct {
	file *os.File
	gone chan struct{} // closed when the process is dead, or the wait was ended
	once sync.Once
}

// keepVigil returns nil where the system cannot tell, or the process is gone.
func watchPID(pid int) *pidWatcher {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil
	}
	v := &pidWatcher{file: os.NewFile(uintptr(fd), "pidfd"), gone: make(chan struct{})}
	raw, err := v.file.SyscallConn()
	if err != nil || v.file.SetReadDeadline(time.Time{}) != nil { // not one that can be watched
		v.file.Close()
		return nil
	}
	go func() { // ends with the process, or with end, which waits for it
		defer close(v.gone)
		_ = raw.Read(isReadable)
	}()
	return v
}

// isReadable: a process's descriptor is when the process has ended.
func isReadable(fd uintptr) bool {
	look := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(look, 0)
	return err != nil && err != unix.EINTR || n > 0
}

// died is closed when the process has ended; nil, which blocks, for no vigil.
func (v *pidWatcher) died() <-chan struct{} {
	if v == nil {
		return nil
	}
	return v.gone
}

// end gives up the wait.
func (v *pidWatcher) end() {
	if v == nil {
		return
	}
	v.once.Do(func() { v.file.Close() })
	<-v.gone
}
