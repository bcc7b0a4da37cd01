package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
)

const (
	// room is how much output may wait for its reader before the printer
	// waits as well. The session does not: it has its own log to lag in.
	room = 1 << 20
	// keptRoom is the capacity that an idle buffer keeps.
	keptRoom = 64 << 10
)

// output is standard output: a buffer and a goroutine that writes it, so that
// a reader that is slow or gone holds nothing up but the printing. What comes
// while a write runs goes out with the next one.
type output struct {
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
	moved   time.Time // when the last write returned
}

func newOutput(w io.Writer, broken func(error)) *output {
	o := &output{
		w: w, broken: broken, moved: time.Now(),
		kick: make(chan struct{}, 1), space: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go o.run() // ends with close, or with the process if the write never returns
	return o
}

// write appends what add makes, and waits while there is no room. It returns
// false when nothing will be written any more.
func (o *output) write(add func([]byte) []byte) bool {
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

// add appends the last words, whatever room there is.
func (o *output) add(text string) {
	o.mu.Lock()
	o.pending = append(o.pending, text...)
	o.mu.Unlock()
	token(o.kick)
}

func token(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// run writes until the output is closed and everything is out, or broken.
func (o *output) run() {
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

// piece is how much is written at a time, so that it shows that a slow reader
// reads.
const piece = 64 << 10

func (o *output) put(data []byte) error {
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

// take returns what is pending, and false when the output is closed and empty.
func (o *output) take(spare []byte) (data []byte, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	data = o.pending
	o.pending, o.writing = spare[:0], len(data) > 0
	return data, len(data) > 0 || !o.closing
}

func (o *output) wrote(err error) {
	o.mu.Lock()
	o.err, o.moved, o.writing = err, time.Now(), false
	o.mu.Unlock()
	token(o.space)
}

// errUnread says that nobody reads the output.
var errUnread = errors.New("nobody reads it")

// pollDelay is between two looks at an output that does not move.
const pollDelay = 20 * time.Millisecond

// flush waits until what is pending is out, or never will be.
func (o *output) flush() {
	for o.busy() {
		select {
		case <-o.space:
		case <-o.done:
		}
	}
}

func (o *output) busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err == nil && (o.writing || len(o.pending) > 0)
}

// await waits for a channel that is closed when the output has moved on. It
// gives up when nothing has moved for as long as patience says.
func (o *output) await(ch <-chan struct{}, patience func() time.Duration) error {
	tick := time.NewTicker(pollDelay) // patience may shrink meanwhile
	defer tick.Stop()
	began := time.Now()
	for {
		select {
		case <-ch:
			return nil
		case <-tick.C:
			if bound := patience(); time.Since(o.lastMove(began)) > bound {
				return fmt.Errorf("%w: nothing was read for %s", errUnread, Duration(bound))
			}
		}
	}
}

// drain waits until what is pending is out, or until nothing has moved for as
// long as patience says.
func (o *output) drain(patience func() time.Duration) {
	drained := make(chan struct{})
	go func() { // ends when the output has moved or is broken, else with the process
		o.flush()
		close(drained)
	}()
	_ = o.await(drained, patience) // whoever closes it says what is wrong
}

// close lets what is pending go out, and says what is wrong with the output,
// if anything.
func (o *output) close(patience func() time.Duration) error {
	o.mu.Lock()
	o.closing = true
	o.mu.Unlock()
	token(o.kick)
	if err := o.await(o.done, patience); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *output) lastMove(began time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.moved.After(began) {
		return o.moved
	}
	return began
}

// stopFor is what a broken standard output means for the turn.
func stopFor(err error, kind outputKind) Stop {
	stop := Stop{Reason: event.Shutdown, By: "stdout", Code: CodeFailed}
	switch {
	case kind == onDevice && (closed(err) || hungUp(err)):
		// SIGHUP may be on its way, and be too late to say so.
		stop.Code, stop.Err = CodeHangup, errors.New("the terminal was closed")
	case closed(err):
		stop.Code, stop.Err = CodeStdoutClosed, fmt.Errorf("standard output was closed: %w", err)
	default:
		stop.Err = fmt.Errorf("cannot write to standard output: %w", err)
	}
	return stop
}

// outputKind says what standard output is.
type outputKind string

const (
	onFile   outputKind = "file"   // or a pipe, or memory
	onDevice outputKind = "device" // a terminal, mostly
)

func kindOf(w io.Writer) outputKind {
	f, ok := w.(*os.File)
	if !ok {
		return onFile
	}
	if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return onDevice
	}
	return onFile
}
