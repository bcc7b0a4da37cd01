package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/settle-agent/settle/internal/oauth"
)

// Tokens gives the tokens of servers over HTTP that ask for a login. It never waits
// for a person.
type Tokens interface {
	// Token returns the token for the server with the URL; "" if none is kept. One
	// that was refused is not returned again.
	Token(ctx context.Context, server, refused string) (string, error)
	// Refused notes that a server asks for a login, with its challenge
	// (WWW-Authenticate).
	Refused(ctx context.Context, server string, challenge []string) error
}

// LoginError says that a server needs a login.
type LoginError struct {
	// Server is its name.
	Server string
	// Why is empty if nobody has logged in so far.
	Why string
}

func (e *LoginError) Error() string {
	text := "it needs a login, by the user: settle mcp-servers login " + e.Server
	if e.Why != "" {
		text += " (" + e.Why + ")"
	}
	return text
}

// maxRefusal bounds what is read of an answer that refuses, in bytes.
const maxRefusal = 64 << 10

// authorized sends a request with the server's token. One that is refused was not
// done, so it is sent again with a token that was renewed meanwhile (C5).
func (s sender) authorized(r *http.Request) (*http.Response, error) {
	if s.tokens == nil || s.headers.Get("Authorization") != "" {
		return s.connection.base.RoundTrip(r)
	}
	for refused := ""; ; {
		token, err := s.tokens.Token(r.Context(), s.server.URL, refused)
		if login, ok := errors.AsType[*oauth.LoginError](err); ok {
			return nil, s.connection.needsLogin(&LoginError{s.server.Name, login.Why})
		}
		if err != nil {
			return nil, err
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := s.connection.base.RoundTrip(r)
		if err != nil || answer.StatusCode != http.StatusUnauthorized && !oauth.NeedsScope(answer) {
			return answer, err
		}
		if why := s.refusal(r, answer, token, refused); why != nil {
			return nil, why
		}
		if r, err = anew(r); err != nil {
			return nil, err
		}
		refused = token
	}
}

// refusal says why a request that was refused is of no use any more; nil if it can be
// sent once more.
func (s sender) refusal(r *http.Request, answer *http.Response, token, refused string) error {
	_, _ = io.CopyN(io.Discard, answer.Body, maxRefusal) // so that the connection can be used again
	_ = answer.Body.Close()
	login := &LoginError{Server: s.server.Name}
	switch {
	case answer.StatusCode == http.StatusForbidden:
		login.Why = "what it was asked for needs more rights than the login has"
	case token != "" && refused == "":
		return nil
	case token != "":
		login.Why = "it refuses the token, which was renewed just now"
	}
	if err := s.tokens.Refused(r.Context(), s.server.URL, answer.Header["Www-Authenticate"]); err != nil {
		return s.connection.needsLogin(fmt.Errorf("%w; %w", login, err))
	}
	return s.connection.needsLogin(login)
}

// anew is a request to be sent once more.
func anew(r *http.Request) (*http.Request, error) {
	r = r.Clone(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return r, nil
	}
	if r.GetBody == nil {
		return nil, errors.New("a request cannot be sent again")
	}
	var err error
	r.Body, err = r.GetBody()
	return r, err
}

// needsLogin notes why the connection is of no use, and returns it.
func (c *remote) needsLogin(why error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.login = why
	return why
}
