package journal

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/settle-agent/settle/event"
)

const (
	// maxTail bounds the events that the feed keeps for slow subscribers, in bytes by weigh.
	// Slower subscribers read from the store.
	maxTail = 64 << 10
	// keptTail is the capacity that an idle feed keeps.
	keptTail = 8
	// chunk is the number of events that a subscriber takes at once.
	chunk = 16
)

// feed passes written events to the subscribers. It never waits for them (C17): it keeps the
// newest events as long as a subscriber needs them; slower subscribers read from the store.
type feed struct {
	mu   sync.Mutex
	last uint64 // number of the last published event
	// tail are the newest events, up to last; weight is their sum.
	tail   []event.Event
	weight int
	// keep reports that the store may lack events of the tail.
	keep bool
	// readers are the subscribers, idle the ones that wait for wake.
	readers, idle int
	wake          chan struct{} // closed at the next event; nil without waiters
	closed        bool
}

// publish appends the events to the feed.
func (f *feed) publish(events ...event.Event) {
	if len(events) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = events[len(events)-1].Seq
	if f.readers > 0 || f.keep {
		f.tail = append(f.tail, events...)
		for i := range events {
			f.weight += weigh(&events[i])
		}
		f.trim()
	}
	f.wakeReaders()
}

// trim drops the older half of a tail that has grown too heavy.
func (f *feed) trim() {
	if f.weight <= maxTail || f.keep {
		return
	}
	drop := 0
	for drop < len(f.tail)-1 && f.weight > maxTail/2 {
		f.weight -= weigh(&f.tail[drop])
		drop++
	}
	n := copy(f.tail, f.tail[drop:])
	clear(f.tail[n:])
	f.tail = f.tail[:n]
}

// rest drops the tail after every subscriber has read it.
func (f *feed) rest() {
	if f.idle < f.readers || f.keep {
		return
	}
	clear(f.tail)
	f.tail, f.weight = f.tail[:0], 0
	if cap(f.tail) > keptTail {
		f.tail = nil
	}
}

// wakeReaders signals the waiting subscribers that there are events, or the end.
func (f *feed) wakeReaders() {
	if f.wake != nil {
		close(f.wake)
		f.wake, f.idle = nil, 0
	}
}

// keepAll lets the feed keep all events from now on.
func (f *feed) keepAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep = true
}

// forgetMore ends keepAll: the store has all published events.
func (f *feed) forgetMore() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keep {
		f.keep = false
		f.trim()
		f.rest()
	}
}

// close reports that no more events follow.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.wakeReaders()
}

func (f *feed) join() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers++
}

func (f *feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers--
	f.rest()
}

// step is the next step of a subscriber: yield events, read the store up to and including a
// number, wait, or, without any of these, end.
type step struct {
	events []event.Event
	stored uint64
	wake   chan struct{}
}

// next returns the events after the cursor, in buf.
func (f *feed) next(after uint64, buf []event.Event) step {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after < f.last {
		before := f.last - uint64(len(f.tail)) // number of the event before the tail
		if after < before {
			return step{stored: before}
		}
		return step{
			events: append(buf[:0], f.tail[after-before:min(after-before+uint64(cap(buf)), uint64(len(f.tail)))]...),
		}
	}
	if f.closed {
		return step{}
	}
	if f.wake == nil {
		f.wake = make(chan struct{})
	}
	f.idle++
	f.rest()
	return step{wake: f.wake}
}

// abandon cancels the wait for wake.
func (f *feed) abandon(wake chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wake == wake {
		f.idle--
	}
}

// Events is a subscription: every published event after the cursor, in order, first the existing
// ones and then new ones. It ends when ctx does, or after the last event of a closed log, or with
// an error as its last element if the store is unreadable. A cursor beyond the end waits for the
// events after it. A slow subscriber delays no other goroutine and misses nothing (C17).
func (l *Log) Events(ctx context.Context, after uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) { l.follow(ctx, after, yield) }
}

func (l *Log) follow(ctx context.Context, after uint64, yield func(event.Event, error) bool) {
	l.feed.join()
	defer l.feed.leave()
	for ctx.Err() == nil {
		wake := l.catchUp(ctx, &after, yield)
		if wake == nil {
			return
		}
		select {
		case <-wake:
		case <-ctx.Done():
			l.feed.abandon(wake)
		}
	}
}

// buffers are the buffers of subscribers that do not wait: a subscriber of a stream wakes up for
// each delta.
var buffers = sync.Pool{New: func() any { return new([chunk]event.Event) }}

// catchUp yields the events after the cursor, and moves it. It returns the channel to wait for, or
// nil if the subscription ends.
func (l *Log) catchUp(
	ctx context.Context, after *uint64, yield func(event.Event, error) bool,
) (wake chan struct{}) {
	buf := buffers.Get().(*[chunk]event.Event)
	defer func() {
		clear(buf[:])
		buffers.Put(buf)
	}()
	for ctx.Err() == nil {
		s := l.feed.next(*after, buf[:0])
		switch {
		case s.events != nil:
			for _, e := range s.events {
				if ctx.Err() != nil || !yield(e, nil) {
					return nil
				}
			}
			*after = s.events[len(s.events)-1].Seq
			clear(s.events)
		case s.stored != 0:
			if !l.replay(ctx, *after, s.stored, yield) {
				return nil
			}
			*after = s.stored
		default:
			return s.wake
		}
	}
	return nil
}

// replay yields the events after after up to last from the store, and reports whether the
// subscription continues.
func (l *Log) replay(ctx context.Context, after, last uint64, yield func(event.Event, error) bool) bool {
	for e, err := range l.store.Read(ctx, after) {
		if ctx.Err() != nil {
			return false
		}
		if err == nil && e.Seq != after+1 {
			err = fmt.Errorf("it has event %d where event %d should be", e.Seq, after+1)
		}
		if err != nil {
			yield(event.Event{}, fmt.Errorf("cannot read the session's log: %w", err))
			return false
		}
		if !yield(e, nil) {
			return false
		}
		if after = e.Seq; after == last {
			return true
		}
	}
	if ctx.Err() == nil {
		yield(
			event.Event{},
			fmt.Errorf("cannot read the session's log: it ends at event %d, before event %d", after, last),
		)
	}
	return false
}
