package file

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// locks serializes the calls on each path, in the order of their arrival.
type locks struct {
	mu   sync.Mutex
	held map[string]*pathLock // guarded by mu
}

// pathLock exists while a call holds the path or waits for it.
type pathLock struct {
	users int           // guarded by locks.mu
	token chan struct{} // of capacity 1; full while held
}

// acquire takes all keys, or none if ctx ends first. release frees them. It takes keys in
// sorted order, so that two calls with the same keys never wait for each other.
func (l *locks) acquire(ctx context.Context, keys ...string) (release func(), err error) {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for i, key := range keys {
		if err := l.take(ctx, key); err != nil {
			l.release(keys[:i])
			return nil, fmt.Errorf("cannot wait for another call on %q: %w", key, err)
		}
	}
	return func() { l.release(keys) }, nil
}

func (l *locks) take(ctx context.Context, key string) error {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*pathLock{}
	}
	lock := l.held[key]
	if lock == nil {
		lock = &pathLock{token: make(chan struct{}, 1)}
		l.held[key] = lock
	}
	lock.users++
	l.mu.Unlock()

	select {
	case lock.token <- struct{}{}:
		return nil
	case <-ctx.Done():
		l.leave(key)
		return context.Cause(ctx)
	}
}

func (l *locks) release(keys []string) {
	for _, key := range keys {
		l.mu.Lock()
		lock := l.held[key]
		l.mu.Unlock()
		select {
		case <-lock.token:
		default: // release is only called for held keys
			panic("file: lock released twice")
		}
		l.leave(key)
	}
}

func (l *locks) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lock := l.held[key]
	if lock.users--; lock.users == 0 {
		delete(l.held, key)
	}
}
