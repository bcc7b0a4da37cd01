package scope

import (
	"context"
	"sync"
)

// Deferred is a value that will be there later. The first settlement wins;
// later ones become nothing.
type Deferred[T any] struct {
	once  sync.Once
	done  chan struct{}
	value T
}

// NewDeferred returns a Deferred that is not settled.
func NewDeferred[T any]() *Deferred[T] {
	return &Deferred[T]{done: make(chan struct{})}
}

// Settle sets the value and reports whether it was the first to do so.
func (d *Deferred[T]) Settle(value T) bool {
	first := false
	d.once.Do(func() {
		d.value, first = value, true
		close(d.done)
	})
	return first
}

// Done is closed when the value is there.
func (d *Deferred[T]) Done() <-chan struct{} { return d.done }

// Wait returns the value, or context.Cause(ctx) if ctx ends first. An
// existing value is returned even if ctx has ended: a result wins over an abort that
// arrives with it.
func (d *Deferred[T]) Wait(ctx context.Context) (T, error) {
	select {
	case <-d.done:
		return d.value, nil
	default:
	}
	select {
	case <-d.done:
		return d.value, nil
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}
