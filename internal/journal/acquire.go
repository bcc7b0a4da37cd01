package journal

import (
	"context"
	"fmt"
	"os"
	"time"
)

// The delay between two looks at a lock that is about to be free grows with
// the wait, between these bounds.
const (
	minPollDelay = 5 * time.Millisecond
	maxPollDelay = 100 * time.Millisecond
)

// acquire opens the file and takes its lock. It waits only for holders that
// are about to end: those that clean up after a dead host, and, if it is to be
// taken, the host.
func (o Options) acquire(ctx context.Context, path string) (*os.File, error) {
	t := taking{options: o, began: time.Now()}
	for {
		f, err := o.openFile(path)
		if err != nil {
			return nil, err
		}
		free, err := TryLock(f)
		switch {
		case err != nil:
			f.Close()
			return nil, &AccessError{Path: path, Err: fmt.Errorf("its file system has no locks: %w", err)}
		case free && same(f, path):
			return f, nil
		case free: // deleted in between
			f.Close()
			continue
		}
		held := t.push(f, path)
		f.Close()
		if held != nil {
			return nil, held
		}
		if err := pause(ctx, min(minPollDelay+time.Since(t.began)/8, maxPollDelay)); err != nil {
			return nil, fmt.Errorf("cannot wait for session %q: %w", o.Session, err)
		}
	}
}

// same reports whether the path still leads to the open file.
func same(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// holder is who holds a lock.
type holder struct {
	// host is the process that took it, or 0 if that is dead or not known.
	host int
	// heirs are those that inherited it from dead, the host.
	heirs []int
	dead  int
}

// taking is the way to a lock that somebody holds:
//
//	held by a living host ─► refused, or (Take) TERM ─► TakeGrace ─► KILL ─► TakeTimeout: refused
//	held by its heirs     ─► wait ─► ReleaseTimeout: refused
type taking struct {
	options Options
	began   time.Time
	asked   int // the host that has had its TERM
	killed  bool
}

// push does what can be done now. It returns an error when nothing can.
func (t *taking) push(f *os.File, path string) error {
	h := findHolder(f, path)
	held := &HeldError{Session: t.options.Session, PID: h.host}
	waited := time.Since(t.began)
	if h.host == 0 {
		return t.awaitHeirs(h, held, waited)
	}
	held.Stopped = isStopped(h.host)
	switch {
	case !t.options.Take:
		return held
	case h.host == os.Getpid():
		held.Why = "this process holds it itself"
	case waited > t.options.TakeTimeout:
		held.Why = fmt.Sprintf("it has not let go for %v", t.options.TakeTimeout)
	case t.asked != h.host:
		t.asked = h.host
		return t.signal(held, askToEnd)
	case waited > t.options.TakeGrace && !t.killed:
		t.killed = true
		return t.signal(held, forceToEnd)
	default:
		return nil
	}
	return held
}

// awaitHeirs waits for processes that end by themselves.
func (t *taking) awaitHeirs(h holder, held *HeldError, waited time.Duration) error {
	if waited <= t.options.ReleaseTimeout {
		return nil
	}
	if len(h.heirs) > 0 {
		held.PID, held.Host = h.heirs[0], h.dead
		held.Stopped = isStopped(held.PID)
	}
	held.Why = fmt.Sprintf("it has not let go for %v; wait, or end it", t.options.ReleaseTimeout)
	return held
}

// signal sends the host what ends it. A host that is gone already is fine.
func (t *taking) signal(held *HeldError, send func(*os.Process) error) error {
	p, err := os.FindProcess(held.PID)
	if err != nil {
		return nil //nolint:nilerr // it is gone: the next look will tell
	}
	defer func() { _ = p.Release() }()
	if err := send(p); err != nil && isAlive(held.PID) {
		held.Why = fmt.Sprintf("cannot signal it: %v", err)
		return held
	}
	return nil
}
