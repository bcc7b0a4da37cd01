package tui

import (
	"context"
	"errors"

	"github.com/settle-agent/settle/event"
)

// AttachedConversation is a conversation whose session another process hosts. It goes on there
// when it is closed here.
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

// welcome says whose session this is.
func (u *UI) welcome(host string) {
	u.display.hint = ""
	u.commit(notice(lively(), "attached to %s: what you send, answer and interrupt here happens there; leaving ends nothing", host))
}

// fate says what became of a session that nobody here has closed.
func fate(host string, s event.State) string {
	switch {
	case host == "":
		return "the session was closed"
	case s.Open:
		return host + " has ended without closing the session; what it had written is above"
	}
	return host + " has closed the session"
}

// lost is called when the session is not open any more, and nobody here has
// closed it.
func (u *UI) lost() {
	u.follow() // what is left of the log
	u.drain()
	u.view.lost, u.interrupts.turn = true, ""
	u.commit(notice(warned(), "%s", fate(hostOf(u.view.conversation), u.state())))
	u.say("Enter opens the session here, Ctrl-D leaves")
}

// reclaim opens a session that was lost, here or wherever it is now. The editor
// keeps what is in it.
func (u *UI) reclaim() {
	if u.view.closing {
		return
	}
	u.view.closing = true
	u.say("opening the session")
	old := u.view.conversation
	go u.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(u.ctx, actTimeout)
		defer cancel()
		err := u.Sessions.Close(ctx, old, event.Shutdown, user)
		c, opened := u.Sessions.Open(ctx, old.ID())
		u.send(func() {
			if u.display.hint, u.view.closing = "", false; opened != nil {
				u.commit(notice(bad(), "%v", errors.Join(err, opened)))
				return
			}
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
