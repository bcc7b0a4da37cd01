package transport

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/model"
)

// Endpoint is the address of a provider and the credentials for it.
type Endpoint struct {
	// BaseURL is the URL to which paths are appended. A query in it is kept.
	BaseURL string
	// Key returns the provider's key; each request calls it. nil or "" sends no key.
	Key func(context.Context) (string, error)
	// Auth is the way to send a key; "" leaves it to the wire format.
	Auth Auth
	// Sign, if set, signs each request with the key instead of sending it.
	Sign func(req *http.Request, body []byte, key string) error
	// RenewForbidden reports that the server refuses an expired key with a 403, as AWS does.
	RenewForbidden bool
	// Renew, if set, is called with a key that was refused (401), and reports whether Key returns a
	// new key now.
	Renew func(ctx context.Context, refused string) (bool, error)
	// Header and Query are added to each request; a header replaces one that
	// the provider would set.
	Header http.Header
	Query  url.Values
	// Extra is merged into each request's body: its members replace settle's, and a null removes a
	// member.
	Extra map[string]any
	// Client sends the requests; nil means NewClient(Config{}).
	Client *http.Client
	// AuthHint is the advice after a refused key, such as "set OPENAI_API_KEY".
	AuthHint string
	// Now is the clock for dates in answers; nil means time.Now.
	Now func() time.Time
}

// Auth is the way to send a key.
type Auth string

// The ways to send a key.
const (
	AuthBearer Auth = "bearer"  // Authorization: Bearer KEY
	AuthAPIKey Auth = "api-key" // api-key: KEY, as Azure has it
)

// authorize puts the key into the headers of a request.
func (e *Endpoint) authorize(req *http.Request, r *Request, key string) error {
	switch {
	case e.Sign != nil:
		return e.Sign(req, r.Body, key)
	case key == "":
	case e.Auth == AuthAPIKey:
		req.Header.Set("Api-Key", key)
	case e.Auth == "" && r.Authorize != nil:
		r.Authorize(req.Header, key)
	default:
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return nil
}

// StaticKey returns a key that does not change.
func StaticKey(key string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return key, nil }
}

// Prepared returns e with a client that keeps keys from other servers: it follows
// redirects by [egress.SameServer]. Providers call it once.
func (e Endpoint) Prepared() Endpoint {
	client := e.Client
	if client == nil {
		client = NewClient(Config{})
	}
	e.Client = egress.SameServer(client)
	if e.Now == nil {
		e.Now = time.Now
	}
	return e
}

// Host returns the base URL's host without its port, in lower case.
func (e *Endpoint) Host() string {
	u, err := url.Parse(e.BaseURL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// Request is one request to an endpoint.
type Request struct {
	Path string // appended to the base URL, begins with "/"
	// Body is the JSON to post; without one the request is a GET.
	Body   []byte
	Header http.Header
	// Authorize puts the key into the header; without it the key is a bearer
	// token.
	Authorize func(h http.Header, key string)
	// Accept is the media type that the answer must have.
	Accept string
	// Activity is called when the headers arrive and for each read.
	Activity func()
	// Secret, if set, is called with the key before it is sent.
	Secret func(key string)
}

// do sends r and returns the answer, which has status 200 and the right type. The caller
// closes the body.
func (e *Endpoint) do(ctx context.Context, r *Request) (*http.Response, error) {
	key, err := e.key(ctx, r)
	if err != nil {
		return nil, err
	}
	req, body, err := e.request(ctx, r, key)
	if err != nil {
		return nil, err
	}
	resp, err := e.Client.Do(req)
	body.answer()
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, e.connectionError(req.URL, err)
	}
	if r.Activity != nil {
		r.Activity()
	}
	resp.Body = activeBody{resp.Body, r.Activity}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, e.renew(ctx, key, e.statusError(ctx, req.URL, resp))
	}
	if err := e.checkType(ctx, req.URL, resp, r.Accept); err != nil {
		resp.Body.Close()
		return nil, err
	}
	if resp.Header.Get("Content-Encoding") == "gzip" {
		resp.Body = &gzipBody{raw: resp.Body}
	}
	return resp, nil
}

// key returns the provider's key, after it has announced the key as a secret.
func (e *Endpoint) key(ctx context.Context, r *Request) (string, error) {
	if e.Key == nil {
		return "", nil
	}
	key, err := e.Key(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		fault := model.NewError(model.ErrAuth, "cannot get the provider's key: %w", err)
		fault.URL, fault.Hint = e.URL(r.Path), e.AuthHint
		return "", fault
	case key != "" && r.Secret != nil:
		r.Secret(key) // C15
	}
	return key, nil
}

// renew requests another key if the error means that this one was refused. Keys that a command
// prints expire.
func (e *Endpoint) renew(ctx context.Context, key string, err error) error {
	var fault *model.Error
	if e.Renew == nil || key == "" || !errors.As(err, &fault) || !e.refusesKey(fault.Status) {
		return err
	}
	renewed, failed := e.Renew(ctx, key)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case failed != nil:
		fault.Hint = fmt.Sprintf("no other key is available: %v", failed)
	}
	fault.Renewed = renewed && failed == nil
	return fault
}

// refusesKey reports whether a status can mean an expired key.
func (e *Endpoint) refusesKey(status int) bool {
	return status == http.StatusUnauthorized || e.RenewForbidden && status == http.StatusForbidden
}

// request makes r a request with the key, and returns the body that it sends.
func (e *Endpoint) request(ctx context.Context, r *Request, key string) (*http.Request, *payload, error) {
	u, err := e.url(r.Path)
	if err != nil {
		return nil, nil, err
	}
	method := http.MethodGet
	if r.Body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, nil, invalid(u, "cannot make a request: %w", err)
	}
	body := &payload{data: r.Body}
	if r.Body != nil {
		body.attach(req)
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", r.Accept)
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "settle")
	maps.Copy(req.Header, r.Header)
	if e.Sign == nil {
		err = e.authorize(req, r, key)
	}
	for name, values := range e.Header {
		req.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	if e.Sign != nil { // the signature covers all headers
		err = e.authorize(req, r, key)
	}
	if err != nil {
		fault := model.NewError(model.ErrAuth, "cannot sign the request: %w", err)
		fault.URL, fault.Hint = publicURL(u), e.AuthHint
		return nil, nil, fault
	}
	return req, body, nil
}

// URL returns where requests to the path go, without userinfo and query; ""
// where the base URL is none.
func (e *Endpoint) URL(path string) string {
	u, err := e.url(path)
	if err != nil {
		return ""
	}
	return publicURL(u)
}

func (e *Endpoint) url(path string) (*url.URL, error) {
	u, err := url.Parse(e.BaseURL)
	if err != nil {
		// The parse error quotes the URL, which may hold a password.
		return nil, invalid(&url.URL{}, "the base URL is not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, invalid(u, "the base URL %q has no http or https host", publicURL(u))
	}
	u = u.JoinPath(path)
	if len(e.Query) > 0 {
		query := u.Query()
		maps.Copy(query, e.Query)
		u.RawQuery = query.Encode()
	}
	return u, nil
}

// checkType refuses a response with another content type than the requested one: a captive portal,
// a web page, a server that does not stream.
func (e *Endpoint) checkType(ctx context.Context, u *url.URL, resp *http.Response, want string) error {
	header := resp.Header.Get("Content-Type")
	got, _, _ := mime.ParseMediaType(header)
	if got == want || header == "" {
		return nil
	}
	fault := model.NewError(model.ErrMalformed, "the answer is of type %q, not %q", header, want)
	fault.Status, fault.URL = resp.StatusCode, publicURL(u)
	fault.Body = readStart(ctx, resp.Body)
	switch got {
	case "text/html":
		fault.Hint = "this looks like a web page: check the base URL"
	case "application/json":
		fault.Hint = "the server does not stream, or the base URL is for another wire format"
	default:
		fault.Hint = "check the base URL and the wire format"
	}
	return fault
}

func (e *Endpoint) connectionError(u *url.URL, err error) *model.Error {
	// The client's error repeats method and URL, with the query.
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	var fault *model.Error
	if !errors.As(err, &fault) {
		fault = model.NewError(model.ErrConnection, "cannot reach %s: %w", u.Host, err)
		fault.NotListening = errors.Is(err, syscall.ECONNREFUSED) && isLoopback(u.Hostname())
		fault.Hint = connectionHint(u, err)
		fault.Unreachable = !errors.As(err, new(*tls.CertificateVerificationError))
	}
	fault.URL = publicURL(u)
	return fault
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// startHint returns the command that starts the local model server of the usual port.
func startHint(port string) string {
	switch port {
	case "11434":
		return "start Ollama (ollama serve)"
	case "1234":
		return "start the server of LM Studio (lms server start)"
	case "8000":
		return "start vLLM (vllm serve MODEL)"
	case "8080":
		return "start llama.cpp (llama-server -m FILE)"
	}
	return "start the server"
}

func connectionHint(u *url.URL, err error) string {
	var (
		cert *tls.CertificateVerificationError
		dns  *net.DNSError
	)
	switch {
	case errors.As(err, &cert):
		return "if the server's certificate is of your own authority, name it in ca_file or SSL_CERT_FILE"
	case errors.As(err, &dns) && dns.IsNotFound:
		return "check the base URL and the network"
	case errors.Is(err, syscall.ECONNREFUSED):
		if isLoopback(u.Hostname()) {
			return "nothing listens there: " + startHint(u.Port()) + ", or check the base URL"
		}
		return "nothing listens there: check the base URL"
	}
	return ""
}

func invalid(u *url.URL, format string, args ...any) *model.Error {
	fault := model.NewError(model.ErrInvalid, format, args...)
	fault.URL, fault.Hint = publicURL(u), "check the base URL"
	return fault
}

// publicURL returns u without userinfo and query.
func publicURL(u *url.URL) string {
	if u.Host == "" {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// activeBody calls activity for each read that brings something.
type activeBody struct {
	io.ReadCloser
	activity func()
}

func (b activeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.activity != nil {
		b.activity()
	}
	return n, err
}

// gzipBody decodes a body that a server compressed against the request.
type gzipBody struct {
	raw io.ReadCloser
	zip *gzip.Reader
}

func (b *gzipBody) Read(p []byte) (int, error) {
	if b.zip == nil {
		zip, err := gzip.NewReader(b.raw)
		if err != nil {
			return 0, fmt.Errorf("cannot decompress the answer: %w", err)
		}
		b.zip = zip
	}
	return b.zip.Read(p)
}

func (b *gzipBody) Close() error { return b.raw.Close() }
