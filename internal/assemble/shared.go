package assemble

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/transport"
)

// Shared bounds the agents of one frontend together for each key at an address: limits on
// concurrent requests count for all of them, and a 429 for one delays the others, for all
// models. Agents with the same model reuse connections. The zero value is ready; nil shares
// nothing.
type Shared struct {
	// Account, if set, is called for each key at an address before its first use. wrap
	// wraps its providers, for example to bound them together with other processes. Account
	// must not send requests to other processes.
	Account func(Account) (wrap func(model.Provider) model.Provider)

	mu       sync.Mutex
	accounts map[string]*account
}

// Account is a key at an address, in a form that other processes can know.
type Account struct {
	// Provider is the provider's name, and ID is a hash of name, address and key (C15).
	Provider, ID string
	Limiter      *model.Limiter
}

// account is a key at an address with its shared limits.
type account struct {
	key     *key
	limiter *model.Limiter
	places  chan struct{} // nil for no limit
	wrap    func(model.Provider) model.Provider

	mu     sync.Mutex // guards models
	models map[string]*sharedModel
}

// sharedModel is a model of an account.
type sharedModel struct {
	provider model.Provider
	endpoint transport.Endpoint
}

func newAccount(c config.Choice, k *key) *account {
	a := &account{key: k, limiter: &model.Limiter{}, models: map[string]*sharedModel{}}
	if maximum := c.Provider.MaxConcurrent; maximum > 0 {
		a.places = make(chan struct{}, maximum)
	}
	return a
}

// account returns the account of the choice, made on first use. A key from a command is
// identified by the command, because the key changes.
func (s *Shared) account(c config.Choice, k *key) *account {
	id := []any{c.Provider, k.value}
	if k.fetch != nil {
		id = []any{c.Provider}
	}
	name, err := json.Marshal(id)
	if s == nil || err != nil {
		return newAccount(c, k)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accounts == nil {
		s.accounts = map[string]*account{}
	}
	a := s.accounts[string(name)]
	if a == nil {
		a = newAccount(c, k)
		if s.Account != nil {
			a.wrap = s.Account(Account{Provider: c.Provider.Name, ID: accountID(c, k), Limiter: a.limiter})
		}
		s.accounts[string(name)] = a
	} else if k.fetch != nil {
		a.key.set(k.value) // this key is newer
	}
	return a
}

// accountID is the same in every process that uses the key at the address.
func accountID(c config.Choice, k *key) string {
	value := k.value
	if k.fetch != nil {
		value = ""
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{c.Provider.Name, c.Provider.BaseURL, value}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// model returns a model's provider and endpoint, made on first use.
func (a *account) model(name string, build func() (model.Provider, transport.Endpoint)) *sharedModel {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.models[name] == nil {
		p, endpoint := build()
		p = limit(p, a.places)
		if a.wrap != nil {
			p = a.wrap(p)
		}
		a.models[name] = &sharedModel{p, endpoint}
	}
	return a.models[name]
}
