package execserver

import (
	"context"
	"sync"
)

// inputs feed a process, in order, without holding up its client.
type inputs struct {
	feed func(context.Context, []byte) error

	mu       sync.Mutex
	queue    [][]byte
	bytes    int
	known    map[string]bool // ids of writes that were accepted
	order    []string
	closed   bool
	added    chan struct{} // has room for one
	done     chan struct{} // closed when nothing is taken any more
	consumed chan struct{} // closed and replaced when something was fed
}

const (
	// maxInput bounds the input that a process can leave unread before its client waits, in bytes.
	// maxWrites is the number of remembered ids of writes.
	maxInput  = 1 << 20
	maxWrites = 4096
)

func newInputs(feed func(context.Context, []byte) error) *inputs {
	return &inputs{
		feed:     feed,
		known:    map[string]bool{},
		added:    make(chan struct{}, 1),
		done:     make(chan struct{}),
		consumed: make(chan struct{}),
	}
}

// add takes input, once for each id, and reports whether the process still reads.
func (in *inputs) add(id string, data []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if id != "" && in.known[id] {
		return true
	}
	if in.closed {
		return false
	}
	if id != "" {
		in.known[id] = true
		in.order = append(in.order, id)
		if len(in.order) > maxWrites {
			delete(in.known, in.order[0])
			in.order = in.order[1:]
		}
	}
	in.queue = append(in.queue, data)
	in.bytes += len(data)
	select {
	case in.added <- struct{}{}:
	default:
	}
	return true
}

// room waits until the process has read most of its input, or never will.
func (in *inputs) room(ctx context.Context) {
	for {
		in.mu.Lock()
		enough, consumed := in.bytes <= maxInput, in.consumed
		in.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-consumed:
		case <-in.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// run feeds the process until it is closed or reads no more.
func (in *inputs) run(ctx context.Context) {
	defer in.close()
	for {
		select {
		case <-in.added:
		case <-in.done:
			return
		}
		for {
			in.mu.Lock()
			if len(in.queue) == 0 {
				in.mu.Unlock()
				break
			}
			data := in.queue[0]
			in.mu.Unlock()
			if in.feed(ctx, data) != nil {
				return // the process has closed its input
			}
			in.fed(len(data))
		}
	}
}

// fed removes the first input of the queue, which has n bytes. A process that ends while it is fed
// has no queue any more.
func (in *inputs) fed(n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return
	}
	in.queue, in.bytes = in.queue[1:], in.bytes-n
	close(in.consumed)
	in.consumed = make(chan struct{})
}

func (in *inputs) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.closed, in.queue, in.bytes = true, nil, 0
		close(in.done)
	}
}
