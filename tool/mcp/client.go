package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/tool"
)

// lastInitialize is the last version of the protocol that begins with "initialize"; later
// ones begin with "server/discover".
const lastInitialize = "2025-11-25"

// connection is a client's connection to a server, of any kind.
type connection interface {
	sdk.Transport
	// failure is the reason why the connection ended; nil while it is open.
	failure() error
	// handled reports that a changed list has been processed.
	handled()
	// onProgress sets the receiver of progress, before the session begins.
	onProgress(take func(*sdk.ProgressNotificationParams))
	// end closes the connection and waits until no part of it runs, or until ctx ends.
	end(ctx context.Context) error
}

// client is an open connection to a server.
type client struct {
	server      string
	connection  connection
	session     *sdk.ClientSession
	changed     chan struct{} // a list has changed; buffered for one
	sessionDone chan struct{} // closed when the session has ended
	dropped     chan struct{} // closed when no part of it is left
	useless     chan struct{} // closed by spoil, when a request found the connection unusable
	spoil       func()

	ended error // valid after sessionDone is closed

	tokens atomic.Int64

	mu      sync.Mutex // guards the fields below
	callers map[int64]*caller
}

// connect begins a session with a server. After a failure, the connection is unusable.
func connect(ctx context.Context, server, version, protocol string, connection connection) (_ *client, err error) {
	defer func() { err = orPanic(err, recover()) }()
	c := &client{
		server: server, connection: connection, changed: make(chan struct{}, 1),
		sessionDone: make(chan struct{}), dropped: make(chan struct{}), useless: make(chan struct{}),
		callers: map[int64]*caller{},
	}
	c.spoil = sync.OnceFunc(func() { close(c.useless) })
	connection.onProgress(c.progressed)
	options := &sdk.ClientOptions{
		// No roots, no sampling.
		Capabilities: &sdk.ClientCapabilities{
			Elicitation: &sdk.ElicitationCapabilities{
				Form: &sdk.FormElicitationCapabilities{},
				URL:  &sdk.URLElicitationCapabilities{},
			},
		},
		ElicitationHandler:       c.elicit,
		ToolListChangedHandler:   func(context.Context, *sdk.ToolListChangedRequest) { c.listChanged() },
		PromptListChangedHandler: func(context.Context, *sdk.PromptListChangedRequest) { c.listChanged() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			c.progressed(r.Params)
		},
	}
	protocolClient := sdk.NewClient(&sdk.Implementation{Name: "settle", Version: version}, options)
	protocolClient.AddSendingMiddleware(unkept)
	session, err := protocolClient.Connect(ctx, connection, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		if why := connection.failure(); why != nil && ctx.Err() == nil {
			err = why
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	c.session = session
	go func() { // ends with the connection; the link waits for it
		defer close(c.sessionDone)
		c.ended = scope.Guard(session.Wait)
	}()
	return c, nil
}

// listChanged records that one of the server's lists has changed.
func (c *client) listChanged() {
	c.connection.handled()
	select {
	case c.changed <- struct{}{}:
	default: // already recorded
	}
}

// isOver reports whether the server can receive no more requests.
func (c *client) isOver() bool {
	select {
	case <-c.sessionDone:
		return true
	case <-c.useless:
		return true
	default:
		return c.connection.failure() != nil
	}
}

// failure is the reason why the connection ended.
func (c *client) failure() error {
	if why := c.connection.failure(); why != nil {
		return why
	}
	select {
	case <-c.sessionDone:
		if c.ended != nil {
			return c.ended
		}
	default:
	}
	return errClosed
}

// orPanic converts a panic in the protocol's implementation, caused by a server's message,
// to an error, so that the session continues.
func orPanic(err error, panicked any) error {
	if panicked == nil {
		return err
	}
	return fmt.Errorf("what the server sent cannot be understood: panic: %v\n%s", panicked, debug.Stack())
}

// catalogue requests the server's tools.
func (c *client) catalogue(ctx context.Context) (_ Catalogue, err error) {
	defer func() { err = orPanic(err, recover()) }()
	out := Catalogue{At: time.Now().UTC(), Tools: []Tool{}, Prompts: []Prompt{}}
	if hello := c.session.InitializeResult(); hello != nil {
		out.Protocol = hello.ProtocolVersion
		if hello.ServerInfo != nil {
			out.Server, out.Version = terminal.Short(hello.ServerInfo.Name, 80),
				terminal.Short(hello.ServerInfo.Version, 40)
		}
		if hello.Capabilities != nil {
			out.Resources = hello.Capabilities.Resources != nil
			out.Prompts = c.knownPrompts(ctx, hello.Capabilities)
			if hello.Capabilities.Tools == nil {
				return out, nil
			}
		}
	}
	size := 0
	for cursor, pages := "", 0; ; pages++ {
		page, err := c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return out, c.explain(ctx, err)
		}
		for _, t := range page.Tools {
			kept := toolOf(t)
			size += len(kept.Name) + len(kept.Title) + len(kept.Description) + len(kept.Schema)
			if len(out.Tools) == maxTools || size > maxCatalogue/2 {
				out.Omitted++
				continue
			}
			out.Tools = append(out.Tools, kept)
		}
		if page.NextCursor == "" || page.NextCursor == cursor || pages == maxTools {
			return out, nil
		}
		cursor = page.NextCursor
	}
}

// toolOf converts a tool, within limits.
func toolOf(t *sdk.Tool) Tool {
	kept := Tool{Name: t.Name, Title: clip(t.Title, maxDescription), Description: clip(t.Description, maxDescription)}
	if t.Annotations != nil {
		kept.ReadOnly = t.Annotations.ReadOnlyHint
		if kept.Title == "" {
			kept.Title = clip(t.Annotations.Title, maxDescription)
		}
	}
	if raw, err := json.Marshal(t.InputSchema); err == nil && len(raw) <= maxSchema {
		kept.Schema = raw
	}
	return kept
}

// call calls a tool.
func (c *client) call(ctx context.Context, name string, args json.RawMessage, by tool.Call) (*sdk.CallToolResult,
	error,
) {
	return c.within(ctx, by, func(ctx context.Context, token string) (*sdk.CallToolResult, error) {
		params := &sdk.CallToolParams{Name: name, Arguments: args}
		params.SetProgressToken(token)
		return c.session.CallTool(ctx, params)
	})
}

// within sends a call's request once. If ctx ends first, the server receives a
// cancellation, and its answer is dropped.
func (c *client) within(ctx context.Context, by tool.Call,
	send func(ctx context.Context, token string) (*sdk.CallToolResult, error),
) (_ *sdk.CallToolResult, err error) {
	defer func() { err = orPanic(err, recover()) }()
	own := &caller{ask: by.Ask, show: by.Progress}
	ctx, own.cancel = context.WithCancelCause(context.WithValue(ctx, callerKey{}, own))
	defer own.cancel(nil)
	own.ctx = ctx
	token := c.tokens.Add(1)
	c.mu.Lock()
	c.callers[token] = own
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.callers, token)
	}()
	result, err := send(ctx, strconv.FormatInt(token, 10))
	if err == nil {
		return result, nil
	}
	err = c.explain(ctx, err)
	if refusal, ok := errors.AsType[*jsonrpc.Error](err); ok {
		if text := c.pages(own, refusal); text != "" {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
		}
	}
	return nil, err
}

// explain returns the reason why a request failed: the cause of its context's end, or the
// end of the connection.
func (c *client) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if login := c.connection.failure(); login != nil {
		if _, ok := errors.AsType[*LoginError](login); ok { // the server refused the call
			c.spoil()
			return login
		}
	}
	_, refused := errors.AsType[*jsonrpc.Error](err)
	_, remote := c.connection.(*remote)
	// A failure over HTTP can mean that the session ended there: the next call starts
	// another.
	if errors.Is(err, sdk.ErrConnectionClosed) || c.isOver() || remote && !refused {
		if why := c.failure(); !errors.Is(why, errClosed) {
			err = why
		}
		c.spoil()
		return &lostError{err}
	}
	return err
}

// lostError: the connection ended before the answer.
type lostError struct{ why error }

func (e *lostError) Error() string { return e.why.Error() }
func (e *lostError) Unwrap() error { return e.why }

// progressed shows a server's progress messages of a running call.
func (c *client) progressed(p *sdk.ProgressNotificationParams) {
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	number, err := strconv.ParseInt(token, 10, 64)
	c.mu.Lock()
	call := c.callers[number]
	c.mu.Unlock()
	if err != nil || call == nil {
		return // the call has ended
	}
	text := terminal.Short(p.Message, 500)
	switch {
	case p.Total > 0:
		text = strings.TrimSpace(fmt.Sprintf("%g/%g %s", p.Progress, p.Total, text))
	case text == "":
		text = fmt.Sprintf("%g", p.Progress)
	}
	// The goroutine that reads for all calls runs this: a panic must end only this call.
	if err := scope.Guard(func() error { call.show(text + "\n"); return nil }); err != nil {
		call.cancel(err)
	}
}
