package agent

import (
	"encoding/json"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
)

// Shared is what the agents of one face have in common: one provider for each
// key at an address, so that connections are used again, bounds on concurrent
// requests count for all, and a 429 for one holds the others back. The zero
// value is ready; nil shares nothing.
type Shared struct {
	mu    sync.Mutex
	known map[string]shared
}

type shared struct {
	provider model.Provider
	limiter  *settle.Limiter
}

// provider returns the provider of the choice and its limiter, made on first
// use.
func (s *Shared) provider(c config.Choice, key string, build func() model.Provider) (model.Provider, *settle.Limiter) {
	if s == nil {
		return build(), &settle.Limiter{}
	}
	name, err := json.Marshal([]any{c.Provider, c.Model, key})
	if err != nil {
		return build(), &settle.Limiter{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.known[string(name)]; ok {
		return found.provider, found.limiter
	}
	if s.known == nil {
		s.known = map[string]shared{}
	}
	made := shared{build(), &settle.Limiter{}}
	s.known[string(name)] = made
	return made.provider, made.limiter
}
