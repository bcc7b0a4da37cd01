package mcp

import (
	"context"
	"slices"
	"sync"
)

// kind is the effect of a request on sessions, as far as the order of requests matters.
type kind string

const (
	// starts: the request begins a session.
	starts kind = "starts"
	// submits: the request sends an input to an existing session.
	submits kind = "submits"
	// touches: the request ends or reports running work.
	touches kind = "touches"
	// ends: the request lasts until an interrupted turn has ended, so that an input after the
	// interrupt is not held together with the inputs before it.
	ends kind = "ends"
)

// waitsFor reports whether a request waits for the admission of an earlier request of another kind.
// All sessions of a connection are in one order; new sessions can begin at the same time.
func (k kind) waitsFor(earlier kind) bool {
	switch k {
	case starts:
		return earlier == touches
	case submits:
		return true
	case touches:
		return earlier != ends
	}
	return false
}

// order admits the requests of a connection in the order of their arrival, regardless of the
// scheduling of their handlers: an interrupt covers everything that was sent before it, and nothing
// that was sent after it (C10).
//
//	entered ─► admitted    its effect is durable, or it has none
type order struct {
	mu   sync.Mutex
	open []*place // not admitted, in the order of arrival
}

// place is the place of one request in the order.
type place struct {
	order    *order
	kind     kind
	before   []*place      // places that it waits for
	admitted chan struct{} // closed when others no longer wait for it
}

// enter takes the next place.
func (o *order) enter(k kind) *place {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := &place{order: o, kind: k, admitted: make(chan struct{})}
	for _, entry := range o.open {
		if k.waitsFor(entry.kind) {
			p.before = append(p.before, entry)
		}
	}
	o.open = append(o.open, p)
	return p
}

// wait waits until the earlier requests are admitted, or ctx ends.
func (p *place) wait(ctx context.Context) error {
	for _, entry := range p.before {
		select {
		case <-entry.admitted:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	p.before = nil
	return nil
}

// admit lets the requests behind it continue. It can be called again, and on nil.
func (p *place) admit() {
	if p == nil {
		return
	}
	p.order.mu.Lock()
	defer p.order.mu.Unlock()
	at := slices.Index(p.order.open, p)
	if at < 0 {
		return
	}
	p.order.open = slices.Delete(p.order.open, at, at+1)
	close(p.admitted)
}

// places are the places of one request: its own, and the place of the turn that it ends.
type places struct {
	own *place // nil if its order does not matter

	mu       sync.Mutex // guards the fields below
	ending   *place
	answered bool // the request has been answered
}

// enterTool takes the places of a call of a tool.
func (o *order) enterTool(name string, p *places) {
	switch name {
	case toolRun:
		p.own = o.enter(starts)
	case toolReply:
		p.own = o.enter(submits)
	case toolInterrupt:
		p.own = o.enter(touches)
		p.wait(o.enter(ends))
	default:
		p.own = o.enter(touches)
	}
}

// wait makes later requests wait until the request has been answered.
func (p *places) wait(ending *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answered || p.ending != nil {
		ending.admit()
		return
	}
	p.ending = ending
}

// leave releases both places.
func (p *places) leave() {
	p.own.admit()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered = true
	p.ending.admit()
}

type placeKey struct{}

func withPlace(ctx context.Context, p *place) context.Context {
	return context.WithValue(ctx, placeKey{}, p)
}

// admit lets the requests continue that wait for the request of ctx.
func admit(ctx context.Context) {
	if p, ok := ctx.Value(placeKey{}).(*place); ok {
		p.admit()
	}
}
