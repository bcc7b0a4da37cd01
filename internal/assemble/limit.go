package assemble

import (
	"context"

	"github.com/settle-agent/settle/model"
)

// limited is a provider with a bound on concurrent requests. A turn waits for a place
// before its attempt begins, so that the wait is not a stalled stream.
type limited struct {
	model.Provider
	places chan struct{}
}

// limit bounds the provider by the places, which other providers can share; nil for no
// limit.
func limit(p model.Provider, places chan struct{}) model.Provider {
	if places == nil {
		return p
	}
	return &limited{p, places}
}

// Enter implements [model.ConcurrencyLimiter]. The wait ends with the context.
func (l *limited) Enter(ctx context.Context) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case l.places <- struct{}{}:
		return func() { <-l.places }, nil // never blocks: this request holds a place
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// URL implements [model.Locator] if the provider does.
func (l *limited) URL() string {
	if at, ok := l.Provider.(model.Locator); ok {
		return at.URL()
	}
	return ""
}
