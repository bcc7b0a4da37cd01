package assemble

import (
	"context"
	"sync"
	"time"
	"weak"

	"github.com/settle-agent/settle/internal/redact"
)

// renewDelay is for how long a key_command is not run again that printed the
// same key as before.
const renewDelay = time.Minute

// key is a provider's key, of all agents that share an account. What a
// key_command prints expires: it is run once more when the key is refused.
type key struct {
	// fetch runs the key_command; nil where there is none.
	fetch func(context.Context) (string, error)
	token chan struct{} // holds one while nobody fetches

	mu        sync.Mutex // guards what follows
	value     string
	vain      time.Time // when fetch printed the key that was refused
	redactors []weak.Pointer[redact.Redactor]
}

func newKey(value string, fetch func(context.Context) (string, error)) *key {
	k := &key{fetch: fetch, value: value, token: make(chan struct{}, 1)}
	k.token <- struct{}{} // never blocks: there is room for it
	return k
}

// get is a [transport.Endpoint]'s Key.
func (k *key) get(context.Context) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.value, nil
}

// masked has the redactor mask the key and those that come after it, for as
// long as somebody uses the redactor.
func (k *key) masked(r *redact.Redactor) {
	k.mu.Lock()
	defer k.mu.Unlock()
	live := k.redactors[:0]
	for _, p := range k.redactors {
		if p.Value() != nil {
			live = append(live, p)
		}
	}
	k.redactors = append(live, weak.Make(r))
	r.Add(k.value)
}

// set replaces the key, which is masked first (C15), and reports whether it was
// another one.
func (k *key) set(value string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.redactors {
		if r := p.Value(); r != nil {
			r.Add(value)
		}
	}
	changed := k.value != value
	k.value = value
	return changed
}

// renew is a [transport.Endpoint]'s Renew. Of the sessions whose requests were
// refused together, one runs the command and the others use what it printed.
func (k *key) renew(ctx context.Context, refused string) (bool, error) {
	select {
	case <-k.token:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	defer func() { k.token <- struct{}{} }() // never blocks: the token was taken
	k.mu.Lock()
	other, wait := k.value != refused, time.Since(k.vain) < renewDelay
	k.mu.Unlock()
	if other || wait {
		return other, nil
	}
	value, err := k.fetch(ctx)
	if err != nil {
		return false, err
	}
	if !k.set(value) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.vain = time.Now()
		return false, nil
	}
	return true, nil
}
