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

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/terminal"
)

// maxAnswer bounds the answer of an authorization server in bytes.
const maxAnswer = 1 << 20

// refusal is an error response of an authorization server (RFC 6749, section 5.2).
type refusal struct {
	status      int
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

func (r *refusal) Error() string {
	text := cmp.Or(terminal.Short(r.Code, 80), fmt.Sprintf("status %d", r.status))
	if r.Description != "" {
		text += ": " + terminal.Short(r.Description, 300)
	}
	return text
}

// final reports whether a retry is useless.
func (r *refusal) final() bool {
	switch r.Code {
	case "invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope":
		return true
	}
	return false
}

// requestTokens requests tokens from the entry's token endpoint. Package oauth2 cannot
// name the resource (RFC 8707) when it refreshes a token; its client credentials grant
// takes any parameters, also another type of grant.
func requestTokens(ctx context.Context, c *http.Client, e *Entry, form url.Values) (*oauth2.Token, error) {
	form.Set("resource", e.Resource)
	config := clientcredentials.Config{
		ClientID: e.Client.ID, TokenURL: e.TokenURL, EndpointParams: form, AuthStyle: oauth2.AuthStyleInParams,
	}
	switch e.Client.Method {
	case "client_secret_basic":
		config.AuthStyle, config.ClientSecret = oauth2.AuthStyleInHeader, e.Client.Secret
	case "client_secret_post":
		config.ClientSecret = e.Client.Secret
	}
	got, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, egress.SameServer(c)))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return nil, &refusal{refused.Response.StatusCode, refused.ErrorCode, refused.ErrorDescription}
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	isText := !strings.ContainsFunc(got.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' })
	if !isText || !strings.EqualFold(got.Type(), "bearer") {
		return nil, errors.New("the authorization server gave no bearer token")
	}
	return got, nil
}

// take stores the tokens in the entry.
func (e *Entry) take(got *oauth2.Token) {
	e.Access, e.Refresh = got.AccessToken, cmp.Or(got.RefreshToken, e.Refresh)
	e.Expires = time.Time{}
	if got.Expiry.After(time.Now()) {
		e.Expires = got.Expiry.UTC()
	}
	if scope, _ := got.Extra("scope").(string); scope != "" {
		e.Scopes = strings.Fields(scope)
	}
}

// post posts a form as the client. If the server refuses, the error is a [*refusal].
func post(ctx context.Context, c *http.Client, to string, as Client, form url.Values) error {
	if as.Method != "client_secret_basic" {
		form.Set("client_id", as.ID)
	}
	if as.Method == "client_secret_post" {
		form.Set("client_secret", as.Secret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if as.Method == "client_secret_basic" { // RFC 6749, section 2.3.1
		r.SetBasicAuth(url.QueryEscape(as.ID), url.QueryEscape(as.Secret))
	}
	_, err = send(c, r)
	return err
}

// send sends a request and returns the body of a successful answer. It follows no redirect
// to another server, because the form contains secrets.
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
	defer func() { _ = got.Body.Close() }() // the body was only read
	raw, err := io.ReadAll(io.LimitReader(got.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("cannot read the authorization server's answer: %w", err)
	}
	if got.StatusCode/100 == 2 {
		return raw, nil
	}
	refused := &refusal{status: got.StatusCode}
	_ = json.Unmarshal(raw, refused) // the status is the only information in a body that is not JSON
	return nil, refused
}
