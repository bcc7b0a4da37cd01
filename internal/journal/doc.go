// Package journal keeps the log of a session: durable, in order, and the only
// state there is. It owns the file, the lock on it, and the order in which
// events become true:
//
//	Update(f) ─► f sees the state ─► stamp, fold ─► queue ─► Store.Append ─► feed ─► subscribers
//	             (under the lock)                            (one writer)    C4: written first
//
// A [Log] is in one of these states:
//
//	sound ──► tight ──► volatile        the store has no room ──► it fails
//	  └───────────────────▲             (EIO, a write that hangs)
//	tight, volatile ──► sound           Reopen; what was not written is written first
//	any ──► closed                      Close; the queue is written first
//
// While it is tight, events go into the space that was reserved for endings,
// and of deltas only the fact; while it is volatile, nothing is written and
// each event says so. From tight on, every Update returns a [FailedError].
//
// The store of a file is opened by [Open], which cuts and keeps what a crash
// has damaged, and holds the session's lock until the log is closed and the
// last process that inherited the lock has ended.
package journal
