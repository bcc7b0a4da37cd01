package stdio

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/terminal"
)

// UnreadTimeout bounds the time for which a client can leave standard output unread. Then settle
// gives up the rest of its output.
const UnreadTimeout = 10 * time.Second

const (
	// room is the number of bytes that can wait for the reader of the output before the printer
	// waits as well. The session does not wait: its subscribers can lag.
	room = 1 << 20
	// keptRoom is the capacity that an idle buffer keeps.
	keptRoom = 64 << 10
)

// Output is an output of the process: a buffer and a goroutine that writes it. A slow or
// lost reader delays only the output. Text that arrives during a write is part of the next
// write.
type Output struct {
	w      io.Writer
	broken func(error) // called once, by the writer

	kick  chan struct{} // one token when there may be something to write
	space chan struct{} // one token when there may be room again
	done  chan struct{} // closed when the writer has ended

	mu      sync.Mutex
	pending []byte
	writing bool // a write is under way
	closing bool
	err     error
	moved   time.Time // when the last write began or returned
}

// Columns is the width of the terminal that the output writes to; 0 for anything else.
func (o *Output) Columns() int { return terminal.Columns(o.w) }

// NewOutput returns an output that writes to w. broken is called once, by the
// writer, if something cannot be written.
func NewOutput(w io.Writer, broken func(error)) *Output {
	o := &Output{
		w: w, broken: broken, moved: time.Now(),
		kick: make(chan struct{}, 1), space: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go o.run() // ends with close, or with the process if the write never returns
	return o
}

// Write appends the output of add, and waits while there is no room. It returns false when
// the output has failed.
func (o *Output) Write(add func([]byte) []byte) bool {
	for {
		o.mu.Lock()
		if o.err != nil || o.closing {
			o.mu.Unlock()
			return false
		}
		if len(o.pending) < room {
			o.pending = add(o.pending)
			o.mu.Unlock()
			token(o.kick)
			return true
		}
		o.mu.Unlock()
		select {
		case <-o.space:
		case <-o.done:
		}
	}
}

// Add appends text without waiting for room: it is for the last messages.
func (o *Output) Add(text string) {
	o.mu.Lock()
	if o.err == nil {
		o.pending = append(o.pending, text...)
	}
	o.mu.Unlock()
	token(o.kick)
}

func token(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Wait waits until there is room, or until the output has failed. Callers with much text
// wait before they add.
func (o *Output) Wait() {
	o.Write(func(b []byte) []byte { return b })
}

// run writes until the output is closed and everything is out, or broken.
func (o *Output) run() {
	defer close(o.done)
	var spare []byte
	for range o.kick {
		for {
			data, more := o.take(spare)
			if !more {
				return
			}
			if spare = data; len(data) == 0 {
				break
			}
			err := o.put(data)
			if cap(spare) > keptRoom {
				spare = nil
			}
			o.wrote(err)
			if err != nil {
				o.broken(err)
				return
			}
		}
	}
}

// piece is the maximum number of bytes of one write, so that progress of a slow reader is visible.
const piece = 64 << 10

func (o *Output) put(data []byte) error {
	for part := range slices.Chunk(data, piece) {
		if _, err := o.w.Write(part); err != nil {
			return err
		}
		o.mu.Lock()
		o.moved = time.Now()
		o.mu.Unlock()
	}
	return nil
}

// take returns the pending bytes, and false when the output is closed and empty.
func (o *Output) take(spare []byte) (data []byte, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	data = o.pending
	o.pending, o.writing = spare[:0], len(data) > 0
	if o.writing {
		o.moved = time.Now()
	}
	return data, len(data) > 0 || !o.closing
}

func (o *Output) wrote(err error) {
	o.mu.Lock()
	o.err, o.moved, o.writing = err, time.Now(), false
	o.mu.Unlock()
	token(o.space)
}

// ErrUnread reports that the output has no active reader.
var ErrUnread = errors.New("nobody reads it")

// PollDelay is the time between two checks of an output that makes no progress.
const PollDelay = 20 * time.Millisecond

// Flush waits until the pending bytes are written, or the output has failed.
func (o *Output) Flush() {
	for o.Busy() {
		select {
		case <-o.space:
		case <-o.done:
		}
	}
}

// Busy reports whether bytes are not written yet, and can still be.
func (o *Output) Busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err == nil && (o.writing || len(o.pending) > 0)
}

// Stuck reports whether the reader has read nothing for longer than timeout.
func (o *Output) Stuck(timeout time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err == nil && o.writing && time.Since(o.moved) > timeout
}

// Await waits for a channel that is closed when the output has moved on. It
// gives up once nothing has moved for timeout().
func (o *Output) Await(ch <-chan struct{}, timeout func() time.Duration) error {
	tick := time.NewTicker(PollDelay) // timeout can shrink during the wait
	defer tick.Stop()
	began := time.Now()
	for {
		select {
		case <-ch:
			return nil
		case <-tick.C:
			if bound := timeout(); time.Since(o.lastMove(began)) > bound {
				return fmt.Errorf("%w: nothing was read for %s", ErrUnread, terminal.Duration(bound))
			}
		}
	}
}

// Drain waits until the pending bytes are written, or until nothing has moved for
// timeout().
func (o *Output) Drain(timeout func() time.Duration) {
	drained := make(chan struct{})
	go func() { // ends when the output has moved or is broken, else with the process
		o.Flush()
		close(drained)
	}()
	_ = o.Await(drained, timeout) // Close reports the error
}

// Close writes the pending text, and returns the error of the output, if any.
func (o *Output) Close(timeout func() time.Duration) error {
	o.mu.Lock()
	o.closing = true
	o.mu.Unlock()
	token(o.kick)
	if err := o.Await(o.done, timeout); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *Output) lastMove(began time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.moved.After(began) {
		return o.moved
	}
	return began
}
