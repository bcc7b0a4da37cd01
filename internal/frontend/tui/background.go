package tui

import (
	"context"

	"github.com/settle-agent/settle/internal/scope"
)

// enqueue runs a request that can block, after the earlier requests. It reports whether the request
// will run; if too many wait, it does not.
func (u *UI) enqueue(what func(context.Context) error) bool {
	job := func() {
		ctx, cancel := context.WithTimeout(u.ctx, actTimeout)
		defer cancel()
		if err := what(ctx); err != nil {
			u.send(func() { u.showHint("%v", err) })
		}
	}
	select {
	case u.work <- job:
		return true
	default:
		u.showHint("%v", errBusy)
		return false
	}
}

// runInBackground runs work that can take time, and then shows its result.
func (u *UI) runInBackground(words string, what func(context.Context) (show func(), err error)) {
	u.showHint("%s", words)
	go u.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(u.ctx, actTimeout)
		defer cancel()
		show, err := what(ctx)
		u.send(func() {
			if u.display.hint, u.display.dirty = "", true; err != nil {
				u.showHint("%v", err)
				return
			}
			show()
		})
	})
}

// runRequests runs requests in order; they can wait for a disk.
func (u *UI) runRequests(ctx context.Context) {
	for {
		select {
		case do := <-u.work:
			do()
		case <-ctx.Done():
			return
		}
	}
}

// send has the loop call a function. It does not wait for that to happen, but
// for the loop to take it.
func (u *UI) send(do func()) {
	select {
	case u.post <- do:
	case <-u.ctx.Done():
	}
}

// guarded runs do outside of the loop. A panic ends the loop, which restores the terminal
// and returns the error.
func (u *UI) guarded(do func()) {
	if err := scope.Guard(func() error { do(); return nil }); err != nil {
		u.send(func() { u.exit.failure, u.exit.done = err, true })
	}
}
