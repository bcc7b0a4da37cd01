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

// ChildApproval is a call of a child agent that needs approval.
type ChildApproval struct {
	Child, Item string // Item is the parent's call that runs the child
	Title       string // title of the child's task
	approval.Call
	// Abort ends a background child, which does not end with its parent's turn.
	Abort func(by string)
}

// AskForChild requests approval of a child's call in the log of its parent. The request names
// the child. If approver is set, it decides instead, as in Forwarding. AskForChild returns nil
// if the call may run; the approval ends with ctx.
func (a *Approvals) AskForChild(ctx context.Context, c ChildApproval, parent approval.Approver) error {
	name := c.Child
	if c.Title != "" {
		name = fmt.Sprintf("%s (%s)", c.Child, c.Title)
	}
	request := event.ApprovalRequested{
		Tool: c.Tool.Name, Title: a.redact.String(
			"child agent " + name + ": " + c.Call.Title,
		), Why: a.redact.String(c.Why), Covers: a.redact.String(c.Covers), Once: c.Once, Child: c.Child,
		Places: turn.MaskPlaces(a.redact, disk.ThroughLinks(string(filepath.Separator), c.Places)),
	}
	if c.Text != "" {
		request.Text = a.redact.String("Child agent " + name + " asks:\n" + c.Text)
	}
	if parent == nil && c.Text == "" {
		return &approval.DeniedError{
			Policy:  policyTooLong,
			Message: fmt.Sprintf("%q was not allowed to run: it is too long to show. Nothing was done.", c.Tool.Name),
		}
	}
	id, answer, err := a.requestFor(ctx, c, request)
	if err != nil {
		return err
	}
	defer a.forget(id)
	if parent != nil {
		return a.forwardFor(ctx, c, request, id, parent)
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
		<-ctx.Done() // Session.Answer interrupts the turn, which ends a foreground child
		return context.Cause(ctx)
	}
	return &approval.DeniedError{Policy: given.Policy, Message: denialMessage(c.Call, given, c.Why)}
}

// memoryKey is the context key of the function that remembers an approval.
type memoryKey struct{}

// WithMemory returns a context with the function that remembers an approval for the session.
// It is the judge's of the child that makes the call; the judges of its parents may be for
// other directories, so the first function counts.
func WithMemory(ctx context.Context, remember func()) context.Context {
	if ctx.Value(memoryKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, memoryKey{}, remember)
}

// forwardFor lets the approver decide, and records its answer.
func (a *Approvals) forwardFor(
	ctx context.Context, c ChildApproval, request event.ApprovalRequested, id string, parent approval.Approver,
) error {
	call := c.Call
	call.Title, call.Text, call.Child = request.Title, request.Text, c.Child
	answerErr := parent.Approve(ctx, call)
	if answerErr != nil && ctx.Err() != nil {
		a.expire(id)
		return context.Cause(ctx)
	}
	given := approval.Answer{Approval: id, Verdict: event.Approved, By: clientApprover}
	if answerErr != nil {
		given.Verdict, given.Message = event.Denied, answerErr.Error()
		if denied := (*approval.DeniedError)(nil); errors.As(answerErr, &denied) {
			given.Policy = denied.Policy
		}
	}
	if err := a.Answer(given); err != nil {
		return err // another answer came first: the call does not run
	}
	return answerErr
}

// requestFor records the request in the log. It can be answered while the child runs.
func (a *Approvals) requestFor(
	ctx context.Context, c ChildApproval, request event.ApprovalRequested,
) (string, *scope.Deferred[approval.Answer], error) {
	return a.record(ctx, request, func(s event.State) (event.Event, bool) {
		child := s.Child(c.Child)
		if child != nil && child.Background() { // its call has ended, and its turn may have ended
			return event.Event{}, child.Ended == nil
		}
		t := s.Running()
		if t == nil || child == nil || child.Ended != nil || child.Turn != t.ID {
			return event.Event{}, false
		}
		return event.Event{Turn: t.ID, Attempt: t.Item(c.Item).Attempt, Item: c.Item}, true
	})
}

// inBackground reports whether the child runs in the background.
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
	}) // a failed journal ends the turn by itself
}
