package agent

import (
	"encoding/json"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
)

// Shared is what the agents of one face have in common for each key at an
// address: bounds on concurrent requests count for all of them, and a 429 for one
// holds the others back, whichever models they ask. Those that ask the same model
// use connections again. The zero value is ready; nil shares nothing.
type Shared struct {
	mu       sync.Mutex
	accounts map[string]*account
}

// account is what is bounded together: a key at an address.
type account struct {
	limiter *settle.Limiter
	places  chan struct{} // nil without a bound
	models  map[string]model.Provider
}

func newAccount(c config.Choice) *account {
	a := &account{limiter: &settle.Limiter{}, models: map[string]model.Provider{}}
	if most := c.Provider.MaxConcurrent; most > 0 {
		a.places = make(chan struct{}, most)
	}
	return a
}

// provider returns the provider of the choice and its limiter, made on first
// use.
func (s *Shared) provider(c config.Choice, key string, build func() model.Provider) (model.Provider, *settle.Limiter) {
	name, err := json.Marshal([]any{c.Provider, key})
	if s == nil || err != nil {
		return newAccount(c).provider(c.Model, build)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accounts == nil {
		s.accounts = map[string]*account{}
	}
	if s.accounts[string(name)] == nil {
		s.accounts[string(name)] = newAccount(c)
	}
	return s.accounts[string(name)].provider(c.Model, build)
}

func (a *account) provider(name string, build func() model.Provider) (model.Provider, *settle.Limiter) {
	if a.models[name] == nil {
		a.models[name] = limit(build(), a.places)
	}
	return a.models[name], a.limiter
}
