package turn

import (
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle/model"
)

const (
	defaultHeaderTimeout   = 10 * time.Minute
	defaultStallTimeout    = 3 * time.Minute
	defaultThinkingTimeout = 15 * time.Minute
	defaultAttemptTimeout  = time.Hour
	// off is a bound that does not end anything within a process's life.
	noTimeout = 100 * 365 * 24 * time.Hour
)

// timeouts returns the timeouts that hold.
func timeouts(b model.Timeouts) model.Timeouts {
	bound := func(set, byDefault time.Duration) time.Duration {
		switch {
		case set < 0:
			return noTimeout
		case set > 0:
			return set
		case b.Stall > 0:
			return min(byDefault, b.Stall)
		}
		return byDefault
	}
	attempt := defaultAttemptTimeout
	if b.Attempt != 0 {
		attempt = bound(b.Attempt, 0)
	}
	return model.Timeouts{
		Attempt: attempt,
		Header:  bound(b.Header, defaultHeaderTimeout), Stall: bound(b.Stall, defaultStallTimeout),
		Thinking: bound(b.Thinking, defaultThinkingTimeout),
	}
}

// watchdog says when a stream has stalled. Its timer is its own: it fires
// also while a read of the stream does not return.
//
//	no headers, or no byte after them ─ Header ─► stalled
//	bytes, no progress yet ─ Header; Thinking while bytes keep coming ─► stalled
//	progress ─ Stall without a byte,
//	           Stall without progress in visible text,
//	           Thinking without progress else ─► stalled
//	anything ─ Attempt ─► over
type watchdog struct {
	model.Timeouts
	startedAt   time.Time
	timer       *time.Timer
	reads       atomic.Int64 // how often bytes came; the first time for the headers
	wire        atomic.Int64 // when bytes came last, in nanoseconds since begun
	progress    time.Duration
	hasProgress bool // there was progress
	visible     bool // the open item is text for people, or arguments
}

func newWatchdog(b model.Timeouts) *watchdog {
	w := &watchdog{Timeouts: b, startedAt: time.Now()}
	w.timer = time.NewTimer(w.due())
	return w
}

func (w *watchdog) stop() { w.timer.Stop() }

// activity notes that bytes came. Any goroutine may call it.
func (w *watchdog) activity() {
	w.wire.Store(int64(time.Since(w.startedAt)))
	w.reads.Add(1)
}

// saw notes a chunk. Only deltas are progress: a ping is none, nor is an item
// that begins and says nothing.
func (w *watchdog) observe(c *model.Chunk, visible bool) {
	w.visible = visible
	if c.Kind != model.Delta || c.Text == "" {
		return
	}
	w.progress = time.Since(w.startedAt)
	if !w.hasProgress {
		w.hasProgress = true
		w.timer.Reset(w.due() - w.progress)
	}
}

// due returns when the stream is cut as things stand, since begun.
func (w *watchdog) due() time.Duration { return min(w.stallsAt(), w.Attempt) }

// stalled returns when the stream has stalled as things stand, since begun.
func (w *watchdog) stallsAt() time.Duration {
	wire := max(time.Duration(w.wire.Load()), w.progress)
	if !w.hasProgress {
		if w.reads.Load() <= 1 {
			return w.Header
		}
		return max(w.Header, min(w.Thinking, wire+w.Stall))
	}
	if w.visible {
		return min(wire, w.progress) + w.Stall
	}
	return min(wire+w.Stall, w.progress+w.Thinking)
}

// again has the timer fire once more, when what has come was looked at.
func (w *watchdog) recheck() { w.timer.Reset(0) }

// check is called when the timer fired. It returns why the stream is to be cut
// and for how long no tokens have come, or sets the timer anew where bytes came
// meanwhile.
func (w *watchdog) check() (silent time.Duration, why cutReason) {
	now := time.Since(w.startedAt)
	if rest := w.due() - now; rest > 0 {
		w.timer.Reset(rest)
		return 0, ""
	}
	if w.stallsAt() > now {
		return now - w.progress, cutOverdue
	}
	return now - w.progress, cutStall
}

// bite is why a watchdog cuts a stream; empty where it does not.
type cutReason string

const (
	cutStall   cutReason = "silent" // it has stalled
	cutOverdue cutReason = "long"   // it gets on, and is not complete in time
)
