package worker

import (
	"context"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/model"
)

// waits measures the time for which requests of a run have waited for a limit of their provider. Such a wait can take
// hours, and the log has no events of it: it counts as progress.
type waits struct {
	mu    sync.Mutex
	open  int
	since time.Time // of the first one that is open
}

// begin notes that a request waits, until end is called.
func (w *waits) begin() (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == 0 {
		w.since = time.Now()
	}
	w.open++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open--
	}
}

// waitTime returns the time, in milliseconds, for which requests have waited now: at least 1, or 0 if none waits.
func (w *waits) waitTime() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == 0 {
		return 0
	}
	return max(time.Since(w.since).Milliseconds(), 1)
}

// waitingProvider is a provider whose requests note that they wait.
type waitingProvider struct {
	model.Provider
	waits *waits
}

// Enter implements [model.ConcurrencyLimiter].
func (g waitingProvider) Enter(ctx context.Context) (leave func(), err error) {
	limited, isLimited := g.Provider.(model.ConcurrencyLimiter)
	if !isLimited {
		return func() {}, nil
	}
	defer g.waits.begin()()
	return limited.Enter(ctx)
}

// URL implements [model.Locator] where the provider does.
func (g waitingProvider) URL() string {
	if locator, ok := g.Provider.(model.Locator); ok {
		return locator.URL()
	}
	return ""
}

// watchGates has the requests of the session, and of its child agents, note that they wait.
func (r *run) watchGates(c *settle.SessionConfig) {
	c.Model = r.waits.watch(c.Model)
	if c.Tasks == nil || c.Tasks.Model == nil {
		return
	}
	tasks, choose := *c.Tasks, c.Tasks.Model
	tasks.Model = func(ctx context.Context, name string) (model.Config, error) {
		m, err := choose(ctx, name)
		if err != nil {
			return m, err
		}
		return r.waits.watch(m), nil
	}
	c.Tasks = &tasks
}

// watch returns the model, and its fallbacks, with requests that note that they wait.
func (w *waits) watch(m model.Config) model.Config {
	m.Provider = waitingProvider{m.Provider, w}
	if m.Fallback != nil {
		fallback := w.watch(*m.Fallback)
		m.Fallback = &fallback
	}
	return m
}
