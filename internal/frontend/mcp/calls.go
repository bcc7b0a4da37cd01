package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/settle-agent/settle/internal/client/pending"
)

// calls are the unanswered requests. The SDK also responds to cancelled requests; these responses
// are dropped. Over HTTP, the requests belong to many sessions of the protocol; on standard
// streams, to one session without a name.
type calls struct{ pending.Requests[*request] }

// call is a request that is not answered.
type call = pending.Entry[*request]

// request identifies a call and holds its places in the order.
type request struct {
	places

	session string // id of the protocol's session
	id      jsonrpc.ID
}

func keyOf(session string, id jsonrpc.ID) string {
	return fmt.Sprintf("%s %T %v", session, id.Raw(), id.Raw())
}

// begin records a request. fresh is false for an id that is in use. If there are limit requests
// already, one is nil.
func (c *calls) begin(session string, id jsonrpc.ID, limit int) (one *call, fresh bool) {
	return c.AddOnce(keyOf(session, id), &request{session: session, id: id}, limit)
}

// cancel records that the client has cancelled a request. Until the request's work has
// ended, later requests wait behind the place that ending takes.
func (c *calls) cancel(session string, raw json.RawMessage, ending func() *place) {
	id, ok := cancelledID(raw)
	if !ok {
		return
	}
	if one := c.Find(keyOf(session, id)); one != nil && one.Cancel() { // else it was answered
		one.Request.wait(ending())
	}
}

// answer releases a request, and reports whether the client still wants its answer.
func (c *calls) answer(session string, id jsonrpc.ID) (wanted bool) {
	one := c.Find(keyOf(session, id))
	if one == nil {
		return true
	}
	one.Answer()
	one.Request.leave()
	return !one.Cancelled()
}

// forget releases the requests of an ended protocol session.
func (c *calls) forget(session string) {
	for _, one := range c.Open() {
		if one.Request.session == session && one.Answer() {
			one.Request.leave()
		}
	}
}

// cancelledID returns the id of the request that a notification cancels.
func cancelledID(raw json.RawMessage) (id jsonrpc.ID, ok bool) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	var value any
	if json.Unmarshal(raw, &params) != nil || !canAnswer(params.RequestID) ||
		json.Unmarshal(params.RequestID, &value) != nil {
		return id, false
	}
	id, err := jsonrpc.MakeID(value)
	return id, err == nil
}
