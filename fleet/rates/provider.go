package rates

import (
	"context"
	"iter"

	"github.com/settle-agent/settle/model"
)

// Wrap has a provider's requests wait for the key's limits, after its own bound.
func (k *Key) Wrap(p model.Provider) model.Provider { return &provider{Provider: p, key: k} }

// provider is a provider whose requests wait for the key's limits and whose usage is recorded.
type provider struct {
	model.Provider
	key *Key
}

// Enter implements [model.ConcurrencyLimiter].
func (p *provider) Enter(ctx context.Context) (leave func(), err error) {
	leaveLimited := func() {}
	if limited, ok := p.Provider.(model.ConcurrencyLimiter); ok {
		if leaveLimited, err = limited.Enter(ctx); err != nil {
			return nil, err
		}
	}
	leaveKey, err := p.key.Enter(ctx)
	if err != nil {
		leaveLimited()
		return nil, err
	}
	return func() { leaveKey(); leaveLimited() }, nil
}

// Stream implements [model.Provider].
func (p *provider) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	stream := p.Provider.Stream(ctx, r) // here, since the stack of a stream that waits would keep a copy of r
	return func(yield func(model.Chunk, error) bool) {
		var last model.Usage
		defer func() {
			if n := last.Total(); n > 0 {
				p.key.Spend(n)
			}
		}()
		for c, err := range stream {
			if c.Usage != nil {
				last = *c.Usage
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// URL implements [model.Locator] where the provider does.
func (p *provider) URL() string {
	if locator, ok := p.Provider.(model.Locator); ok {
		return locator.URL()
	}
	return ""
}
