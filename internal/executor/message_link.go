package executor

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// batchBytes is the approximate size of one write to a stream.
	batchBytes = 128 << 10
	// ackBytes and ackMessages are the amounts of received data after which a link acknowledges
	// unasked.
	ackBytes    = 256 << 10
	ackMessages = 64
	// windowBytes bounds the unacknowledged data in memory; further output goes to the spool.
	// Each message counts entryBytes more.
	windowBytes = 1 << 20
	entryBytes  = 64
)

// link carries messages over one stream after another, each exactly once and in order. It keeps
// unacknowledged messages and sends them again over the next stream.
//
//	push ─► out ─► written to a stream ─► acknowledged: forgotten
//	          └──── stream ends: written again to the next
type link struct {
	spool *spool // nil keeps all messages in memory

	in sync.Mutex // held while a message is delivered

	mu       sync.Mutex
	changed  *sync.Cond // of all fields below
	stream   io.WriteCloser
	out      []entry // unacknowledged, in order
	next     int     // index of the first message in out that the stream has not received
	sent     uint64  // number of the last message in out
	kept     int     // bytes of out in memory
	received uint64
	unacked  int // messages received since the last acknowledgement
	bytes    int // bytes of these messages
	alive    bool
	answer   byte
	closed   bool
}

// entry is an unacknowledged message.
type entry struct {
	seq     uint64
	message message
	at      int64 // offset in the spool, if size is not 0
	size    int
	written bool // to at least one stream
}

func newLink(s *spool) *link {
	l := &link{spool: s}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// push sends a message over this or the next stream, and returns its number.
func (l *link) push(kind byte, id uint64, data []byte) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.add(message{kind: kind, id: id, data: data})
}

func (l *link) add(m message) uint64 {
	l.sent++
	l.kept += len(m.data) + entryBytes
	l.out = append(l.out, entry{seq: l.sent, message: m})
	l.changed.Broadcast()
	return l.sent
}

// flood sends a message with output. If much data is unacknowledged, the message goes to the
// spool. If the spool is full, flood waits as long as there is a stream. It returns false if the
// message was dropped.
func (l *link) flood(kind byte, id uint64, data []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.kept+len(data) <= windowBytes {
			l.add(message{kind: kind, id: id, data: append([]byte(nil), data...)})
			return true
		}
		if at, ok := l.spool.put(data); ok {
			l.sent++
			l.kept += entryBytes
			l.out = append(l.out, entry{seq: l.sent, message: message{kind: kind, id: id}, at: at, size: len(data)})
			l.changed.Broadcast()
			return true
		}
		if l.stream == nil {
			return false
		}
		l.changed.Wait() // for an acknowledgement, or the end of the stream
	}
}

// withdraw empties an unacknowledged message, and reports whether the other end can have
// received it.
func (l *link) withdraw(seq uint64) (written bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.out {
		if e := &l.out[i]; e.seq == seq {
			l.kept -= len(e.message.data)
			e.message = message{kind: kindNothing}
			return e.written
		}
	}
	return true // it was acknowledged
}

// attach makes a stream the current one; the other end has received the messages up to the
// number received.
func (l *link) attach(stream io.WriteCloser, received uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = stream.Close() // another host has come meanwhile
		return
	}
	if l.stream != nil {
		_ = l.stream.Close() // the previous stream is of no use
	}
	l.acknowledge(received)
	l.stream, l.next, l.alive = stream, 0, false
	l.changed.Broadcast()
}

// detach closes a stream, and removes it if it is the current one.
func (l *link) detach(stream io.WriteCloser) {
	_ = stream.Close() // it can be closed already
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stream == stream {
		l.stream = nil
		l.changed.Broadcast()
	}
}

// position returns the number of the last received message.
func (l *link) position() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.received
}

// confirmed reports whether the other end has received a message.
func (l *link) confirmed(seq uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return seq <= l.sent-uint64(len(l.out))
}

// idle reports whether there is neither a stream nor an unacknowledged message.
func (l *link) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stream == nil && len(l.out) == 0
}

// attached reports whether there is a stream.
func (l *link) attached() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stream != nil
}

// say sends a sign of life, which can request an answer.
func (l *link) say(answer byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alive, l.answer = true, max(l.answer, answer)
	l.changed.Broadcast()
}

func (l *link) acknowledge(seq uint64) {
	n := 0
	for n < len(l.out) && l.out[n].seq <= seq {
		l.kept -= len(l.out[n].message.data) + entryBytes
		l.spool.drop(l.out[n].size)
		n++
	}
	if n == 0 {
		return
	}
	clear(l.out[:n]) // releases their data
	l.out = l.out[n:]
	l.next = max(l.next-n, 0)
	l.changed.Broadcast()
}

// write writes messages to a stream as long as it is the current one.
func (l *link) write(stream io.WriteCloser) error {
	var batch []byte
	for {
		var err error
		if batch, err = l.batch(stream, batch[:0]); err != nil {
			return err
		}
		if _, err := stream.Write(batch); err != nil {
			return err
		}
	}
}

// errReplaced reports that a stream is no longer the current one.
var errReplaced = errors.New("the stream was replaced")

func (l *link) batch(stream io.WriteCloser, batch []byte) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.stream == stream && l.next >= len(l.out) && !l.alive {
		l.changed.Wait()
	}
	if l.stream != stream {
		return nil, errReplaced
	}
	for l.next < len(l.out) && len(batch) < batchBytes {
		e := &l.out[l.next]
		m := e.message
		if e.size > 0 && m.kind != kindNothing {
			var err error
			if m.data, err = l.spool.get(e.at, e.size); err != nil {
				return nil, err
			}
		}
		batch = appendMessage(batch, e.seq, l.received, m)
		e.written = true
		l.next++
		l.unacked, l.bytes = 0, 0
	}
	if l.alive {
		batch = appendAlive(batch, l.received, l.answer)
		l.alive, l.answer, l.unacked, l.bytes = false, noAnswer, 0, 0
	}
	return batch, nil
}

// read delivers the messages of a stream as long as it is the current one. It calls heard for
// each frame.
func (l *link) read(stream io.WriteCloser, from *frames, heard func(), deliver func(message)) error {
	for {
		f, err := from.next()
		if err != nil {
			return err
		}
		heard()
		switch f.kind {
		case frameAlive:
			ack, answer, err := parseAlive(f.data)
			if err != nil {
				return err
			}
			l.mu.Lock()
			l.acknowledge(ack)
			l.mu.Unlock()
			if answer {
				l.say(noAnswer)
			}
		case frameMessage:
			if err := l.receive(stream, f.data, deliver); err != nil {
				return err
			}
		case frameRefused:
			return &RefusedError{Message: string(f.data)}
		default:
			return fmt.Errorf("cannot read a frame of kind %q", f.kind)
		}
	}
}

func (l *link) receive(stream io.WriteCloser, data []byte, deliver func(message)) error {
	seq, ack, m, err := parseMessage(data)
	if err != nil {
		return err
	}
	l.in.Lock()
	defer l.in.Unlock()
	l.mu.Lock()
	l.acknowledge(ack)
	switch {
	case l.stream != stream:
		l.mu.Unlock()
		return errReplaced
	case seq <= l.received: // a repetition
		l.mu.Unlock()
		return nil
	case seq != l.received+1:
		l.mu.Unlock()
		return fmt.Errorf("cannot accept message %d after message %d", seq, l.received)
	}
	l.received = seq
	l.unacked, l.bytes = l.unacked+1, l.bytes+len(data)
	if l.unacked >= ackMessages || l.bytes >= ackBytes {
		l.alive = true
		l.changed.Broadcast()
	}
	l.mu.Unlock()
	deliver(m)
	return nil
}

// hangUp closes the stream, if there is one.
func (l *link) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stream != nil {
		_ = l.stream.Close() // its reader notices
		l.stream = nil
		l.changed.Broadcast()
	}
}

// flush waits until all messages are acknowledged, the stream ends, or the timeout expires.
func (l *link) flush(timeout time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alive, l.answer = true, answerWanted
	l.changed.Broadcast()
	up := false
	timer := time.AfterFunc(timeout, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		up = true
		l.changed.Broadcast()
	})
	defer timer.Stop()
	for l.stream != nil && len(l.out) > 0 && !up {
		l.changed.Wait()
	}
}

// close closes the stream, drops all messages, and accepts no other stream.
func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.hangUp()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out, l.next, l.kept = nil, 0, 0
	l.spool.close()
}
