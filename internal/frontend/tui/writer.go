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
	idle   chan struct{} // holds a token while no frame is under way

	// busy and shown belong to the loop: busy reports that a frame is being written, and shown is
	// called when the terminal has it.
	busy  bool
	shown func()
}

func newWriter(to io.Writer, send func(func())) *writer {
	w := &writer{to: to, send: send, frames: make(chan []byte, 1), idle: make(chan struct{}, 1)}
	w.idle <- struct{}{} // never blocks: there is room for it
	return w
}

// write hands a frame over, and has shown called in the loop when it is out. The
// loop calls it while the writer is not busy.
func (w *writer) write(frame []byte, shown func()) {
	w.busy, w.shown = true, shown
	<-w.idle          // there, since nothing is under way
	w.frames <- frame // never blocks: there is room
}

// written notes that the frame is out.
func (w *writer) written() {
	w.busy = false
	w.shown()
}

// run writes until ctx ends.
func (w *writer) run(ctx context.Context) {
	for {
		select {
		case frame := <-w.frames:
			_, _ = w.to.Write(frame) // a terminal that is gone ends the reading
			w.idle <- struct{}{}
			w.send(w.written)
		case <-ctx.Done():
			return
		}
	}
}

// last writes the final rows after the current frame, if the terminal accepts them in time.
func (w *writer) last(rows []byte) {
	written := make(chan bool, 1)
	go func() { // ends when the terminal takes it, or with the process
		begun := true
		select {
		case frame := <-w.frames: // it was not begun
			rows, begun = append(frame, rows...), false
		case <-w.idle:
		}
		_, _ = w.to.Write(rows) // the terminal is the last output
		w.idle <- struct{}{}
		written <- begun
	}()
	select {
	case begun := <-written:
		if !begun { // it is out now, and run does not say so
			w.busy = false
		}
	case <-time.After(maxWrite):
	}
}
