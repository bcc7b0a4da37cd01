package tui

import (
	"context"

	"github.com/settle-agent/settle/internal/scope"
)

// do does something that may wait, after what was asked for before it.
func (u *UI) do(what func(context.Context) error) {
	job := func() {
		ctx, cancel := context.WithTimeout(u.ctx, actTimeout)
		defer cancel()
		if err := what(ctx); err != nil {
			u.send(func() { u.say("%v", err) })
		}
	}
	select {
	case u.work <- job:
	default:
		u.say("the session is busy; nothing was done")
	}
}

// beside does something that may take a while, and shows what comes of it.
func (u *UI) beside(words string, what func(context.Context) (show func(), err error)) {
	u.say("%s", words)
	go u.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(u.ctx, actTimeout)
		defer cancel()
		show, err := what(ctx)
		u.send(func() {
			if u.display.hint, u.display.dirty = "", true; err != nil {
				u.say("%v", err)
				return
			}
			show()
		})
	})
}

// workOff does what must happen in order and may wait for a disk.
func (u *UI) workOff(ctx context.Context) {
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

// guarded does something beside the loop. A panic ends the loop, so that the
// terminal is given back, and the error is said.
func (u *UI) guarded(do func()) {
	if err := scope.Guard(func() error { do(); return nil }); err != nil {
		u.send(func() { u.exit.failure, u.exit.done = err, true })
	}
}
