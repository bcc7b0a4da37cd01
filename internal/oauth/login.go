package oauth

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/terminal"
)

// DefaultLoginTimeout is the default time limit for the person to log in.
const DefaultLoginTimeout = 15 * time.Minute

// Login is a login to a server.
type Login struct {
	// URL is the server's URL, and Headers are sent with every request to the server.
	URL     string
	Headers map[string]string
	// ClientID and ClientSecret identify settle; without an ID, settle registers itself.
	// Scopes replace the scopes that the server requests.
	ClientID, ClientSecret string
	Scopes                 []string
	// RedirectPort is the port of the redirect on 127.0.0.1; 0 lets the kernel choose.
	RedirectPort int
	// Ask sends requests to the server, and Client requests to the addresses in its
	// metadata; see [Guard].
	Ask, Client *http.Client
	// Show shows the link to the person. Pasted delivers addresses from a browser on
	// another machine, and Reject reports why one is wrong.
	Show   func(link string)
	Pasted <-chan string
	Reject func(error)
	// Timeout bounds the wait for the person; 0 means [DefaultLoginTimeout].
	Timeout time.Duration
	// Learn, if set, receives each secret (C15).
	Learn func(secrets ...string)
}

// Login logs in to the server and stores the tokens. It waits for the person until ctx
// ends.
func (s Store) Login(ctx context.Context, l *Login) error {
	if s.dir == "" {
		return errors.New("cannot log in without a data directory to keep the login in")
	}
	demand, err := l.ask(ctx)
	if err != nil {
		return err
	}
	at, err := discover(ctx, l.Client, l.URL, demand)
	if err != nil {
		return err
	}
	back, err := listen(l.RedirectPort)
	if err != nil {
		return err
	}
	defer back.close()
	known, _ := s.Read(l.URL)
	e := Entry{
		URL: l.URL, Resource: at.resource.Resource, Issuer: at.meta.Issuer, TokenURL: at.meta.Token,
		RevokeURL: at.meta.Revoke,
		Scopes:    l.scopes(at, demand, &known),
	}
	if e.Client, err = l.client(ctx, at.meta, back.url(), e.Scopes); err != nil {
		return err
	}
	verifier, state := oauth2.GenerateVerifier(), rand.Text() // the state has 26 characters of 5 bits
	code, err := l.authorize(ctx, back, at.meta, &e, verifier, state)
	if err != nil {
		return err
	}
	if l.Learn != nil {
		l.Learn(code, verifier, e.Client.Secret)
	}
	got, err := requestTokens(ctx, l.Client, &e, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back.url()}, "code_verifier": {verifier},
	})
	if err != nil {
		return fmt.Errorf("the authorization server gave no token: %w", err)
	}
	e.take(got)
	if l.Learn != nil {
		l.Learn(e.Secrets()...)
	}
	return s.change(ctx, l.URL, func(kept *Entry) error { *kept = e; return nil })
}

// ask requests the server's challenge.
func (l *Login) ask(ctx context.Context) (*challenge, error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"settle","version":"login"}}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.URL, strings.NewReader(hello))
	if err != nil {
		return nil, err
	}
	for name, value := range l.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	got, err := egress.SameServer(l.Ask).Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("cannot reach the server: %w", err)
	}
	_ = got.Body.Close() // the body has no information
	return parseChallenge(got.Header["Www-Authenticate"]), nil
}

// scopes returns the scopes that the login requests.
func (l *Login) scopes(at *place, demand *challenge, known *Entry) []string {
	scopes := slices.Clone(l.Scopes)
	if len(scopes) == 0 {
		scopes = slices.Clone(demand.scopes)
		if len(scopes) == 0 {
			scopes = slices.Clone(at.resource.Scopes)
		}
		scopes = append(scopes, known.Scopes...) // scopes whose absence refused calls
	}
	if slices.Contains(at.meta.Scopes, "offline_access") { // required for a refresh token
		scopes = append(scopes, "offline_access")
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

// client returns the configured client, or registers a new one for the address of this
// redirect.
func (l *Login) client(ctx context.Context, meta *metadata, back string, scopes []string) (Client, error) {
	methods := meta.Methods
	method := "client_secret_basic" // default of RFC 8414 without metadata
	if slices.Contains(methods, "client_secret_post") {
		method = "client_secret_post"
	}
	if l.ClientID != "" {
		if l.ClientSecret == "" {
			method = "none"
		}
		return Client{l.ClientID, l.ClientSecret, method}, nil
	}
	if meta.Register == "" {
		return Client{}, errors.New(
			"the authorization server registers no clients; ask its operator for a client id, and set it as oauth.client_id of the server",
		)
	}
	if len(methods) == 0 || slices.Contains(methods, "none") {
		method = "none"
	}
	got, err := register(ctx, l.Client, meta.Register, map[string]any{
		"redirect_uris": []string{back}, "token_endpoint_auth_method": method,
		"grant_types":    []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"}, "client_name": "settle", "scope": strings.Join(scopes, " "),
		"application_type": "native",
	})
	if ctx.Err() != nil {
		return Client{}, context.Cause(ctx)
	}
	if err != nil {
		return Client{}, fmt.Errorf(
			"the authorization server does not register settle (%s); if it gave you a client id, set it as oauth.client_id of the server",
			terminal.Short(err.Error(), 500),
		)
	}
	got.Method = cmp.Or(got.Method, method)
	if got.Secret == "" {
		got.Method = "none"
	}
	return got, nil
}

// register registers a client (RFC 7591).
func register(ctx context.Context, c *http.Client, at string, as map[string]any) (Client, error) {
	raw, err := json.Marshal(as)
	if err != nil {
		return Client{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(raw))
	if err != nil {
		return Client{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	var got Client
	if raw, err = send(c, r); err == nil && (json.Unmarshal(raw, &got) != nil || got.ID == "") {
		err = errors.New("its answer names no client")
	}
	return got, err
}

// authorize shows the link and waits for the redirect with a code.
func (l *Login) authorize(ctx context.Context, back *landing, meta *metadata, e *Entry, verifier,
	state string,
) (string, error) {
	config := oauth2.Config{ClientID: e.Client.ID, RedirectURL: back.url(), Scopes: e.Scopes}
	resource := oauth2.SetAuthURLParam("resource", e.Resource) // RFC 8707
	ours, err := url.Parse(config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), resource))
	if err != nil {
		return "", err
	}
	link, err := url.Parse(meta.Authorize)
	if err != nil {
		return "", errors.New("the authorization server's endpoint is no URL")
	}
	q := link.Query() // the endpoint can have parameters of its own
	maps.Copy(q, ours.Query())
	link.RawQuery = q.Encode()
	timeout := l.Timeout
	if timeout == 0 {
		timeout = DefaultLoginTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout,
		fmt.Errorf("no login within %s", terminal.Duration(timeout)))
	defer cancel()
	arrival := arrivals{state: state, issuer: e.Issuer, issuerSent: meta.IssuerSent}
	back.serve(arrival)
	l.Show(link.String())
	pasted := l.Pasted
	for {
		select {
		case got := <-back.arrived:
			return got.code, got.err
		case text, more := <-pasted:
			if !more {
				pasted = nil // the input has ended, but the browser can still come
				continue
			}
			if strings.TrimSpace(text) == "" {
				continue
			}
			got, ours := arrival.pasted(text)
			if ours {
				return got.code, got.err
			}
			l.Reject(got.err)
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}
