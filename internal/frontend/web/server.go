package web

import (
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/guard"
	"github.com/settle-agent/settle/internal/client/metrics"
)

// Options configure a server.
type Options struct {
	// Host has the sessions, and Config is how each of them works.
	Host   *settle.Host
	Config settle.SessionConfig
	// Sessions and Agent, if set, replace Config, and let clients change the settings of
	// each session. They belong to the Host.
	Sessions *assemble.Sessions
	Agent    *assemble.Agent
	// Ceiling is the permission that the user configured, which no client exceeds;
	// empty if there is none.
	Ceiling settle.Permission
	// DataDir is the directory with the sessions that are not open; "" if none are stored.
	// FindsDataDir reports that settle finds it without a flag or variable, so that shown commands
	// need none.
	DataDir      string
	FindsDataDir bool
	// WorkDir is the host's working directory, absolute.
	WorkDir string
	// Model is the host's, as PROVIDER/NAME.
	Model string
	// Version is the program's.
	Version string
	// Token is the secret that clients must present.
	Token string
	// Names are host names that clients can use for this machine, besides the names of
	// the loopback interface.
	Names []string
	// Exposed reports that the address is not a loopback address: clients can also call it by any
	// IP address.
	Exposed bool
	// TLS, if set, encrypts the connections.
	TLS *tls.Config
	// Take reports that the host ends other processes that hold a requested session.
	Take bool
	// Plugins lists the user's plugins, as they are now; nil for none.
	Plugins func() []Plugin
	// Page serves all paths outside of /api/; nil for a placeholder.
	Page http.Handler
	// Mask masks secrets in texts other than events that go to clients and logs.
	Mask func(string) string
	// Meter, if set, is the Host's observer, which /metrics shows.
	Meter  *metrics.Meter
	Logger *slog.Logger
	Limits Limits
}

// Limits bound the resources of clients; the zero value of each has a default.
type Limits struct {
	guard.Limits
	// Connections, Subscribers and LargeBodies are maximum numbers at a time; LargeBodies
	// counts requests whose body is not small.
	Connections, Subscribers, LargeBodies int
	// BodyBytes and InputBytes are the most in a request: its body, and its body
	// if it is an input.
	BodyBytes, InputBytes int64
	// AnswerTimeout bounds the wait for the result of a request, such as a turn's end.
	AnswerTimeout time.Duration
	// SessionIdleTimeout is the time after which an open session is closed that no client
	// uses or follows, and in which no work runs.
	SessionIdleTimeout time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Limits = l.WithDefaults()
	l.Connections = cmp.Or(l.Connections, guard.MaxConnections)
	l.Subscribers = cmp.Or(l.Subscribers, l.Connections*3/4) // the rest is for requests
	l.LargeBodies = cmp.Or(l.LargeBodies, 4)
	l.BodyBytes, l.InputBytes = cmp.Or(l.BodyBytes, 64<<10), cmp.Or(l.InputBytes, 32<<20)
	l.AnswerTimeout = cmp.Or(l.AnswerTimeout, 30*time.Second)
	l.SessionIdleTimeout = cmp.Or(l.SessionIdleTimeout, 10*time.Minute)
	return l
}

// Server answers requests. Its methods may be called by several goroutines.
type Server struct {
	Options

	mux         *http.ServeMux
	admission   *guard.Admission
	large       chan struct{} // holds one token for each large body that is read
	subscribers atomic.Int64
	watchers    watchers
	overrides   overrides
	folder      folder
	boot        string // distinguishes this server from an earlier one
	kept        *catalogue.Shelf
	openAPI     []byte

	archive  Archive // nil if there is a host
	readOnly string
}

// New returns a server. The caller closes it, after the requests.
func New(o Options) (*Server, error) { return newServer(o, routes()) }

func newServer(o Options, all []route) (*Server, error) {
	o.Limits = o.Limits.withDefaults()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Page == nil {
		o.Page = http.HandlerFunc(placeholder)
	}
	s := &Server{
		Options:   o,
		admission: guard.NewAdmission(o.Token, o.Limits.Rate, o.Limits.Burst),
		large:     make(chan struct{}, o.Limits.LargeBodies),
		kept:      &catalogue.Shelf{Dir: o.DataDir},
		boot:      rand.Text(),
	}
	document, err := describe(all, o.Version)
	if err != nil {
		return nil, err
	}
	s.openAPI = document
	s.route(all)
	return s, nil
}

// Close closes the server's own files. The caller closes the host.
func (s *Server) Close() error { return s.kept.Close() }

func (s *Server) mask(text string) string {
	if s.Mask == nil {
		return text
	}
	return s.Mask(text)
}

// httpServer returns the server of connections, with every timeout set. Handlers that take longer
// move their connection's deadlines.
func (s *Server) httpServer() *http.Server {
	server := s.Limits.Server(s, s.Logger)
	server.TLSConfig, server.WriteTimeout = s.TLS, s.Limits.BodyTimeout+s.Limits.AnswerTimeout+s.Limits.WriteTimeout
	return server
}

// placeholder stands where the page would be.
func placeholder(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(
		[]byte("settle serves its API under /api/; see /api/openapi.json\n"),
	) // a client that is gone misses nothing
}
