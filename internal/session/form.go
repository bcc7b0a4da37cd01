package session

import (
	"context"
	"encoding/json"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/internal/question"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/tool"
)

// Fill implements [turn.Filler]. The call gets the values; the log does not.
func (a *Approvals) Fill(ctx context.Context, f turn.Form) (json.RawMessage, error) {
	f.Form = turn.MaskForm(a.redact, f.Form)
	title := question.Line(f.Server + " asks for input")
	if len(f.Questions) > 0 {
		title, f.Schema = question.Line(f.Title), question.Schema(f.Questions)
	}
	text, long := question.FormText(f.Form)
	if long != nil {
		f.Message, f.Schema, f.Questions, text = "", nil, nil, ""
	}
	request := event.ApprovalRequested{Tool: f.Tool, Title: title, Text: text, Form: &f.Form}
	id, answer, err := a.record(ctx, request, func(s event.State) (event.Event, bool) {
		return event.Event{Turn: f.Turn, Attempt: f.Attempt, Item: f.Item}, isRunning(s, f)
	})
	if err != nil {
		return nil, err
	}
	defer a.forget(id)
	if long != nil {
		given := approval.Answer{Approval: id, Verdict: event.Denied, Policy: policyNotShown, Message: long.Error()}
		if err := a.Answer(given); err != nil {
			return nil, err
		}
	} else {
		defer a.hooks.NotifyForm(ctx, hooks.Call{Turn: f.Turn, Item: f.Item, Tool: f.Tool, Title: title}, title)()
	}
	given, err := answer.Wait(ctx)
	if err != nil {
		a.expire(id) // the server may withdraw the form while its call continues
		return nil, err
	}
	switch given.Verdict {
	case event.Approved:
		return given.Content, nil
	case event.ApprovalAborted:
		<-ctx.Done() // Session.Answer interrupts the turn
		return nil, context.Cause(ctx)
	}
	declined := &tool.DeclinedError{Message: given.Message, Policy: given.Policy}
	if declined.Message == "" {
		declined.Message = "the user declined"
	}
	return nil, declined
}

// policyNotShown names the policy that declines forms that cannot be shown completely (C16).
const policyNotShown = "cannot be shown"

// isRunning reports whether the call that requested the form runs.
func isRunning(s event.State, f turn.Form) bool {
	t := s.Running()
	if t == nil || t.ID != f.Turn {
		return false
	}
	i := t.Item(f.Item)
	return i != nil && i.Status == event.ItemOpen && i.Started
}

// checkForm refuses an answer that does not fit the form. The form stays open.
func checkForm(a *event.Approval, given approval.Answer) error {
	if a.Form == nil {
		return nil
	}
	switch {
	case given.Verdict == event.ApprovedSession:
		return &approval.FormError{Why: "it takes approved, denied and aborted"}
	case given.Verdict != event.Approved:
		return nil
	}
	if err := question.CheckForm(*a.Form, given.Content); err != nil {
		return &approval.FormError{Why: err.Error()}
	}
	return nil
}
