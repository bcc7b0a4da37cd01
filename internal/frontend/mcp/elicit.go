package mcp

import (
	"context"
	"encoding/json"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
)

// The answers that a client's user can give.
const (
	decideAllow   = "allow"
	decideSession = "allow_session"
	decideExplain = "explain"
	decideStop    = "stop"
)

// decisionForm returns the schema of the form that the client's user fills in; its default is an
// approval. once leaves out the approval for the session.
func decisionForm(once bool) json.RawMessage {
	values := []string{decideAllow, decideSession, "deny", decideExplain, decideStop}
	names := []string{
		"Allow once", "Allow for the session", "Deny", "Deny for now, explain the effects", "Stop the turn",
	}
	if once {
		values, names = slices.Delete(values, 1, 2), slices.Delete(names, 1, 2)
	}
	raw, _ := json.Marshal(map[string]any{ // strings: Marshal cannot fail
		"type": "object",
		"properties": map[string]any{
			"decision": map[string]any{
				"type": "string", "title": "Decision", "default": decideAllow, "enum": values, "enumNames": names,
			},
			"message": map[string]any{
				"type": "string", "title": "Message", "description": "What to tell the agent, if the call is denied",
			},
		},
	})
	return raw
}

// policyAsk names the policy that answers if no person can be asked (C16).
const policyAsk = string(settle.Ask)

// ask has the client's user asked about a call, by elicitation.
func (t *task) ask(_ context.Context, q asker.Question) asker.SentQuestion {
	if !t.client.asks() {
		return asker.Nobody(
			policyAsk, "the policy is ask, and no person can be asked: the client takes no elicitations",
		)
	}
	return asker.Await(func(ctx context.Context) (asker.Answer, error) {
		res, err := t.client.session.Elicit(ctx, &sdk.ElicitParams{
			Mode:            "form",
			Message:         asker.Headline(q.ApprovalRequested) + "\n\n" + asker.Words(q.ApprovalRequested),
			RequestedSchema: decisionForm(q.Once),
			Meta: sdk.Meta{
				"settle/session":  t.opened.ID(),
				"settle/approval": q.Approval,
				"settle/tool":     q.Tool,
				"settle/detail":   q.Detail,
			},
		})
		if err != nil {
			return asker.Answer{
				Verdict: event.Denied,
				Policy:  policyAsk,
				Message: "the policy is ask, and the client could not be asked: " + err.Error(),
			}, context.Cause(ctx)
		}
		return answerOf(res), nil
	})
}

// answerOf returns the answer of the client's user.
func answerOf(res *sdk.ElicitResult) asker.Answer {
	message, _ := res.Content["message"].(string)
	switch res.Action {
	case "accept":
	case "cancel":
		return asker.Answer{Verdict: event.Denied, Message: "(they closed the question without an answer)"}
	default:
		return asker.Answer{Verdict: event.Denied, Message: message}
	}
	switch res.Content["decision"] {
	case nil, decideAllow:
		return asker.Answer{Verdict: event.Approved, Message: message}
	case decideSession:
		return asker.Answer{Verdict: event.ApprovedSession, Message: message}
	case decideExplain:
		return asker.Answer{Verdict: event.Denied, Explain: true}
	case decideStop:
		return asker.Answer{Verdict: event.ApprovalAborted, Message: message}
	}
	return asker.Answer{Verdict: event.Denied, Message: message}
}

// fill hands a form of a server's on to the client's user.
func (t *task) fill(_ context.Context, q asker.Question) asker.SentQuestion {
	if q.Form.URL != "" && !t.client.opens() || q.Form.URL == "" && !t.client.asks() {
		return asker.NoForms()
	}
	return asker.Await(func(ctx context.Context) (asker.Answer, error) {
		p := &sdk.ElicitParams{
			Mode: asker.Mode(
				*q.Form,
			),
			Message: asker.FormMessage(*q.Form, "The MCP server "+q.Form.Server+" asks: "),
			URL:     q.Form.URL,
			Meta:    sdk.Meta{"settle/session": t.opened.ID(), "settle/approval": q.Approval, "settle/tool": q.Tool},
		}
		if p.URL == "" {
			p.RequestedSchema = q.Form.Schema
		} else {
			p.ElicitationID = q.Approval
		}
		res, err := t.client.session.Elicit(ctx, p)
		if ctx.Err() != nil {
			return asker.Answer{}, context.Cause(ctx)
		}
		var r asker.Reply
		if err == nil {
			r.Action = res.Action
			r.Content, err = json.Marshal(res.Content)
		}
		return asker.Filled(r, err)
	})
}
