package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/turn"
)

// ChildApproval is a call of a child that needs approval.
type ChildApproval struct {
	Child, Item string // Item is the parent's call that runs it
	Title       string // of the child's task
	approval.Call
	// Abort ends a child in the background, whose end is not that of its parent's turn.
	Abort func(by string)
}

// AskFor asks about a call of a child, in the log of its parent: whoever watches
// that is asked, and told which child it is. Other, if set, is asked instead, as by
// Asking. It returns nil if the call may run; the approval ends with ctx.
func (a *Approvals) AskForChild(ctx context.Context, c ChildApproval, other approval.Approver) error {
	name := c.Child
	if c.Title != "" {
		name = fmt.Sprintf("%s (%s)", c.Child, c.Title)
	}
	request := event.ApprovalRequested{
		Tool: c.Tool.Name, Title: a.redact.String("child agent " + name + ": " + c.Call.Title), Why: a.redact.String(c.Why), Covers: a.redact.String(c.Covers), Child: c.Child,
		Places: turn.MaskPlaces(a.redact, disk.ThroughLinks(string(filepath.Separator), c.Places)),
	}
	if c.Text != "" {
		request.Text = a.redact.String("Child agent " + name + " asks:\n" + c.Text)
	}
	if other == nil && c.Text == "" {
		return &approval.DeniedError{Policy: policyTooLong, Message: fmt.Sprintf("%q was not allowed to run: it is too long to show. Nothing was done.", c.Tool.Name)}
	}
	id, answer, err := a.requestFor(ctx, c, request)
	if err != nil {
		return err
	}
	defer a.forget(id)
	if other != nil {
		return a.forwardFor(ctx, c, request, id, other)
	}
	given, err := answer.Wait(ctx)
	if err != nil {
		a.expire(id)
		return err
	}
	switch given.Verdict {
	case event.Approved:
		return nil
	case event.ApprovedSession:
		if remember, ok := ctx.Value(memoryKey{}).(func()); ok {
			remember()
		}
		return nil
	case event.ApprovalAborted:
		if a.inBackground(c.Child) {
			c.Abort(given.By)
		}
		<-ctx.Done() // Session.Answer interrupts the turn of one in the foreground, and that the child
		return context.Cause(ctx)
	}
	return &approval.DeniedError{Policy: given.Policy, Message: denialMessage(c.Call, given, c.Why)}
}

// memory is the key of what remembers an approval for the session.
type memoryKey struct{}

// WithMemory says what remembers a call that AskFor has approved for the session: the
// judge of the child that makes it, which may work elsewhere than its parents. The
// first one counts.
func WithMemory(ctx context.Context, remember func()) context.Context {
	if ctx.Value(memoryKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, memoryKey{}, remember)
}

// forwardFor asks the other one, and records the answer.
func (a *Approvals) forwardFor(ctx context.Context, c ChildApproval, request event.ApprovalRequested, id string, other approval.Approver) error {
	call := c.Call
	call.Title, call.Text = request.Title, request.Text
	said := other.Approve(ctx, call)
	if said != nil && ctx.Err() != nil {
		a.expire(id)
		return context.Cause(ctx)
	}
	given := approval.Answer{Approval: id, Verdict: event.Approved, By: clientApprover}
	if said != nil {
		given.Verdict, given.Message = event.Denied, said.Error()
		if denied := (*approval.DeniedError)(nil); errors.As(said, &denied) {
			given.Policy = denied.Policy
		}
	}
	if err := a.Answer(given); err != nil {
		return err // it came too late: nothing is run
	}
	return said
}

// askFor puts the request into the log, for as long as the child runs.
func (a *Approvals) requestFor(ctx context.Context, c ChildApproval, request event.ApprovalRequested) (string, *scope.Deferred[approval.Answer], error) {
	return a.record(ctx, request, func(s event.State) (event.Event, bool) {
		child := s.Child(c.Child)
		if child != nil && child.Background() { // its call is over, and perhaps its turn
			return event.Event{}, child.Ended == nil
		}
		t := s.Running()
		if t == nil || child == nil || child.Ended != nil || child.Turn != t.ID {
			return event.Event{}, false
		}
		return event.Event{Turn: t.ID, Attempt: t.Item(c.Item).Attempt, Item: c.Item}, true
	})
}

// inBackground reports whether the child is one in the background.
func (a *Approvals) inBackground(child string) (is bool) {
	a.log.View(func(s event.State) {
		c := s.Child(child)
		is = c != nil && c.Background()
	})
	return is
}

// expire ends an approval whose child does not wait for it any more (C16).
func (a *Approvals) expire(id string) {
	_ = update(a.log, func(s event.State) []event.Event {
		place, found := findApproval(s, id)
		if found == nil || found.Ended != nil || place.Turn != "" && s.Turn(place.Turn).Cause != nil {
			return nil
		}
		place.Data = event.ApprovalEnded{Approval: id, Verdict: event.Expired}
		return []event.Event{place}
	}) // a journal that fails ends the turn by itself
}
