package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agent"
	"github.com/settle-agent/settle/internal/client/asker"
)

// What a client's user can decide.
const (
	decideAllow   = "allow"
	decideSession = "allow_session"
	decideDeny    = "deny"
	decideStop    = "stop"
)

// question is the form. Its default is what accepting it says.
const question = `{
	"type": "object",
	"properties": {
		"decision": {
			"type": "string", "title": "Decision", "default": "allow",
			"enum": ["allow", "allow_session", "deny", "stop"],
			"enumNames": ["Allow", "Allow for this session", "Deny", "Deny, and stop the turn"]
		},
		"message": {"type": "string", "title": "Message", "description": "What to tell the agent, if the call is denied"}
	}
}`

// policyAsk names the policy that answers where nobody can be asked (C16).
const policyAsk = string(settle.Ask)

// answer has the client asked about a call, or the policy answer. It returns
// when that is done, or when ctx ends: then the approval has ended.
func (f *Face) answer(ctx context.Context, c *client, s *agent.Opened, a event.ApprovalRequested) {
	given := settle.Answer{
		Approval: a.Approval, Verdict: event.Denied, By: c.name(), Policy: policyAsk,
		Message: "the policy is ask, and there is nobody to ask: the client takes no elicitations",
	}
	if c.asks() {
		res, err := c.session.Elicit(ctx, &sdk.ElicitParams{
			Mode: "form", Message: "Allow this call?\n\n" + asker.Words(a), RequestedSchema: json.RawMessage(question),
			Meta: sdk.Meta{"settle/session": s.ID(), "settle/approval": a.Approval, "settle/tool": a.Tool, "settle/detail": a.Detail},
		})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			given.Message = "the policy is ask, and the client could not be asked: " + err.Error()
		default:
			given.Policy = ""
			given.Verdict, given.Message = verdictOf(res)
		}
	}
	f.record(ctx, s, given)
}

// record gives the answer. One that comes too late has no effect (C16).
func (f *Face) record(ctx context.Context, s *agent.Opened, given settle.Answer) {
	// Not bounded by ctx: "stop" ends the turn, and so ctx.
	if err := s.Answer(context.WithoutCancel(ctx), given); err != nil {
		f.Logger.Info("an answer had no effect", "session", s.ID(), "approval", given.Approval, "error", err)
	}
}

// verdictOf is what the client's user said, and their words for the model.
func verdictOf(res *sdk.ElicitResult) (event.Verdict, string) {
	words, _ := res.Content["message"].(string)
	switch res.Action {
	case "accept":
	case "cancel":
		return event.Denied, "(they closed the question without an answer)"
	default:
		return event.Denied, words
	}
	switch res.Content["decision"] {
	case nil, decideAllow:
		return event.Approved, words
	case decideSession:
		return event.ApprovedSession, words
	case decideStop:
		return event.ApprovalAborted, words
	}
	return event.Denied, words
}
