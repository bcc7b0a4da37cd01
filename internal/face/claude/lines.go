package claude

import (
	"io"
	"slices"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/jsonl"
)

// room is how much may wait for its reader before the teller waits as well.
const room = 1 << 20

// lines is an output of the process: a queue and a goroutine that writes it, so
// that a client that reads slowly, or not at all, holds up nothing but the
// telling (C17).
type lines struct {
	w io.Writer
	// format says what of the messages is written.
	format Format
	// broken is called once, by the writer, if something cannot be written.
	broken func(error)

	kick  chan struct{} // one token when there may be something to write
	space chan struct{} // one token when there may be room again
	done  chan struct{} // closed when the writer has ended

	mu      sync.Mutex // guards what follows
	pending []byte
	closing bool
	err     error
	moved   time.Time // when the last write returned
	began   time.Time // when the one began that did not; zero if there is none
}

func newLines(w io.Writer, format Format, broken func(error)) *lines {
	l := &lines{w: w, format: format, broken: broken, moved: time.Now(), kick: make(chan struct{}, 1), space: make(chan struct{}, 1), done: make(chan struct{})}
	go l.run() // ends with close, or with the process if a write never returns
	return l
}

// send queues a message. It never waits.
func (l *lines) send(message any) { l.text(l.format.render(message)) }

// render is what is written of a message.
func (f Format) render(message any) string {
	r, isResult := message.(result)
	switch {
	case f == Text && isResult && r.Result != nil:
		return *r.Result + "\n"
	case f == Text, f == JSON && !isResult:
		return ""
	}
	line, _ := jsonl.Append(nil, message) // there is no message that is none
	return string(line)
}

// text queues a text.
func (l *lines) text(text string) {
	l.mu.Lock()
	if l.err == nil {
		l.pending = append(l.pending, text...)
	}
	l.mu.Unlock()
	token(l.kick)
}

// wait waits until there is room, or will never be.
func (l *lines) wait() {
	for {
		l.mu.Lock()
		full := len(l.pending) >= room && l.err == nil
		l.mu.Unlock()
		if !full {
			return
		}
		select {
		case <-l.space:
		case <-l.done:
			return
		}
	}
}

func token(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (l *lines) run() {
	defer close(l.done)
	for range l.kick {
		for {
			l.mu.Lock()
			data, closing := l.pending, l.closing
			l.pending = nil
			l.mu.Unlock()
			if len(data) == 0 {
				if closing {
					return
				}
				break
			}
			err := l.write(data)
			token(l.space)
			if err != nil {
				l.broken(err)
				return
			}
		}
	}
}

// piece is how much is written at a time, so that it shows that a slow reader
// reads.
const piece = 64 << 10

func (l *lines) write(data []byte) error {
	for part := range slices.Chunk(data, piece) {
		l.mu.Lock()
		l.began = time.Now()
		l.mu.Unlock()
		_, err := l.w.Write(part)
		l.mu.Lock()
		l.err, l.moved, l.began = err, time.Now(), time.Time{}
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// stuck reports whether nobody has read for some time what is written.
func (l *lines) stuck(patience time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.began.IsZero() && time.Since(l.began) > patience
}

// pollDelay is between two looks at an output that does not move.
const pollDelay = 20 * time.Millisecond

// close lets go out what is queued, for as long as somebody reads, and reports
// whether all of it did.
func (l *lines) close(patience time.Duration) bool {
	l.mu.Lock()
	l.closing = true
	began := time.Now()
	l.mu.Unlock()
	token(l.kick)
	tick := time.NewTicker(pollDelay)
	defer tick.Stop()
	for {
		select {
		case <-l.done:
			l.mu.Lock()
			err := l.err
			l.mu.Unlock()
			return err == nil
		case <-tick.C:
			l.mu.Lock()
			moved := l.moved
			l.mu.Unlock()
			if time.Since(later(moved, began)) > patience {
				return false
			}
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
