package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/redact"
)

// Options configure a frontend.
type Options struct {
	Sessions *assemble.Sessions
	// Dir is the working directory of sessions whose client does not choose
	// one, absolute.
	Dir string
	// Version is the program's.
	Version string
	// Exit, if set, ends the process of a client at standard streams if output is blocked.
	Exit func(code int)
	// Logger receives errors that reach no client; nil for none.
	Logger *slog.Logger
}

// Frontend serves clients. Its sessions are all clients' alike.
type Frontend struct {
	Options

	server *sdk.Server
	shelf  *catalogue.Shelf
	claims asker.Claims // requests of several clients may follow one turn

	mu      sync.Mutex // guards the fields below
	clients map[sdk.Session]*client
}

// New returns a frontend. The caller closes it, after the sessions.
func New(o Options) *Frontend {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Frontend{Options: o, clients: map[sdk.Session]*client{}}
	f.shelf = &catalogue.Shelf{Dir: f.dataDir()}
	f.server = sdk.NewServer(
		&sdk.Implementation{Name: "settle", Title: "settle", Version: o.Version},
		&sdk.ServerOptions{
			Instructions: instructions,
			Logger:       o.Logger,
			Capabilities: &sdk.ServerCapabilities{
				Tools: &sdk.ToolCapabilities{}, Logging: &sdk.LoggingCapabilities{}, //nolint:staticcheck // these versions have it
			},
			SupportedProtocolVersions: versions(),
		})
	f.addTools()
	f.server.AddReceivingMiddleware(f.ordered, announcing)
	return f
}

// versions returns the protocol versions with the features that this frontend needs:
// requests from the server, and requests that a notification can cancel. Version
// 2026-07-28 has neither.
func versions() []string { return []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} }

const instructions = `settle runs a coding agent. "run" gives it a task in a directory and answers when the turn has ended, with the session's id; ` +
	`"reply" continues that session. "interrupt" ends a running turn and answers when it has ended; cancelling a "run" or "reply" request does the same. ` +
	`"status" and "sessions" list sessions and running turns.`

// Close closes the files of the frontend itself.
func (f *Frontend) Close() error { return f.shelf.Close() }

// dataDir returns the data directory, which has the sessions that are not open; "" if there is
// none.
func (f *Frontend) dataDir() string {
	r, err := f.Sessions.Settings(f.Dir, nil)
	if err != nil {
		return ""
	}
	return r.DataDir
}

// ordered has each call of a tool wait for its place in the order of its client.
func (f *Frontend) ordered(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		call, ok := req.(*sdk.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		p := f.places(call)
		defer p.leave()
		if err := p.own.wait(ctx); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
		}
		return next(withPlace(ctx, p.own), method, req)
	}
}

// places returns the places that a call has from its connection. Over HTTP, where each request has
// its own connection, it returns the client's next places.
func (f *Frontend) places(call *sdk.CallToolRequest) *places {
	if x := call.Extra; x != nil && x.TokenInfo != nil {
		if p, ok := x.TokenInfo.Extra[placeName].(*places); ok {
			return p
		}
	}
	p := &places{}
	f.client(call.Session).order.enterTool(call.Params.Name, p)
	return p
}

// open returns the session with the id, opened if need be. It must exist.
func (f *Frontend) open(ctx context.Context, id string) (*assemble.Opened, error) {
	if o := f.Sessions.Get(id); o != nil {
		return o, nil
	}
	dir, err := f.shelf.WorkDir(ctx, id)
	if err != nil {
		return nil, unknown(id, err)
	}
	return f.begin(ctx, id, assemble.SessionSpec{Dir: cmp.Or(dir, f.Dir)})
}

// begin opens a session, or creates it.
func (f *Frontend) begin(ctx context.Context, id string, w assemble.SessionSpec) (*assemble.Opened, error) {
	o, err := f.Sessions.Open(ctx, id, w)
	switch {
	case err == nil, errors.Is(err, assemble.ErrOpen):
		return o, nil
	case errors.Is(err, settle.ErrClosed):
		return nil, errEnding
	}
	return nil, maskedError{err}
}

// errEnding is the answer to a request that arrives while settle ends.
var errEnding = errors.New("settle is ending; nothing was started")

// maskedError is an error without the secrets that addresses and headers may have
// (C15).
type maskedError struct{ error }

func (m maskedError) Error() string { return redact.Diagnostic(m.error.Error()) }

// Unwrap returns the unmasked error.
func (m maskedError) Unwrap() error { return m.error }

// unknown returns an error with advice if err means that there is no such session; else it returns
// err.
func unknown(id string, err error) error {
	missing, name := (*journal.MissingError)(nil), (*journal.NameError)(nil)
	if errors.As(err, &missing) || errors.As(err, &name) {
		return fmt.Errorf("there is no session %q; %q lists the sessions", id, toolSessions)
	}
	return err
}
