package shell

import (
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/scope"
)

const (
	// progressDelay is the time for which output is gathered before it is passed on.
	progressDelay = 50 * time.Millisecond
	// progressChunk is the size of gathered output that is passed on without a delay.
	progressChunk = 8 << 10
	// progressBytes bounds the output that a call passes on in total, because the log
	// stores it.
	progressBytes = 256 << 10

	progressMarker = "\n[… more output follows; it is not shown as it comes …]\n"
)

// progress passes output on in few pieces and with a limit. All methods are safe for
// concurrent use.
type progress struct {
	emit func(string)

	mu      sync.Mutex
	pending []byte
	room    bound.Budget
	timer   *time.Timer // runs while output is pending
	stopped bool
	failure error // a panic of emit
}

func newProgress(emit func(string)) *progress {
	p := &progress{emit: emit, room: bound.NewBudget(progressBytes)}
	p.timer = time.AfterFunc(time.Hour, p.flush)
	p.timer.Stop()
	return p
}

func (p *progress) add(text []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.room.Left() == 0 || p.stopped || len(text) == 0 {
		return
	}
	text = p.room.Bytes(text)
	if p.room.Left() == 0 {
		text = []byte(trimPartialEnd(string(text)) + progressMarker)
	}
	first := len(p.pending) == 0
	p.pending = append(p.pending, text...)
	switch {
	case len(p.pending) >= progressChunk || p.room.Left() == 0:
		p.pass()
	case first:
		p.timer.Reset(progressDelay)
	}
}

// flush passes pending output on.
func (p *progress) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass()
}

func (p *progress) pass() {
	p.timer.Stop()
	if len(p.pending) > 0 && !p.stopped {
		// A timer and the reader of a process's output run this.
		if err := scope.Guard(func() error { p.emit(string(p.pending)); return nil }); err != nil {
			p.failure, p.stopped = err, true
		}
	}
	p.pending = p.pending[:0]
}

// stop passes pending output on, and no later output, because the call has ended. It
// returns the panic of the receiver, if there was one.
func (p *progress) stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass()
	p.stopped = true
	return p.failure
}
