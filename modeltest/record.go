package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Request is a request as the server got it.
type Request struct {
	// N counts the requests to the model endpoints from 1.
	N       int
	At      time.Time
	Dialect Dialect
	Path    string
	Header  http.Header
	Body    []byte
	// Schema is the JSON Schema that the answer is to follow; nil if none was
	// asked for.
	Schema json.RawMessage
}

// Ended is the kind of end of an exchange.
type Ended string

// The ends of an exchange.
const (
	// EndedOpen: not yet.
	EndedOpen Ended = ""
	// EndedSent: the whole scripted response has been sent.
	EndedSent Ended = "sent"
	// EndedByFault: a fault ended it before that.
	EndedByFault Ended = "fault"
	// EndedByClient: the client closed the connection before that.
	EndedByClient Ended = "client"
	// EndedByClose: the server was closed before that.
	EndedByClose Ended = "close"
)

// Exchange is a request, its response and its end.
type Exchange struct {
	Request
	// Turn is the index of the turn that was played, -1 if there was none.
	Turn int
	// Refusal is the error text with which the rules refused the request.
	Refusal string
	// Status is the HTTP status that was sent, 0 if none was.
	Status int
	// Struck are the faults that have struck so far, in order.
	Struck []FaultKind
	// Deltas is the number of deltas that have been sent so far.
	Deltas int
	// Ended is the kind of the exchange's end, and EndedAt its time.
	Ended   Ended
	EndedAt time.Time
}

// record is everything that a server saw. Its zero value is ready.
type record struct {
	mu        sync.Mutex
	exchanges []*Exchange   // guarded by mu, with the exchanges that it points to
	opened    int           // connections so far; guarded by mu
	closed    int           // guarded by mu
	changed   chan struct{} // closed at the next change; guarded by mu
}

// update changes the record and wakes the goroutines that wait for a change.
func (r *record) update(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// wait returns when done, called under the lock after each change, is true.
func (r *record) wait(ctx context.Context, done func() bool) error {
	for {
		r.mu.Lock()
		if done() {
			r.mu.Unlock()
			return nil
		}
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (r *record) snapshot() []Exchange {
	out := make([]Exchange, len(r.exchanges))
	for i, x := range r.exchanges {
		out[i] = *x
		out[i].Struck = slices.Clone(x.Struck)
	}
	return out
}

// begin adds the exchange and numbers it.
func (r *record) begin(x *Exchange) {
	r.update(func() {
		r.exchanges = append(r.exchanges, x)
		x.N = len(r.exchanges)
	})
}

// end records how the exchange ended, unless that is recorded already.
func (r *record) end(x *Exchange, how Ended, at time.Time) {
	r.update(func() {
		if x.Ended == EndedOpen {
			x.Ended, x.EndedAt = how, at
		}
	})
}

// Exchanges returns the exchanges so far on the model endpoints, in the order in which the requests
// arrived.
func (s *Server) Exchanges() []Exchange {
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	return s.rec.snapshot()
}

// Refusals returns the error texts of the requests that the rules refused: a
// test of a client that must never be refused wants it empty.
func (s *Server) Refusals() []string {
	var out []string
	for _, x := range s.Exchanges() {
		if x.Refusal != "" {
			out = append(out, x.Refusal)
		}
	}
	return out
}

// Wait returns the exchanges as soon as done reports true for them. done is called after every
// change.
func (s *Server) Wait(ctx context.Context, done func([]Exchange) bool) ([]Exchange, error) {
	var seen []Exchange
	err := s.rec.wait(ctx, func() bool {
		seen = s.rec.snapshot()
		return done(seen)
	})
	if err != nil {
		return seen, fmt.Errorf("cannot wait for the model server's requests (%d came): %w", len(seen), err)
	}
	return seen, nil
}

// WaitRequests waits until n requests have come.
func (s *Server) WaitRequests(ctx context.Context, n int) ([]Exchange, error) {
	return s.Wait(ctx, func(seen []Exchange) bool { return len(seen) >= n })
}

// WaitEnded waits until n requests have come and the first n have ended.
func (s *Server) WaitEnded(ctx context.Context, n int) ([]Exchange, error) {
	return s.Wait(ctx, func(seen []Exchange) bool {
		return len(seen) >= n && !slices.ContainsFunc(seen[:n], func(x Exchange) bool { return x.Ended == EndedOpen })
	})
}

// WaitDeltas waits until the nth request, from 1, has been sent that many deltas.
func (s *Server) WaitDeltas(ctx context.Context, n, deltas int) ([]Exchange, error) {
	return s.Wait(ctx, func(seen []Exchange) bool { return len(seen) >= n && seen[n-1].Deltas >= deltas })
}

// Connections returns how many connections clients have opened so far, and how
// many of them are open. It counts only connections to the server's own listener.
func (s *Server) Connections() (opened, open int) {
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	return s.rec.opened, s.rec.opened - s.rec.closed
}

// WaitConnections waits until at most that many connections are open.
func (s *Server) WaitConnections(ctx context.Context, open int) error {
	return s.rec.wait(ctx, func() bool { return s.rec.opened-s.rec.closed <= open })
}
