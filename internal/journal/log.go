package journal

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
)

// defaultWriteTimeout is the time after which a write counts as failed. Sleeping disks and busy
// network file systems take seconds.
const defaultWriteTimeout = time.Minute

// health is the state of the store.
type health string

const (
	sound    health = "sound"    // events are written
	tight    health = "tight"    // events are written into the space reserved for endings
	volatile health = "volatile" // events are in memory only
)

// Log is the ordered log of one session and its folded state. Any goroutine can call its
// methods.
type Log struct {
	store        Store
	now          func() time.Time
	writeTimeout time.Duration
	epoch        uint64
	keep         func(event.State) // nil for none
	feed         feed

	ended chan struct{} // closed by the writer when it has closed the store

	mu      sync.Mutex
	state   event.State // folded from all accepted events
	queue   *batch      // accepted, not yet taken by the writer
	writing *batch      // taken by the writer, or nil
	spare   *batch      // an empty batch, or nil
	health  health
	err     *FailedError // why health is not sound
	failed  failure      // ends with err
	closing bool
	works   bool   // the writer runs
	busy    bool   // a write or Reopen uses the store
	stored  uint64 // the last event in the store
	// published is the last published event; unwritten are the events that the store lacks since
	// its failure.
	published uint64
	unwritten []event.Event
	closeErr  error // of the store; valid after ended is closed
}

// Option changes how a log works.
type Option func(*Log)

// WithClock sets the source of the events' times.
func WithClock(now func() time.Time) Option { return func(l *Log) { l.now = now } }

// WithWriteTimeout sets the time after which a write counts as failed, a minute by default.
func WithWriteTimeout(d time.Duration) Option { return func(l *Log) { l.writeTimeout = d } }

// WithEpoch sets the result of [Log.Epoch].
func WithEpoch(epoch uint64) Option { return func(l *Log) { l.epoch = epoch } }

// WithKeep sets a function that receives the state after Close, if the store has all events.
func WithKeep(keep func(event.State)) Option { return func(l *Log) { l.keep = keep } }

// New returns a log over the store; state is folded from the store's events. The log owns both
// until Close.
func New(store Store, state event.State, opts ...Option) *Log {
	l := &Log{
		store: store, state: state, now: time.Now, writeTimeout: defaultWriteTimeout, epoch: state.Seq + 1,
		failed: newFailure(), ended: make(chan struct{}),
		queue: &batch{sync: Lazily}, spare: &batch{sync: Lazily}, health: sound,
	}
	for _, opt := range opts {
		opt(l)
	}
	l.feed.last, l.stored, l.published = state.Seq, state.Seq, state.Seq
	return l
}

// Epoch is the fencing epoch: greater than the epoch of every earlier writer. By default it is
// the number of the first event that this writer can write.
func (l *Log) Epoch() uint64 { return l.epoch }

// Update is the only way to change the state. Calls are serialised. f reads the state of all
// accepted events and returns new ones. The log sets their version, session, number and time,
// folds them, queues them for the writer, and publishes them after the write (C4). f must not
// block, call the log, or keep the state.
//
// Update returns at once, or, if an event is [event.Event.Durable], when it is durable. Text
// deltas that arrive faster than the writer are merged.
//
// If Fold refuses an event, which is a defect of the caller, Update appends nothing and returns
// Fold's error. If the store has failed, the events are accepted, and the error is a
// [FailedError]. After Close it is [ErrClosed].
func (l *Log) Update(f func(event.State) []event.Event) error {
	r, err := l.accept(f)
	if r == nil || err != nil {
		return err
	}
	return l.await(r)
}

// accept runs f and takes its events. It returns the receipt to wait for, if any.
func (l *Log) accept(f func(event.State) []event.Event) (*receipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, ErrClosed
	}
	events := f(l.state)
	if len(events) == 0 {
		l.queue.seal() // f can have kept the cursor
		return nil, l.failure()
	}
	if err := l.appendAll(events); err != nil {
		return nil, err
	}
	defer l.wakeWriter()
	patient := true // no caller needs to wait
	for i := range events {
		patient = patient && !events[i].Durable()
	}
	if l.health == volatile {
		return nil, l.err
	}
	if patient && l.queue.weight < maxQueued {
		return nil, l.failure()
	}
	return l.queue.wait(), nil
}

// wakeWriter starts the writer for the events of the queue, or for the end of the log. An idle
// log has no goroutine.
func (l *Log) wakeWriter() {
	if l.works || len(l.queue.events) == 0 && !l.closing {
		return
	}
	l.works = true
	// Ends when the queue is empty. Close waits for it.
	go l.write()
}

// appendAll stamps, folds and queues the events, all or none. Fold does not change the state
// when it refuses, so that one event needs no copy.
func (l *Log) appendAll(events []event.Event) error {
	if len(events) > 1 {
		return l.appendBatch(events)
	}
	if d, ok := events[0].Data.(event.ItemDelta); ok && l.queue.joins(&events[0], d) {
		return l.merge(&events[0], d)
	}
	return l.append(events)
}

func (l *Log) appendBatch(events []event.Event) error {
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
		e.At = l.now().Round(0).UTC() // without the monotonic reading, which the log cannot store
		e.Volatile = l.health == volatile
		if err := l.state.Apply(e); err != nil {
			return fmt.Errorf("cannot append to the log: %w", err)
		}
	}
	if l.health == volatile {
		l.lose(events)
		return nil
	}
	for i := range events {
		l.queue.add(&events[i])
	}
	return nil
}

// merge folds the delta into the last event, under its number.
func (l *Log) merge(e *event.Event, d event.ItemDelta) error {
	last := &l.queue.events[len(l.queue.events)-1]
	e.V, e.Session, e.Seq, e.At = last.V, last.Session, last.Seq, last.At
	l.state.Seq--
	if err := l.state.Apply(e); err != nil {
		l.state.Seq++
		return fmt.Errorf("cannot append to the log: %w", err)
	}
	l.queue.join(d.Text)
	return nil
}

// await waits for the writer's result. A write that hangs ends the wait: the store has failed.
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

// View calls f with the state of all accepted events, under the log's lock. f must not block,
// call the log, or keep the state; [event.State.Clone] copies it. A subscription from its Seq
// continues it without gap or overlap.
func (l *Log) View(f func(event.State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.seal() // event n must not change after f
	f(l.state)
}

// Seq returns the number of the last accepted event.
func (l *Log) Seq() uint64 {
	var seq uint64
	l.View(func(s event.State) { seq = s.Seq })
	return seq
}

// Failed returns a channel that is closed when the store fails. After [Log.Reopen] it is a new
// one.
func (l *Log) Failed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed.Done()
}

// AfterFailure calls f in a goroutine of its own when the store fails, or has failed, unless stop
// is called before. After [Log.Reopen], f must be given again.
func (l *Log) AfterFailure(f func()) (stop func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return context.AfterFunc(l.failed, f)
}

// failure is a context that ends when the store fails.
type failure struct {
	context.Context // its waiters cost no goroutine
	report          context.CancelFunc
}

func newFailure() failure {
	ctx, cancel := context.WithCancel(context.Background())
	return failure{ctx, cancel}
}

// Err returns the [FailedError] of the store, or nil.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure()
}

// failure returns err as an error; a nil *FailedError becomes nil.
func (l *Log) failure() error {
	if l.err == nil {
		return nil
	}
	return l.err
}

// Close refuses further updates, waits until all accepted events are written, and closes the
// store. Subscriptions end after the last event. If ctx ends first, Close returns, and the
// writer closes the store after its write. A second Close has no effect.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closing {
		l.closing = true
		l.wakeWriter()
	}
	l.mu.Unlock()
	select {
	case <-l.ended:
		return l.closeErr
	case <-ctx.Done():
		return fmt.Errorf("cannot close the session's log: its last write has not returned: %w", context.Cause(ctx))
	}
}
