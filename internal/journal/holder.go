package journal

import (
	"bytes"
	"os"

	"github.com/settle-agent/settle/event"
)

// recordedHost returns the process that opened the session last, as the log
// says, if it still lives.
func recordedHost(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	pid := 0
	s := scan(f, int64(len(header(formatVersion))), info.Size(), scanBuffer)
	for {
		r, err := s.next()
		if err != nil {
			break
		}
		if r.class != classOther || !bytes.Contains(r.json, []byte(event.KindSessionOpened)) {
			continue
		}
		e, err := r.decode()
		if opened, ok := e.Data.(event.SessionOpened); err == nil && ok {
			pid = opened.PID
		}
	}
	if pid == 0 || !isAlive(pid) {
		return 0
	}
	return pid
}

// Holder returns the living process that holds the session, or 0: nobody
// does, or one that cannot be seen from here.
func Holder(dir, session string) (pid int, err error) {
	f, _, err := openToRead(dir, session)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return findHolder(f, f.Name()).host, nil
}

// Free reports whether nobody holds the session, at this moment.
func Free(dir, session string) (bool, error) {
	f, _, err := openToRead(dir, session)
	if err != nil {
		return false, err
	}
	defer f.Close() // gives the lock back
	return TryLock(f)
}
