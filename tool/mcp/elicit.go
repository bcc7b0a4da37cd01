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
	// maxForms bounds a server's forms in one call.
	maxForms = 16
	// maxQuestion bounds the message of a form in bytes. It exceeds the bounds of frontends.
	maxQuestion = 128 << 10
)

// The user's actions on a form.
const (
	accepted = "accept"
	declined = "decline"
)

var errForms = fmt.Errorf("the server asked for input more than %d times in the call, which was cancelled", maxForms)

// caller is a running call, for which a server requests input.
type caller struct {
	ctx       context.Context // the call's, for requests that have another
	cancel    context.CancelCauseFunc
	ask       func(context.Context, event.Form) (json.RawMessage, error)
	show      func(text string)
	formCount atomic.Int32
}

// callerKey is the context key of a caller.
type callerKey struct{}

// callerOf returns the call that a server's request belongs to: the call whose answer
// contains the request, otherwise the newest call, because a request names none; nil for
// none.
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

// elicit asks the user for a server's form. Outside a call, and for a form that frontends
// cannot show, it declines.
func (c *client) elicit(ctx context.Context, r *sdk.ElicitRequest) (result *sdk.ElicitResult, err error) {
	call := c.callerOf(ctx)
	// A goroutine of the protocol's implementation runs this.
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

// form converts a server's form; false if frontends cannot show it.
func (c *client) form(p *sdk.ElicitParams) (event.Form, bool) {
	form := event.Form{Server: c.server, Message: clip(p.Message, maxQuestion)}
	if p.URL != "" {
		u, err := url.Parse(p.URL)
		form.URL = p.URL
		return form, err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http") &&
			len(p.URL) <= maxDescription
	}
	raw, err := json.Marshal(p.RequestedSchema)
	form.Schema = raw
	return form, err == nil && len(raw) <= maxSchema
}

// fill asks for the call, until the call or ctx ends.
func (c *caller) fill(ctx context.Context, form event.Form) (json.RawMessage, error) {
	if c.formCount.Add(1) > maxForms {
		c.cancel(errForms)
		return nil, errForms
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })()
	return c.ask(ctx, form)
}

// pages asks the user to open the pages that a server requires before a call, and returns
// the model's text; "" if the error requires none.
func (c *client) pages(call *caller, refusal *jsonrpc.Error) string {
	var data struct {
		Elicitations []*sdk.ElicitParams `json:"elicitations"`
	}
	if refusal.Code != sdk.CodeURLElicitationRequired || json.Unmarshal(refusal.Data, &data) != nil ||
		len(data.Elicitations) == 0 {
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
