package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/question"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/turn"
)

// WithReviewer sets the reviewer of calls for which a person would be asked; nil for none.
func (a *Approvals) WithReviewer(r approval.Reviewer) *Approvals {
	a.reviewer = r
	return a
}

// reviewVerdict is the effect of a review on a call. The zero value means that there was no review.
type reviewVerdict struct {
	allowed, failed bool
	reason          string
}

// words state a verdict that is not an approval.
func (v reviewVerdict) words() string {
	if v.failed {
		return "the review failed: " + v.reason
	}
	return "the review asks a person: " + v.reason
}

// grant returns how an allowed call runs. No person approved it, so that its processes get no
// secrets.
func (v reviewVerdict) grant(call approval.Call, j approval.Judgement) turn.Grant {
	grant := grantOf(j)
	if call.Tool.Name == "shell" {
		grant.Secrets = event.SecretsWithheld
	}
	grant.Notice = "allowed by review: " + v.reason
	return grant
}

// withReview returns the call for the question to a person.
func withReview(call approval.Call, v reviewVerdict) approval.Call {
	if v.reason != "" {
		call.Review = v.words()
	}
	return call
}

// Bounds of the request and the response of a reviewer: maxReviewPrompts in prompts, the other two
// in bytes.
const (
	maxReviewPrompts = 3
	maxReviewPrompt  = 4000
	maxReviewReason  = 500
)

// review has the reviewer look at a call for which a person would be asked. It is recorded as a
// hook of the call. A reviewer that fails, is late or has used up its budget means that a person
// is asked; an error means that the call does not run.
//
//	hook.started ─► hook.ended: allow  ─► the call runs
//	             ├► hook.ended: ask, or failed ─► a person is asked
//	             └► hook.ended: aborted, with its usage if the reviewer ends soon; else by the
//	                turn's finalizer or the call's ending
func (a *Approvals) review(
	ctx context.Context, call approval.Call, j approval.Judgement, before heldAnswer,
) (v reviewVerdict, err error) {
	if !a.reviews(j, before) {
		return v, nil
	}
	request, long := a.requestOf(call, j)
	if long != nil {
		return v, nil // the question for a person refuses it
	}
	id, of, err := a.startReview(ctx, call, request)
	if err != nil {
		return v, err
	}
	began := time.Now()
	given, failure := a.consult(ctx, of)
	ended := event.HookEnded{
		Hook: id, Outcome: event.Completed, Decision: event.Ask, Usage: given.Usage, Cost: given.Cost,
		Elapsed: time.Since(began).Milliseconds(),
		Reason:  bound.Head(question.Line(a.redact.String(given.Reason)), maxReviewReason),
	}
	switch {
	case ctx.Err() != nil:
		return v, a.abortReview(ctx, call, ended)
	case failure != nil:
		ended.Outcome, ended.Reason = event.Failed, a.redact.Diagnostic(failure.Error())
	case given.Allow:
		ended.Decision = event.Allow
	}
	ended.Reason = cmp.Or(ended.Reason, "no reason given")
	var recorded bool
	err = update(a.log, func(s event.State) []event.Event {
		h := s.Hook(call.Turn, id)
		if recorded = h != nil && h.Ended == nil && ctx.Err() == nil; !recorded {
			return nil
		}
		return []event.Event{{Turn: call.Turn, Attempt: call.Attempt, Item: call.Item, Data: ended}}
	})
	switch {
	case err != nil:
		return v, err
	case ctx.Err() != nil: // the turn's finalizer ends the review
		return v, context.Cause(ctx)
	case !recorded:
		return v, errCallEnded
	}
	return reviewVerdict{ended.Decision == event.Allow, failure != nil, ended.Reason}, nil
}

// reviews reports whether the call is reviewed.
func (a *Approvals) reviews(j approval.Judgement, before heldAnswer) bool {
	return a.reviewer != nil && j.Review && !before.held
}

// changedSinceReview is the reason why a call does not run although the review of an earlier
// judgement allowed it, if no person can be asked.
const changedSinceReview = "the mode or the call's paths changed during its review, and no person can be asked"

// judgeReviewed judges again a call that a review has allowed: the mode, the rules and the paths
// can have changed during the review. The verdict holds if the call can still be reviewed, or is
// allowed, with the same places and in the same sandbox.
func (a *Approvals) judgeReviewed(
	ctx context.Context, call approval.Call, j approval.Judgement,
) (current approval.Judgement, holds bool) {
	call.Places = nil
	current = applyHooks(ctx, a.judge.Judge(call))
	holds = current.Decision == event.Allow || current.Decision == event.Ask && current.Review
	return current, holds && current.Sandbox == j.Sandbox && slices.Equal(current.Places, j.Places)
}

// abortReview records the end of a review whose turn or call was interrupted, if its usage is
// known, and returns the cause. If it is not known, the turn's finalizer ends the review.
func (a *Approvals) abortReview(ctx context.Context, call approval.Call, ended event.HookEnded) error {
	why := context.Cause(ctx)
	if ended.Usage == nil {
		return why
	}
	var cause *event.Cause
	if !errors.As(why, &cause) || cause.Outcome == event.Completed {
		cause = event.Abort(event.Parent, "host")
		cause.Message = "what it ran for has ended"
	}
	ended.Outcome, ended.Cause, ended.Decision, ended.Reason = event.Aborted, cause, "", ""
	err := update(a.log, func(s event.State) []event.Event {
		if h := s.Hook(call.Turn, ended.Hook); h == nil || h.Ended != nil {
			return nil
		}
		return []event.Event{{Turn: call.Turn, Attempt: call.Attempt, Item: call.Item, By: cause.By, Data: ended}}
	})
	return cmp.Or(err, why)
}

// startReview records that a review begins, and returns its id and the request for the reviewer.
func (a *Approvals) startReview(
	ctx context.Context, call approval.Call, request event.ApprovalRequested,
) (id string, of approval.ReviewRequest, err error) {
	of = approval.ReviewRequest{Tool: call.Tool.Name, Text: request.Text, Why: request.Why}
	err = update(a.log, func(s event.State) []event.Event {
		if ctx.Err() != nil || !isPending(s, call) {
			return nil
		}
		of.Dir, of.Prompts = s.Host.Dir, a.lastPrompts(s)
		for _, t := range s.Turns {
			for _, h := range t.Hooks {
				if h.Event != event.HookReview {
					continue
				}
				of.Reviews++
				if h.Ended != nil {
					if spent, ok := h.Ended.Spent(); ok {
						of.Spent.Add(spent)
					}
				}
			}
		}
		id = s.NextHook(0)
		return []event.Event{{Turn: call.Turn, Attempt: call.Attempt, Item: call.Item, Data: event.HookStarted{
			Hook: id, Event: event.HookReview, Command: a.reviewer.Model(), Source: string(event.Review),
			TimeoutMS: a.reviewer.Timeout().Milliseconds(),
		}}}
	})
	if err == nil && id == "" {
		if err = context.Cause(ctx); err == nil {
			err = errCallEnded
		}
	}
	return id, of, err
}

// usageGrace bounds the wait for the usage of a review that was ended.
const usageGrace = 100 * time.Millisecond

// consult asks the reviewer within its time limit. A reviewer that ignores its context is
// abandoned after usageGrace. The review has the usage also with an error, if it is known.
func (a *Approvals) consult(ctx context.Context, of approval.ReviewRequest) (approval.Review, error) {
	late := fmt.Errorf("no verdict within %v", a.reviewer.Timeout())
	ctx, cancel := context.WithTimeoutCause(ctx, a.reviewer.Timeout(), late)
	defer cancel()
	type reply struct {
		review approval.Review
		err    error
	}
	replies := make(chan reply, 1)
	// Ends with ctx, unless the provider ignores it; nothing waits for it then.
	go scope.Shield(func(err error) { replies <- reply{err: err} }, func() {
		review, err := a.reviewer.Review(ctx, of)
		replies <- reply{review, err} // never blocks: one reply, capacity 1
	})()
	select {
	case r := <-replies:
		if r.err != nil && ctx.Err() != nil {
			r.err = context.Cause(ctx)
		}
		return r.review, r.err
	case <-ctx.Done():
	}
	grace := time.NewTimer(usageGrace)
	defer grace.Stop()
	select {
	case r := <-replies:
		return approval.Review{Usage: r.review.Usage, Cost: r.review.Cost}, context.Cause(ctx)
	case <-grace.C:
		return approval.Review{}, context.Cause(ctx)
	}
}

// lastPrompts are the last prompts of the user, oldest first. They have no output of tools.
func (a *Approvals) lastPrompts(s event.State) (list []string) {
	for n := len(s.Turns) - 1; n >= 0 && len(list) < maxReviewPrompts; n-- {
		t := s.Turns[n]
		inputs := t.Inputs
		for _, attempt := range t.Attempts {
			inputs = append(inputs[:len(inputs):len(inputs)], attempt.Inputs...)
		}
		for k := len(inputs) - 1; k >= 0 && len(list) < maxReviewPrompts; k-- {
			if in := inputs[k]; !in.Command && in.HeldCall == nil && !in.Kept() {
				text := bound.Ends(
					a.redact.String(in.Text), maxReviewPrompt/2, maxReviewPrompt/2, "[%d bytes left out]",
				)
				list = append([]string{text}, list...)
			}
		}
	}
	return list
}
