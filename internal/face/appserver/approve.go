package appserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// question is a request to the client for its word about a call.
type question struct {
	id     int64 // of the request; 0 if it could not be sent
	cancel context.CancelCauseFunc
}

// errResolved says that a question need not be answered any more.
var errResolved = errors.New("the approval has ended")

// ask asks the client where the session waits for somebody's word. Where nobody
// listens, the answer is no (C16).
func (l *live) ask(ctx context.Context, e event.Event, t *translator) {
	d, ok := e.Data.(event.ApprovalRequested)
	if !ok || !l.opened.Pending(d.Approval) {
		return
	}
	if !l.heard() {
		l.deny(ctx, d.Approval)
		return
	}
	asking, cancel := context.WithCancelCause(ctx)
	method, params := l.question(e, d, t)
	sent, err := l.s.conn.Send(asking, method, params)
	q := &question{cancel: cancel}
	l.asks[d.Approval] = q
	if err != nil {
		return // the connection is at its end, and with it the turn
	}
	q.id = sent.ID
	l.s.work.Go(func() { // ends with the answer or with the approval; shutDown waits for it
		var answer struct {
			Decision json.RawMessage `json:"decision"`
		}
		err := sent.Wait(asking, &answer)
		if asking.Err() == nil && !errors.Is(err, jsonrpc.ErrClosed) {
			l.give(ctx, verdict(d.Approval, answer.Decision, err))
		}
	})
}

// deny answers where nobody listens.
func (l *live) deny(ctx context.Context, approval string) {
	l.give(ctx, settle.Answer{
		Approval: approval, Verdict: event.Denied, Policy: "nobody subscribes",
		Message: "Nobody could be asked: no client follows this thread.",
	})
}

// denyAll does so for all that was asked and not answered.
func (l *live) denyAll(ctx context.Context) {
	var open []string
	l.opened.View(func(state event.State) {
		if t := state.Running(); t != nil {
			for _, a := range t.Approvals {
				if a.Ended == nil {
					open = append(open, a.Approval)
				}
			}
		}
	})
	for _, approval := range open {
		l.deny(ctx, approval)
	}
}

// give gives the answer. One that comes too late runs nothing.
func (l *live) give(ctx context.Context, a settle.Answer) {
	a.By = l.s.client()
	var late *settle.AnsweredError
	if err := l.opened.Answer(ctx, a); err != nil && !errors.As(err, &late) && !errors.Is(err, settle.ErrClosed) {
		l.s.warn(err.Error())
	}
}

// resolve takes back a question that is over, also where the client does not
// listen any more: it was asked.
func (l *live) resolve(ctx context.Context, e event.Event) {
	d, ok := e.Data.(event.ApprovalEnded)
	q := l.asks[d.Approval]
	if !ok || q == nil {
		return
	}
	delete(l.asks, d.Approval)
	q.cancel(errResolved)
	if q.id != 0 {
		l.s.notify(ctx, note{"serverRequest/resolved", resolvedNote{l.id(), q.id}})
	}
}

// question returns the request about a call.
func (l *live) question(e event.Event, d event.ApprovalRequested, t *translator) (method string, params any) {
	i := t.item(e)
	at := e.At.UnixMilli()
	if t.shown[e.Item] == changes {
		return "item/fileChange/requestApproval", askChange{l.id(), e.Turn, e.Item, at, ptr(asker.Words(d))}
	}
	p := askCommand{
		Kind: "command", ThreadID: l.id(), TurnID: e.Turn, ItemID: e.Item, StartedAtMs: at, Reason: ptr(asker.Words(d)),
		Command: d.Title, Cwd: t.state.Host.Dir,
		CommandActions: []commandAction{{Type: "unknown", Command: d.Title}},
	}
	if i != nil && t.shown[e.Item] == runs {
		var action commandAction
		p.Command, p.Cwd, action = describe(i.Content(), t.state.Host.Dir)
		action.Command, p.Command = asker.Visible(action.Command), asker.Visible(p.Command)
		p.CommandActions = []commandAction{action}
	}
	return "item/commandExecution/requestApproval", p
}

// verdict is what the client's decision means.
func verdict(approval string, decision json.RawMessage, err error) settle.Answer {
	a := settle.Answer{Approval: approval, Verdict: event.Denied}
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
