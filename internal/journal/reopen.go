package journal

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/settle-agent/settle/event"
)

// Reopener is a [Store] that may take events again after an Append has failed.
type Reopener interface {
	// Reopen makes sure that the store has the events up to seq and no others,
	// on stable storage.
	Reopen(seq uint64) error
}

// Reopen tries to write again where the store has failed, for a disk that had
// no room or failed for a while. What was not written is written first, so that
// the log has all that was shown. Where nothing has failed it does nothing.
func (l *Log) Reopen() error {
	store, last, err := l.beginReopen()
	if store == nil {
		return err
	}
	err = store.Reopen(last) // in the caller's hands: a disk that hangs holds up nobody else
	r, err := l.endReopen(err)
	if r == nil {
		return err
	}
	return l.await(r)
}

// beginReopen takes the store from the writer, which has nothing to write then.
// It returns nothing where there is nothing to do, or nothing that can be done.
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

// endReopen gives the store back to the writer, with what it has missed.
func (l *Log) endReopen(failed error) (*receipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	if failed != nil {
		l.err = &FailedError{Err: failed}
		return nil, l.err
	}
	l.health, l.err, l.failed = sound, nil, make(chan struct{})
	missed := l.unwritten
	l.unwritten = nil
	for _, e := range missed {
		if e.Seq > l.stored { // else a write that hung came back after all
			e.Volatile = false
			l.queue.add(e)
		}
	}
	l.queue.seal()
	if len(l.queue.events) == 0 {
		l.feed.forgetMore()
		return nil, nil //nolint:nilnil // there is nothing to wait for
	}
	l.queue.sync = Durably
	l.rouse()
	return l.queue.wait(), nil
}

// unpublished returns those of the events that nobody has seen yet.
func (l *Log) unpublished(events []event.Event) []event.Event {
	n := slices.IndexFunc(events, func(e event.Event) bool { return e.Seq > l.published })
	if n < 0 {
		return nil
	}
	return events[n:]
}

// Reopen implements [Reopener]. What the kernel may have lost of the file with a
// sync that failed is written again.
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

// offset checks the records after the last mark and returns where the one after
// event seq begins.
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
