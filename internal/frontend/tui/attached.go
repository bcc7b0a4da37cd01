package tui

import (
	"context"
	"errors"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
)

// AttachedConversation is a conversation whose session another process hosts. Closing it
// does not end the session.
type AttachedConversation interface {
	// Host names that process, such as "pid 4711 (serve)".
	Host() string
}

// hostOf names the process that hosts the session, or is empty: this one does.
func hostOf(c Conversation) string {
	if g, ok := c.(AttachedConversation); ok {
		return g.Host()
	}
	return ""
}

// elsewhere names the process that keeps the session when the terminal leaves, or is empty: this one has
// it, or its host has ended, which lost reports.
func elsewhere(c Conversation, lost bool) string {
	if lost {
		return ""
	}
	return hostOf(c)
}

// lostCode is the exit code of a terminal whose session it did not close.
func lostCode(s event.State) int {
	if s.Open { // the host was killed
		return stdio.CodeFailed
	}
	return stdio.CodeCompleted
}

// showHost names the process that hosts the session.
func (u *UI) showHost(host string) {
	u.display.hint = ""
	u.commit(
		notice(
			accent(),
			"attached to %s: what you send, answer and interrupt here happens there; leaving ends nothing", host,
		),
	)
}

// endText reports how a session ended that this terminal did not close.
func endText(c Conversation, s event.State) string {
	host := hostOf(c)
	if own, ok := c.(HostedConversation); ok && s.Open {
		host = "its host, " + own.Process() + ","
	}
	switch {
	case host == "":
		return "the session was closed"
	case s.Open:
		return host + " has ended without closing the session; what it had written is above"
	}
	return host + " has closed the session"
}

// sessionLost is called when the session has ended, and this terminal did not close it.
func (u *UI) sessionLost() {
	u.follow() // the rest of the log
	u.drain()
	u.view.lost, u.interrupts.turn = true, ""
	u.exit.code = lostCode(u.state()) // unless the session is opened again
	u.commit(notice(warning(), "%s", endText(u.view.conversation, u.state())))
	u.hintAfterLoss()
}

func (u *UI) hintAfterLoss() { u.showHint("Enter opens the session here, Ctrl-D leaves") }

// reclaim opens a lost session again, here or in the process that hosts it now. The editor
// keeps its text.
func (u *UI) reclaim() {
	if u.view.closing {
		return
	}
	u.view.closing = true
	u.showHint("opening the session")
	old := u.view.conversation
	go u.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(u.ctx, actTimeout)
		defer cancel()
		err := u.Sessions.Close(ctx, old, event.Shutdown, user)
		c, opened := u.Sessions.Open(ctx, old.ID())
		u.send(func() {
			if u.display.hint, u.view.closing = "", false; opened != nil {
				u.commit(notice(failure(), "%v", errors.Join(err, opened)))
				return
			}
			u.exit.code = stdio.CodeCompleted
			u.attach(c)
		})
	})
}

// ended is closed when the session is lost; nil while its end is expected.
func (u *UI) ended() <-chan struct{} {
	if u.view.feed == nil || u.view.closing || u.view.lost {
		return nil
	}
	return u.view.feed.done
}
