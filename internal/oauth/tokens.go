package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// refreshTimeout bounds a refresh, including the wait for other processes.
const refreshTimeout = 30 * time.Second

// Tokens returns the tokens of servers. It never waits for a person.
type Tokens struct {
	Store Store
	// Client returns the HTTP client for the authorization server of the server with the
	// URL.
	Client func(server string) *http.Client
	// Learn, if set, receives each secret before its first use (C15).
	Learn func(secrets ...string)
}

// LoginError means that a person must log in.
type LoginError struct{ Why string }

func (e *LoginError) Error() string { return "it needs a login: " + e.Why }

// Token returns the token for a server; "" if the store has none. It refreshes a refused or
// expired token; if that is impossible, the error is a [*LoginError].
func (t *Tokens) Token(ctx context.Context, server, refused string) (string, error) {
	e, ok := t.Store.Read(server)
	if !ok || e.Access == "" {
		return "", nil
	}
	if !e.valid(refused) {
		var err error
		if e, err = t.refresh(ctx, server, refused); err != nil {
			return "", err
		}
	}
	t.learn(&e)
	return e.Access, nil
}

func (t *Tokens) learn(e *Entry) {
	if t.Learn != nil {
		t.Learn(e.Secrets()...)
	}
}

// refresh refreshes the token, unless another process has refreshed it in the meantime.
func (t *Tokens) refresh(ctx context.Context, server, refused string) (Entry, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, refreshTimeout, errors.New("the token was not refreshed in time"))
	defer cancel()
	var fresh Entry
	var ended error // not nil if the login has ended
	err := t.Store.change(ctx, server, func(e *Entry) error {
		t.learn(e)
		switch {
		case e.valid(refused):
			fresh = *e
			return nil
		case e.Access == "":
			ended = &LoginError{"it was logged out"}
			return nil
		case e.Refresh == "":
			ended = &LoginError{"the token has expired, and came without one to renew it"}
			e.clear()
			return nil
		}
		got, err := requestTokens(ctx, t.Client(server), e,
			url.Values{"grant_type": {"refresh_token"}, "refresh_token": {e.Refresh}})
		if refusal, ok := errors.AsType[*refusal](err); ok && refusal.final() {
			ended = &LoginError{"the login has ended (" + refusal.Error() + ")"}
			e.clear()
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot renew the token: %w", err)
		}
		e.take(got)
		t.learn(e)
		fresh = *e
		return nil
	})
	if ended != nil {
		err = errors.Join(ended, err)
	}
	return fresh, err
}

// Refused records that a server requires a login, and the scopes of its challenge, which
// the next login requests.
func (t *Tokens) Refused(ctx context.Context, server string, challenge []string) error {
	return t.Store.change(ctx, server, func(e *Entry) error {
		for _, scope := range parseChallenge(challenge).scopes {
			if !slices.Contains(e.Scopes, scope) {
				e.Scopes = append(e.Scopes, scope)
			}
		}
		return nil
	})
}

// Logout deletes the login to a server and revokes its tokens. If the authorization server
// does not answer in time, the error reports that the tokens are not revoked.
func (t *Tokens) Logout(ctx context.Context, server string) (had bool, err error) {
	var old Entry
	if err := t.Store.change(ctx, server, func(e *Entry) error {
		old, *e = *e, Entry{}
		return nil
	}); err != nil || old.Access == "" {
		return false, err
	}
	if old.RevokeURL == "" {
		return true, nil
	}
	token, hint := old.Refresh, "refresh_token"
	if token == "" {
		token, hint = old.Access, "access_token"
	}
	ctx, cancel := context.WithTimeoutCause(ctx, refreshTimeout, errors.New("no answer in time"))
	defer cancel()
	form := url.Values{"token": {token}, "token_type_hint": {hint}}
	if err = post(ctx, t.Client(server), old.RevokeURL, old.Client, form); err != nil {
		err = fmt.Errorf("cannot revoke the token: %w", err)
	}
	return true, err
}
