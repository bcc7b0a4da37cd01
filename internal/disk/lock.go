package disk

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// lockPoll is the delay after which Lock tries a lock again.
const lockPoll = 20 * time.Millisecond

// Lock opens a file, or creates it with its folder, and waits until its lock is free. The kernel releases the lock
// when the file is closed, or if this process dies. The end of ctx ends only the wait: Lock takes a lock that is free.
func Lock(ctx context.Context, path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		free, err := TryLock(f)
		if free {
			return f, nil
		}
		if err == nil {
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		_ = f.Close() // nothing is locked
		return nil, err
	}
}

// RewriteJSON replaces the content of an open file, such as a locked one, by the JSON of a value.
func RewriteJSON(file *os.File, value any) error {
	raw, err := json.Marshal(value)
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteAt(raw, 0)
	}
	return err
}
