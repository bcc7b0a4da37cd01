package mcp

import (
	"context"
	"slices"
	"sync"
)

// kind is what a request does to sessions, as far as its order matters.
type kind string

const (
	// starts: it begins a session.
	starts kind = "starts"
	// submits: it sends an input to a session that there is.
	submits kind = "submits"
	// touches: it ends or tells what runs.
	touches kind = "touches"
	// ends lasts until an interrupted turn has ended, so that an input after the
	// interrupt is not held together with the inputs before it.
	ends kind = "ends"
)

// waitsFor reports whether a request waits until one of another kind, that
// came before it, is admitted. All sessions of a connection are in one order;
// new ones may begin side by side.
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

// order lets the requests of a connection in as they came, however their
// handlers are scheduled: an interrupt covers what was sent before it, and
// nothing that was sent after (C10).
//
//	entered ─► admitted    its effect is durable, or it has none
type order struct {
	mu   sync.Mutex
	open []*place // not admitted, in the order in which they came
}

// place is the place of one request in the order.
type place struct {
	order    *order
	kind     kind
	before   []*place      // those that come first
	admitted chan struct{} // closed when others need not wait for it any more
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

// wait waits until those that come first are admitted, or ctx ends.
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

	mu       sync.Mutex // guards what follows
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
