package journal

import (
	"bytes"
	"fmt"
	"os"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"

	"github.com/settle-agent/settle/internal/disk"
)

// holder is the holder of a lock.
type holder struct {
	// pid is the host, or 0 if it is dead or invisible.
	pid int
	// process is the host's recorded identity, if pid provably has it (C23). remote reports that
	// it runs elsewhere.
	process *event.Identity
	remote  bool
	// recorded is the host's recorded identity, proved or not. It receives requests.
	recorded *event.Identity
	// embeds reports that the host is a program that embeds settle, which must not be ended.
	embeds bool
	// survivors are the surviving supervisors of the dead host, which inherited the lock.
	survivors []int
	dead      int
}

// findHolder combines the kernel's information about the lock with the log's about the process.
func findHolder(f *os.File, path string) holder {
	h := lockHolder(f)
	opened := lastOpened(path)
	if opened == nil {
		return h
	}
	h.recorded = opened.Process
	switch proc.Find(opened.Process) {
	case proc.Present:
		if len(h.survivors) == 0 || h.pid == opened.PID { // otherwise the host is visible and does not hold the lock
			return holder{
				pid:      opened.PID,
				process:  opened.Process,
				recorded: opened.Process,
				embeds:   opened.Frontend == event.FrontendLibrary,
			}
		}
	case proc.Unknown:
		if len(h.survivors) > 0 {
			break
		}
		if opened.Process != nil {
			return holder{process: opened.Process, recorded: opened.Process, remote: true}
		}
		if isAlive(opened.PID) { // unproven; an older settle recorded only the pid
			return holder{pid: opened.PID}
		}
	}
	return h
}

// lastOpened returns the last session.opened event, unless the session was closed since.
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

// Holder returns the living process that holds the session, or 0 if no visible process does.
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

// Free reports whether no process holds the session now. It does not disturb a host that opens
// the session meanwhile.
func Free(dir, session string) (bool, error) {
	path, err := logPath(dir, session)
	if err != nil {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("cannot look at session %q: %w", session, err)
	}
	defer f.Close() // releases the shared lock
	held, err := isHeld(f)
	return !held, err
}

// isHeld reports whether another process has locked the file. It shares the lock until the file
// is closed.
func isHeld(f *os.File) (bool, error) {
	free, err := disk.TryShare(f)
	return !free, err
}
