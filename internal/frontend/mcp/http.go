package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/guard"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/scope"
)

// Path is the path of an endpoint.
const Path = "/mcp"

const headerSession = "Mcp-Session-Id"

// Limits bound the resources of an endpoint's clients; the zero value of each has a default.
type Limits struct {
	guard.Limits
	// Sessions is the most of the protocol's sessions at a time, and BodyBytes
	// the most in a request's body.
	Sessions  int
	BodyBytes int64
	// SessionTimeout ends a protocol session without requests; its turns continue.
	SessionTimeout time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Limits = l.WithDefaults()
	l.Sessions, l.BodyBytes, l.SessionTimeout = cmp.Or(l.Sessions, 1024), cmp.Or(
		l.BodyBytes, maxLine,
	), cmp.Or(l.SessionTimeout, time.Hour)
	return l
}

// Endpoint serves the protocol over HTTP to clients with a token. It adds to the SDK's
// handler: access control, bounds, and no answer to a cancelled request.
type Endpoint struct {
	Server *sdk.Server
	// Token is the secret that clients must present.
	Token string
	Names guard.Names
	// Close ends everything that clients have started.
	Close  func(ctx context.Context, reason event.Reason, by string) error
	Logger *slog.Logger
	Limits Limits

	// hooks of a frontend, nil for none
	leave  func(session string) // a client ends its session
	ending func(session string) *place
	hurry  func(ctx context.Context, stop stdio.Stop)

	admission *guard.Admission
	calls     calls
	protocol  http.Handler
	once      sync.Once
}

// HTTP returns the endpoint of the frontend.
func (f *Frontend) HTTP(token string, names guard.Names) *Endpoint {
	return &Endpoint{
		Server: f.server, Token: token, Names: names, Close: f.Sessions.CloseAll, Logger: f.Logger,
		leave: f.leave, ending: f.ending, hurry: stdio.Hurry(f.Sessions.All),
	}
}

// named returns the client with the protocol's session, or nil.
func (f *Frontend) named(session string) *client {
	for s := range f.server.Sessions() {
		if s.ID() == session {
			return f.client(s)
		}
	}
	return nil
}

// leave interrupts all work, also work that is about to begin, for a client that ends its session.
func (f *Frontend) leave(session string) {
	c := f.named(session)
	if c == nil {
		return
	}
	var wg sync.WaitGroup
	for _, e := range c.tasks.Close() {
		wg.Go(
			scope.Shield(
				scope.Log(f.Logger, nil, "ending a request panicked"), func() { e.Request.end(context.Background()) },
			),
		) // ends with the turn
	}
	wg.Wait()
}

// ending takes a place in order for the end of a cancelled request.
func (f *Frontend) ending(session string) *place {
	if c := f.named(session); c != nil {
		return c.order.enter(ends)
	}
	return nil
}

func (e *Endpoint) prepare() {
	e.Limits = e.Limits.withDefaults()
	if e.Logger == nil {
		e.Logger = slog.New(slog.DiscardHandler)
	}
	if e.hurry == nil {
		e.hurry = func(context.Context, stdio.Stop) {}
	}
	e.admission = guard.NewAdmission(e.Token, e.Limits.Rate, e.Limits.Burst)
	e.protocol = sdk.NewStreamableHTTPHandler(
		func(*http.Request) *sdk.Server { return e.Server },
		&sdk.StreamableHTTPOptions{
			Logger:                     e.Logger,
			EventStore:                 &eventStore{sdk.NewMemoryEventStore(nil), &e.calls},
			SessionTimeout:             e.Limits.SessionTimeout,
			MaxRequestBodyBytes:        e.Limits.BodyBytes,
			DisableLocalhostProtection: true, // Names does that
		},
	)
}

// ServeHTTP implements [http.Handler]: it serves admitted requests.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.once.Do(e.prepare)
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if status, why := e.admit(r); status != 0 {
		switch status {
		case http.StatusUnauthorized:
			h.Set("WWW-Authenticate", `Bearer realm="settle"`)
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			h.Set("Retry-After", "1")
		}
		http.Error(w, why, status)
		return
	}
	switch r.Method {
	case http.MethodPost:
		e.post(w, r)
	case http.MethodDelete:
		if e.leave != nil {
			e.leave(r.Header.Get(headerSession))
		}
		e.protocol.ServeHTTP(w, r)
	default:
		out, end := e.writer(w, nil)
		defer end()
		e.protocol.ServeHTTP(out, r)
	}
}

// admit returns the status and the reason of a refusal: a wrong host, path, origin or token, or too
// many requests or sessions. The status is 0 if the request is admitted.
func (e *Endpoint) admit(r *http.Request) (status int, why string) {
	switch {
	case !e.Names.Know(r.Host):
		return http.StatusForbidden, guard.WrongHost
	case !guard.Clean(r.URL) || r.URL.Path != Path:
		return http.StatusNotFound, "there is nothing at this path; clients of the protocol are served at " + Path
	case !guard.SameOrigin(r, guard.API):
		return http.StatusForbidden, guard.OtherSite
	}
	switch e.admission.Admit(r) {
	case guard.TooMany:
		return http.StatusTooManyRequests, guard.TooManyRequests
	case guard.Unknown:
		return http.StatusUnauthorized, `the token is missing or wrong; use the header "Authorization: Bearer TOKEN" with the token that "settle mcp" printed`
	}
	if r.Method == http.MethodPost && r.Header.Get(headerSession) == "" && e.sessions() >= e.Limits.Sessions {
		return http.StatusServiceUnavailable, "there are " + strconv.Itoa(
			e.Limits.Sessions,
		) + " sessions of the protocol already; end one with DELETE"
	}
	return 0, ""
}

func (e *Endpoint) sessions() (n int) {
	for range e.Server.Sessions() {
		n++
	}
	return n
}

// post takes messages. Its body has been read when it is handed on, so that
// deadlines for it do not end a stream that lasts.
func (e *Endpoint) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, e.Limits.BodyBytes))
	if err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, fmt.Sprintf("cannot read the request: %v; nothing was done", err), status)
		return
	}
	if id, err := idIn(body); err == nil && !canAnswer(id) { // the SDK sees to all else that is wrong
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(refusal(id, jsonrpc.CodeInvalidRequest, invalidID)) // the status reports the error in any case
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	out, end := e.writer(w, e.take(r.Header.Get(headerSession), body))
	defer end()
	e.protocol.ServeHTTP(out, r)
}

// take records the meaning of a body, and returns its request, if it is one.
func (e *Endpoint) take(session string, body []byte) *call {
	msg, err := jsonrpc.DecodeMessage(body)
	req, ok := msg.(*jsonrpc.Request)
	if err != nil || !ok || session == "" {
		return nil // the SDK reports the error
	}
	if req.IsCall() {
		if one, fresh := e.calls.begin(session, req.ID, math.MaxInt); fresh { // else the SDK refuses it
			return one
		}
		return nil
	}
	if req.Method == methodCancelled {
		e.calls.cancel(session, req.Params, func() *place {
			if e.ending == nil {
				return nil
			}
			return e.ending(session)
		})
	}
	return nil
}

// Serve answers requests until a stop arrives, then ends everything. The error names the work that
// did not end in time.
func (e *Endpoint) Serve(l net.Listener, stops <-chan stdio.Stop) error {
	e.once.Do(e.prepare)
	return guard.Serve(
		l,
		e.Limits.Server(e, e.Logger),
		stdio.Shutdown{Close: e.Close, Hurry: e.hurry, Stops: stops, Drain: func(ctx context.Context) {
			e.calls.Drain(ctx) // the SDK does not answer once it closes
			for s := range e.Server.Sessions() {
				go func() { _ = s.Close() }() // ends when its requests are answered, or with the process
			}
		}},
	)
}
