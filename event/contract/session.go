package contract

import (
	"bytes"

	"github.com/settle-agent/settle/event"
)

// lifecycle is the state of the session.
type lifecycle struct {
	id       string
	seq      uint64
	opened   bool
	volatile bool // an event other than a delta was not durable
	crashed  bool // a turn ended as crashed, and session.recovered must follow
}

// envelope: C17, a cursor works only if numbers have no gaps; C4, an event after one
// that is in memory only cannot be on disk.
func (l *log) envelope(e event.Event) {
	if e.Seq != l.seq+1 {
		l.breaks("C17", "it follows event %d", l.seq)
	}
	l.seq = e.Seq
	if l.place == 1 {
		l.id = e.Session
	}
	if e.Session != l.id {
		l.breaks("C17", "it belongs to session %q, not %q", e.Session, l.id)
	}
	if l.volatile && !e.Volatile {
		l.breaks("C4", "it is durable, though an event before it is not")
	}
	if _, delta := e.Data.(event.ItemDelta); e.Volatile && !delta {
		l.volatile = true // the item's ending repeats a delta's text
	}
}

// secrets: C15.
func (l *log) secrets(e event.Event) {
	if len(l.Secrets) == 0 {
		return
	}
	raw, err := e.AppendJSON(nil)
	if err != nil {
		l.breaks("C20", "it cannot be encoded: %v", err)
		return
	}
	for _, s := range l.Secrets {
		if quoted := event.AppendString(nil, s); bytes.Contains(raw, quoted[1:len(quoted)-1]) {
			l.breaks("C15", "it contains a secret of %d characters", len(s))
		}
	}
}

// inSession reports whether the state of the session allows the event: no event belongs
// to a session without a holder.
func (l *log) inSession(e event.Event) bool {
	if _, opens := e.Data.(event.SessionOpened); opens || l.opened {
		return true
	}
	if _, recovers := e.Data.(event.SessionRecovered); recovers {
		return true // a damaged tail was cut after session.closed
	}
	l.breaks("C2", "no process holds the session")
	return false
}

func (l *log) session(e event.Event) {
	switch d := e.Data.(type) {
	case event.SessionOpened:
		if l.opened {
			l.breaks("C2", "the session is already open, and was neither closed nor recovered")
		}
		l.opened = true
		return
	case event.SessionRecovered:
		if d.CutBytes > 0 && d.Kept == "" {
			l.breaks("C20", "%d bytes of the log were cut, and it does not say where they are kept", d.CutBytes)
		}
	case event.SessionClosed:
		if l.crashed {
			l.breaks("C20", "a turn was ended as crashed, and no session.recovered says so")
		}
	}
	l.crashed = false
	l.sessionScoped()
	l.opened = false
}

// sessionScoped: C2, session-scoped entities end before the host releases the lock;
// C19, waiting input is held.
func (l *log) sessionScoped() {
	if t := l.running; t != nil {
		l.breaks("C2", "turn %s is running", t.id)
	}
	for id, j := range l.jobs {
		if !j.ended {
			l.breaks("C2", "job %s is running", id)
		}
	}
	for id, c := range l.children {
		if !c.ended {
			l.breaks("C2", "child %s is running", id)
		}
	}
	for id, h := range l.hooks {
		if !h.ended {
			l.breaks("C2", "hook %s is running", id)
		}
	}
	for id, in := range l.inputs {
		if in.waits && !in.held {
			l.breaks("C19", "input %s waits and is not held", id)
		}
	}
}
