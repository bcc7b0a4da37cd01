package daemon

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/scope"
)

// ownerGrace bounds the wait for a terminal that has ended its session to read the answer.
const ownerGrace = 2 * time.Second

// owner is the terminal that started the process. Its zero value means that none did.
type owner struct {
	left     chan struct{} // closed when the terminal has disconnected; nil for none
	detached atomic.Bool
	ending   atomic.Bool // the terminal has ended the session
}

// serveOwner serves the terminal that started the process.
func (o Options) serveOwner(ctx context.Context, opened *assemble.Opened) *owner {
	w := &owner{}
	if o.Owner == nil {
		w.detached.Store(true)
		return w
	}
	w.left = make(chan struct{})
	// Ends with the connection, which ends with the terminal, or with this process.
	go scope.Shield(func(error) {}, func() {
		defer close(w.left)
		attach.ServeOwner(ctx, opened.Session, o.Owner, attach.Owner{
			Detach: func() {
				w.detached.Store(true)
				o.Logger.Info("the terminal has detached; its host works on", "session", opened.ID())
			},
			Close: func(reason event.Reason, by string) error {
				w.ending.Store(true)
				return o.end(reason, by)
			},
		})
	})()
	return w
}

// await waits until the terminal that has ended its session has read the answer.
func (w *owner) await() {
	if w.left == nil {
		return
	}
	select {
	case <-w.left:
	case <-time.After(ownerGrace):
	}
}

// leave is called when the terminal has disconnected. Unless it has detached, its session ends
// with it, and done is true.
func (o Options) leave(w *owner, session string) (code int, done bool) {
	switch {
	case w.detached.Load():
		return 0, false
	case w.ending.Load(): // work that has not ended has more time
		o.close(event.Shutdown, "terminal")
		return stdio.CodeCompleted, true
	}
	o.Logger.Info("the terminal is gone without detaching; its host ends with its session", "session", session)
	o.close(event.Shutdown, "terminal")
	return stdio.CodeHangup, true
}
