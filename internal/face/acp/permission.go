package acp

import (
	"context"
	"errors"
	"fmt"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// The options of a request for permission, by id.
const (
	allowOnce   = "allow"
	allowAlways = "allow-session"
	rejectOnce  = "reject"
)

func permissionOptions() []permissionOption {
	return []permissionOption{
		{allowOnce, "Allow", "allow_once"},
		{allowAlways, "Allow for this session", "allow_always"},
		{rejectOnce, "Reject", "reject_once"},
	}
}

func (f *follower) approvalChanged(c transcript.Change) {
	if c.What == transcript.Started {
		f.ask(f.calls[c.Item.ID], c.Approval.ApprovalRequested)
	} else {
		f.answered(c.Approval.Approval)
	}
}

// ask asks the client about a call. The request goes out in its place among the
// updates; its answer is waited for beside them. The caller holds mu.
func (f *follower) ask(c *call, d event.ApprovalRequested) {
	if c == nil || f.gone != nil || !f.one.opened.Pending(d.Approval) {
		return
	}
	if d.Title != "" {
		c.title = d.Title
	}
	ctx, cancel := context.WithCancel(f.one.server.life)
	request := permissionParams{SessionID: f.one.id, ToolCall: c.asking(d), Options: permissionOptions()}
	sent, err := f.one.server.conn.Send(ctx, "session/request_permission", request)
	if err != nil {
		cancel()
		if !errors.Is(err, jsonrpc.ErrClosed) { // the end of the input ends the turn, and with it the approval (C16)
			f.gone = err
		}
		return
	}
	f.asked[d.Approval] = question{sent, cancel}
	begun := f.one.server.start(func() {
		defer cancel()
		f.one.decide(ctx, sent, d.Approval)
	})
	if !begun {
		cancel()
	}
}

// question is a request for permission that the client has.
type question struct {
	sent *jsonrpc.Outgoing
	stop func()
}

// asking is a call that waits for somebody's word: its changes as the protocol
// has them, and all of it in words.
func (c *call) asking(d event.ApprovalRequested) toolCall {
	view := c.view()
	t := toolCall{ID: c.item.ID, Title: c.title, Kind: kindOf(view.Tool), Status: "pending", RawInput: view.Arguments, Locations: locations(view)}
	t.Content = append(diffs(view, d.Detail), block1(fenced(asker.Words(d))))
	return t
}

// answered takes the question about a call that is over, or was answered, away
// from the client, unless it was the client that answered. The caller holds mu.
func (f *follower) answered(approval string) {
	q, ok := f.asked[approval]
	if !ok {
		return
	}
	delete(f.asked, approval)
	if q.sent.Abandon() {
		f.one.server.withdraw(q.sent)
	}
	q.stop()
}

// decide waits for the client's word and passes it on.
func (one *session) decide(ctx context.Context, sent *jsonrpc.Outgoing, approval string) {
	var got permissionResult
	err := sent.Wait(ctx, &got)
	if ctx.Err() != nil || errors.Is(err, jsonrpc.ErrClosed) || errors.Is(err, jsonrpc.ErrCancelled) {
		return // the call is over, or the turn is being ended
	}
	answer := verdict(got, err)
	answer.Approval, answer.By = approval, one.server.clientName()
	// One that comes too late runs nothing (C16), and there is nobody to tell.
	_ = one.opened.Answer(one.server.life, answer)
}

// verdict is what the client's answer means. Clients answer what they cancelled
// with the outcome "cancelled", or with the error of a request that was.
func verdict(got permissionResult, err error) settle.Answer {
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &refused) && refused.Code == jsonrpc.CodeCancelled:
		return settle.Answer{Verdict: event.ApprovalAborted}
	case err != nil:
		return settle.Answer{Verdict: event.Denied, Message: fmt.Sprintf("The client could not ask: %v", err)}
	case got.Outcome.Outcome == "cancelled":
		return settle.Answer{Verdict: event.ApprovalAborted}
	case got.Outcome.OptionID == allowOnce:
		return settle.Answer{Verdict: event.Approved}
	case got.Outcome.OptionID == allowAlways:
		return settle.Answer{Verdict: event.ApprovedSession}
	case got.Outcome.OptionID == rejectOnce:
		return settle.Answer{Verdict: event.Denied}
	default:
		return settle.Answer{Verdict: event.Denied, Message: fmt.Sprintf("The client answered with something that it was not offered: %q.", got.Outcome.OptionID)}
	}
}
