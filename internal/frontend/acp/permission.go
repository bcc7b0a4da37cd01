package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/rpc"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// The options of a request for permission, by id.
const (
	allowOnce   = "allow"
	allowAlways = "allow-session"
	rejectOnce  = "reject"
	explainNow  = "explain"
)

// permissionOptions are the options about a call. once leaves out the approval for the session.
func permissionOptions(once bool) []object {
	options := []object{{"optionId": allowOnce, "name": sentence(event.Approved.Words()), "kind": "allow_once"}}
	if !once {
		options = append(options, object{
			"optionId": allowAlways, "name": sentence(event.ApprovedSession.Words()), "kind": "allow_always",
		})
	}
	return append(
		options,
		object{"optionId": rejectOnce, "name": sentence(event.Denied.Words()), "kind": "reject_once"},
		object{"optionId": explainNow, "name": sentence(event.ExplainTerm().Words), "kind": "reject_once"},
	)
}

// planPrefix begins the ids of the options that accept a plan; the permission mode follows.
const planPrefix = "accept-"

// planOptions are the options about a plan: the permissions of the work that the user's
// configuration leaves to the client.
func (ses *session) planOptions() (all []object) {
	offer := func(mode string) {
		kind := "allow_once"
		if len(all) > 0 {
			kind = "allow_always"
		}
		all = append(all, object{"optionId": planPrefix + mode, "name": sentence(event.PlanWords(mode)), "kind": kind})
	}
	for _, mode := range event.PlanModes() {
		if m, err := assemble.ModeNamed(mode); err == nil && assemble.Within(ses.ceiling, m) {
			offer(mode)
		}
	}
	if len(all) == 0 { // the work begins in the mode that the user configured
		offer("")
	}
	return append(all, object{"optionId": rejectOnce, "name": "Reject the plan", "kind": "reject_once"})
}

// sentence is words of event/terms.go as a label.
func sentence(words string) string { return strings.ToUpper(words[:1]) + words[1:] }

// ask asks the client about a call. The request goes out in its place among the
// updates; its answer is waited for beside them. The caller holds mu.
func (ses *session) ask(ctx context.Context, q asker.Question) asker.SentQuestion {
	c := ses.calls[q.Item]
	if ses.readErr != nil || c == nil && q.Child == "" {
		return nil
	}
	call := toolCall{
		ID:      q.Approval,
		Title:   q.Title,
		Kind:    "other",
		Status:  "pending",
		Content: []object{contentBlock(codeBlock(asker.Words(q.ApprovalRequested)))},
	}
	if c != nil { // else it is of a child in the background, whose call is over
		c.title = cmp.Or(q.Title, c.title)
		call = c.asking(q.ApprovalRequested)
	}
	options := permissionOptions(q.Once)
	if asker.IsPlan(q.ApprovalRequested) {
		options = ses.planOptions()
		call.Kind = "switch_mode"
	}
	request := object{"sessionId": ses.id, "toolCall": call, "options": options}
	sent, err := ses.Send(ctx, "session/request_permission", request)
	if err != nil {
		if !errors.Is(err, jsonrpc.ErrClosed) { // the end of the input ends the turn, and with it the approval (C16)
			ses.readErr = err
		}
		return nil
	}
	return rpc.Question[permissionResult]{Sent: sent, Read: verdict, Back: ses.withdraw}
}

// asking describes a call that waits for an approval: its changes in the protocol's
// format, and the whole call as text.
func (c *call) asking(d event.ApprovalRequested) toolCall {
	view := c.view()
	t := toolCall{
		ID:        c.item.ID,
		Title:     c.title,
		Kind:      kindOf(view.Tool),
		Status:    "pending",
		RawInput:  view.Arguments,
		Locations: locations(view),
	}
	t.Content = append(diffs(view, d.Detail), contentBlock(codeBlock(asker.Words(d))))
	return t
}

// verdict returns the meaning of the client's answer. A client answers a cancelled request with the
// outcome "cancelled", or with the error of a cancelled request.
func verdict(got permissionResult, err error) (asker.Answer, error) {
	var refused *jsonrpc.Error
	isCancelled := errors.As(err, &refused) && refused.Code == jsonrpc.CodeCancelled ||
		got.Outcome.Outcome == "cancelled"
	verdicts := map[string]event.Verdict{
		allowOnce:   event.Approved,
		allowAlways: event.ApprovedSession,
		rejectOnce:  event.Denied,
	}
	mode, accepts := strings.CutPrefix(got.Outcome.OptionID, planPrefix)
	switch known := verdicts[got.Outcome.OptionID]; {
	case accepts && err == nil && !isCancelled:
		return asker.Answer{Verdict: event.Approved, Permission: mode}, nil
	case isCancelled:
		return asker.Answer{Verdict: event.ApprovalAborted}, nil
	case err != nil:
		return asker.Answer{}, err
	case got.Outcome.OptionID == explainNow:
		return asker.Answer{Verdict: event.Denied, Explain: true}, nil
	case known == "":
		return asker.Answer{
			Verdict: event.Denied,
			Message: fmt.Sprintf(
				"The client answered with something that it was not offered: %q.", got.Outcome.OptionID,
			),
		}, nil
	default:
		return asker.Answer{Verdict: known}, nil
	}
}

// fill has the client's user fill in the form of a server, if the client supports forms. The caller
// holds mu.
func (ses *session) fill(ctx context.Context, q asker.Question) asker.SentQuestion {
	can := ses.can.Elicitation
	if ses.readErr != nil || q.Form.URL != "" && can.URL == nil || q.Form.URL == "" && can.Form == nil {
		return asker.NoForms()
	}
	request := object{
		"sessionId":  ses.id,
		"toolCallId": q.Item,
		"mode":       asker.Mode(*q.Form),
		"message":    asker.FormMessage(*q.Form, q.Form.Server+": "),
	}
	if q.Form.URL != "" {
		request["url"], request["elicitationId"] = q.Form.URL, q.Approval
	} else {
		request["requestedSchema"] = q.Form.Schema
	}
	sent, err := ses.Send(ctx, "elicitation/create", request)
	if err != nil {
		if !errors.Is(err, jsonrpc.ErrClosed) {
			ses.readErr = err
		}
		return nil
	}
	return rpc.Question[asker.Reply]{Sent: sent, Read: asker.Filled, Back: ses.withdraw}
}
