package claude

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/settle-agent/settle/internal/client/pending"
	"github.com/settle-agent/settle/tool/mcp"
)

// calls are the control requests that the client has not answered yet.
type calls = pending.Requests[chan<- clientReply]

// clientReply is the client's response to a control request.
type clientReply struct {
	Subtype   string          `json:"subtype"`
	RequestID string          `json:"request_id"`
	Response  json.RawMessage `json:"response"`
	Error     string          `json:"error"`

	closed bool // there is none: the client has closed its input
}

func (r clientReply) result() (json.RawMessage, error) {
	switch {
	case r.closed:
		return nil, errInputClosed
	case r.Error != "":
		return nil, errors.New(r.Error)
	}
	return r.Response, nil
}

// errInputClosed reports that the client cannot answer any more.
var errInputClosed = errors.New("the client has closed its input")

// call sends a control request to the client and waits for the answer. Where ctx
// ends first, the request is taken back.
func (d *driver) call(ctx context.Context, request map[string]any) (json.RawMessage, error) {
	return d.send(request)(ctx)
}

// send sends a control request, and returns a function that waits for the response.
func (d *driver) send(request map[string]any) mcp.Await {
	reply := make(chan clientReply, 1)
	e := d.calls.Add(uuid.NewString(), reply)
	if e != nil {
		d.out.send(map[string]any{"type": "control_request", "request_id": e.Key, "request": request})
	}
	return func(ctx context.Context) (json.RawMessage, error) { return d.await(ctx, e, reply) }
}

// await waits for the answer to a request.
func (d *driver) await(
	ctx context.Context, e *pending.Entry[chan<- clientReply], reply <-chan clientReply,
) (json.RawMessage, error) {
	if e == nil {
		return nil, errInputClosed
	}
	select {
	case r := <-reply:
		return r.result()
	case <-d.quit:
		return nil, errInputClosed
	case <-ctx.Done():
		if e.Answer() {
			d.out.send(map[string]any{"type": "control_cancel_request", "request_id": e.Key})
		}
		return nil, context.Cause(ctx)
	}
}

// answered takes the client's answer to a request that still waits for one.
func (d *driver) answered(r clientReply) {
	if e := d.calls.Find(r.RequestID); e != nil && e.Answer() {
		e.Request <- r // never blocks: there is room for the one answer
	}
}
