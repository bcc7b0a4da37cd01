package settle

import (
	"context"
	"fmt"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/session"
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

// Types that decide about calls.
type (
	// Judge says which calls may run, which are to be asked about and which
	// are denied.
	Judge = session.Judge
	// Judgement is what a Judge says of a call.
	Judgement = session.Judgement
	// Answer is somebody's word about a call that waits.
	Answer = session.Answer
	// AnsweredError says that an answer came too late or a second time.
	AnsweredError = session.AnsweredError
	// UnknownApprovalError says that the session never asked.
	UnknownApprovalError = session.UnknownApprovalError
)

// Answer gives somebody's word about a call of the session that waits. The
// first answer counts: for a later one, or one after the turn's end, it returns
// an [*AnsweredError], and nothing is run.
func (s *Session) Answer(ctx context.Context, a Answer) error { return s.actor.Answer(ctx, a) }

// approver is the policy in force as a turn sees it, and the session's
// approvals if somebody may answer them.
func (s *Session) approver(c SessionConfig, log *journal.Log) (Approver, *session.Approvals, error) {
	var judge Judge = &plain{permission: c.Permission}
	if c.Judge != nil {
		var err error
		if judge, err = c.Judge(); err != nil {
			return nil, nil, fmt.Errorf("cannot make the rules of the session: %w", err)
		}
	} else if c.Permission == Allow {
		return nil, nil, nil
	}
	switch {
	case c.Approver != nil:
		return session.NewApprovals(log, judge, s.redact).Asking(c.Approver), nil, nil
	case c.Attended:
		approvals := session.NewApprovals(log, judge, s.redact)
		return approvals, approvals, nil
	}
	return session.Unattended(judge), nil, nil
}

// plain judges by the permission alone, and remembers calls to the letter.
type plain struct {
	permission Permission
	remembered sync.Map // tool and arguments
}

func (p *plain) Judge(a Approval) Judgement {
	j := Judgement{Decision: p.permission, Rule: string(p.permission), Why: "the policy is " + string(p.permission), Covers: "the same call, to the letter"}
	if _, known := p.remembered.Load(a.Tool.Name + a.Arguments); known || a.Tool.ReadOnly {
		j.Decision = Allow
	}
	return j
}

func (p *plain) Remember(a Approval) { p.remembered.Store(a.Tool.Name+a.Arguments, true) }
