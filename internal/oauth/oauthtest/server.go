// Package oauthtest is an authorization server with a resource, for tests. It is as strict
// as its RFCs and can fail in the ways that real servers fail.
package oauthtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Server is the authorization server, and the resource at /mcp.
type Server struct {
	*httptest.Server

	t *testing.T

	mu       sync.Mutex   // guards the fields below
	handler  http.Handler // of the resource
	options  Options
	clients  map[string]client
	codes    map[string]grant // codes that no client has used yet
	used     map[string]grant
	tokens   map[string]bool // accepted tokens
	refresh  map[string]grant
	counts   map[string]int
	problems []string
}

// Options configure the server's behaviour.
type Options struct {
	// Issuer is the issuer in the metadata, if it is wrong; AuthServer and Resource are the
	// authorization server and the resource in the resource's metadata.
	Issuer, AuthServer, Resource string
	// Endpoint and Authorize, if set, replace the token endpoint and the authorization
	// endpoint in the metadata.
	Endpoint, Authorize string
	// NoChallenge omits the address of the metadata, OpenID serves it at OpenID's path, and
	// with Legacy the resource has no metadata.
	NoChallenge, OpenID, Legacy bool
	// NoPKCE omits S256 from the metadata; NoRegistration refuses registrations, and Known
	// is a client that is already registered, with its secret.
	NoPKCE, NoRegistration bool
	Known                  map[string]string
	// Deny refuses consent. ForeignIssuer returns another issuer with the redirect.
	Deny, ForeignIssuer bool
	// NoRefresh issues no refresh tokens; ExpiresIn is the lifetime of tokens in seconds.
	NoRefresh bool
	ExpiresIn int
	// Scope is the scope that the resource requires.
	Scope string
	// Form answers token requests with a form, and refuses them with status 200, as GitHub
	// does.
	Form bool
	// Registered is added to the answer to a registration.
	Registered map[string]any
}

type client struct {
	secret    string
	redirects []string
}

type grant struct{ client, redirect, challenge, resource, scope string }

// New starts a server that ends with the test.
func New(t *testing.T, o Options) *Server {
	t.Helper()
	s := &Server{
		t: t, options: o, clients: map[string]client{}, codes: map[string]grant{}, used: map[string]grant{},
		tokens:  map[string]bool{},
		refresh: map[string]grant{}, counts: map[string]int{},
	}
	for id, secret := range o.Known {
		s.clients[id] = client{secret: secret}
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve)) // the handler reads the field
	s.Start()
	t.Cleanup(func() {
		s.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, p := range s.problems {
			t.Error(p)
		}
	})
	return s
}

// Handle sets the handler of the resource, which serves requests with a token.
func (s *Server) Handle(h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = h
}

// Resource is the URL of the resource.
func (s *Server) Resource() string { return s.URL + "/mcp" }

// Count returns the number of requests of a kind: refresh, register, revoke, token.
func (s *Server) Count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[what]
}

// Change changes the options.
func (s *Server) Change(change func(*Options)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.options)
}

// Expire refuses all access tokens, and with all also all refresh tokens.
func (s *Server) Expire(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
	if all {
		clear(s.refresh)
	}
}

// Visit opens the link like a browser and returns the address of the redirect.
func (s *Server) Visit(link string) (back string) {
	c := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	got, err := c.Get(link)
	if err != nil {
		s.t.Errorf("cannot open the link: %v", err)
		return ""
	}
	_ = got.Body.Close()
	if back = got.Header.Get("Location"); back == "" {
		s.t.Errorf("the link leads nowhere: %s", got.Status)
	}
	return back
}

// Follow requests the address of a redirect like a browser.
func (s *Server) Follow(back string) (status int) {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	got, err := c.Get(back)
	if err != nil {
		s.t.Errorf("cannot go back: %v", err)
		return 0
	}
	_ = got.Body.Close()
	return got.StatusCode
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	o := s.options
	s.mu.Unlock()
	metadata := "/.well-known/oauth-authorization-server"
	if o.OpenID {
		metadata = "/.well-known/openid-configuration"
	}
	switch r.URL.Path {
	case "/mcp":
		s.resource(w, r, o)
	case "/.well-known/oauth-protected-resource/mcp":
		if o.Legacy {
			http.NotFound(w, r)
			return
		}
		answer(w, 200, map[string]any{
			"resource":              or(o.Resource, s.Resource()),
			"authorization_servers": []string{or(o.AuthServer, s.URL)}, "scopes_supported": []string{"default"},
		})
	case metadata:
		s.metadata(w, o)
	case "/register":
		s.register(w, r, o)
	case "/authorize":
		s.authorize(w, r, o)
	case "/token":
		s.token(w, r, o)
	case "/revoke":
		s.revoke(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) resource(w http.ResponseWriter, r *http.Request, o Options) {
	s.mu.Lock()
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	ok, handler := s.tokens[token], s.handler
	s.mu.Unlock()
	if ok && handler != nil {
		handler.ServeHTTP(w, r)
		return
	}
	challenge := "Bearer"
	if !o.NoChallenge && !o.Legacy {
		challenge += fmt.Sprintf(` resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, s.URL)
		if o.Scope != "" {
			challenge += fmt.Sprintf(`, scope="%s"`, o.Scope)
		}
	}
	w.Header().Set("WWW-Authenticate", challenge)
	http.Error(w, "log in first", http.StatusUnauthorized)
}

func (s *Server) metadata(w http.ResponseWriter, o Options) {
	m := map[string]any{
		"issuer": or(o.Issuer, s.URL), "authorization_endpoint": or(o.Authorize, s.URL+"/authorize?tenant=1"),
		"token_endpoint":      or(o.Endpoint, s.URL+"/token"),
		"revocation_endpoint": s.URL + "/revoke", "response_types_supported": []string{"code"},
		"scopes_supported":                               []string{"a", "b", "offline_access"},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic"},
		"authorization_response_iss_parameter_supported": true,
	}
	if !o.NoPKCE {
		m["code_challenge_methods_supported"] = []string{"S256"}
	}
	if len(o.Known) == 0 {
		m["registration_endpoint"] = s.URL + "/register"
	}
	answer(w, 200, m)
}

func (s *Server) register(w http.ResponseWriter, r *http.Request, o Options) {
	var refusals struct {
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
	}
	if json.NewDecoder(r.Body).Decode(&refusals) != nil || len(refusals.Redirects) != 1 ||
		refusals.Method != "none" || o.NoRegistration {
		answer(w, 400, map[string]any{"error": "invalid_client_metadata", "error_description": "not you"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["register"]++
	id := "client-" + rand.Text()
	s.clients[id] = client{redirects: refusals.Redirects}
	got := map[string]any{"client_id": id, "redirect_uris": refusals.Redirects, "token_endpoint_auth_method": "none"}
	maps.Copy(got, o.Registered)
	answer(w, 201, got)
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request, o Options) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.clients[q.Get("client_id")]
	redirect, err := url.Parse(q.Get("redirect_uri"))
	switch {
	case !known, err != nil, redirect.Scheme != "http", redirect.Hostname() != "127.0.0.1", c.redirects != nil &&
		!slices.Contains(c.redirects, q.Get("redirect_uri")):
		s.problem(w, "the client or its redirect URI is not known: %v", q)
		return
	case q.Get("response_type") != "code", q.Get("code_challenge_method") != "S256",
		len(q.Get("code_challenge")) != 43, len(q.Get("state")) < 22, q.Get("resource") != s.Resource(),
		q.Get("tenant") != "1":
		s.problem(w, "the request is not complete: %v", q)
		return
	}
	issuer := s.URL
	if o.ForeignIssuer {
		issuer = "https://other.example"
	}
	back := url.Values{"state": {q.Get("state")}, "iss": {issuer}}
	if o.Deny {
		back.Set("error", "access_denied")
		back.Set("error_description", "the user said no")
	} else {
		code := rand.Text()
		s.codes[code] = grant{
			q.Get("client_id"), q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("resource"),
			q.Get("scope"),
		}
		back.Set("code", code)
	}
	redirect.RawQuery = back.Encode()
	http.Redirect(w, r, redirect.String(), http.StatusFound)
}

// problem records a client's violation and refuses the request.
func (s *Server) problem(w http.ResponseWriter, format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
	answer(w, 400, map[string]any{"error": "invalid_request"})
}

func (s *Server) token(w http.ResponseWriter, r *http.Request, o Options) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["token"]++
	answer := answer
	if o.Form {
		answer = answerForm
	}
	id, ok := s.identify(r)
	if !ok {
		answer(w, 401, map[string]any{"error": "invalid_client"})
		return
	}
	var g grant
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		code := r.PostForm.Get("code")
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if g, ok = s.codes[code]; ok {
			delete(s.codes, code) // each code works once
		}
		ok = ok && g.redirect == r.PostForm.Get("redirect_uri") &&
			g.challenge == base64.RawURLEncoding.EncodeToString(sum[:])
	case "refresh_token":
		s.counts["refresh"]++
		token := r.PostForm.Get("refresh_token")
		g, ok = s.refresh[token]
		delete(s.refresh, token) // refresh tokens rotate
	default:
		ok = false
	}
	if !ok || g.client != id || g.resource != r.PostForm.Get("resource") {
		answer(w, 400, map[string]any{"error": "invalid_grant", "error_description": "it has expired"})
		return
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	s.tokens[access] = true
	got := map[string]any{"access_token": access, "token_type": "Bearer", "scope": g.scope}
	if !o.NoRefresh {
		s.refresh[refresh] = g
		got["refresh_token"] = refresh
	}
	if o.ExpiresIn != 0 {
		got["expires_in"] = o.ExpiresIn
	}
	answer(w, 200, got)
}

// identify returns the id of the client that sent the request.
func (s *Server) identify(r *http.Request) (id string, ok bool) {
	if r.ParseForm() != nil || r.Method != http.MethodPost {
		return "", false
	}
	id, secret, basic := r.BasicAuth()
	if !basic {
		id = r.PostForm.Get("client_id")
	} else { // RFC 6749, section 2.3.1
		var bad error
		if id, bad = url.QueryUnescape(id); bad == nil {
			secret, bad = url.QueryUnescape(secret)
		}
		if bad != nil {
			return "", false
		}
	}
	c, known := s.clients[id]
	return id, known && c.secret == secret
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.identify(r); !ok {
		answer(w, 401, map[string]any{"error": "invalid_client"})
		return
	}
	s.counts["revoke"]++
	delete(s.refresh, r.PostForm.Get("token"))
	clear(s.tokens)
	w.WriteHeader(http.StatusOK)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// answerForm answers like servers older than RFC 6749.
func answerForm(w http.ResponseWriter, _ int, v any) {
	form := url.Values{}
	for name, value := range v.(map[string]any) {
		form.Set(name, fmt.Sprint(value))
	}
	w.Header().Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	_, _ = io.WriteString(w, form.Encode())
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
