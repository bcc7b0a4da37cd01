package web

import (
	"context"
	"maps"
	"sync"
	"time"
)

// watchers counts who follows which session.
type watchers struct {
	mu  sync.Mutex
	of  map[string]int
	end map[string]time.Time // when the last one left
}

// come records a follower of the session, until leave is called.
func (w *watchers) come(session string) (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of, w.end = map[string]int{}, map[string]time.Time{}
	}
	w.of[session]++
	delete(w.end, session)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.of[session]--; w.of[session] == 0 {
			delete(w.of, session)
			w.end[session] = time.Now()
		}
	}
}

// watched reports whether a client follows the session, or did so recently; see forget.
func (w *watchers) watched(session string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, lately := w.end[session]
	return lately || w.of[session] > 0
}

// forget drops the records of sessions whose last client left by the given time.
func (w *watchers) forget(before time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.end, func(_ string, left time.Time) bool { return !left.After(before) })
}

// closeIdle closes sessions that no client has used or followed for a while, until ctx
// ends. A later request opens them again.
func (s *Server) closeIdle(ctx context.Context) {
	tick := time.NewTicker(s.Limits.SessionIdleTimeout / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		since := time.Now().Add(-s.Limits.SessionIdleTimeout)
		s.watchers.forget(since)
		if s.DataDir == "" {
			continue // a session in memory would be lost
		}
		for _, session := range s.Host.Sessions() {
			if s.watchers.watched(session.ID()) {
				continue
			}
			closing, cancel := context.WithTimeout(ctx, closeTimeout)
			s.keepPolicy(session)
			if _, err := session.CloseIdle(closing, since); err != nil {
				s.Logger.Warn("cannot close an idle session", "session", session.ID(), "error", s.mask(err.Error()))
			}
			cancel()
		}
	}
}
