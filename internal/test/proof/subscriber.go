package proof

import (
	"bytes"
	"context"
	"time"

	"github.com/settle-agent/settle/event"
)

// subscriber follows the session over all its processes, with one cursor, and checks the events
// that it receives.
type subscriber struct {
	world  *world
	reader Reader
	each   func(*process, event.Event) // may be nil
	cursor uint64
}

// run ends when the last process has closed the session and all was read.
func (s *subscriber) run(p *process) {
	for p != nil {
		s.follow(p)
		<-p.succeeded // main closes it for each process
		p = p.next
	}
}

// follow reads until the process is gone.
func (s *subscriber) follow(p *process) {
	for s.read(p) {
		s.rest(s.reader.For)
	}
}

// read subscribes once, and reports whether the reader went away by itself.
func (s *subscriber) read(p *process) (left bool) {
	ctx, cancel := context.WithCancel(p.life)
	defer cancel()
	n := 0
	for e, err := range p.log.Events(ctx, s.cursor) {
		if p.dead() && (err != nil || e.Volatile) {
			return false // no client would have seen the event
		}
		if err != nil {
			s.world.broke("C17", "a subscriber at event %d received: %v", s.cursor, err)
			return false
		}
		s.check(p, e)
		s.cursor = e.Seq
		if s.each != nil {
			s.each(p, e)
		} else if s.world.front(p) {
			return true // it reconnects, and continues after its cursor
		}
		s.rest(s.reader.Slow)
		if n++; n == s.reader.Leaves {
			return true
		}
	}
	return false
}

// rest waits, in virtual time.
func (s *subscriber) rest(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}

// check: C17, no gap and no duplicate; C4, an event is written before a subscriber receives it, and
// unchanged.
func (s *subscriber) check(p *process, e event.Event) {
	if e.Seq != s.cursor+1 {
		s.world.broke("C17", "a subscriber got event %d after event %d", e.Seq, s.cursor)
	}
	if e.Volatile {
		if p.mount.is(works) {
			s.world.broke("C4", "event %d says that it was not written, and the disk works", e.Seq)
		}
		return
	}
	shown, err := e.AppendJSON(nil)
	if err != nil {
		s.world.broke("C17", "event %d cannot be encoded: %v", e.Seq, err)
		return
	}
	if written := p.mount.record(e.Seq); !bytes.Equal(shown, written) {
		s.world.broke("C4", "event %d was shown as %s, and the log has %q", e.Seq, shown, written)
	}
}
