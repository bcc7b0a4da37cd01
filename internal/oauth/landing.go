package oauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/terminal"
)

// landingPath is the path of the redirect.
const landingPath = "/callback"

// closeTimeout bounds the delivery of the last page.
const closeTimeout = time.Second

// landing is the loopback server that receives the browser's redirect.
type landing struct {
	listener net.Listener
	arrived  chan arrivalResult // buffered for one: the first result counts
	server   *http.Server
	done     chan struct{} // closed when the server has ended
}

// arrivalResult is the result of a redirect.
type arrivalResult struct {
	code string
	err  error
}

// listen opens the port on the loopback address only (RFC 8252, section 7.3).
func listen(port int) (*landing, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("cannot open the port that the browser comes back to: %w", err)
	}
	return &landing{listener: l, arrived: make(chan arrivalResult, 1)}, nil
}

func (l *landing) url() string { return "http://" + l.listener.Addr().String() + landingPath }

// serve answers the browser until close.
func (l *landing) serve(expected arrivals) {
	l.done = make(chan struct{})
	l.server = &http.Server{
		ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Referrer-Policy", "no-referrer")
			w.Header().Set("Connection", "close")
			if r.Method != http.MethodGet || r.URL.Path != landingPath || r.Host != l.listener.Addr().String() {
				http.Error(w, "There is nothing here.", http.StatusNotFound)
				return
			}
			got, ours := expected.check(r.URL.Query())
			switch {
			case !ours: // any local process can send this request; the person's browser can still come
				http.Error(w, "This is not the answer to the login that settle waits for.", http.StatusBadRequest)
				return
			case got.err != nil:
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, "The login failed. The terminal says why. You can close this window.\n")
			default:
				_, _ = io.WriteString(
					w, "settle has got the login. You can close this window and go back to the terminal.\n",
				)
			}
			select {
			case l.arrived <- got:
			default: // the first result counts
			}
		}),
	}
	go func() { // ends with close
		defer close(l.done)
		_ = l.server.Serve(l.listener)
	}()
}

// close ends the server and closes the port.
func (l *landing) close() {
	if l.server == nil {
		_ = l.listener.Close()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if l.server.Shutdown(ctx) != nil {
		_ = l.server.Close()
	}
	<-l.done
}

// arrivals are the expected values of a redirect.
type arrivals struct {
	state, issuer string
	issuerSent    bool // the authorization server announced the iss parameter
}

// check reads the parameters of a redirect; false if they do not belong to this login.
func (a arrivals) check(q url.Values) (got arrivalResult, ours bool) {
	if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(a.state)) != 1 {
		return arrivalResult{err: errors.New("the address is not the answer to this login")}, false
	}
	issuer := q.Get("iss")
	switch { // RFC 9207
	case issuer != "" && issuer != a.issuer, issuer == "" && a.issuerSent:
		return arrivalResult{
			err: fmt.Errorf(
				"the answer is of another authorization server (%q) than the one that was asked (%q)",
				terminal.Short(issuer, 200), terminal.Short(a.issuer, 200),
			),
		}, true
	case q.Get("error") != "":
		return arrivalResult{err: fmt.Errorf("the login was refused: %w",
			&refusal{Code: q.Get("error"), Description: q.Get("error_description")})}, true
	case q.Get("code") == "":
		return arrivalResult{err: errors.New("the authorization server's answer has no code")}, true
	}
	return arrivalResult{code: q.Get("code")}, true
}

// pasted reads the address of a redirect that a browser on another machine received.
func (a arrivals) pasted(text string) (got arrivalResult, ours bool) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.RawQuery == "" {
		return arrivalResult{err: errors.New("this address has no code; copy the whole address from the browser")},
			false
	}
	return a.check(u.Query())
}
