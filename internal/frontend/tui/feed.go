package tui

import (
	"context"
	"sync"

	"github.com/settle-agent/settle/event"
)

// feed are the events that have come and were not taken.
type feed struct {
	kick chan struct{} // one token when there is something
	done chan struct{} // closed when nothing more will come

	mu     sync.Mutex // guards the fields below
	events []event.Event
	err    error
	room   *sync.Cond // for more events
	ended  bool
}

// maxFed is the maximum number of events that wait for a busy loop.
const maxFed = 1024

func newFeed() *feed {
	f := &feed{kick: make(chan struct{}, 1), done: make(chan struct{})}
	f.room = sync.NewCond(&f.mu)
	return f
}

// run reads the session until ctx ends or the session is closed.
func (f *feed) run(ctx context.Context, c Conversation, cursor uint64) {
	defer close(f.done)
	defer context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ended = true
		f.room.Broadcast()
	})()
	for e, err := range c.Events(ctx, cursor) {
		if ctx.Err() != nil {
			return
		}
		f.mu.Lock()
		for len(f.events) >= maxFed && !f.ended {
			f.room.Wait() // until take, or the end of ctx
		}
		if err != nil {
			f.err = err
		} else {
			f.events = append(f.events, e)
		}
		f.mu.Unlock()
		select {
		case f.kick <- struct{}{}:
		default: // there is a token
		}
	}
}

func (f *feed) take() (events []event.Event, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	events, err, f.events, f.err = f.events, f.err, nil, nil
	f.room.Broadcast()
	return events, err
}
