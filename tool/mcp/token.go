package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/settle-agent/settle/internal/oauth"
)

// Tokens returns the tokens of servers over HTTP that require a login. It never waits for a
// person.
type Tokens interface {
	// Token returns the token for the server with the URL; "" if there is none. It never
	// returns a refused token again.
	Token(ctx context.Context, server, refused string) (string, error)
	// Refused records that a server requires a login, with its challenge
	// (WWW-Authenticate).
	Refused(ctx context.Context, server string, challenge []string) error
}

// LoginError: a server requires a login.
type LoginError struct {
	// Server is its name.
	Server string
	// Why is empty before the first login.
	Why string
}

func (e *LoginError) Error() string {
	text := "it needs a login, by the user: settle mcp-servers login " + e.Server
	if e.Why != "" {
		text += " (" + e.Why + ")"
	}
	return text
}

// maxRefusal bounds the bytes of a refusal that are read.
const maxRefusal = 64 << 10

// authorized sends a request with the server's token. A refused request was not executed,
// so that it is sent again with a refreshed token (C5).
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
		if r, err = repeated(r); err != nil {
			return nil, err
		}
		refused = token
	}
}

// refusal returns the reason why a refused request cannot be sent again; nil if it can.
func (s sender) refusal(r *http.Request, answer *http.Response, token, refused string) error {
	_, _ = io.CopyN(io.Discard, answer.Body, maxRefusal) // allows the connection to be reused
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

// repeated returns a copy of a request to send again.
func repeated(r *http.Request) (*http.Request, error) {
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

// needsLogin records and returns the reason why the connection is unusable.
func (c *remote) needsLogin(why error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.login = why
	return why
}
