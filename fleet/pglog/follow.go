package pglog

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet/pgnotify"
)

// logChannel is notified of the sessions whose log has grown.
const logChannel = "settle_fleet_log"

// MissingError reports that a session does not exist. It is an [fs.ErrNotExist].
type MissingError struct{ Session string }

func (e *MissingError) Error() string { return fmt.Sprintf("there is no session %q", e.Session) }

// Is reports whether the target is [fs.ErrNotExist].
func (*MissingError) Is(target error) bool { return target == fs.ErrNotExist }

// Follow yields the events of a session after the cursor, and then the new events,
// in order and without a gap, until ctx ends. A slow reader delays only itself.
func (l *Logs) Follow(ctx context.Context, session string, cursor uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		after := cursor
		wake, leave := l.hub.join(session)
		defer leave()
		for {
			for e, err := range l.Read(ctx, session, after) {
				if !yield(e, err) || err != nil {
					return
				}
				after = e.Seq
			}
			select {
			case <-wake: // events were added since the subscription, or during the last read
			case <-ctx.Done():
				return
			}
		}
	}
}

// hub listens on one connection for all followers of sessions. A lost connection loses
// notifications: all followers read again after the reconnect.
type hub struct {
	config *pgx.ConnConfig

	mu          sync.Mutex
	readers     map[string]map[chan struct{}]bool
	firstReader chan struct{} // holds one token when a follower has joined
}

func newHub(c *pgx.ConnConfig) *hub {
	return &hub{config: c, readers: map[string]map[chan struct{}]bool{}, firstReader: make(chan struct{}, 1)}
}

// join returns a channel that gets a token when the session's log may have grown.
func (h *hub) join(session string) (wake chan struct{}, leave func()) {
	wake = make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers[session] == nil {
		h.readers[session] = map[chan struct{}]bool{}
	}
	h.readers[session][wake] = true
	select {
	case h.firstReader <- struct{}{}:
	default:
	}
	return wake, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.readers[session], wake); len(h.readers[session]) == 0 {
			delete(h.readers, session)
		}
	}
}

// wake wakes the readers of the sessions; all readers, if none is named.
func (h *hub) wake(sessions ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(sessions) == 0 {
		for _, readers := range h.readers {
			wakeAll(readers)
		}
	}
	for _, session := range sessions {
		wakeAll(h.readers[session])
	}
}

// onNotification wakes the readers of the sessions in a notification. No id has a
// space, and some have other white space. Without an id, no reader wakes.
func (h *hub) onNotification(sessions string) { h.wake(strings.Split(sessions, " ")...) }

// wakeAll wakes readers.
func wakeAll(readers map[chan struct{}]bool) {
	for wake := range readers {
		select {
		case wake <- struct{}{}:
		default: // it will read anyway
		}
	}
}

// run listens from the first follower until ctx ends.
func (h *hub) run(ctx context.Context) {
	select {
	case <-h.firstReader:
	case <-ctx.Done():
		return
	}
	pgnotify.Listen(ctx, h.config, pgnotify.Listener{
		Channel: logChannel,
		Begin:   func(context.Context) { h.wake() }, // for events from before
		Payload: h.onNotification,
	})
}
