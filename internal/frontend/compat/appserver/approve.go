package appserver

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/rpc"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// decided is the client's answer: a word, or an object.
type decided struct {
	Decision json.RawMessage `json:"decision"`
}

// ask asks the client for the approval that the session waits for. If no client
// listens, the answer is no (C16).
func (l *loadedThread) ask(ctx context.Context, q asker.Question) asker.SentQuestion {
	if !l.subscribed.Load() {
		return asker.Nobody(noSubscriber())
	}
	method, params := l.question(q)
	sent, err := l.s.Send(ctx, method, params)
	if err != nil {
		return nil // the connection is at its end, and with it the turn
	}
	return rpc.Question[decided]{
		Sent: sent,
		Read: verdict,
		Back: func(sent *jsonrpc.Outgoing) { // also where it has answered
			l.s.notify(note{"serverRequest/resolved", object{"threadId": l.id(), "requestId": sent.ID}})
		},
	}
}

// noSubscriber returns the policy that answers if no client listens, and the reason.
func noSubscriber() (policy, why string) {
	return "nobody subscribes", "No person could be asked: no client follows this thread."
}

// question returns the request about a call.
func (l *loadedThread) question(q asker.Question) (method string, params object) {
	t := l.translator
	kind := t.shown[q.Item]
	params = object{
		"threadId":    l.id(),
		"turnId":      q.Turn,
		"itemId":      q.Item,
		"startedAtMs": q.At.UnixMilli(),
		"reason":      ptr(asker.Words(q.ApprovalRequested)),
	}
	if kind == changes {
		return "item/fileChange/requestApproval", params
	}
	line, dir, action := q.Title, t.state().Host.Dir, commandAction{Type: "unknown", Command: q.Title}
	if kind == runs {
		line, dir, action = describe(t.state().Turn(q.Turn).Item(q.Item).Content(), dir)
		line, action.Command = asker.Visible(line), asker.Visible(action.Command)
	}
	params["kind"], params["environmentId"] = "command", nil
	params["command"], params["cwd"], params["commandActions"] = line, dir, []commandAction{action}
	if q.Once { // else the client offers all four
		params["availableDecisions"] = []string{"accept", "decline", "cancel"}
	}
	return "item/commandExecution/requestApproval", params
}

// verdict returns the meaning of the client's decision.
func verdict(got decided, err error) (asker.Answer, error) {
	if err != nil {
		return asker.Answer{}, err
	}
	var name string
	if json.Unmarshal(got.Decision, &name) != nil {
		name = "an amendment" // none was proposed
	}
	known := map[string]event.Verdict{
		"accept": event.Approved, "acceptForSession": event.ApprovedSession, "decline": event.Denied, "cancel": event.ApprovalAborted,
	}[name]
	if known == "" {
		return asker.Answer{
			Verdict: event.Denied,
			Message: fmt.Sprintf("The client answered %q, which was not asked for.", name),
		}, nil
	}
	return asker.Answer{Verdict: known}, nil
}

// fill has the client's user fill in the form of a server.
func (l *loadedThread) fill(ctx context.Context, q asker.Question) asker.SentQuestion {
	if !l.subscribed.Load() {
		return asker.Nobody(noSubscriber())
	}
	if len(q.Form.Questions) > 0 {
		return l.inquire(ctx, q)
	}
	params := object{
		"threadId":   l.id(),
		"turnId":     q.Turn,
		"serverName": q.Form.Server,
		"mode":       asker.Mode(*q.Form),
		"message":    q.Form.Message,
		"_meta":      nil,
	}
	if q.Form.URL != "" {
		params["url"], params["elicitationId"] = q.Form.URL, q.Approval
	} else {
		params["requestedSchema"] = q.Form.Schema
	}
	sent, err := l.s.Send(ctx, "mcpServer/elicitation/request", params)
	if err != nil {
		return nil // the connection is at its end, and with it the turn
	}
	return rpc.Question[asker.Reply]{Sent: sent, Read: asker.Filled, Back: func(sent *jsonrpc.Outgoing) {
		l.s.notify(note{"serverRequest/resolved", object{"threadId": l.id(), "requestId": sent.ID}})
	}}
}
