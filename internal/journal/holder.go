package journal

import (
	"bytes"
	"fmt"
	"os"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"

	"github.com/settle-agent/settle/internal/disk"
)

// holder is who holds a lock.
type holder struct {
	// pid is the host, or 0 if it is dead or cannot be seen.
	pid int
	// process is the host as it recorded itself, where it is proved that this
	// is pid (C23), and away where it cannot be seen from here.
	process *event.Identity
	away    bool
	// recorded is the host as it recorded itself, proved or not: who is asked.
	recorded *event.Identity
	// embeds says that it is a program that embeds settle: not ours to end.
	embeds bool
	// heirs are those that inherited the lock from dead, the host.
	heirs []int
	dead  int
}

// findHolder asks the kernel and the log: the kernel says who holds the lock, as
// far as it lets us look, and the log who that is.
func findHolder(f *os.File, path string) holder {
	h := lockHolder(f)
	opened := lastOpened(path)
	if opened == nil {
		return h
	}
	h.recorded = opened.Process
	switch proc.Find(opened.Process) {
	case proc.Present:
		if len(h.heirs) == 0 || h.pid == opened.PID { // else it lets us look, and does not hold it
			return holder{pid: opened.PID, process: opened.Process, recorded: opened.Process, embeds: opened.Face == event.FaceLibrary}
		}
	case proc.Unknown:
		if len(h.heirs) > 0 {
			break
		}
		if opened.Process != nil {
			return holder{process: opened.Process, recorded: opened.Process, away: true}
		}
		if isAlive(opened.PID) { // perhaps; an older settle recorded no more
			return holder{pid: opened.PID}
		}
	}
	return h
}

// lastOpened returns how the last process that opened the session described
// itself, unless it has closed it.
func lastOpened(path string) (last *event.SessionOpened) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	s := scan(f, int64(len(header(formatVersion))), info.Size(), scanBuffer)
	for {
		r, err := s.next()
		if err != nil {
			return last
		}
		if r.class != classOther || !bytes.Contains(r.json, []byte(`"session.`)) {
			continue
		}
		e, err := r.decode()
		if err != nil {
			continue
		}
		switch d := e.Data.(type) {
		case event.SessionOpened:
			last = &d
		case event.SessionClosed, event.SessionRecovered:
			last = nil
		}
	}
}

// Holder returns the living process that holds the session, or 0: nobody
// does, or one that cannot be seen from here.
func Holder(dir, session string) (pid int, err error) {
	f, _, err := openToRead(dir, session)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if held, err := isHeld(f); err == nil && !held {
		return 0, nil
	}
	return findHolder(f, f.Name()).pid, nil
}

// Free reports whether nobody holds the session, at this moment. A host that
// opens the session meanwhile is not disturbed.
func Free(dir, session string) (bool, error) {
	path, err := logPath(dir, session)
	if err != nil {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("cannot look at session %q: %w", session, err)
	}
	defer f.Close() // gives the lock back
	held, err := isHeld(f)
	return !held, err
}

// isHeld reports whether another opening of the file is locked, for which it
// shares the lock until the file is closed.
func isHeld(f *os.File) (bool, error) {
	free, err := disk.TryShare(f)
	return !free, err
}
