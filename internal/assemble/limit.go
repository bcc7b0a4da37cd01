package assemble

import (
	"context"

	"github.com/settle-agent/settle/model"
)

// limited is a provider that has at most so many requests under way. Who waits
// for a place does not wait on a stream: a turn enters before its attempt
// begins.
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

// Enter implements [model.Gate]. The wait ends with the context.
func (l *limited) Enter(ctx context.Context) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case l.places <- struct{}{}:
		return func() { <-l.places }, nil // it has one: this does not wait
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// URL implements [model.Locator] where the provider does.
func (l *limited) URL() string {
	if at, ok := l.Provider.(model.Locator); ok {
		return at.URL()
	}
	return ""
}
