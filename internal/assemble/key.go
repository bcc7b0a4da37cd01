package assemble

import (
	"context"
	"sync"
	"time"
	"weak"

	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/model/transport/sigv4"
)

// renewDelay is the minimum delay before a key_command runs again after it printed the same
// key.
const renewDelay = time.Minute

// expiryGrace is the time before the expiry of AWS credentials at which a key_command runs again.
// The programs of AWS print new ones some minutes before.
const expiryGrace = time.Minute

// key is a provider's key for all agents that share an account. The output of a key_command
// expires: settle runs it once more when the provider refuses the key, and before AWS credentials
// expire that say when.
type key struct {
	// fetch runs the key_command; nil for none.
	fetch func(context.Context) (string, error)
	token chan struct{} // holds one token while no goroutine fetches

	mu        sync.Mutex // guards the fields below
	value     string
	expires   time.Time // zero if unknown
	vain      time.Time // time of the last fetch that returned the refused key
	redactors []weak.Pointer[redact.Redactor]
}

func newKey(value string, fetch func(context.Context) (string, error)) *key {
	k := &key{fetch: fetch, value: value, expires: sigv4.Expiration(value), token: make(chan struct{}, 1)}
	k.token <- struct{}{} // never blocks: the buffer has room
	return k
}

// get is the Key of a [transport.Endpoint]. If the key cannot be renewed, get returns the old one:
// the provider decides.
func (k *key) get(ctx context.Context) (string, error) {
	value, expires := k.current()
	if k.fetch == nil || expires.IsZero() || time.Until(expires) > expiryGrace {
		return value, nil
	}
	if _, err := k.renew(ctx, value); err != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	value, _ = k.current()
	return value, nil
}

// current returns the key and the time at which it expires, which is zero if it is unknown.
func (k *key) current() (value string, expires time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.value, k.expires
}

// masked makes the redactor mask the key and all later keys while the redactor is in use.
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
	mask(r, k.value)
}

// mask adds a key, and the secrets within AWS credentials.
func mask(r *redact.Redactor, key string) {
	r.Add(key)
	for _, secret := range sigv4.Secrets(key) {
		if secret != "" {
			r.Add(secret)
		}
	}
}

// set replaces the key, after it is masked (C15), and reports whether the key changed.
func (k *key) set(value string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.redactors {
		if r := p.Value(); r != nil {
			mask(r, value)
		}
	}
	changed := k.value != value
	k.value, k.expires = value, sigv4.Expiration(value)
	return changed
}

// renew is the Renew of a [transport.Endpoint]. If several sessions' requests are refused
// together, one session runs the command and all use its output.
func (k *key) renew(ctx context.Context, refused string) (bool, error) {
	select {
	case <-k.token:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	defer func() { k.token <- struct{}{} }() // never blocks: this goroutine holds the token
	k.mu.Lock()
	changed, wait := k.value != refused, time.Since(k.vain) < renewDelay
	k.mu.Unlock()
	if changed || wait {
		return changed, nil
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
