package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool"
)

const (
	// maxForms bounds how often a server may ask for input in one call.
	maxForms = 16
	// maxQuestion bounds what it says then, in bytes. It is more than anybody is shown.
	maxQuestion = 128 << 10
)

// What the user does with a form.
const (
	accepted = "accept"
	declined = "decline"
)

var errForms = fmt.Errorf("the server asked for input more than %d times in the call, which was cancelled", maxForms)

// caller is a call that runs, in whose name a server asks.
type caller struct {
	ctx    context.Context //nolint:containedctx // the call's, for requests that have another
	cancel context.CancelCauseFunc
	ask    func(context.Context, event.Form) (json.RawMessage, error)
	show   func(text string)
	asked  atomic.Int32
}

// callerKey is where the context of a call has its caller.
type callerKey struct{}

// callerOf is the call that a server asks in: the one whose answer says so, else the
// one that began last, since a request does not name it. nil for none.
func (c *client) callerOf(ctx context.Context) (found *caller) {
	if found, ok := ctx.Value(callerKey{}).(*caller); ok {
		return found
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := int64(-1)
	for token, one := range c.callers {
		if token > last {
			last, found = token, one
		}
	}
	return found
}

// elicit has the user asked for what the server wants to know. Outside a call, and
// where it cannot be shown, it is declined.
func (c *client) elicit(ctx context.Context, r *sdk.ElicitRequest) (result *sdk.ElicitResult, err error) {
	call := c.callerOf(ctx)
	// It is called by a goroutine of the protocol's implementation.
	if failed := scope.Guard(func() error { result, err = c.ask(ctx, call, r); return nil }); failed != nil {
		if call != nil {
			call.cancel(failed)
		}
		return nil, failed
	}
	return result, err
}

func (c *client) ask(ctx context.Context, call *caller, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	if call == nil || r.Params == nil {
		return &sdk.ElicitResult{Action: declined}, nil
	}
	form, ok := c.form(r.Params)
	if !ok {
		return &sdk.ElicitResult{Action: declined}, nil
	}
	content, err := call.fill(ctx, form)
	refusal, isDeclined := errors.AsType[*tool.DeclinedError](err)
	switch {
	case isDeclined:
		call.show(fmt.Sprintf("settle declined what the server asked for: %s\n", refusal.Message))
		return &sdk.ElicitResult{Action: declined}, nil
	case err != nil:
		return nil, err
	}
	result := &sdk.ElicitResult{Action: accepted}
	if form.URL == "" {
		if err := json.Unmarshal(content, &result.Content); err != nil {
			return nil, fmt.Errorf("cannot read the values: %w", err)
		}
	}
	return result, nil
}

// form is what a server asks for; false if it is nothing that can be shown.
func (c *client) form(p *sdk.ElicitParams) (event.Form, bool) {
	form := event.Form{Server: c.server, Message: clip(p.Message, maxQuestion)}
	if p.URL != "" {
		u, err := url.Parse(p.URL)
		form.URL = p.URL
		return form, err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http") && len(p.URL) <= maxDescription
	}
	raw, err := json.Marshal(p.RequestedSchema)
	form.Schema = raw
	return form, err == nil && len(raw) <= maxSchema
}

// fill asks in the name of the call, for as long as both it and ctx last.
func (c *caller) fill(ctx context.Context, form event.Form) (json.RawMessage, error) {
	if c.asked.Add(1) > maxForms {
		c.cancel(errForms)
		return nil, errForms
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })()
	return c.ask(ctx, form)
}

// pages asks for what a server wants opened before it takes a call, and returns what
// the model is told; "" if the error says nothing of the kind.
func (c *client) pages(call *caller, refusal *jsonrpc.Error) string {
	var data struct {
		Elicitations []*sdk.ElicitParams `json:"elicitations"`
	}
	if refusal.Code != sdk.CodeURLElicitationRequired || json.Unmarshal(refusal.Data, &data) != nil || len(data.Elicitations) == 0 {
		return ""
	}
	for _, p := range data.Elicitations {
		form, ok := c.form(p)
		if !ok || form.URL == "" {
			return "The server wants a page opened that cannot be shown."
		}
		if _, err := call.fill(call.ctx, form); err != nil {
			return "The server wants a page opened first, and it was not: " + err.Error()
		}
	}
	return "The user has opened the page that the server wants opened first. The call has not run; make it again."
}
