package executor

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/proc"
)

const (
	// DefaultLease is the time that an executor works on without a message of its host.
	DefaultLease = 30 * time.Second
	// returnFraction is the part of the lease within which a host must reconnect after its
	// stream ended.
	returnFraction = 3
	// firstDelay and lastDelay bound the pauses between attempts to reconnect.
	firstDelay = 50 * time.Millisecond
	lastDelay  = 2 * time.Second
)

// RemoteConfig configures a [Remote].
type RemoteConfig struct {
	// Dial opens a stream to an executor, bounded by ctx.
	Dial func(ctx context.Context) (io.ReadWriteCloser, error)
	// Settle is this program's version.
	Settle string
	// Session and Epoch identify the session and its fencing epoch; see [Server]. Without a
	// Session, the executor ends with the stream.
	Session string
	Epoch   uint64
	Marker  string
	// Lease replaces the default, if set. Return is the time that the executor waits for a host
	// whose stream ended, at most Lease; a third of Lease if it is 0.
	Lease, Return time.Duration
	// Bound is the time for which the host tries to reconnect. If it is 0, it is a little longer
	// than the Lease, after which the commands have ended.
	Bound time.Duration
	// TakeOver, if it is [TakeOver], takes over the commands of an earlier host instead of
	// ending them; see [TakenCommands].
	TakeOver func(*Remote, []HandedOverCommand)
	// Notice, if set, receives changes of the connection. It does not block.
	Notice func(ConnectionChange)
}

// ConnectionChange describes a change of the connection for a person.
type ConnectionChange struct {
	Text string
	Lost bool // until the next change
}

// LostError reports that the outcome of a call is unknown, and why.
type LostError struct{ Why string }

func (e *LostError) Error() string {
	return "the outcome of the call is unknown: " + e.Why
}

// UnreachableError reports an unreachable executor; the call was not sent.
type UnreachableError struct{ Err error }

func (e *UnreachableError) Error() string { return fmt.Sprintf("cannot reach the executor: %v", e.Err) }
func (e *UnreachableError) Unwrap() error { return e.Err }

var errClosed = errors.New("the executor is closed")

// Remote is an executor on another machine.
//
//	talking ── stream ends ──► reconnecting ── same executor ──► talking
//	   ▲                           │ another executor, or Bound has passed
//	   │                           ▼
//	   └──── a call needs it ─── unreachable: the outcome of commands is unknown
type Remote struct {
	config    RemoteConfig
	host      string
	machine   Machine
	ended     []EndedCommand
	kept      any             // []*TakenCommand; nil in programs that take nothing over
	connected bool            // the executor was reached once
	closing   context.Context // ends when Close begins
	close     context.CancelFunc
	done      chan struct{} // closed when maintain has returned

	mu             sync.Mutex // guards the fields below
	changed        chan struct{}
	link           *link
	instance       string
	unreachable    error // why the executor is unreachable; nil if it is reachable
	attempts       int   // to reconnect, since then
	retryRequested chan struct{}
	closed         bool
	peerDone       chan struct{} // closed when the executor has ended everything
	last           uint64        // id
	starting       map[uint64]*pendingStart
	running        map[uint64]*remoteProcess
	calls          map[uint64]chan answer
}

// pendingStart is a command whose start the executor has not reported yet.
type pendingStart struct {
	command Command
	result  chan startResult // has room for one
}

type startResult struct {
	process *proc.Process
	err     error
}

// NewRemote connects to an executor. Close must be called.
func NewRemote(ctx context.Context, c RemoteConfig) (*Remote, error) {
	if c.Lease <= 0 {
		c.Lease = DefaultLease
	}
	if c.Return <= 0 {
		c.Return = c.Lease / returnFraction
	}
	c.Return = min(c.Return, c.Lease)
	if c.Bound <= 0 {
		c.Bound = c.Lease + c.Lease/6
	}
	if c.Notice == nil {
		c.Notice = func(ConnectionChange) {}
	}
	r := &Remote{
		config:         c,
		host:           rand.Text(),
		done:           make(chan struct{}),
		changed:        make(chan struct{}),
		retryRequested: make(chan struct{}, 1),
		peerDone:       make(chan struct{}),
		link:           newLink(nil),
		starting:       map[uint64]*pendingStart{},
		running:        map[uint64]*remoteProcess{},
		calls:          map[uint64]chan answer{},
	}
	stream, from, a, err := r.dial(ctx)
	if err != nil {
		return nil, err
	}
	r.instance, r.ended, r.connected = a.Instance, a.Ended, true
	if c.TakeOver != nil {
		c.TakeOver(r, a.Kept)
	}
	r.closing, r.close = context.WithCancel(context.Background())
	go r.maintain(stream, from) // ends with closing; Close waits for it
	return r, nil
}

// Machine implements [Executor].
func (r *Remote) Machine() Machine { return r.machine }

// Ended returns the commands that an earlier host left running, which were ended.
func (r *Remote) Ended() []EndedCommand { return r.ended }

// dial opens a stream and sends the attach request.
func (r *Remote) dial(ctx context.Context) (io.ReadWriteCloser, *frames, attachReply, error) {
	var answer attachReply
	stream, err := r.config.Dial(ctx)
	if err != nil {
		return nil, nil, answer, err
	}
	stop := context.AfterFunc(ctx, func() { _ = stream.Close() }) // ends the reads below
	from, machine, err := handshake(stream, r.config.Settle)
	r.mu.Lock()
	a := attachRequest{
		Session:  r.config.Session,
		Epoch:    r.config.Epoch,
		HostID:   r.host,
		Instance: r.instance,
		Received: r.link.position(),
		LeaseMS:  r.config.Lease.Milliseconds(),
		ReturnMS: r.config.Return.Milliseconds(),
		GraceMS:  proc.DefaultGrace.Milliseconds(),
		Marker:   r.config.Marker,
		Keep:     r.config.TakeOver != nil && !r.connected,
	}
	if r.machine.OS == "" {
		r.machine = machine
	}
	r.mu.Unlock()
	if err == nil {
		err = send(stream, frameAttach, a)
	}
	if err == nil {
		err = from.expect(frameAttach, &answer)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		_ = stream.Close()
		return nil, nil, answer, withStderr(stream, err)
	}
	return stream, from, answer, nil
}

// withStderr adds the standard error of the dialer's command to an error.
func withStderr(stream io.ReadWriteCloser, err error) error {
	if s, ok := stream.(interface{ Stderr() string }); ok {
		if text := s.Stderr(); text != "" {
			return fmt.Errorf("%w; it said: %s", err, text)
		}
	}
	return err
}

// Start implements [Executor].
func (r *Remote) Start(ctx context.Context, c Command) (*proc.Process, error) {
	s := &pendingStart{command: c, result: make(chan startResult, 1)}
	id, link, seq, err := r.order(ctx, kindStart, encode(startOrder{
		Script:   c.Script,
		Call:     c.Call,
		Dir:      c.Dir,
		Workdir:  c.Workdir,
		Places:   c.Places,
		Env:      c.Env,
		Input:    c.Input,
		Terminal: c.Terminal,
		GraceMS:  c.Grace.Milliseconds(),
		Sandbox:  c.Sandbox,
		Secrets:  c.Secrets,
	}), func(id uint64) { r.starting[id] = s })
	if err != nil {
		return nil, err
	}
	select {
	case got := <-s.result:
		return got.process, got.err
	case <-ctx.Done():
	}
	r.mu.Lock()
	_, waiting := r.starting[id]
	delete(r.starting, id)
	r.mu.Unlock()
	if !waiting { // the report came at the same moment
		got := <-s.result
		return got.process, got.err
	}
	// C5: an unsent order is withdrawn, and a sent one is ended.
	if !link.withdraw(seq) {
		return nil, context.Cause(ctx)
	}
	link.push(kindEnd, id, encode(endOrder{}))
	return nil, &LostError{
		Why: fmt.Sprintf(
			"the executor has not answered; a started command ends when the executor is reachable again, or after %v at most",
			r.config.Lease,
		),
	}
}

// Call implements [Executor].
func (r *Remote) Call(ctx context.Context, q Request) (json.RawMessage, error) {
	a, err := r.ask(ctx, kindCall, encode(callOrder(q)))
	if err != nil {
		return nil, err
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	return a.Result, nil
}

// answerDelay is the time for the executor to report the outcome of a cancelled call.
const answerDelay = 150 * time.Millisecond

// ask sends a request and waits for its answer.
func (r *Remote) ask(ctx context.Context, kind byte, data []byte) (answer, error) {
	result := make(chan answer, 1)
	id, link, seq, err := r.order(ctx, kind, data, func(id uint64) { r.calls[id] = result })
	if err != nil {
		return answer{}, err
	}
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.calls, id)
	}()
	select {
	case a, ok := <-result:
		return r.result(a, ok)
	case <-ctx.Done():
	}
	if !link.withdraw(seq) {
		return answer{}, context.Cause(ctx)
	}
	link.push(kindCancel, id, nil)
	timer := time.NewTimer(answerDelay)
	defer timer.Stop()
	select {
	case a, ok := <-result:
		return r.result(a, ok)
	case <-timer.C:
		return answer{}, &LostError{Why: "the executor has not answered"}
	}
}

func (r *Remote) result(a answer, ok bool) (answer, error) {
	if ok {
		return a, nil
	}
	return a, &LostError{Why: r.why()}
}

func (r *Remote) why() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unreachable != nil {
		return r.unreachable.Error()
	}
	return "the executor died and was started again"
}

// order sends a message; note registers its id, with r.mu held. If the executor is unreachable,
// order waits for one attempt to reconnect.
func (r *Remote) order(
	ctx context.Context, kind byte, data []byte, note func(id uint64),
) (id uint64, done *link, seq uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for before := r.attempts; r.unreachable != nil && !r.closed; {
		if r.attempts > before {
			return 0, nil, 0, &UnreachableError{Err: r.unreachable}
		}
		select {
		case r.retryRequested <- struct{}{}:
		default:
		}
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		r.mu.Lock()
		if ctx.Err() != nil {
			return 0, nil, 0, context.Cause(ctx)
		}
	}
	if r.closed {
		return 0, nil, 0, errClosed
	}
	r.last++
	note(r.last)
	return r.last, r.link, r.link.push(kind, r.last, data), nil
}

// signal wakes all waiters for a change. r.mu is held.
func (r *Remote) signal() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// notify is signal for callers without r.mu.
func (r *Remote) notify() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.signal()
}
