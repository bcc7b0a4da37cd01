package executor

import (
	"context"
	"sync"
)

// Exclusion keeps sandboxed commands apart from commands that run alone outside of the sandbox. The zero
// value is ready, and nil excludes nothing. It is safe for concurrent use.
//
// A command that runs alone waits for the sandboxed commands of calls that have not ended, until the
// guards of these commands have ended too. It does not wait for jobs and servers. Sandboxed commands
// that start later wait for its exit, or for the end of its call if it runs on as a job.
type Exclusion struct {
	mu      sync.Mutex // guards the fields below
	alone   int        // commands that run alone, or wait for that
	running bool       // a command runs alone
	calls   int        // sandboxed commands of calls that have not ended
	changed chan struct{}
}

// change calls f with the lock, until it reports true. It waits for a change in between, until ctx ends.
func (e *Exclusion) change(ctx context.Context, f func() bool) error {
	for {
		e.mu.Lock()
		if f() {
			e.notify()
			e.mu.Unlock()
			return nil
		}
		if e.changed == nil {
			e.changed = make(chan struct{})
		}
		changed := e.changed
		e.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// notify wakes those who wait. The caller holds the lock.
func (e *Exclusion) notify() {
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// enterSandboxed waits until no command runs alone. An error means that ctx ended first.
func (e *Exclusion) enterSandboxed(ctx context.Context) (leave func(), err error) {
	if e == nil {
		return func() {}, nil
	}
	err = e.change(ctx, func() bool {
		if e.alone > 0 {
			return false
		}
		e.calls++
		return true
	})
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.calls--
		e.notify()
	}), nil
}

// enterAlone waits until the call of no sandboxed command and no other command runs. An error means that
// ctx ended first.
func (e *Exclusion) enterAlone(ctx context.Context) (leave func(), err error) {
	if e == nil {
		return func() {}, nil
	}
	e.mu.Lock()
	e.alone++
	e.mu.Unlock()
	err = e.change(ctx, func() bool {
		if e.calls > 0 || e.running {
			return false
		}
		e.running = true
		return true
	})
	if err != nil {
		e.leaveAlone(false)
		return nil, err
	}
	return sync.OnceFunc(func() { e.leaveAlone(true) }), nil
}

// leaveAlone ends the stay of a command that runs alone, or its wait.
func (e *Exclusion) leaveAlone(ran bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.alone--
	e.running = e.running && !ran
	e.notify()
}
