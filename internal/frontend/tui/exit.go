package tui

import (
	"context"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
)

// exit holds how and why the terminal ends.
type exit struct {
	quitDeadline time.Time // a second Ctrl-C until then quits; zero for none
	leaving      bool      // the session is ending, and the terminal after it
	done         bool      // the loop ends
	earlier      string    // the command that continues the last session with a turn before this one
	rewound      string    // the session that the last rewind made; its files are as its turns say
	code         int       // exit code
	failure      error
}

// ctrlC clears the editor, else takes back the input whose files are read, else interrupts, else quits
// at the second time.
func (u *UI) ctrlC() {
	now := time.Now()
	switch {
	case u.exit.leaving:
		u.leave(event.Shutdown, user)
	case !u.input.editor.empty():
		u.input.editor.clear()
		u.input.history.leave()
	case u.view.fetch != nil && !u.view.fetch.givenUp:
		if !u.view.fetch.giveUp(u.ctx, u.view.conversation) {
			u.interrupt()
		}
	case u.target() != nil && u.interrupts.turn != u.target().ID:
		u.interrupt()
	case !u.exit.quitDeadline.IsZero() && now.Before(u.exit.quitDeadline):
		u.exit.quitDeadline = time.Time{}
		u.leave(event.Shutdown, user)
	default:
		u.showHint("Ctrl-C again quits")
		u.exit.quitDeadline = now.Add(quitDelay)
	}
}

// stop ends everything for a signal.
func (u *UI) stop(s stdio.Stop) {
	if u.exit.leaving && !s.Insists() {
		return
	}
	if u.endEditor != nil {
		if s.Reason == event.Interrupted { // Ctrl-C is for the program that has the terminal
			return
		}
		u.endEditor()
	}
	u.exit.code = s.Code
	u.leave(s.Reason, s.By)
}

// leave ends the session, and then the loop.
func (u *UI) leave(reason event.Reason, by string) {
	if u.exit.leaving {
		u.exit.done = true // a second request does not wait
		return
	}
	u.exit.leaving, u.view.closing, u.display.dirty = true, true, true
	c, fed := u.view.conversation, u.view.feed
	limit := closeTimeoutOf(u.state())
	go u.guarded(func() { // ends within limit
		ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), limit)
		defer cancel()
		err := u.Sessions.Close(ctx, c, reason, by)
		select {
		case <-fed.done:
		case <-ctx.Done():
		}
		u.send(func() {
			if err != nil {
				u.commit(notice(warning(), "%v", err))
			}
			u.follow() // the rest of the log
			u.exit.done = true
		})
	})
}

// finish restores the terminal after writing the pending rows.
func (u *UI) finish() {
	u.view.unfollow()
	u.endStatusCommand()
	u.drain()
	if u.endEditor != nil {
		u.endEditor()
	}
	if u.memoryTimer != nil {
		u.memoryTimer.Stop()
	}
	if u.overlay.pager != nil {
		u.display.frames.WriteString(leavePager)
		u.overlay.pager = nil
	}
	host := elsewhere(u.view.conversation, u.view.lost)
	if host != "" {
		u.commit(notice(faint(), "the session continues in %s", host))
	}
	if command := u.continueCommand(); command != "" {
		u.commit(commandEntry("Continue with:", command))
	}
	_ = u.display.screen.Leave(u.display.rows) // it is memory
	u.display.writer.last(u.display.frames.Bytes())
	u.Terminal.Restore()
}

// continueCommand returns the command that continues the session; empty if there is nothing to
// continue. A session without a turn has the command of the session before it, unless a rewind made it: the
// original would be wrong about the files.
func (u *UI) continueCommand() string {
	c := u.view.conversation
	if u.Resume == nil || c == nil {
		return ""
	}
	host := elsewhere(c, u.view.lost)
	if len(u.state().Turns) > 0 || host != "" || c.ID() == u.exit.rewound {
		return u.Resume(c.ID(), host != "")
	}
	return u.exit.earlier
}
