package turn

import (
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

const (
	defaultHeaderTimeout   = 10 * time.Minute
	defaultStallTimeout    = 3 * time.Minute
	defaultThinkingTimeout = 15 * time.Minute
	defaultAttemptTimeout  = time.Hour
	// noTimeout never ends within the life of a process.
	noTimeout = 100 * 365 * 24 * time.Hour
)

// timeouts returns the timeouts with their defaults.
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

// StreamLimits returns the timeouts as the log has them.
func StreamLimits(b model.Timeouts) *event.StreamLimits {
	b = timeouts(b)
	ms := func(d time.Duration) int64 {
		if d = min(d, b.Attempt); d >= noTimeout {
			return 0
		}
		return d.Milliseconds()
	}
	return &event.StreamLimits{FirstMS: ms(b.Header), StallMS: ms(b.Stall), ThinkingMS: ms(b.Thinking)}
}

// watchdog decides when a stream has stalled. It has its own timer, which also fires while a
// read of the stream does not return.
//
//	no headers, or no byte after them ─ Header ─► stalled
//	bytes, no progress yet ─ Header; Thinking while bytes keep coming ─► stalled
//	progress ─ Stall without a byte,
//	           Stall without progress in visible text,
//	           Thinking without progress else ─► stalled
//	anything ─ Attempt ─► overdue
type watchdog struct {
	model.Timeouts
	startedAt   time.Time
	timer       *time.Timer
	reads       atomic.Int64 // number of reads; the first one is for the headers
	wire        atomic.Int64 // time of the last read, in nanoseconds since startedAt
	progress    time.Duration
	hasProgress bool // a delta with text has arrived
	visible     bool // the open item is text for people, or arguments
}

func newWatchdog(b model.Timeouts) *watchdog {
	w := &watchdog{Timeouts: b, startedAt: time.Now()}
	w.timer = time.NewTimer(w.due())
	return w
}

func (w *watchdog) stop() { w.timer.Stop() }

// activity records that bytes arrived. Any goroutine may call it.
func (w *watchdog) activity() {
	w.wire.Store(int64(time.Since(w.startedAt)))
	w.reads.Add(1)
}

// observe records a chunk. Only deltas with text are progress; pings and the starts of items
// are not.
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

// due returns when the watchdog fires if nothing else arrives, since startedAt.
func (w *watchdog) due() time.Duration { return min(w.stallsAt(), w.Attempt) }

// stallsAt returns when the stream stalls if nothing else arrives, since startedAt.
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

// recheck fires the timer again, after the waiting chunks have been processed.
func (w *watchdog) recheck() { w.timer.Reset(0) }

// check is called when the timer fires. It returns the reason to end the stream and the time
// without tokens. If bytes have arrived since the timer was set, it sets the timer again
// instead.
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

// cutReason is the reason why the watchdog ends a stream; empty if it does not.
type cutReason string

const (
	cutStall   cutReason = "silent" // the stream has stalled
	cutOverdue cutReason = "long"   // the response makes progress but is not complete in time
)
