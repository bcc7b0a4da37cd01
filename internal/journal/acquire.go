package journal

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/scope"
)

// The delay between two attempts to lock grows with the wait, between these bounds.
const (
	minPollDelay = 5 * time.Millisecond
	maxPollDelay = 100 * time.Millisecond
)

// acquire opens the file and takes its lock. It waits only for holders that are about to end:
// surviving supervisors of a dead host, and, with Take, the host.
func (o Options) acquire(ctx context.Context, path string) (*os.File, error) {
	t := taking{options: o, began: time.Now(), path: path}
	for {
		f, err := o.openFile(path)
		if err != nil {
			return nil, err
		}
		c, err := claim(f, path)
		switch {
		case err != nil:
			f.Close()
			return nil, &AccessError{Path: path, Err: fmt.Errorf("its file system has no locks: %w", err)}
		case c == claimed:
			return f, nil
		case c == replaced:
			f.Close()
			continue
		}
		held := t.push(ctx, f)
		f.Close()
		if held != nil {
			return nil, held
		}
		if err := scope.Sleep(ctx, min(minPollDelay+time.Since(t.began)/8, maxPollDelay)); err != nil {
			return nil, fmt.Errorf("cannot wait for session %q: %w", o.Session, err)
		}
	}
}

// claiming is the result of an attempt to lock a log.
type claiming string

const (
	claimed  claiming = "claimed"
	occupied claiming = "occupied"
	replaced claiming = "replaced" // deleted or replaced by another file before it was locked
)

// claim locks the open file, if it is unlocked and still the log.
func claim(f *os.File, path string) (claiming, error) {
	free, err := disk.TryLock(f)
	switch {
	case err != nil || !free:
		return occupied, err
	case !same(f, path):
		return replaced, nil
	}
	return claimed, nil
}

// same reports whether the path still is the open file.
func same(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}
