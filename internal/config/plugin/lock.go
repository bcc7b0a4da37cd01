package plugin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

// The wait for another settle that changes the plugins: it copies or removes at most one plugin.
const (
	lockTimeout = 15 * time.Second
	lockDelay   = 20 * time.Millisecond
)

// locked calls f under the lock for all changes of the records and of the copies. The kernel
// releases the lock if this process dies. The end of ctx ends only the wait: f, which can remove
// what is left, runs if the lock is free.
func (s Store) locked(ctx context.Context, f func() error) (err error) {
	if s.dir == "" {
		return errors.New("there is no data directory")
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	for began := time.Now(); ; {
		free, err := disk.TryLock(lock)
		if err != nil {
			return err
		}
		if free {
			return f()
		}
		if time.Since(began) > lockTimeout {
			return errors.New("another settle is changing the plugins; run the command again when it has ended")
		}
		select {
		case <-time.After(lockDelay):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
