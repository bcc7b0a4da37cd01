package settle

import (
	"context"
	"fmt"
	"sync"

	"github.com/settle-agent/settle/approval"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
)

// Permission is what happens to a call that could change something, and what a
// Judge says of one.
type Permission = event.Permission

// The permissions.
const (
	// Allow lets every call run.
	Allow = event.Allow
	// Ask asks SessionConfig.Approver, or whoever answers with Session.Answer;
	// where there is nobody, it denies. It is the default.
	Ask = event.Ask
	// Deny lets only calls run that change nothing.
	Deny = event.Deny
)

// approver is the policy in force as a turn sees it, and the session's
// approvals if somebody may answer them.
func (s *Session) approverOf(c SessionConfig, log *journal.Log, hooks *hooks.Set) (turn.Approver, *session.Approvals, error) {
	if err := s.setJudge(c); err != nil {
		return nil, nil, err
	}
	if s.judge == nil {
		if s.origin == nil && c.Approver == nil && c.Attended { // nothing needs approval, but servers may ask for input
			return nil, session.NewApprovals(log, nil, s.redact).WithHooks(hooks), nil
		}
		return nil, nil, nil
	}
	var other Approver
	switch {
	case s.origin != nil && s.origin.parent.askApprover == nil, s.origin == nil && c.Approver == nil && !c.Attended:
		return session.Unattended(s.judge), nil, nil
	case s.origin != nil:
		other = parentApprover{s.origin, s.judge}
	case c.Approver != nil:
		other = c.Approver
	}
	approvals := session.NewApprovals(log, s.judge, s.redact).WithHooks(hooks)
	s.askApprover = func(ctx context.Context, a session.ChildApproval) error { return approvals.AskForChild(ctx, a, other) }
	if other != nil {
		return approvals.Forwarding(other), nil, nil
	}
	return approvals, approvals, nil
}

// judged sets what judges the session's calls. A child has its parent's judge, with
// what that remembers: what it may do is never wider. One in a worktree has a judge
// for that, by the same rules and without what its parent's remembers.
func (s *Session) setJudge(c SessionConfig) (err error) {
	switch {
	case s.origin != nil && (c.Judge == nil || !s.origin.Order.Worktree):
		s.judge = s.origin.parent.judge
	case c.Judge != nil:
		if s.judge, err = c.Judge(); err != nil {
			return fmt.Errorf("cannot make the rules of the session: %w", err)
		}
	case c.Permission != Allow, c.Hooks != nil: // hooks may have somebody asked
		s.judge = &permissionJudge{permission: c.Permission}
	}
	return nil
}

// asParent asks about the calls of a child in the name of its parent.
type parentApprover struct {
	from  *origin
	judge Judge // of the child
}

// inBackground names the policy that answers for a child in the background whose
// parent is asked during turns only.
const policyBackground = "background"

// mayAsk reports whether somebody is asked: between turns as well where children go on
// then, else during a turn.
func (s *Session) canAsk() (may bool) {
	s.View(func(state event.State) { may = !s.awaitsChildren || state.Running() != nil })
	return may
}

// Approve implements [Approver].
func (a parentApprover) Approve(ctx context.Context, call Approval) error {
	if a.from.Order.Background && !a.from.parent.canAsk() {
		return &DeniedError{Policy: policyBackground, Message: fmt.Sprintf(
			"%q was not allowed to run: it needs approval, and nobody is asked any more since the turn ended that started this agent in the background. "+
				"Continue without it, or report that the task must be run again.", call.Tool.Name)}
	}
	ctx = session.WithMemory(ctx, func() { a.judge.Remember(call) })
	return a.from.parent.askApprover(ctx, session.ChildApproval{
		Child: a.from.Start.Child, Item: a.from.Order.Call, Title: a.from.Order.Title, Call: call, Abort: a.from.Abort,
	})
}

// plain judges by the permission alone, and remembers calls to the letter.
type permissionJudge struct {
	permission Permission
	remembered sync.Map // tool and arguments
}

func (p *permissionJudge) Judge(a Approval) Judgement {
	j := Judgement{Decision: p.permission, Rule: string(p.permission), Why: "the policy is " + string(p.permission), Covers: "the same call, to the letter"}
	if _, known := p.remembered.Load(a.Tool.Name + a.Arguments); known || a.Tool.ReadOnly {
		j.Decision = Allow
	}
	return j
}

func (p *permissionJudge) Remember(a Approval) { p.remembered.Store(a.Tool.Name+a.Arguments, true) }

// The types of approvals; see package approval.
type (
	Approval             = approval.Call
	Approver             = approval.Approver
	Judge                = approval.Judge
	Judgement            = approval.Judgement
	Placer               = approval.Placer
	Answer               = approval.Answer
	DeniedError          = approval.DeniedError
	AnsweredError        = approval.AnsweredError
	UnknownApprovalError = approval.UnknownError
	FormError            = approval.FormError
)

// Answer answers a pending approval of the session. The first answer counts: a later
// one, or one after the turn's end, returns an [*AnsweredError] and has no effect. If
// the session never requested the approval, the error is an [*UnknownApprovalError].
func (s *Session) Answer(ctx context.Context, a Answer) error { return s.actor.Answer(ctx, a) }
