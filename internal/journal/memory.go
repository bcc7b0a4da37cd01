package journal

import (
	"context"
	"iter"
	"sync"

	"github.com/settle-agent/settle/event"
)

// memory is a Store that keeps the events of one process's life.
type memory struct {
	mu     sync.Mutex
	events []event.Event
}

// NewMemory returns a log in memory for the session.
func NewMemory(session string, opts ...Option) *Log {
	return New(&memory{}, event.State{Session: session}, opts...)
}

// Append implements [Store].
func (m *memory) Append(batch []event.Event, _ Sync) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, batch...)
	return nil
}

// Read implements [Store].
func (m *memory) Read(ctx context.Context, after uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, e := range m.since(after) {
			if ctx.Err() != nil || !yield(e, nil) {
				return
			}
		}
	}
}

// since returns the events after the cursor; event n is at index n-1.
func (m *memory) since(after uint64) []event.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	if after >= uint64(len(m.events)) {
		return nil
	}
	return m.events[after:]
}

// Close implements [Store].
func (m *memory) Close() error { return nil }
