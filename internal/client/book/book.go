package book

import (
	"context"
	"slices"
	"sync"
)

// Book is the requests that are not answered. The zero value is ready.
type Book[R any] struct {
	mu     sync.Mutex // guards what follows, and what changes of entries
	open   []*Entry[R]
	closed bool
	quiet  chan struct{} // closed when nothing is open; nil while nobody waits for that
}

// Entry is a request that is not answered.
type Entry[R any] struct {
	// Key is what the request waits for: the id of an input, of a turn, or its own.
	Key     string
	Request R

	book          *Book[R]
	session, turn string // that has taken the input
	cancelled     bool
}

// Add notes a request. It is nil where the book is closed.
func (b *Book[R]) Add(key string, request R) *Entry[R] {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.add(key, request)
}

// AddAhead is [Book.Add] for a request that comes before all others.
func (b *Book[R]) AddAhead(key string, request R) *Entry[R] {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.add(key, request)
	if e != nil {
		b.open = slices.Insert(b.open[:len(b.open)-1], 0, e)
	}
	return e
}

// AddOnce is [Book.Add] for a key that may be in the book once, of at most so
// many requests. fresh is false where it is there, and nil where there is no room.
func (b *Book[R]) AddOnce(key string, request R, most int) (e *Entry[R], fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.find(key); e != nil {
		return e, false
	}
	if len(b.open) >= most {
		return nil, true
	}
	return b.add(key, request), true
}

func (b *Book[R]) add(key string, request R) *Entry[R] {
	if b.closed {
		return nil
	}
	e := &Entry[R]{Key: key, Request: request, book: b}
	b.open = append(b.open, e)
	return e
}

// Find returns the first request that waits for the key, or nil.
func (b *Book[R]) Find(key string) *Entry[R] {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.find(key)
}

func (b *Book[R]) find(key string) *Entry[R] {
	for _, e := range b.open {
		if e.Key == key {
			return e
		}
	}
	return nil
}

// Open returns the requests that are not answered, in order.
func (b *Book[R]) Open() []*Entry[R] {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.open)
}

// Len returns how many requests are not answered.
func (b *Book[R]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.open)
}

// AnswerAll takes out the requests that wait for the key.
func (b *Book[R]) AnswerAll(key string) []*Entry[R] {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.remove(func(e *Entry[R]) bool { return e.Key == key })
}

// Close takes out all requests, and lets no more in.
func (b *Book[R]) Close() []*Entry[R] {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.remove(func(*Entry[R]) bool { return true })
}

// remove takes requests out. The caller holds mu.
func (b *Book[R]) remove(meant func(*Entry[R]) bool) []*Entry[R] {
	var out []*Entry[R]
	b.open = slices.DeleteFunc(b.open, func(e *Entry[R]) bool {
		if !meant(e) {
			return false
		}
		out = append(out, e)
		return true
	})
	if len(b.open) == 0 && b.quiet != nil {
		close(b.quiet)
		b.quiet = nil
	}
	return out
}

// Drain waits until all requests are answered, or ctx ends.
func (b *Book[R]) Drain(ctx context.Context) {
	b.mu.Lock()
	if len(b.open) == 0 {
		b.mu.Unlock()
		return
	}
	if b.quiet == nil {
		b.quiet = make(chan struct{})
	}
	quiet := b.quiet
	b.mu.Unlock()
	select {
	case <-quiet:
	case <-ctx.Done():
	}
}

// Answer takes the request out, and reports whether it was there: only then, the
// caller answers it.
func (e *Entry[R]) Answer() bool {
	e.book.mu.Lock()
	defer e.book.mu.Unlock()
	return len(e.book.remove(func(other *Entry[R]) bool { return other == e })) > 0
}

// Cancel notes that the client does not want the request any more, and reports
// whether that is new.
func (e *Entry[R]) Cancel() bool {
	e.book.mu.Lock()
	defer e.book.mu.Unlock()
	was := e.cancelled
	e.cancelled = true
	return !was
}

// Cancelled reports whether the client does not want the request any more.
func (e *Entry[R]) Cancelled() bool {
	e.book.mu.Lock()
	defer e.book.mu.Unlock()
	return e.cancelled
}

// Rekey has the request wait for something else.
func (e *Entry[R]) Rekey(key string) {
	e.book.mu.Lock()
	defer e.book.mu.Unlock()
	e.Key = key
}
