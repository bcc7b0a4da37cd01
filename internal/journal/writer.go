package journal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/settle-agent/settle/event"
)

// write is the writer: the only goroutine that appends to the store and publishes. It ends when
// the queue is empty; after Close it also closes the store.
func (l *Log) write() {
	for closing := false; !closing; {
		if b, h := l.take(); b != nil {
			l.settle(b, l.put(b, h))
			l.rest()
		}
		var more bool
		if more, closing = l.next(); !more && !closing {
			return
		}
	}
	l.finish()
}

// next reports whether the writer has more events to write, or the log to close. If it has
// neither, the writer ends.
func (l *Log) next() (more, closing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	more = len(l.queue.events) > 0
	l.works = more || l.closing
	return more, !more && l.closing
}

// finish closes the store.
func (l *Log) finish() {
	defer close(l.ended)
	defer l.feed.close()
	if err := l.store.Close(); err != nil {
		l.closeErr = fmt.Errorf("cannot close the session's log: %w", err)
	} else if l.keep != nil {
		l.keepState()
	}
}

// keepState gives the state away, if the store has all its events.
func (l *Log) keepState() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.health == sound && l.stored == l.state.Seq {
		l.keep(l.state)
	}
}

// quiet is a store with work for idle times.
type quiet interface{ quietly() }

// rest lets an idle store do its other work.
func (l *Log) rest() {
	if store, ok := l.store.(quiet); ok && l.beginRest() {
		store.quietly()
		l.endRest()
	}
}

// beginRest reports whether no event waits. Then the writer can use the store until endRest.
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

// take moves the queue to the writer.
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

// put writes the batch as far as the store's health allows. Events without space go into the
// reserve.
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

// settle publishes the written events and wakes their waiters.
func (l *Log) settle(b *batch, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false // before a waiter learns of a failure and calls Reopen
	if err != nil {
		l.noteFailure(volatile, err)
	}
	if err == nil && len(b.events) > 0 {
		l.stored = b.events[len(b.events)-1].Seq
	}
	if l.writing == b { // otherwise fail has published it
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

// fail records a failure of the store. If the log is volatile, it publishes the events that the
// writer will not write.
func (l *Log) fail(to health, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteFailure(to, err)
}

// noteFailure is fail for callers with the lock.
func (l *Log) noteFailure(to health, err error) {
	if l.health == volatile {
		return
	}
	if l.err == nil {
		l.err = &FailedError{Err: err}
		l.failed.report()
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
	l.writing = nil // the writer still reads its events
	l.queue.reset()
}

// publish passes events to the subscribers.
func (l *Log) publish(events []event.Event) {
	if len(events) == 0 {
		return
	}
	l.published = events[len(events)-1].Seq
	l.feed.publish(events...)
}

// lose publishes unwritten events, and keeps them for Reopen.
func (l *Log) lose(events []event.Event) {
	l.publish(markVolatile(l.unpublished(events), isAny))
	l.unwritten = append(l.unwritten, events...)
}

func isAny(event.Event) bool { return true }

func isDelta(e event.Event) bool {
	_, ok := e.Data.(event.ItemDelta)
	return ok
}

// markVolatile returns a copy of the events in which unwritten ones are marked.
func markVolatile(events []event.Event, unwritten func(event.Event) bool) []event.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].Volatile = unwritten(events[i])
	}
	return events
}

// withoutText returns a copy of the events without the texts of deltas, so that the log has no
// gap: the endings repeat the texts.
func withoutText(events []event.Event) []event.Event {
	events = markVolatile(events, isDelta)
	for i := range events {
		if d, ok := events[i].Data.(event.ItemDelta); ok {
			events[i].Data = event.ItemDelta{Stream: d.Stream, Notice: d.Notice}
		}
	}
	return events
}
