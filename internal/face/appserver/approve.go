package appserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// question is a request to the client for its word about a call.
type question struct {
	thread *loadedThread
	sent   *jsonrpc.Outgoing
}

// ask asks the client where the session waits for somebody's word. Where nobody
// listens, the answer is no (C16).
func (l *loadedThread) ask(ctx context.Context, q asker.Question) asker.Asked {
	if !l.isSubscribed() {
		return asker.Nobody(noSubscriber())
	}
	method, params := l.question(q)
	sent, err := l.s.Send(ctx, method, params)
	if err != nil {
		return nil // the connection is at its end, and with it the turn
	}
	return question{l, sent}
}

// noSubscriber is the policy that answers where nobody listens, and why.
func noSubscriber() (policy, why string) {
	return "nobody subscribes", "Nobody could be asked: no client follows this thread."
}

// Await implements [asker.Asked].
func (q question) Await(ctx context.Context) (asker.Answer, error) {
	var answer struct {
		Decision json.RawMessage `json:"decision"`
	}
	err := q.sent.Wait(ctx, &answer)
	if errors.Is(err, jsonrpc.ErrClosed) {
		return asker.Answer{}, asker.ErrGone
	}
	return verdict(answer.Decision, err), nil
}

// Withdraw takes the question back, also where the client does not listen any
// more: it was asked.
func (q question) Withdraw() {
	q.thread.s.notify(note{"serverRequest/resolved", object{"threadId": q.thread.id(), "requestId": q.sent.ID}})
}

// question returns the request about a call.
func (l *loadedThread) question(q asker.Question) (method string, params object) {
	t := l.translator
	kind := t.shown[q.Item]
	params = object{
		"threadId": l.id(), "turnId": q.Turn, "itemId": q.Item, "startedAtMs": q.At.UnixMilli(), "reason": ptr(asker.Words(q.ApprovalRequested)),
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
	return "item/commandExecution/requestApproval", params
}

// verdict is what the client's decision means.
func verdict(decision json.RawMessage, err error) asker.Answer {
	a := asker.Answer{Verdict: event.Denied}
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &refused):
		a.Message = "The client could not ask: " + refused.Message
		return a
	case err != nil:
		a.Message = "The client's answer could not be read."
		return a
	}
	var name string
	if json.Unmarshal(decision, &name) != nil {
		name = "an amendment" // none was proposed
	}
	switch name {
	case "accept":
		a.Verdict = event.Approved
	case "acceptForSession":
		a.Verdict = event.ApprovedSession
	case "decline":
	case "cancel":
		a.Verdict = event.ApprovalAborted
	default:
		a.Message = fmt.Sprintf("The client answered %q, which was not asked for.", name)
	}
	return a
}
