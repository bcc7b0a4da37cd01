package settle

import (
	"fmt"
	"sync"

	"github.com/settle-agent/settle/event"
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
func (s *Session) approver(c SessionConfig, log *journal.Log) (turn.Approver, *session.Approvals, error) {
	var judge Judge = &plain{permission: c.Permission}
	if c.Judge != nil {
		var err error
		if judge, err = c.Judge(); err != nil {
			return nil, nil, fmt.Errorf("cannot make the rules of the session: %w", err)
		}
	} else if c.Permission == Allow {
		return nil, nil, nil
	}
	if c.Approver == nil && !c.Attended {
		return session.Unattended(judging{judge}), nil, nil
	}
	approvals := session.NewApprovals(log, judging{judge}, s.redact)
	if c.Approver != nil {
		return approvals.Asking(approving{c.Approver}), nil, nil
	}
	return approvals, approvals, nil
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
