package plugin

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

// lockTimeout bounds the wait for another settle that changes the plugins: it copies or removes at most one plugin.
const lockTimeout = 15 * time.Second

var errLocked = errors.New("another settle is changing the plugins; run the command again when it has ended")

// locked calls f under the lock for all changes of the records and of the copies. The kernel
// releases the lock if this process dies. The end of ctx ends only the wait: f, which can remove
// remaining files, runs if the lock is free.
func (s Store) locked(ctx context.Context, f func() error) (err error) {
	if s.dir == "" {
		return errors.New("there is no data directory")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockTimeout, errLocked)
	defer cancel()
	lock, err := disk.Lock(ctx, filepath.Join(s.dir, "lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return f()
}
