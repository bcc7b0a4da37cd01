package turn

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/tool"
)

// Filler lets the user fill in the forms that running calls request.
type Filler interface {
	// Fill returns the values as a JSON object, a [*tool.DeclinedError], or context.Cause(ctx)
	// if ctx ends first.
	Fill(ctx context.Context, q Form) (json.RawMessage, error)
}

// Form is a form that a call requests.
type Form struct {
	Turn, Attempt, Item string
	Tool, Title         string
	event.Form
}

// policyNoPerson names the policy that declines a form if no person can answer (C16).
const policyNoPerson = "nobody to ask"

// fillForm lets the user fill in a form. The call's timeout is paused until then.
func (c *call) fillForm(ctx context.Context, form event.Form) (json.RawMessage, error) {
	defer c.time.Hold()()
	t := c.turn
	f := Form{Turn: t.id, Attempt: c.attempt, Item: c.item, Tool: c.name, Title: t.Redact.String(c.title()), Form: form}
	if t.Filler != nil {
		return t.Filler.Fill(ctx, f)
	}
	form.Schema = nil
	form = MaskForm(t.Redact, form)
	if err := t.update(func(s event.State) []event.Event {
		if !c.open(s) {
			return nil
		}
		id := s.NextApproval()
		return append(
			c.event(event.ApprovalRequested{Approval: id, Tool: c.name, Title: f.Title, Form: &form}),
			c.event(event.ApprovalEnded{Approval: id, Verdict: event.Denied, Policy: policyNoPerson})...,
		)
	}); err != nil {
		return nil, fmt.Errorf("cannot record what the tool asks for: %w", err)
	}
	return nil, &tool.DeclinedError{Policy: policyNoPerson, Message: "no person can be asked"}
}

// MaskForm masks the secrets of a form. A schema or questions that are no JSON then are left
// out.
func MaskForm(r *redact.Redactor, f event.Form) event.Form {
	f.Message, f.URL = r.String(f.Message), r.String(f.URL)
	if f.Schema = r.Bytes(f.Schema); len(f.Schema) > 0 && !json.Valid(f.Schema) {
		f.Schema = nil
	}
	if len(f.Questions) > 0 {
		raw, _ := json.Marshal(f.Questions) // strings have JSON
		f.Questions = nil
		_ = json.Unmarshal(r.Bytes(raw), &f.Questions) // else there are none
	}
	return f
}
