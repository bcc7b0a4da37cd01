package journal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/settle-agent/settle/event"
)

// write is the writer: the one goroutine that appends to the store and
// publishes. It ends after Close, when the queue is empty.
func (l *Log) write() {
	defer close(l.ended)
	defer l.feed.close()
	for l.awaitWork() {
		b, h := l.take()
		if b != nil {
			l.settle(b, l.put(b, h))
		}
		if store, ok := l.store.(quiet); ok && l.beginRest() {
			store.quietly()
			l.endRest()
		}
	}
	if err := l.store.Close(); err != nil {
		l.closeErr = fmt.Errorf("cannot close the session's log: %w", err)
	}
}

// quiet is a store that has something to do when nobody waits for it.
type quiet interface{ quietly() }

// beginRest reports whether nothing waits to be written, and all has been. Then the
// store is the writer's until endRest.
func (l *Log) beginRest() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.health != sound || len(l.queue.events) > 0 {
		return false
	}
	l.busy = true
	return true
}

func (l *Log) endRest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
}

// awaitWork waits until there may be events to write, and reports false when
// there will be none any more.
func (l *Log) awaitWork() bool {
	select {
	case <-l.kick:
		return true
	case <-l.quit:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue.events) > 0
}

// take moves the queue into the writer's hands.
func (l *Log) take() (*batch, health) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue.events) == 0 {
		return nil, l.health
	}
	b := l.queue
	b.seal()
	l.writing, l.queue, l.spare, l.busy = b, l.spare, nil, true
	return b, l.health
}

// put writes the batch as well as the store's health allows. What it cannot
// put where it belongs goes into the reserve.
func (l *Log) put(b *batch, h health) error {
	if h == sound {
		err := l.store.Append(b.events, b.sync)
		if space := (*SpaceError)(nil); !errors.As(err, &space) {
			return err
		}
		l.fail(tight, err)
	}
	return l.store.Append(withoutText(b.events), Last)
}

// settle publishes what was written and wakes those that wait for it.
func (l *Log) settle(b *batch, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false // before anybody learns of a failure, who may want to reopen
	if err != nil {
		l.noteFailure(volatile, err)
	}
	if err == nil && len(b.events) > 0 {
		l.stored = b.events[len(b.events)-1].Seq
	}
	if l.writing == b { // else fail has published it
		events := l.unpublished(b.events)
		if l.health == tight {
			events = markVolatile(events, isDelta)
		}
		l.publish(events)
		if l.health == sound {
			l.feed.forgetMore()
		}
		b.settle(l.failure())
		l.writing = nil
	}
	b.reset()
	l.spare = b
}

// fail notes that the store failed. In the end, when the log is volatile,
// it publishes what the writer will not write any more.
func (l *Log) fail(to health, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteFailure(to, err)
}

// noteFailure is fail for who holds the lock.
func (l *Log) noteFailure(to health, err error) {
	if l.health == volatile {
		return
	}
	if l.err == nil {
		l.err = &FailedError{Err: err}
		close(l.failed)
	}
	l.health = to
	l.feed.keepAll()
	if to == tight {
		return
	}
	l.queue.seal()
	for _, b := range []*batch{l.writing, l.queue} {
		if b == nil {
			continue
		}
		l.lose(b.events)
		b.settle(l.err)
	}
	l.writing = nil // its events are still the writer's to read
	l.queue.reset()
}

// publish hands events to the subscribers.
func (l *Log) publish(events []event.Event) {
	if len(events) == 0 {
		return
	}
	l.published = events[len(events)-1].Seq
	l.feed.publish(events...)
}

// lose publishes events that are not written, and keeps them for when they can be.
func (l *Log) lose(events []event.Event) {
	l.publish(markVolatile(l.unpublished(events), isAny))
	l.unwritten = append(l.unwritten, events...)
}

func isAny(event.Event) bool { return true }

func isDelta(e event.Event) bool {
	_, ok := e.Data.(event.ItemDelta)
	return ok
}

// markVolatile returns a copy of the events in which those that were not written say so.
func markVolatile(events []event.Event, unwritten func(event.Event) bool) []event.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].Volatile = unwritten(events[i])
	}
	return events
}

// withoutText returns a copy of the events in which deltas keep only their
// place, so that the log has no gap: their text comes again with the ending.
func withoutText(events []event.Event) []event.Event {
	events = markVolatile(events, isDelta)
	for i := range events {
		if d, ok := events[i].Data.(event.ItemDelta); ok {
			events[i].Data = event.ItemDelta{Stream: d.Stream, Notice: d.Notice}
		}
	}
	return events
}
