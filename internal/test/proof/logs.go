package proof

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

// Logs keep the records of disks in a real store, such as a database. Processes read from
// the store, and the disk's copy in memory is only compared with it.
//
// A store takes real time, and its goroutines are outside of every bubble: a goroutine that
// [NewLogs] has started does its work, and the time of the bubble does not pass until the
// work is done.
type Logs struct {
	open  func(session string) (journal.Store, error)
	calls chan func()
	done  chan struct{}
	ended chan struct{}

	mu       sync.Mutex // held while something is done
	sessions int
}

// NewLogs returns logs. open takes over the log of a session, which is empty if there is
// none yet: an earlier opener cannot append any more. NewLogs is called outside
// of the bubbles that use them, one at a time, and Close after these.
func NewLogs(open func(session string) (journal.Store, error)) *Logs {
	l := &Logs{open: open, calls: make(chan func()), done: make(chan struct{}), ended: make(chan struct{})}
	go func() { // ends with Close
		defer close(l.ended)
		for call := range l.calls {
			call()
			l.done <- struct{}{}
		}
	}()
	return l
}

// Close ends the store that NewLogs has started.
func (l *Logs) Close() {
	close(l.calls)
	<-l.ended
}

// do calls f outside of the bubble.
func (l *Logs) do(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls <- f
	<-l.done
}

// session is a new name.
func (l *Logs) session() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions++
	return fmt.Sprintf("%p-%d", l, l.sessions)
}

// take opens the log of a session.
func (l *Logs) take(session string) (s shelf, err error) {
	s.logs = l
	l.do(func() { s.store, err = l.open(session) })
	return s, err
}

// shelf is the log of a session, as it was opened.
type shelf struct {
	logs  *Logs
	store journal.Store
}

func (s shelf) append(batch []event.Event, sync journal.Sync) (err error) {
	s.logs.do(func() { err = s.store.Append(batch, sync) })
	return err
}

func (s shelf) read(after uint64) (all []event.Event, err error) {
	s.logs.do(func() {
		for e, failed := range s.store.Read(context.Background(), after) {
			if err = failed; err != nil {
				return
			}
			all = append(all, e)
		}
	})
	return all, err
}

func (s shelf) close() (err error) {
	s.logs.do(func() { err = s.store.Close() })
	return err
}

// take opens the disk's log as the next process does. Who had it open before can append
// nothing any more.
func (d *disk) take(broke func(string, string, ...any)) (shelf, error) {
	if d.session == "" {
		d.session = d.logs.session()
		if err := d.store(); err != nil {
			return shelf{}, err
		}
	}
	before := d.taken
	s, err := d.logs.take(d.session)
	if err != nil {
		return shelf{}, err
	}
	d.taken = s
	if before.store == nil {
		return s, nil
	}
	n := uint64(d.len()) + 1 // it is short
	if before.append(
		[]event.Event{{V: event.Version, Session: "s", Seq: n, By: "host", Data: event.SessionClosed{}}},
		journal.Lazily,
	) == nil {
		broke("C20", "who had the log open before still appends event %d to it", n)
	}
	return s, nil
}

// store writes the records of a copy of a disk to its log.
func (d *disk) store() error {
	events, err := d.events()
	if err != nil || len(events) == 0 {
		return err
	}
	s, err := d.logs.take(d.session)
	if err != nil {
		return err
	}
	return errors.Join(s.append(events, journal.Lazily), s.close())
}

// compare checks C1: the log has exactly the writes to the disk.
func (d *disk) compare(broke func(string, string, ...any)) {
	if d.taken.store == nil {
		return
	}
	all, err := d.taken.read(0)
	if err != nil {
		broke("C20", "the log cannot be read: %v", err)
	}
	if len(all) != d.len() {
		broke("C1", "the log has %d events, and %d were written", len(all), d.len())
		return
	}
	for n, e := range all {
		if raw, err := e.AppendJSON(
			nil,
		); err != nil ||
			string(raw) != string(d.record(uint64(n)+1)) { // it counts
			broke("C1", "event %d of the log is not what was written: %s, %v", n+1, raw, err)
			return
		}
	}
}
