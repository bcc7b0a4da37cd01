package settle

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
)

// Permission is the policy for a call that could change something, and the decision of a
// Judge.
type Permission = event.Permission

// The permissions.
const (
	// Allow lets every call run.
	Allow = event.Allow
	// Ask requires approval by SessionConfig.Approver or Session.Answer. It denies if there is
	// neither. It is the default.
	Ask = event.Ask
	// Deny allows only calls that change nothing.
	Deny = event.Deny
	// Review is like Ask, and SessionConfig.Reviewer can allow the calls that the Judge leaves to
	// it. Without a Reviewer and a Judge it is Ask.
	Review = event.Review
)

// approverOf returns the turns' Approver, and the session's approvals if clients may answer
// them.
func (s *Session) approverOf(
	c SessionConfig, log *journal.Log, hooks *hooks.Set,
) (turn.Approver, *session.Approvals, error) {
	if err := s.setJudge(c, log); err != nil {
		return nil, nil, err
	}
	if s.judge == nil {
		if s.origin == nil && c.Approver == nil && c.Attended { // no call needs approval, but servers may ask for input
			return nil, session.NewApprovals(log, nil, s.redact).WithHooks(hooks), nil
		}
		return nil, nil, nil
	}
	var fallback Approver
	switch {
	case s.origin != nil && s.origin.parent.askApprover == nil, s.origin == nil && c.Approver == nil && !c.Attended:
		return session.NewApprovals(log, s.judge, s.redact).
				WithHooks(hooks).
				WithReviewer(s.reviewerOf(c)).
				Unattended(),
			nil, nil
	case s.origin != nil:
		fallback = parentApprover{s.origin, s.judge}
	case c.Approver != nil:
		fallback = c.Approver
	}
	approvals := session.NewApprovals(log, s.judge, s.redact).WithHooks(hooks).WithReviewer(s.reviewerOf(c))
	s.askApprover = func(ctx context.Context, a session.ChildApproval) error {
		return approvals.AskForChild(ctx, a, fallback)
	}
	if fallback != nil {
		return approvals.Forwarding(fallback), nil, nil
	}
	return approvals, approvals, nil
}

// reviewerOf returns the session's reviewer. A child agent has none: its calls go to the approver
// of its parent.
func (s *Session) reviewerOf(c SessionConfig) Reviewer {
	if s.origin != nil {
		return nil
	}
	return c.Reviewer
}

// setJudge sets the judge of the session's calls. A child has its parent's judge with
// everything that the judge remembers, so that the child never has more permissions. A child
// in a worktree has a judge for the worktree, with the same rules and nothing remembered.
func (s *Session) setJudge(c SessionConfig, log *journal.Log) (err error) {
	switch {
	case s.origin != nil && s.origin.permission != "":
		return s.setStricterJudge(c)
	case s.origin != nil && (c.Judge == nil || !s.origin.Order.Worktree):
		s.judge = s.origin.parent.judge
	case c.Judge != nil:
		if s.judge, err = c.Judge(); err != nil {
			return fmt.Errorf("cannot make the rules of the session: %w", err)
		}
	case c.Permission != Allow, c.Hooks != nil, runsHeldCall(log): // hooks may require approval
		s.judge = &permissionJudge{permission: c.Permission}
	}
	return nil
}

// setStricterJudge sets the judge of a child whose kind, or a parent's kind, has a stricter
// permission. It remembers nothing of the parent's approvals.
func (s *Session) setStricterJudge(c SessionConfig) (err error) {
	stricter := s.origin.permission
	if c.Tasks == nil || c.Tasks.Judge == nil {
		alone := &permissionJudge{permission: stricter}
		if s.judge = alone; c.Judge == nil {
			return nil
		}
		own, err := c.Judge()
		if err != nil {
			return fmt.Errorf("cannot make the rules of the session: %w", err)
		}
		s.judge = strictestJudge{own, alone}
		return nil
	}
	if s.judge, err = c.Tasks.Judge(stricter); err != nil {
		return fmt.Errorf("cannot make the rules of the session: %w", err)
	}
	return nil
}

// runsHeldCall reports whether a held call can run: one that waits for a verdict, or for the turn
// that runs it. settle compares such a call with the approved call, even if every call is allowed.
func runsHeldCall(log *journal.Log) (runs bool) {
	log.View(func(state event.State) {
		runs = len(state.HeldCalls()) > 0 || slices.ContainsFunc(
			state.Waiting,
			func(in event.Input) bool { return in.HeldCall != nil && in.RunsCall() },
		)
	})
	return runs
}

// parentApprover requests approval of a child's calls in its parent's log.
type parentApprover struct {
	from  *origin
	judge Judge // of the child
}

// policyBackground names the policy that answers for a background child if its parent accepts
// approvals only during turns.
const policyBackground = "background"

// canAsk reports whether approvals can be requested now: always, or only during a turn if
// children end with their turn.
func (s *Session) canAsk() (may bool) {
	s.View(func(state event.State) { may = !s.awaitsChildren || state.Running() != nil })
	return may
}

// Approve implements [Approver].
func (a parentApprover) Approve(ctx context.Context, call Approval) error {
	if a.from.Order.Background && !a.from.parent.canAsk() {
		return &DeniedError{Policy: policyBackground, Message: fmt.Sprintf(
			"%q was not allowed to run: it needs approval, and nobody is asked any more since the turn ended "+
				"that started this agent in the background. "+
				"Continue without it, or report that the task must be run again.", call.Tool.Name)}
	}
	ctx = session.WithMemory(ctx, func() { a.judge.Remember(call) })
	return a.from.parent.askApprover(ctx, session.ChildApproval{
		Child: a.from.Start.Child, Item: a.from.Order.Call, Title: a.from.Order.Title, Call: call, Abort: a.from.Abort,
	})
}

// permissionJudge judges by the permission alone, and remembers calls with equal arguments.
type permissionJudge struct {
	permission Permission
	remembered sync.Map // tool and arguments
}

// decision is the decision about a call that can change something.
func (p *permissionJudge) decision() Permission {
	if p.permission == Review {
		return Ask
	}
	return p.permission
}

func (p *permissionJudge) Judge(a Approval) Judgement {
	j := Judgement{
		Decision: p.decision(), Rule: string(p.permission), Why: "the policy is " + string(p.permission),
		Covers: "the same call, to the letter", Mode: string(p.permission),
	}
	if _, known := p.remembered.Load(a.Tool.Name + a.Arguments); known || a.Tool.ReadOnly {
		j.Decision = Allow
	}
	return j
}

func (p *permissionJudge) Remember(a Approval) { p.remembered.Store(a.Tool.Name+a.Arguments, true) }

// strictestJudge is a program's judge with a permission that bounds it.
type strictestJudge struct {
	own   Judge
	bound *permissionJudge
}

// Judge returns the stricter judgement. The program's judgement determines how the call runs.
func (s strictestJudge) Judge(a Approval) Judgement {
	own, bound := s.own.Judge(a), s.bound.Judge(a)
	if bound.Decision.Stricter(own.Decision) == own.Decision {
		return own
	}
	own.Decision, own.Rule, own.Why, own.Covers = bound.Decision, bound.Rule, bound.Why, bound.Covers
	own.Mode, own.Review, own.Once = bound.Mode, false, bound.Once
	return own
}

func (s strictestJudge) Remember(a Approval) {
	s.own.Remember(a)
	s.bound.Remember(a)
}

// Places implements [Placer].
func (s strictestJudge) Places(a Approval) []event.ResolvedPath {
	if p, ok := s.own.(Placer); ok {
		return p.Places(a)
	}
	return s.own.Judge(a).Places
}

// The types of approvals; see package approval.
type (
	Approval             = approval.Call
	Approver             = approval.Approver
	Reviewer             = approval.Reviewer
	Judge                = approval.Judge
	Judgement            = approval.Judgement
	Placer               = approval.Placer
	Answer               = approval.Answer
	DeniedError          = approval.DeniedError
	AnsweredError        = approval.AnsweredError
	UnknownApprovalError = approval.UnknownError
	FormError            = approval.FormError
	MisfitError          = approval.MisfitError
)

// Answer answers a pending approval of the session, or a held call by its id; a held call that
// is approved runs in a new turn. The first answer counts: a later
// one, or one after the turn's end, returns an [*AnsweredError] and has no effect. If
// the session never requested the approval, the error is an [*UnknownApprovalError].
func (s *Session) Answer(ctx context.Context, a Answer) error { return s.actor.Answer(ctx, a) }
