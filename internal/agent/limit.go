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

// limit has the provider use the places, which others may use as well; nil is no
// bound.
func limit(p model.Provider, places chan struct{}) model.Provider {
	if places == nil {
		return p
	}
	return &limited{p, places}
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
