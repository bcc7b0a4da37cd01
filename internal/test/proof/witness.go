package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/model"
)

// witness is a provider that keeps its requests. It compares each request, byte by byte, with the
// request that the whole log produces.
type witness struct {
	model.Provider
	process *process
	target  history.Target
	system  string
}

// URL implements [model.Locator].
func (w witness) URL() string {
	if l, ok := w.Provider.(model.Locator); ok {
		return l.URL()
	}
	return ""
}

// Enter implements [model.ConcurrencyLimiter].
func (w witness) Enter(ctx context.Context) (leave func(), err error) {
	if g, ok := w.Provider.(model.ConcurrencyLimiter); ok {
		return g.Enter(ctx)
	}
	return func() {}, nil
}

// Stream implements [model.Provider].
func (w witness) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	w.process.log.View(func(s event.State) {
		if t := s.Running(); t != nil && t.Attempt() != nil { // else the turn was over before its stream began
			w.see(s, t.Attempt(), r)
		}
	})
	return w.Provider.Stream(ctx, r)
}

func (w witness) see(s event.State, a *event.Attempt, r model.Request) {
	world, attempt := w.process.world, a.ID
	sent := contract.Request{Attempt: attempt, Basis: asJSON(r.System) + asJSON(r.Tools), Items: itemsOf(r)}
	complete := history.Request(s, w.target, w.system, r.Tools)
	if items := itemsOf(complete.Request); a.Start.Purpose == "" && !slices.Equal(items, sent.Items) ||
		complete.System != r.System || string(complete.Schema) != string(r.Schema) {
		world.broke(
			"C21", "attempt %s is sent another request than is made of the whole log:\nsent: %s\nlog:  %s", attempt,
			sent.Items, items,
		)
	}
	world.mu.Lock()
	defer world.mu.Unlock()
	world.requested[w.process.mount.disk] = append(world.requested[w.process.mount.disk], sent)
}

func itemsOf(r model.Request) (out []string) {
	for _, i := range r.Input {
		out = append(out, asJSON(i))
	}
	return out
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(raw)
}

// prefixes: C21, each request extends the one before it, but for epochs.
func (w *world) prefixes(events []event.Event) {
	w.mu.Lock()
	requests := slices.Clone(w.requested[w.disk])
	w.mu.Unlock()
	for _, v := range contract.Violations(contract.CheckRequests(events, requests)) {
		w.broke(v.Clause, "event %d (%s): %s", v.Seq, v.Kind, v.What)
	}
}
