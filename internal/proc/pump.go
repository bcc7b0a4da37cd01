package proc

import (
	"context"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// chunkBytes bounds the data that a pump holds.
	chunkBytes = 32 << 10
	// drainTimeout bounds the wait for the data that a pipe already holds. Only a busy machine
	// or a blocked writer needs long; data that has not arrived then is lost.
	drainTimeout = 5 * time.Second
)

// pump copies the output of a command from its pipe to a writer.
type pump struct {
	src *os.File
	dst io.Writer

	mu        sync.Mutex
	read      int64 // bytes taken from the pipe
	delivered int64 // bytes that dst has
	drains    []drain
	ended     chan struct{} // closed when the goroutine is gone
}

// drain is a waiter for delivered to reach a target.
type drain struct {
	target  int64
	reached chan struct{}
}

// startPump starts the copying goroutine, which ends at the end of the pipe or with stop.
func startPump(src *os.File, dst io.Writer) *pump {
	if dst == nil {
		dst = io.Discard
	}
	p := &pump{src: src, dst: dst, ended: make(chan struct{})}
	go p.run(p.ended)
	return p
}

func (p *pump) run(ended chan<- struct{}) {
	defer close(ended)
	buf := make([]byte, chunkBytes)
	for {
		n, err := p.fill(buf)
		if n > 0 {
			_, _ = p.dst.Write(buf[:n])
			p.deliver(int64(n))
		}
		if err != nil {
			return
		}
	}
}

func (p *pump) deliver(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delivered += n
	p.drains = slices.DeleteFunc(p.drains, func(d drain) bool {
		if p.delivered < d.target {
			return false
		}
		close(d.reached)
		return true
	})
}

// drain waits until the data that the pipe now holds is delivered, or ctx ends. It does not wait
// for the end of the pipe, which a descendant can delay forever (C8).
func (p *pump) drain(ctx context.Context) {
	if p == nil {
		return
	}
	p.mu.Lock()
	d := drain{target: p.read + p.pending(), reached: make(chan struct{})}
	if p.delivered >= d.target {
		p.mu.Unlock()
		return
	}
	p.drains = append(p.drains, d)
	ended := p.ended
	p.mu.Unlock()
	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	select {
	case <-d.reached:
	case <-ended:
	case <-ctx.Done():
	case <-timer.C:
	}
}

// stop ends the goroutine and leaves the pipe open, with its remaining data.
func (p *pump) stop() {
	if p == nil {
		return
	}
	p.interrupt()
	<-p.ended // interrupt makes its read return; dst does not block
}

// resume undoes stop.
func (p *pump) resume() {
	_ = p.src.SetReadDeadline(time.Time{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = make(chan struct{})
	go p.run(p.ended)
}

// finish delivers the remaining data, then closes the pipe.
func (p *pump) finish() {
	if p == nil {
		return
	}
	p.drain(context.Background())
	p.stop()
	_ = p.src.Close()
}
