package mcp

import (
	"context"
	"time"
)

// enter begins a call.
func (l *link) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
}

// leave ends a call.
func (l *link) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls--
	l.rest()
}

// rest ends a disabled server when its last call ends. The caller holds the lock.
func (l *link) rest() {
	if l.disabled && l.calls == 0 && l.live != nil {
		l.live.spoil()
	}
}

func (l *link) isDisabled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.disabled
}

// Set disables or enables a server. A disabled server receives no more calls, and ends when
// its running calls have ended.
func (s *Servers) Set(name string, to State) {
	if l := s.links[name]; l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.disabled = to == Disabled
		l.rest()
	}
}

// Connect makes a new connection to a server of the session. The old connection ends, with
// its running calls.
func (s *Servers) Connect(ctx context.Context, name string) error {
	l := s.links[name]
	l.mu.Lock()
	live := l.live
	l.mu.Unlock()
	if live != nil {
		live.spoil()
		select {
		case <-live.dropped:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	l.mu.Lock()
	l.failures, l.retryAt, l.requested = 0, time.Time{}, false
	l.mu.Unlock()
	_, err := l.client(ctx)
	return err
}

// Names returns the names of the session's tools, including tools of disabled servers.
func (s *Servers) Names() []string {
	names := s.offer.Names()
	deferred := s.offer.deferred()
	for i := range deferred {
		names = append(names, deferred[i].name)
	}
	return names
}
