package executor

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// batchBytes is about how much is written to a stream at once.
	batchBytes = 128 << 10
	// ackBytes and ackMessages are after how much a link acknowledges without
	// being asked.
	ackBytes    = 256 << 10
	ackMessages = 64
	// windowBytes of what is not acknowledged are kept in memory; what goes beyond
	// that, and may wait, goes to the spool. Each message counts for entryBytes more.
	windowBytes = 1 << 20
	entryBytes  = 64
)

// link carries messages from one end to the other over one stream after another:
// each exactly once, in order. What has not been acknowledged is kept, and sent
// again over the next stream.
//
//	push ─► out ─► written to a stream ─► acknowledged: forgotten
//	          └──── stream ends: written again to the next
type link struct {
	spool *spool // nil keeps everything in memory

	in sync.Mutex // held while a message is delivered

	mu       sync.Mutex
	changed  *sync.Cond // of everything below
	stream   io.WriteCloser
	out      []entry // not acknowledged, in order
	next     int     // the first of out that this stream has not got
	sent     uint64  // number of the last of out
	kept     int     // bytes of out in memory
	received uint64
	unacked  int // messages received since the last acknowledgement
	bytes    int // of these
	alive    bool
	answer   byte
	closed   bool
}

// entry is a message that is kept.
type entry struct {
	seq     uint64
	message message
	at      int64 // in the spool, where size is not 0
	size    int
	written bool // to some stream
}

func newLink(s *spool) *link {
	l := &link{spool: s}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// push sends a message, now or over the next stream, and returns its number.
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

// flood sends a message of output. If much is not acknowledged yet, it goes to the
// spool; if that is full, flood waits for as long as there is a stream, and
// returns false if there is none: then it was dropped.
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

// withdraw makes a message that was not acknowledged mean nothing, and reports
// whether the other end may have got it.
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

// attach makes a stream the one that messages go over; the other end has received
// the messages up to a number.
func (l *link) attach(stream io.WriteCloser, received uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = stream.Close() // another brain came while this one was welcomed
		return
	}
	if l.stream != nil {
		_ = l.stream.Close() // it is of no use any more
	}
	l.acknowledge(received)
	l.stream, l.next, l.alive = stream, 0, false
	l.changed.Broadcast()
}

// detach lets go of a stream, if it is still the one.
func (l *link) detach(stream io.WriteCloser) {
	_ = stream.Close() // it may be closed already
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stream == stream {
		l.stream = nil
		l.changed.Broadcast()
	}
}

// position is the number of the last message that was received.
func (l *link) position() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.received
}

// confirmed reports whether the other end has got a message.
func (l *link) confirmed(seq uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return seq <= l.sent-uint64(len(l.out))
}

// idle reports whether there is no stream, and nothing to send over the next.
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

// say sends a sign of life, which may want an answer.
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
	clear(l.out[:n]) // their data is not needed any more
	l.out = l.out[n:]
	l.next = max(l.next-n, 0)
	l.changed.Broadcast()
}

// write writes what is to be sent to a stream until it is no longer the one.
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

// errReplaced ends the use of a stream that is no longer the one.
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

// read delivers what comes over a stream until that ends or is no longer the one.
// heard is called for each frame.
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
	case seq <= l.received: // it came over the stream before
		l.mu.Unlock()
		return nil
	case seq != l.received+1:
		l.mu.Unlock()
		return fmt.Errorf("cannot go on with message %d after %d", seq, l.received)
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

// hangUp ends the stream, if there is one.
func (l *link) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stream != nil {
		_ = l.stream.Close() // its reader notices
		l.stream = nil
		l.changed.Broadcast()
	}
}

// flush waits until everything is acknowledged, or there is no stream, or the time
// is up.
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

// close ends the stream, lets go of what is kept, and takes no stream any more.
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
