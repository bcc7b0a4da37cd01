package execserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/settle-agent/settle/internal/client/guard"
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/scope"
)

const (
	// maxMessage is the largest message that is taken: a file of the largest size,
	// as text.
	maxMessage = maxFile/3*4 + 1<<20
	// closeTimeout bounds the farewell.
	closeTimeout = 200 * time.Millisecond
)

// socket carries messages over a WebSocket. It implements carrier.
type socket struct{ c *websocket.Conn }

var errGone = errors.New("the connection is gone")

// Read implements carrier.
func (s socket) Read(ctx context.Context) ([]byte, error) {
	_, data, err := s.c.Read(ctx)
	switch {
	case err == nil:
		return data, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("%w: %w", errGone, err)
}

// Write implements carrier.
func (s socket) Write(ctx context.Context, message []byte) error {
	return s.c.Write(ctx, websocket.MessageText, message)
}

// Ping implements carrier: a client answers in the order in which it takes messages.
func (s socket) Ping(ctx context.Context) error { return s.c.Ping(ctx) }

// Close implements carrier. It does not wait for a client that does not answer.
func (s socket) Close(reason string) {
	status := websocket.StatusNormalClosure
	if reason != "" {
		status = websocket.StatusGoingAway
	}
	timer := time.AfterFunc(closeTimeout, func() { _ = s.c.CloseNow() }) // ends with this
	_ = s.c.Close(status, reason)                                        // the connection may be gone
	timer.Stop()
}

// Handler serves clients over HTTP: to each WebSocket its connection.
type Handler struct {
	*Server

	// Token is the token that clients must send in a header or in the path of the address.
	// An empty token admits every client, for sockets that only the user can reach.
	Token string
	Names guard.Names
	// ctx ends the connections.
	ctx       context.Context // a hijacked connection has none of its own
	admission *guard.Admission
}

// Handler returns the handler that serves clients over HTTP.
func (s *Server) Handler(ctx context.Context, token string, names guard.Names) *Handler {
	h := &Handler{Server: s, Token: token, Names: names, ctx: ctx}
	if token != "" {
		limits := guard.Limits{}.WithDefaults()
		h.admission = guard.NewAdmission(token, limits.Rate, limits.Burst)
	}
	return h
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if code, why := h.admit(r); code != 0 {
		if code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="settle"`)
		}
		http.Error(w, why, code)
		return
	}
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // Accept has answered
	}
	c.SetReadLimit(maxMessage)
	if err := h.serve(h.ctx, socket{c}); err != nil {
		h.options.Logger.Debug("a connection ended", "client", r.RemoteAddr, "error", err)
	}
}

// admit returns the status and the reason of a refusal, or 0. Browsers say where a
// request comes from, and no browser has anything to do here.
func (h *Handler) admit(r *http.Request) (code int, why string) {
	switch {
	case !h.Names.Know(r.Host):
		return http.StatusMisdirectedRequest, guard.WrongHost
	case len(r.Header.Values("Origin")) > 0 || !slices.Contains([]string{"", "none"}, r.Header.Get("Sec-Fetch-Site")):
		return http.StatusForbidden, guard.OtherSite
	case h.admission == nil:
		return 0, ""
	}
	if token := strings.Trim(r.URL.Path, "/"); token != "" && r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "Bearer "+token) // Codex sends no header of its own
	}
	switch h.admission.Admit(r) {
	case guard.Unknown:
		return http.StatusUnauthorized, "the token is missing or wrong; clients send it in the address, " +
			"as ws://HOST:PORT/TOKEN, or as \"Authorization: Bearer TOKEN\""
	case guard.TooMany:
		return http.StatusTooManyRequests, guard.TooManyRequests
	}
	return 0, ""
}

const (
	// minDelay and maxDelay bound the pause before another attempt to connect,
	// which doubles; it is reset after a connection that lasted longer than maxDelay.
	minDelay = 500 * time.Millisecond
	maxDelay = 30 * time.Second
	// dialTimeout bounds one attempt.
	dialTimeout = 15 * time.Second
)

// Connect serves the client at a ws:// or wss:// address, and connects again after the
// end of a connection, until ctx ends.
func (s *Server) Connect(ctx context.Context, address *url.URL, header http.Header, say func(error)) {
	for delay := minDelay; ; delay = min(2*delay, maxDelay) {
		begun := time.Now()
		err := s.connect(ctx, address, header)
		if ctx.Err() != nil {
			return
		}
		if time.Since(begun) > maxDelay {
			delay = minDelay
		}
		if err == nil {
			err = errors.New("the other side ended the connection")
		}
		say(fmt.Errorf("%w; trying again in %v", err, delay))
		if scope.Sleep(ctx, delay) != nil {
			return
		}
	}
}

func (s *Server) connect(ctx context.Context, address *url.URL, header http.Header) error {
	ask, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	// No proxy, and no redirect to another server: the token goes where the user said.
	client := egress.SameServer(&http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{}).DialContext}})
	c, answer, err := websocket.Dial(
		ask, address.String(),
		&websocket.DialOptions{HTTPClient: client, HTTPHeader: header, CompressionMode: websocket.CompressionDisabled},
	)
	if answer != nil && answer.Body != nil {
		_ = answer.Body.Close() // the connection is c's now
	}
	if err != nil {
		return fmt.Errorf("cannot connect to %s: %w", address.Redacted(), err)
	}
	c.SetReadLimit(maxMessage)
	return s.serve(ctx, socket{c})
}
