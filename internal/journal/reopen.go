package journal

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/settle-agent/settle/event"
)

// Reopener is a [Store] that can recover after a failed Append.
type Reopener interface {
	// Reopen makes sure that exactly the events up to seq are durable.
	Reopen(seq uint64) error
}

// Reopen retries after a failure of the store, such as a full disk. It first writes the missing
// events, so that the log has all published events. Without a failure it does nothing.
func (l *Log) Reopen() error {
	store, last, err := l.beginReopen()
	if store == nil {
		return err
	}
	err = store.Reopen(last) // by the caller, so that a hanging disk delays no other goroutine
	r, err := l.endReopen(err)
	if r == nil {
		return err
	}
	return l.await(r)
}

// beginReopen takes the store from the idle writer. It returns a nil store if there is nothing
// to do or to recover.
func (l *Log) beginReopen() (store Reopener, last uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	store, can := l.store.(Reopener)
	switch {
	case l.closing:
		return nil, 0, ErrClosed
	case l.err == nil, !can, l.busy, len(l.queue.events) > 0:
		return nil, 0, l.failure()
	}
	l.busy, l.health = true, volatile
	return store, l.stored, nil
}

// endReopen returns the store to the writer, with the missing events.
func (l *Log) endReopen(failed error) (*receipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	if failed != nil {
		l.err = &FailedError{Err: failed}
		return nil, l.err
	}
	l.health, l.err, l.failed = sound, nil, newFailure()
	missed := l.unwritten
	l.unwritten = nil
	for i := range missed {
		if e := &missed[i]; e.Seq > l.stored { // a hanging write can have succeeded
			e.Volatile = false
			l.queue.add(e)
		}
	}
	l.queue.seal()
	if len(l.queue.events) == 0 {
		l.feed.forgetMore()
		return nil, nil // nothing to wait for
	}
	l.queue.sync = Durably
	l.wakeWriter()
	return l.queue.wait(), nil
}

// unpublished returns the events that are not published yet.
func (l *Log) unpublished(events []event.Event) []event.Event {
	n := slices.IndexFunc(events, func(e event.Event) bool { return e.Seq > l.published })
	if n < 0 {
		return nil
	}
	return events[n:]
}

// Reopen implements [Reopener]. It also rewrites data that the kernel may have lost in a failed
// sync.
func (s *fileStore) Reopen(seq uint64) error {
	if !same(s.lock, s.path) {
		return ErrReplaced
	}
	size, err := s.offset(seq)
	if err != nil {
		return err
	}
	s.reserve.allocated = 0
	if err := s.file.Truncate(size); err != nil {
		return err
	}
	if synced := min(s.synced, size); synced < size {
		tail := make([]byte, size-synced)
		if _, err := s.file.ReadAt(tail, synced); err != nil {
			return err
		}
		if _, err := s.file.WriteAt(tail, synced); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.size, s.seq = size, seq
	s.marks = slices.DeleteFunc(s.marks, func(m mark) bool { return m.seq > seq })
	s.mu.Unlock()
	return s.sync()
}

// offset checks the records after the last mark and returns the offset of the record after event
// seq.
func (s *fileStore) offset(seq uint64) (int64, error) {
	from, end := s.find(seq)
	at := from.seq
	x := scan(s.file, from.off, end, readBuffer)
	for at < seq {
		_, err := x.next()
		if errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("the log ends at event %d, before event %d", at, seq)
		}
		if err != nil {
			return 0, err
		}
		at++
	}
	return x.off, nil
}
