package rpc

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/settle-agent/settle/event"
)

// Registry holds the client's open sessions by ID. The zero value is empty.
type Registry[T any] struct {
	mu   sync.Mutex // guards open
	open map[string]*T
}

// Get returns the entry of a session, or nil.
func (r *Registry[T]) Get(id string) *T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open[id]
}

// Put adds the entry of a session.
func (r *Registry[T]) Put(id string, t *T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = map[string]*T{}
	}
	r.open[id] = t
}

// Remove notes that nothing is open by the id any more.
func (r *Registry[T]) Remove(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, id)
}

// IDs returns the IDs of the open sessions, in order.
func (r *Registry[T]) IDs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.open))
}

// CloseSession closes a session for the client. It returns when all of the session's
// messages are sent, which closes the channel said. The session bounds its own end; if the
// server ends first, Life bounds it.
func (s *Server) CloseSession(id string, reason event.Reason, reported <-chan struct{}) error {
	if err := s.Sessions.Close(s.Life, id, reason, s.Client()); err != nil {
		return err
	}
	select {
	case <-reported:
		return nil
	case <-s.Life.Done():
		return context.Cause(s.Life)
	}
}
