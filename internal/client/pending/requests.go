package pending

import (
	"context"
	"slices"
	"sync"
)

// Requests holds the requests that are not answered. The zero value is ready.
type Requests[R any] struct {
	mu     sync.Mutex // guards the fields below and the entries
	open   []*Entry[R]
	closed bool
	quiet  chan struct{} // closed when no request is open; nil without a waiter
}

// Entry is a request that is not answered.
type Entry[R any] struct {
	// Key is the ID of the object that the request waits for: an input, a turn, or the request
	// itself.
	Key     string
	Request R

	requests      *Requests[R]
	session, turn string // that has taken the input
	cancelled     bool
}

// Add records a request, and returns its entry; nil after Close.
func (p *Requests[R]) Add(key string, request R) *Entry[R] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.add(key, request)
}

// AddAhead is [Requests.Add] for a request that comes before all others.
func (p *Requests[R]) AddAhead(key string, request R) *Entry[R] {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.add(key, request)
	if e != nil {
		p.open = slices.Insert(p.open[:len(p.open)-1], 0, e)
	}
	return e
}

// AddOnce is [Requests.Add] for a unique key, if fewer than limit requests are pending. It
// returns the existing entry with fresh == false, or nil if there is no room.
func (p *Requests[R]) AddOnce(key string, request R, limit int) (e *Entry[R], fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.find(key); e != nil {
		return e, false
	}
	if len(p.open) >= limit {
		return nil, true
	}
	return p.add(key, request), true
}

func (p *Requests[R]) add(key string, request R) *Entry[R] {
	if p.closed {
		return nil
	}
	e := &Entry[R]{Key: key, Request: request, requests: p}
	p.open = append(p.open, e)
	return e
}

// Find returns the first request that waits for the key, or nil.
func (p *Requests[R]) Find(key string) *Entry[R] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.find(key)
}

func (p *Requests[R]) find(key string) *Entry[R] {
	for _, e := range p.open {
		if e.Key == key {
			return e
		}
	}
	return nil
}

// Open returns the requests that are not answered, in order.
func (p *Requests[R]) Open() []*Entry[R] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.open)
}

// Len returns the number of requests that are not answered.
func (p *Requests[R]) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

// AnswerAll removes the requests that wait for the key, and returns them.
func (p *Requests[R]) AnswerAll(key string) []*Entry[R] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.remove(func(e *Entry[R]) bool { return e.Key == key })
}

// Close removes all requests, returns them, and refuses later ones.
func (p *Requests[R]) Close() []*Entry[R] {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return p.remove(func(*Entry[R]) bool { return true })
}

// remove removes the requests for which meant returns true, and returns them. The caller holds mu.
func (p *Requests[R]) remove(meant func(*Entry[R]) bool) []*Entry[R] {
	var out []*Entry[R]
	p.open = slices.DeleteFunc(p.open, func(e *Entry[R]) bool {
		if !meant(e) {
			return false
		}
		out = append(out, e)
		return true
	})
	if len(p.open) == 0 && p.quiet != nil {
		close(p.quiet)
		p.quiet = nil
	}
	return out
}

// Drain waits until all requests are answered, or ctx ends.
func (p *Requests[R]) Drain(ctx context.Context) {
	p.mu.Lock()
	if len(p.open) == 0 {
		p.mu.Unlock()
		return
	}
	if p.quiet == nil {
		p.quiet = make(chan struct{})
	}
	quiet := p.quiet
	p.mu.Unlock()
	select {
	case <-quiet:
	case <-ctx.Done():
	}
}

// Answer takes the request out, and reports whether it was there: only then, the
// caller answers it.
func (e *Entry[R]) Answer() bool {
	e.requests.mu.Lock()
	defer e.requests.mu.Unlock()
	return len(e.requests.remove(func(entry *Entry[R]) bool { return entry == e })) > 0
}

// Cancel records that the client cancelled the request, and reports whether it is the first
// cancel.
func (e *Entry[R]) Cancel() bool {
	e.requests.mu.Lock()
	defer e.requests.mu.Unlock()
	was := e.cancelled
	e.cancelled = true
	return !was
}

// Cancelled reports whether the client does not want the request any more.
func (e *Entry[R]) Cancelled() bool {
	e.requests.mu.Lock()
	defer e.requests.mu.Unlock()
	return e.cancelled
}

// Rekey has the request wait for something else.
func (e *Entry[R]) Rekey(key string) {
	e.requests.mu.Lock()
	defer e.requests.mu.Unlock()
	e.Key = key
}
