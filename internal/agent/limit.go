package agent

import (
	"context"
	"iter"

	"github.com/settle-agent/settle/model"
)

// limited is a provider that has at most so many requests under way. Who waits
// for a place does not wait on a stream: the wait ends with the context.
type limited struct {
	model.Provider
	places chan struct{}
}

func limit(p model.Provider, most int) model.Provider {
	if most <= 0 {
		return p
	}
	return &limited{p, make(chan struct{}, most)}
}

// Stream implements [model.Provider].
func (l *limited) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		select {
		case l.places <- struct{}{}:
			defer func() { <-l.places }() // it has one: this does not wait
		case <-ctx.Done():
			yield(model.Chunk{}, context.Cause(ctx))
			return
		}
		l.Provider.Stream(ctx, req)(yield)
	}
}

// URL implements [model.Locator] where the provider does.
func (l *limited) URL() string {
	if at, ok := l.Provider.(model.Locator); ok {
		return at.URL()
	}
	return ""
}
