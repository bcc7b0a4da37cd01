package tui

import (
	"context"
	"io"
	"time"
)

// writer writes frames to the terminal, which may be slow: one at a time, and
// the loop makes no other until it is out.
type writer struct {
	to     io.Writer
	send   func(func())
	frames chan []byte
	idle   chan struct{} // holds a token while nothing is being written

	busy bool // belongs to the loop
}

func newWriter(to io.Writer, send func(func())) *writer {
	w := &writer{to: to, send: send, frames: make(chan []byte, 1), idle: make(chan struct{}, 1)}
	w.idle <- struct{}{} // never blocks: there is room for it
	return w
}

// write hands a frame over. The loop calls it while the writer is not busy.
func (w *writer) write(frame []byte) {
	w.busy = true
	w.frames <- frame // never blocks: there is room while nothing is under way
}

// run writes until ctx ends.
func (w *writer) run(ctx context.Context) {
	for {
		select {
		case frame := <-w.frames:
			<-w.idle                 // there, unless the last rows are being written
			_, _ = w.to.Write(frame) // a terminal that is gone ends the reading
			w.idle <- struct{}{}
			w.send(func() { w.busy = false })
		case <-ctx.Done():
			return
		}
	}
}

// last writes what is still to be said, after the frame that is being written, if
// the terminal takes it in time.
func (w *writer) last(rows []byte) {
	written := make(chan struct{})
	go func() { // ends when the terminal takes it, or with the process
		defer close(written)
		select {
		case frame := <-w.frames:
			rows = append(frame, rows...)
		default:
		}
		<-w.idle
		_, _ = w.to.Write(rows) // nobody is left to tell
		w.idle <- struct{}{}
	}()
	select {
	case <-written:
	case <-time.After(mostWrite):
	}
}
