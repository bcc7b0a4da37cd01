package web

import (
	"context"
	"sync"
	"time"
)

// watchers counts who follows which session.
type watchers struct {
	mu  sync.Mutex
	of  map[string]int
	end map[string]time.Time // when the last one left
}

// come notes that somebody follows the session, until leave is called.
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

// unwatched reports whether nobody follows the session, nor has since then.
func (w *watchers) unwatched(session string, since time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	left, known := w.end[session]
	if w.of[session] > 0 || known && left.After(since) {
		return false
	}
	delete(w.end, session)
	return true
}

// closeIdle closes the sessions that nobody has used or watched for a while,
// until ctx ends. They are opened again when somebody wants something of them.
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
		for _, session := range s.Host.Sessions() {
			if !s.watchers.unwatched(session.ID(), since) {
				continue
			}
			closing, cancel := context.WithTimeout(ctx, closeTimeout)
			if _, err := session.CloseIdle(closing, since); err != nil {
				s.Logger.Warn("cannot close an idle session", "session", session.ID(), "error", s.mask(err.Error()))
			}
			cancel()
		}
	}
}
