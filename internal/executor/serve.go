package executor

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/proc"
)

const (
	// keepTimeout is the time that output and endings are kept for a host that does not
	// reconnect.
	keepTimeout = 10 * time.Minute
	// handshakeTimeout bounds the handshake of a stream.
	handshakeTimeout = 30 * time.Second
	// endTimeout is the time beyond its grace after which the end of a command is no longer
	// awaited.
	endTimeout = 5 * time.Second
	// spoolBytes bounds the output of a session on disk.
	spoolBytes = 64 << 20
)

// Server is the executor's end of the connection, for one session.
//
//	attached ── stream ends ──► waiting ── host reconnects ──► attached
//	    │                         │ lease ends
//	    │ finish                  ▼
//	    ▼                       ended: no command runs; the reports are kept
//	  done ◄── keepTimeout ───────┘
type Server struct {
	// Settle is this program's version.
	Settle string
	// Local does the work. Its Lock and Marker are the session's.
	Local *Local
	// Keep replaces keepTimeout, if set.
	Keep time.Duration
	// Spool opens an unlinked file for waiting output.
	Spool func() (*os.File, error)

	once     sync.Once
	done     chan struct{}
	working  sync.WaitGroup // goroutines that work for a host
	instance string

	mu     sync.Mutex // guards the fields below
	ended  bool       // done is closed
	closed bool       // no work may begin
	host   *host      // nil before the first
}

// host is a client of the server and its commands and calls.
type host struct {
	attach attachRequest
	link   *link
	ctx    context.Context // ends with the host
	cancel context.CancelFunc

	mu       sync.Mutex // guards the fields below
	commands map[uint64]*command
	calls    map[uint64]context.CancelFunc
	timer    *time.Timer // the lease; then the time for which reports are kept
	expired  bool
}

func (s *Server) init() {
	s.once.Do(func() { s.done, s.instance = make(chan struct{}), rand.Text() })
}

// Done is closed when the session needs no executor any more.
func (s *Server) Done() <-chan struct{} {
	s.init()
	return s.done
}

// Serve works for a client until its stream ends.
func (s *Server) Serve(g *Client) error {
	s.init()
	stream, from, a := g.stream, g.from, g.attach
	b, answer, err := s.attachClient(a)
	if errors.Is(err, errClosing) {
		_ = stream.Close() // the host dials again and finds another executor
		return err
	}
	if err != nil {
		_, _ = stream.Write(appendFrame(nil, frameRefused, []byte(err.Error())))
		_ = stream.Close()
		return err
	}
	b.link.in.Lock() // messages of an earlier stream have been delivered
	answer.Received = b.link.position()
	err = send(stream, frameAttach, answer)
	b.link.attach(stream, a.Received)
	b.link.in.Unlock()
	defer b.link.detach(stream)
	if err != nil {
		return err
	}
	b.renew()
	s.work(func() { _ = b.link.write(stream) }) // ends with the stream
	err = b.link.read(stream, from, b.renew, func(m message) { s.deliver(b, m) })
	b.link.detach(stream)
	b.unreachable()
	return err
}

var errClosing = errors.New("the executor is closing")

// attachClient returns the state of a host. It ends or hands over the previous host's.
func (s *Server) attachClient(a attachRequest) (*host, attachReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := attachReply{Instance: s.instance}
	old := s.host
	switch {
	case s.ended:
		return nil, answer, errClosing
	case old != nil && old.attach.HostID == a.HostID && old.attach.Epoch == a.Epoch:
		if a.Instance == s.instance {
			return old, answer, nil
		}
	case old != nil && (a.Epoch < old.attach.Epoch || a.Epoch == old.attach.Epoch && old.link.attached()):
		return nil, answer, fmt.Errorf(
			"another process has taken this session over (fencing epoch %d; this one has %d)", old.attach.Epoch,
			a.Epoch,
		)
	}
	if old != nil && !a.Keep {
		answer.Ended = s.endPrevious(old)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.host = &host{
		attach: a, link: newLink(&spool{open: s.Spool, maxBytes: spoolBytes}), ctx: ctx, cancel: cancel,
		commands: map[uint64]*command{}, calls: map[uint64]context.CancelFunc{},
	}
	b := s.host
	if old != nil && a.Keep {
		answer.Kept = old.handOver(b)
	}
	b.timer = time.AfterFunc(b.lease(), func() { s.expire(b) })
	return b, answer, nil
}

// work runs f in a goroutine, unless the server is closed.
func (s *Server) work(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.working.Go(f) // Close waits for it, with a bound
	}
}

// endPrevious ends the commands of a previous host and describes them.
func (s *Server) endPrevious(b *host) []EndedCommand {
	b.link.hangUp()
	b.end(b.grace())
	b.cancel()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer.Stop()
	b.expired = true
	var all []EndedCommand
	for _, c := range b.commands {
		if e, ok := c.report(); ok && !c.confirmed() {
			all = append(all, e)
		}
	}
	b.link.close()
	return all
}

func (b *host) lease() time.Duration { return time.Duration(b.attach.LeaseMS) * time.Millisecond }
func (b *host) grace() time.Duration { return time.Duration(b.attach.GraceMS) * time.Millisecond }

// renew restarts the lease after a frame of the host.
func (b *host) renew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer.Reset(b.lease())
	b.expired = false
}

// unreachable shortens the lease after the end of the stream: the host reconnects soon or is
// dead.
func (b *host) unreachable() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.link.attached() && !b.expired {
		b.timer.Reset(min(b.lease(), time.Duration(b.attach.ReturnMS)*time.Millisecond))
	}
}

// expire is called when the lease ends, and again after keepTimeout.
func (s *Server) expire(b *host) {
	b.mu.Lock()
	kept := b.expired
	b.expired = true
	if !kept {
		for _, c := range b.commands {
			c.expire()
		}
	}
	b.mu.Unlock()
	if kept {
		s.finishFor(b)
		return
	}
	b.link.hangUp()
	b.end(b.grace())
	if b.link.idle() {
		s.finishFor(b) // no report waits for the host
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.expired { // the host did not reconnect meanwhile
		keep := s.Keep
		if keep <= 0 {
			keep = keepTimeout
		}
		b.timer.Reset(keep)
	}
}

// end ends all commands and calls at once.
func (b *host) end(grace time.Duration) {
	b.mu.Lock()
	var all []*command
	for _, c := range b.commands {
		all = append(all, c)
	}
	for _, cancel := range b.calls {
		cancel()
	}
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), grace+endTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() { c.stop(ctx, grace) }) // ends with ctx
	}
	wg.Wait()
}

// finish ends the server.
func (s *Server) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		close(s.done)
	}
}

// finishFor ends the server, unless another host has come.
func (s *Server) finishFor(b *host) {
	s.mu.Lock()
	last := s.host == b
	s.mu.Unlock()
	if last {
		s.finish()
	}
}

// Close ends everything and waits for it, with a bound.
func (s *Server) Close() {
	s.init()
	s.finish()
	s.mu.Lock()
	b := s.host
	s.closed = true
	s.mu.Unlock()
	if b != nil {
		b.end(b.grace())
		b.cancel()
		b.mu.Lock()
		b.timer.Stop()
		b.mu.Unlock()
		b.link.hangUp()
		b.link.close()
	}
	done := make(chan struct{})
	go func() { // ends with the work, such as a write to a stream that hangs
		s.working.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(endTimeout):
	}
}

// deliver handles a message of the host. It does not block.
func (s *Server) deliver(b *host, m message) {
	switch m.kind {
	case kindStart:
		s.start(b, m)
	case kindWrite:
		s.work(func() { b.write(m) }) // ends with its timeout
	case kindEnd:
		var o endOrder
		if json.Unmarshal(m.data, &o) != nil {
			return
		}
		if c := b.command(m.id); c != nil {
			grace := time.Duration(o.GraceMS) * time.Millisecond
			s.work(func() { // ends with its bound
				ctx, cancel := context.WithTimeout(context.Background(), grace+endTimeout)
				defer cancel()
				c.stop(ctx, grace)
			})
		}
	case kindCall:
		s.call(b, m)
	case kindCancel:
		b.mu.Lock()
		defer b.mu.Unlock()
		if cancel := b.calls[m.id]; cancel != nil {
			cancel()
		}
	case kindFinish:
		s.work(func() { // ends with the commands
			b.end(b.grace())
			b.link.push(kindFinish, m.id, nil)
			b.link.flush(time.Second)
			s.finishFor(b)
		})
	}
}

// call runs an operation of a tool.
func (s *Server) call(b *host, m message) {
	var o callOrder
	if err := json.Unmarshal(m.data, &o); err != nil {
		b.link.push(kindAnswer, m.id, encode(answer{Error: err.Error()}))
		return
	}
	ctx, cancel := context.WithCancel(b.ctx)
	b.mu.Lock()
	b.calls[m.id] = cancel
	b.mu.Unlock()
	s.work(func() { // ends with the call, which ends with ctx
		defer cancel()
		result, err := s.Local.Call(ctx, Request(o))
		a := answer{Result: result}
		if err != nil {
			a = answer{Error: err.Error()}
		}
		b.mu.Lock()
		delete(b.calls, m.id)
		b.mu.Unlock()
		b.link.push(kindAnswer, m.id, encode(a))
	})
}

// write feeds input to a command.
func (b *host) write(m message) {
	var o writeOrder
	err := json.Unmarshal(m.data, &o)
	if err == nil {
		if c := b.command(o.Process); c == nil {
			err = fmt.Errorf("there is no process %d", o.Process)
		} else {
			err = c.write(o)
		}
	}
	a := answer{NoInput: errors.Is(err, proc.ErrNoInput)}
	if err != nil {
		a.Error = err.Error()
	}
	b.link.push(kindAnswer, m.id, encode(a))
}

func (b *host) command(id uint64) *command {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.commands[id]
}
