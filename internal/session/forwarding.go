package session

import (
	"context"
	"errors"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/question"
	"github.com/settle-agent/settle/internal/turn"
)

// Forwarding returns an Approver that asks another Approver if the judge requires approval.
// The log has the request before that Approver is called, and its answer before the call runs,
// as if a client had called Answer (C2, C16).
func (a *Approvals) Forwarding(parent approval.Approver) turn.Approver { return forwarding{a, parent} }

type forwarding struct {
	*Approvals
	approver approval.Approver
}

// clientApprover names the embedding program's Approver in the log.
const clientApprover = "approver"

// Approve implements [turn.Approver].
func (a forwarding) Approve(ctx context.Context, call approval.Call) (turn.Grant, error) {
	return a.approve(ctx, call, func(call approval.Call, j approval.Judgement) (approval.Answer, error) {
		return approval.Answer{}, a.forward(ctx, call, j)
	})
}

// forward asks the approver and returns nil if the call may run.
func (a forwarding) forward(ctx context.Context, call approval.Call, j approval.Judgement) error {
	request, _ := a.requestOf(call, j) // a program can read arguments of any length
	request.Review = question.Line(a.redact.String(call.Review))
	call.Text, call.Covers, call.Once, call.Why = request.Text, request.Covers, request.Once, request.Why
	id, _, err := a.request(ctx, call, request)
	if err != nil {
		return err
	}
	defer a.forget(id)
	defer a.notifyHooks(ctx, call)()
	answerErr := a.approver.Approve(ctx, call)
	if answerErr != nil && ctx.Err() != nil {
		return context.Cause(ctx) // the approval expires with its turn
	}
	given := approval.Answer{Approval: id, Verdict: event.Approved, By: clientApprover}
	var denied *approval.DeniedError
	if answerErr != nil {
		given.Verdict, given.Message = event.Denied, answerErr.Error()
		if errors.As(answerErr, &denied) {
			answerErr = &approval.DeniedError{Message: denied.Message} // the log already has the policy
			given.Policy = denied.Policy
		}
	}
	if err := a.Answer(given); err != nil {
		return err // another answer came first: the call does not run
	}
	return answerErr
}

// Unattended returns an Approver that denies every call that needs approval, and names the
// policy (C16). A held call that a person approved runs if its question is the same, and a call
// that a review allows runs if no hook denies it.
func (a *Approvals) Unattended() turn.Approver { return unattended{a} }

type unattended struct{ *Approvals }

// Approve implements [turn.Approver].
func (u unattended) Approve(ctx context.Context, call approval.Call) (turn.Grant, error) {
	j := applyHooks(ctx, u.judge.Judge(call))
	call.Places = j.Places
	j, before := u.compared(call, j)
	switch j.Decision {
	case event.Allow:
		return grantOf(j), nil
	case event.Ask:
		if before.same {
			if _, err := u.askHooks(ctx, call); err != nil {
				return turn.Grant{}, err
			}
			j.Secrets = "" // as when a person approves at once
			return before.grant(j), nil
		}
		if u.reviews(j, before) { // a hook can deny it; a call that a hook allows is reviewed
			if _, err := u.askHooks(ctx, call); err != nil {
				return turn.Grant{}, err
			}
		}
		verdict, err := u.review(ctx, call, j, before)
		if err != nil {
			return turn.Grant{}, err
		}
		if verdict.allowed {
			current, holds := u.judgeReviewed(ctx, call, j)
			switch {
			case holds:
				return verdict.grant(call, j), nil
			case current.Decision == event.Ask:
				current.Why = withReason(changedSinceReview, current.Why)
				current.Rule = string(event.Ask)
				return turn.Grant{}, deniedByPolicy(call, current)
			}
			_, err := decide(call, current)
			return grantOf(current), err
		}
		if verdict.reason != "" {
			j.Why = withReason(j.Why, verdict.words())
		}
		j.Rule, j.Why = string(event.Ask), withReason("the policy is ask, and no person can be asked", j.Why)
	}
	return turn.Grant{}, deniedByPolicy(call, j)
}
