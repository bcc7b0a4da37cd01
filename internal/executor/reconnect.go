package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/scope"
)

// maintain keeps the connection until Close.
func (r *Remote) maintain(stream io.ReadWriteCloser, from *frames) {
	defer close(r.done)
	defer r.loseAll("settle closed the connection to the executor", func() { r.closed = true })
	received := uint64(0)
	for {
		err := r.useStream(stream, from, received)
		if r.closing.Err() != nil {
			return
		}
		r.config.Notice(
			ConnectionChange{
				fmt.Sprintf(
					"the connection to the executor was lost: %v; trying again for up to %v", err,
					r.config.Bound.Round(time.Second),
				),
				true,
			},
		)
		if stream, from, received, err = r.reconnect(); err != nil {
			if stream, from, err = r.reset(err); err != nil {
				return // closing
			}
			received = 0
		}
		r.config.Notice(ConnectionChange{"the connection to the executor is back", false})
	}
}

// describeEnd returns the reason of a stream's end for a person.
func describeEnd(err error) error {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe} {
		if errors.Is(err, end) {
			return errors.New("the stream ended")
		}
	}
	return err
}

// useStream exchanges messages over a stream until it ends.
func (r *Remote) useStream(stream io.ReadWriteCloser, from *frames, received uint64) error {
	r.mu.Lock()
	link := r.link
	r.mu.Unlock()
	link.attach(stream, received)
	r.notify()
	defer r.notify()
	stop := context.AfterFunc(r.closing, func() { link.detach(stream) })
	defer stop()
	heard := make(chan struct{})
	o := &peer{began: time.Now()}
	go r.renewLease(link, stream, o, heard) // ends with heard
	wrote := make(chan struct{})
	go func() { // ends with the stream
		defer close(wrote)
		_ = link.write(stream) // read returns the reason of the end as well
		link.detach(stream)
	}()
	err := link.read(stream, from, func() { o.last.Store(int64(time.Since(o.began))) }, r.deliver)
	close(heard)
	link.detach(stream)
	<-wrote
	switch {
	case o.silent.Load():
		return errSilent
	case r.closing.Err() != nil:
		return err // the reason is not needed, and a command can take long to end
	}
	return withStderr(stream, describeEnd(err))
}

// peer is the state of the other end of a stream.
type peer struct {
	began  time.Time
	last   atomic.Int64 // time of the last frame, since began
	silent atomic.Bool  // the stream was cut because it was silent
}

var errSilent = errors.New("the other end is silent")

// renewLease renews the lease, and cuts a silent stream.
func (r *Remote) renewLease(link *link, stream io.WriteCloser, o *peer, ended <-chan struct{}) {
	tick := time.NewTicker(max(r.config.Lease/6, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if time.Since(o.began)-time.Duration(o.last.Load()) > r.config.Lease/2 {
				o.silent.Store(true)
				link.detach(stream)
			}
			link.say(answerWanted)
		case <-ended:
			return
		}
	}
}

var errExecutorDied = errors.New("the executor died, and its commands were ended")

// reconnect tries to reach the same executor for its lease and a little more: after that time
// its commands have ended.
func (r *Remote) reconnect() (io.ReadWriteCloser, *frames, uint64, error) {
	ctx, cancel := context.WithTimeoutCause(
		r.closing, r.config.Bound, fmt.Errorf("nothing was heard for %v", r.config.Bound),
	)
	defer cancel()
	for delay := firstDelay; ; delay = min(2*delay, lastDelay) {
		stream, from, a, err := r.dial(ctx)
		var refused *RefusedError
		switch {
		case err == nil && a.Instance != r.instance:
			// Another executor answered: the outcome of all calls is unknown.
			r.loseAll(errExecutorDied.Error(), func() { r.instance = a.Instance })
			return stream, from, 0, nil
		case err == nil:
			return stream, from, a.Received, nil
		case errors.As(err, &refused):
			return nil, nil, 0, err
		}
		if cause := scope.Sleep(ctx, delay); cause != nil {
			return nil, nil, 0, fmt.Errorf("%w (%w)", cause, err)
		}
	}
}

// reset gives up all commands and waits until a call needs the executor again.
func (r *Remote) reset(why error) (io.ReadWriteCloser, *frames, error) {
	r.loseAll(why.Error(), func() { r.unreachable, r.instance = why, "" })
	r.config.Notice(
		ConnectionChange{
			fmt.Sprintf(
				"the executor is unreachable: %v; its commands have ended; the next call tries to reconnect", why,
			),
			true,
		},
	)
	for {
		select {
		case <-r.retryRequested:
		case <-r.closing.Done():
			return nil, nil, errClosed
		}
		ctx, cancel := context.WithTimeout(r.closing, r.config.Lease)
		stream, from, a, err := r.dial(ctx)
		cancel()
		r.mu.Lock()
		if r.unreachable = err; err == nil {
			r.instance = a.Instance
		}
		r.attempts++
		r.signal()
		r.mu.Unlock()
		if err == nil {
			return stream, from, nil
		}
	}
}

// loseAll ends everything in progress with an unknown outcome. Later calls use a new link.
// change runs with r.mu held.
func (r *Remote) loseAll(why string, change func()) {
	r.mu.Lock()
	starting, running, calls := r.starting, r.running, r.calls
	r.starting, r.running, r.calls = map[uint64]*pendingStart{}, map[uint64]*remoteProcess{}, map[uint64]chan answer{}
	r.link = newLink(nil)
	change()
	r.signal()
	r.mu.Unlock()
	for _, s := range starting {
		s.result <- startResult{err: &LostError{Why: why}}
	}
	for _, f := range running {
		f.ending.Lost(why)
	}
	for _, c := range calls {
		close(c)
	}
}

// deliver handles a message of the executor.
func (r *Remote) deliver(m message) {
	r.mu.Lock()
	s, f, c := r.starting[m.id], r.running[m.id], r.calls[m.id]
	switch m.kind {
	case kindStarted, kindFailed:
		delete(r.starting, m.id)
	case kindGone:
		delete(r.running, m.id)
	case kindAnswer:
		delete(r.calls, m.id)
	}
	r.mu.Unlock()
	switch {
	case m.kind == kindFinish:
		select {
		case <-r.peerDone:
		default:
			close(r.peerDone)
		}
	case s != nil && m.kind == kindStarted:
		r.started(m, s)
	case s != nil && m.kind == kindFailed:
		s.result <- startResult{err: errors.New(string(m.data))}
	case f != nil:
		f.deliver(m)
	case c != nil && m.kind == kindAnswer:
		var a answer
		if err := json.Unmarshal(m.data, &a); err != nil {
			a = answer{Error: fmt.Sprintf("cannot read the answer: %v", err)}
		}
		c <- a
	}
}

func (r *Remote) started(m message, s *pendingStart) {
	var report startedReport
	if err := json.Unmarshal(m.data, &report); err != nil {
		s.result <- startResult{err: fmt.Errorf("cannot read the start: %w", err)}
		return
	}
	f := &remoteProcess{remote: r, id: m.id, output: s.command.Output}
	var p *proc.Process
	p, f.ending = proc.NewRemote(report.PID, s.command.Script, f)
	r.mu.Lock()
	f.link = r.link
	r.running[m.id] = f
	r.mu.Unlock()
	s.result <- startResult{process: p}
}
