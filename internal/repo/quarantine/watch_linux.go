package quarantine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// watcher receives new names in folders from the kernel (inotify). The kernel reports a
// name before the system call that made it returns, so that all names are known when a
// command has ended.
type watcher struct {
	fd      int
	folders map[int32]*folder
	limit   int // bound of watched folders; the user's other programs also need watches
}

// newWatcher returns nil if inotify is not available.
func newWatcher() *watcher {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	limit := 4096
	if data, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches"); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
			limit = n / 2
		}
	}
	return &watcher{fd: fd, folders: map[int32]*folder{}, limit: limit}
}

func (w *watcher) close() error {
	if w == nil {
		return nil
	}
	return unix.Close(w.fd)
}

// forget ends the watches of removed bases.
func (w *watcher) forget(isRemoved func(base string) bool) {
	if w != nil {
		maps.DeleteFunc(w.folders, func(_ int32, f *folder) bool { return isRemoved(f.base) })
	}
}

// watched watches an open folder. If that fails, the guard watches nothing: every look then
// reads everything.
func (g *Guard) watched(file *os.File, f *folder) {
	w := g.watch
	if w == nil {
		return
	}
	wd, err := unix.InotifyAddWatch(w.fd, fmt.Sprintf("/proc/self/fd/%d", file.Fd()),
		unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR)
	if err == nil && len(w.folders) < w.limit {
		w.folders[int32(wd)] = f // the value comes from the kernel
		return
	}
	_ = w.close()
	g.watch = nil
}

// read reads new names, and reports whether they are complete.
func (w *watcher) read(g *Guard) (all bool) {
	if w == nil {
		return false
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return true
		case err != nil || n <= 0:
			return false
		}
		for rest := buf[:n]; len(rest) >= unix.SizeofInotifyEvent; {
			wd, mask := int32(
				binary.NativeEndian.Uint32(rest),
			), binary.NativeEndian.Uint32(
				rest[4:],
			) // as the kernel has it
			size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(rest[12:]))
			name, _, _ := bytes.Cut(rest[unix.SizeofInotifyEvent:size], []byte{0})
			rest = rest[size:]
			switch f := w.folders[wd]; {
			case mask&unix.IN_Q_OVERFLOW != 0:
				return false
			case mask&unix.IN_IGNORED != 0:
				delete(w.folders, wd)
			case f != nil && len(name) > 0:
				g.appeared(f, string(name), mask&unix.IN_ISDIR != 0)
			}
			if g.watch != w || g.look.mustEnd() {
				return false // the folder is gone, or the names after this one are not read
			}
		}
	}
}
