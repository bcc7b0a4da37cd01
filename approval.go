package settle

import (
	"context"

	"github.com/settle-agent/settle/approval"
)

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
