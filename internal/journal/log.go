package journal

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
)

// defaultWriteTimeout is how long a write may take before the store is given
// up. Disks that sleep and busy network file systems take seconds.
const defaultWriteTimeout = time.Minute

// health says what still becomes of events.
type health string

const (
	sound    health = "sound"    // they are written
	tight    health = "tight"    // they are written into the space reserved for endings
	volatile health = "volatile" // they are in memory only
)

// Log is one session's ordered log and the state that it folds to. Its
// methods may be called from any goroutine.
type Log struct {
	store        Store
	now          func() time.Time
	writeTimeout time.Duration
	epoch        uint64
	feed         feed

	kick  chan struct{} // holds one token when the queue may have events
	quit  chan struct{} // closed by Close
	ended chan struct{} // closed by the writer when it has closed the store

	mu      sync.Mutex
	state   event.State // what all accepted events fold to
	queue   *batch      // accepted and not yet taken by the writer
	writing *batch      // what the writer has taken, or nil
	spare   *batch      // an empty one, or nil
	health  health
	err     *FailedError  // why health is not sound
	failed  chan struct{} // closed with err
	closing bool
	busy    bool   // the store is being written or reopened
	stored  uint64 // the last event that the store has
	// published is the last event that was, and unwritten those that the store
	// has missed since it failed.
	published uint64
	unwritten []event.Event
	closeErr  error // of the store; to be read when ended is closed
}

// Option changes how a log works.
type Option func(*Log)

// WithClock makes now the source of the events' times.
func WithClock(now func() time.Time) Option { return func(l *Log) { l.now = now } }

// WithWriteTimeout bounds how long a write may take before the store counts
// as failed. It is a minute by default.
func WithWriteTimeout(d time.Duration) Option { return func(l *Log) { l.writeTimeout = d } }

// WithEpoch sets what [Log.Epoch] returns.
func WithEpoch(epoch uint64) Option { return func(l *Log) { l.epoch = epoch } }

// New returns a log over the store; state is what the store's events fold
// to. The log owns both from now on, until Close.
func New(store Store, state event.State, opts ...Option) *Log {
	l := &Log{
		store: store, state: state, now: time.Now, writeTimeout: defaultWriteTimeout, epoch: state.Seq + 1,
		kick: make(chan struct{}, 1), quit: make(chan struct{}),
		failed: make(chan struct{}), ended: make(chan struct{}),
		queue: &batch{sync: Lazily}, spare: &batch{sync: Lazily}, health: sound,
	}
	for _, opt := range opts {
		opt(l)
	}
	l.feed.last, l.stored, l.published = state.Seq, state.Seq, state.Seq
	// Close ends the writer, and waits for it.
	go l.write()
	return l
}

// Epoch is greater than that of whoever had the log open before and has written to it:
// the number of the first event that this one can write, unless the store knows better.
func (l *Log) Epoch() uint64 { return l.epoch }

// Update is the only way anything changes. Calls are serialised. f sees
// everything accepted so far; what it returns is the log's: it gets its version,
// session, number and time, is folded, queued for the writer, and published when it is
// written (C4). f must not block, call the log, or keep the state.
//
// Update returns at once, or, if one of the events is [event.Event.Durable],
// when it is on stable storage. Text deltas that arrive faster than they
// can be written are merged.
//
// Where Fold refuses an event, which is a defect of the caller, nothing of the
// update is appended, its error is returned, and the log goes on. Where the store has
// failed, the events are accepted all the same, and the error is a
// [FailedError]. After Close it is [ErrClosed].
func (l *Log) Update(f func(event.State) []event.Event) error {
	r, err := l.accept(f)
	if r == nil || err != nil {
		return err
	}
	return l.await(r)
}

// accept runs f and takes what it returns. It returns the receipt to wait
// for, if any.
func (l *Log) accept(f func(event.State) []event.Event) (*receipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, ErrClosed
	}
	events := f(l.state)
	if len(events) == 0 {
		l.queue.seal() // f may have kept the cursor
		return nil, l.failure()
	}
	if err := l.appendAll(events); err != nil {
		return nil, err
	}
	defer l.rouse()
	patient := true // nobody needs to wait
	for i := range events {
		patient = patient && !events[i].Durable()
	}
	if l.health == volatile {
		return nil, l.err
	}
	if patient && l.queue.weight < crowded {
		return nil, l.failure()
	}
	return l.queue.wait(), nil
}

// rouse tells the writer that the queue may have events.
func (l *Log) rouse() {
	select {
	case l.kick <- struct{}{}:
	default: // it knows already
	}
}

// appendAll stamps, folds and queues the events, all or none of them. Fold
// leaves the state alone where it refuses, so that one event needs no copy.
func (l *Log) appendAll(events []event.Event) error {
	if len(events) == 1 {
		if d, ok := events[0].Data.(event.ItemDelta); ok && l.queue.joins(events[0], d) {
			return l.merge(events[0], d)
		}
		return l.append(events)
	}
	undo := l.state.Undo(events)
	err := l.append(events)
	if err != nil {
		l.state = undo()
	}
	return err
}

func (l *Log) append(events []event.Event) error {
	for i := range events {
		e := &events[i]
		if err := encodable(e); err != nil {
			return fmt.Errorf("cannot append to the log: %w", err)
		}
		e.V, e.Session, e.Seq = event.Version, l.state.Session, l.state.Seq+1
		e.At = l.now().Round(0).UTC() // without the monotonic reading, as it will be read back
		e.Volatile = l.health == volatile
		next, err := event.Fold(l.state, *e)
		if err != nil {
			return fmt.Errorf("cannot append to the log: %w", err)
		}
		l.state = next
	}
	if l.health == volatile {
		l.lose(events)
		return nil
	}
	for _, e := range events {
		l.queue.add(e)
	}
	return nil
}

// merge folds the delta as more of the last event, under its number.
func (l *Log) merge(e event.Event, d event.ItemDelta) error {
	last := &l.queue.events[len(l.queue.events)-1]
	e.V, e.Session, e.Seq, e.At = last.V, last.Session, last.Seq, last.At
	l.state.Seq--
	next, err := event.Fold(l.state, e)
	if err != nil {
		l.state.Seq++
		return fmt.Errorf("cannot append to the log: %w", err)
	}
	l.state = next
	l.queue.join(d.Text)
	return nil
}

// await waits until the writer has settled the batch. A write that hangs
// ends the wait: the store has failed.
func (l *Log) await(r *receipt) error {
	select {
	case <-r.done:
		return r.err
	default:
	}
	hung := time.NewTimer(l.writeTimeout)
	defer hung.Stop()
	select {
	case <-r.done:
		return r.err
	case <-hung.C:
		l.fail(volatile, fmt.Errorf("a write has not returned for %v", l.writeTimeout))
		return l.Err()
	}
}

// View calls f with the state that all accepted events fold to, under the
// log's lock. f must not block, call the log, or keep the state;
// [event.State.Clone] makes a copy to keep. A subscription from its Seq on
// continues it without gap or overlap.
func (l *Log) View(f func(event.State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.seal() // what f sees as event n stays event n
	f(l.state)
}

// Seq returns the number of the last accepted event.
func (l *Log) Seq() uint64 {
	var seq uint64
	l.View(func(s event.State) { seq = s.Seq })
	return seq
}

// Failed returns a channel that is closed when the store has failed. After
// [Log.Reopen] it is another.
func (l *Log) Failed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Err returns the [FailedError] with which the store failed, or nil.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure()
}

// failure returns err as an error, which a nil *FailedError would not be.
func (l *Log) failure() error {
	if l.err == nil {
		return nil
	}
	return l.err
}

// Close refuses further updates, waits until what was accepted is written,
// and closes the store. Subscriptions end after the last event. If ctx ends
// first, Close returns, and the writer closes the store when its write does.
// Closing twice is closing once.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closing {
		l.closing = true
		close(l.quit)
	}
	l.mu.Unlock()
	select {
	case <-l.ended:
		return l.closeErr
	case <-ctx.Done():
		return fmt.Errorf("cannot close the session's log: its last write has not returned: %w", context.Cause(ctx))
	}
}
