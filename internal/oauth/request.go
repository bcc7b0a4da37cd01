package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/printable"
)

// maxAnswer bounds an answer of an authorization server, in bytes.
const maxAnswer = 1 << 20

// refusal is an error of an authorization server (RFC 6749, section 5.2).
type refusal struct {
	status      int
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

func (r *refusal) Error() string {
	text := cmp.Or(printable.Short(r.Code, 80), fmt.Sprintf("status %d", r.status))
	if r.Description != "" {
		text += ": " + printable.Short(r.Description, 300)
	}
	return text
}

// final reports whether asking again is of no use.
func (r *refusal) final() bool {
	switch r.Code {
	case "invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope":
		return true
	}
	return false
}

// answer is what a token endpoint gives (RFC 6749, section 5.1).
type answer struct {
	Access    string      `json:"access_token"`
	Type      string      `json:"token_type"`
	Refresh   string      `json:"refresh_token"`
	Scope     string      `json:"scope"`
	ExpiresIn json.Number `json:"expires_in"` // some send a string
}

// requestTokens asks the entry's token endpoint.
func requestTokens(ctx context.Context, c *http.Client, e *Entry, form map[string]string) (answer, error) {
	form["resource"] = e.Resource // RFC 8707
	raw, err := post(ctx, c, e.TokenURL, e.Client, form)
	if err != nil {
		return answer{}, err
	}
	var got answer
	if err := json.Unmarshal(raw, &got); err != nil {
		return answer{}, errors.New("the authorization server's answer is not the JSON that was asked for")
	}
	if got.Access == "" || !strings.EqualFold(cmp.Or(got.Type, "bearer"), "bearer") || strings.ContainsFunc(got.Access, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return answer{}, errors.New("the authorization server gave no bearer token")
	}
	return got, nil
}

// take keeps the tokens. One that renews them stays where no other came.
func (e *Entry) take(got answer) {
	e.Access, e.Refresh = got.Access, cmp.Or(got.Refresh, e.Refresh)
	e.Expires = time.Time{}
	if n, err := got.ExpiresIn.Int64(); err == nil && n > 0 && n < int64(1<<33) {
		e.Expires = time.Now().Add(time.Duration(n) * time.Second).UTC()
	}
	if got.Scope != "" {
		e.Scopes = strings.Fields(got.Scope)
	}
}

// post posts a form as the client. What the server refuses is a [*refusal].
func post(ctx context.Context, c *http.Client, to string, as Client, form map[string]string) ([]byte, error) {
	values := url.Values{}
	for name, value := range form {
		values.Set(name, value)
	}
	if as.Method != "client_secret_basic" {
		values.Set("client_id", as.ID)
	}
	if as.Method == "client_secret_post" {
		values.Set("client_secret", as.Secret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(values.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if as.Method == "client_secret_basic" { // RFC 6749, section 2.3.1
		r.SetBasicAuth(url.QueryEscape(as.ID), url.QueryEscape(as.Secret))
	}
	return send(c, r)
}

// send sends a request, and returns the body of a good answer. Redirects to another
// server are not followed: a form has secrets in it.
func send(c *http.Client, r *http.Request) ([]byte, error) {
	if r.Header.Get("Accept") == "" {
		r.Header.Set("Accept", "application/json")
	}
	got, err := egress.SameServer(c).Do(r)
	if err != nil {
		if r.Context().Err() != nil {
			return nil, context.Cause(r.Context())
		}
		return nil, err
	}
	defer func() { _ = got.Body.Close() }() // it was only read
	raw, err := io.ReadAll(io.LimitReader(got.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("cannot read the authorization server's answer: %w", err)
	}
	if got.StatusCode/100 == 2 {
		return raw, nil
	}
	said := &refusal{status: got.StatusCode}
	_ = json.Unmarshal(raw, said) // what is no JSON says no more than its status
	return nil, said
}
