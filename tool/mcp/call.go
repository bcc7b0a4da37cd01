package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/tool"
)

// direct is a server's tool that the model receives directly.
type direct struct {
	servers *Servers
	entry   entry
	spec    tool.Spec
}

// Spec implements tool.Tool.
func (d *direct) Spec() tool.Spec { return d.spec }

// Title implements tool.Titler.
func (d *direct) Title(args json.RawMessage) string { return title(d.entry, args) }

// Run implements tool.Tool.
func (d *direct) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	return d.servers.run(ctx, d.entry, call, call.Args)
}

// title describes a call of a server's tool.
func title(e entry, args json.RawMessage) string {
	return fmt.Sprintf("%s: %s %s", e.server, e.Name, strings.TrimSpace(string(args)))
}

// timeoutError: a call exceeded its time limit.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("the call did not end within %s and was cancelled", terminal.Duration(e.after))
}

// run calls a tool of a server.
func (s *Servers) run(ctx context.Context, e entry, call tool.Call, args json.RawMessage) (tool.Result, error) {
	return s.ask(ctx, s.links[e.server], call,
		func(ctx context.Context, c *client, call tool.Call) (*sdk.CallToolResult, error) {
			return c.call(ctx, e.Name, args, call)
		})
}

// ask sends a call's request to a server, and starts the server if necessary.
func (s *Servers) ask(ctx context.Context, link *link, call tool.Call,
	send func(context.Context, *client, tool.Call) (*sdk.CallToolResult, error),
) (tool.Result, error) {
	name := link.server.Name
	link.permit(call)
	link.enter()
	defer link.leave()
	c, err := link.client(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	timeout := link.server.callTimeout()
	bounded, allowance, cancel := scope.WithAllowance(ctx, timeout, &timeoutError{timeout})
	defer cancel()
	ask := call.Ask
	call.Ask = func(ctx context.Context, f event.Form) (json.RawMessage, error) {
		defer allowance.Hold()()
		return ask(ctx, f)
	}
	result, err := send(bounded, c, call)
	_, refused := errors.AsType[*LoginError](err)
	switch _, lost := errors.AsType[*lostError](err); {
	case err == nil:
		link.succeeded()
		return s.rendered(call, result)
	case ctx.Err() != nil:
		return tool.Result{
			Aborted: true,
			Output: fmt.Sprintf(
				"The MCP server %q received a request to cancel the call. The effects of the call are unknown.", name,
			),
		}, nil
	case bounded.Err() != nil, errors.Is(err, errForms):
		return tool.Result{}, fmt.Errorf("%w; what the MCP server %q has done by then is not known", err, name)
	case refused:
		return tool.Result{}, fmt.Errorf("the MCP server %q did not run the call: %w", name, err)
	case lost:
		return tool.Result{}, fmt.Errorf(
			"the connection to the MCP server %q ended during the call: %w; what the call has done is not known", name,
			err,
		)
	}
	link.succeeded() // the server answered
	if refusal, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return tool.Result{}, fmt.Errorf("the MCP server %q refused: %s (code %d)", name,
			clip(refusal.Message, maxOutput), refusal.Code)
	}
	return tool.Result{}, fmt.Errorf("the answer of the MCP server %q cannot be used: %w", name, err)
}
