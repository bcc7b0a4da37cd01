package settle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/tool"
)

// Approval is a call that is ready to run.
type Approval struct {
	// Turn, Attempt and Item are the ids of the call's event; Item is the call's.
	Turn, Attempt, Item string
	Tool                tool.Spec
	// Title is the call in one line, and Arguments is the JSON of its arguments.
	Title     string
	Arguments string
	// Starts are programs which clients have named and which the call would start.
	Starts []tool.Program
	// Text is the whole call for a person to read; empty for an Approver that
	// is asked about one that is too long to be shown, which a person must not
	// approve. Covers says what approving it for the session would cover.
	Text, Covers string
	// Why says in one line why the call is not simply allowed; empty where
	// nobody is asked about it.
	Why string
	// Places are where the call's paths lead, by the judgement that has somebody asked;
	// nil if it was not about paths.
	Places []event.ResolvedPath
}

// Approver decides whether a call may run. Approve returns nil to let it run,
// a [*DeniedError] to refuse it, or context.Cause(ctx) when ctx ends first: an
// approval ends with its turn (C16). It is called by several goroutines.
type Approver interface {
	Approve(ctx context.Context, call Approval) error
}

// DeniedError refuses a call.
type DeniedError struct {
	// Message is for the model.
	Message string
	// Policy names the declared policy that answered, where nobody was asked.
	Policy string
}

func (e *DeniedError) Error() string { return e.Message }

// Judgement is what a [Judge] says of a call, and what a person should know of
// it.
type Judgement struct {
	Decision Permission
	// Rule names what decided, Why says it in one line, and Detail shows what
	// the call would do.
	Rule, Why string
	Detail    json.RawMessage
	// Covers says in one line what remembering the call would allow; empty for
	// what is shown of it and no more.
	Covers string
	// Sandbox is what the call may do if it runs, whoever allows it; a tool that
	// starts processes holds them to it. Empty for whatever the user may.
	Sandbox event.Sandbox
	// Secrets says which secrets its processes get, if nobody is asked about the call; a
	// call that a person approves gets what the user has.
	Secrets event.Secrets
	// Places are where the call's paths led when it was judged; nil if the judgement was
	// not about paths. The tool opens these places, and no others.
	Places []event.ResolvedPath
}

// Judge says which calls may run, which are to be asked about and which are
// denied. It is called by several goroutines.
type Judge interface {
	Judge(call Approval) Judgement
	// Remember allows calls of this kind for the rest of the session: in the places that
	// the call has, wherever its paths lead by then.
	Remember(call Approval)
}

// Placer is implemented by a [Judge] whose judgements are about the places that paths
// lead to. Between an answer and the call, it is asked where they lead by then.
type Placer interface {
	// Places are where the call's paths lead now, as in a [Judgement].
	Places(call Approval) []event.ResolvedPath
}

// Answer is somebody's word about a call that waits.
type Answer struct {
	// Approval is the id of the approval.
	Approval string
	// Verdict is approved, approved_session, denied or aborted; the last ends
	// the turn as well.
	Verdict event.Verdict
	// Message is for the model.
	Message string
	// Policy, if set, names the policy that answers, since nobody can be asked
	// (C16).
	Policy string
	// By says who answers: "user", a client's name.
	By string
	// Content are the values that a form asks for: a JSON object. They go to the
	// server that asks, and not into the log.
	Content json.RawMessage
}

// AnsweredError says that an answer came too late, or a second time: it ran
// nothing (C16).
type AnsweredError struct {
	Approval string
	Verdict  event.Verdict // how the approval had ended
	By       string        // who ended it; empty for its turn
}

func (e *AnsweredError) Error() string { return (*session.AnsweredError)(e).Error() }

// UnknownApprovalError says that the session never asked.
type UnknownApprovalError struct{ Approval string }

func (e *UnknownApprovalError) Error() string {
	return fmt.Sprintf("there is no approval %q in this session", e.Approval)
}

// FormError says why a form does not take an answer. The question stays open.
type FormError struct{ Why string }

func (e *FormError) Error() string { return (*session.FormError)(e).Error() }

// Answer gives somebody's word about a call of the session that waits. The
// first answer counts: for a later one, or one after the turn's end, it returns
// an [*AnsweredError], and nothing is run. For an approval that the session
// never asked for, the error is an [*UnknownApprovalError].
func (s *Session) Answer(ctx context.Context, a Answer) error {
	err := s.actor.Answer(ctx, session.Answer(a))
	if late := (*session.AnsweredError)(nil); errors.As(err, &late) {
		return (*AnsweredError)(late)
	}
	if misfit := (*session.FormError)(nil); errors.As(err, &misfit) {
		return (*FormError)(misfit)
	}
	if unknown := (*session.UnknownApprovalError)(nil); errors.As(err, &unknown) {
		return (*UnknownApprovalError)(unknown)
	}
	return err
}

// approving is an Approver as turns know it.
type approving struct{ Approver }

// Approve implements [turn.Approver].
func (a approving) Approve(ctx context.Context, call turn.Approval) (turn.Grant, error) {
	err := a.Approver.Approve(ctx, Approval(call))
	if denied := (*DeniedError)(nil); errors.As(err, &denied) {
		return turn.Grant{}, (*turn.DeniedError)(denied)
	}
	return turn.Grant{}, err
}

// judging is a Judge as sessions know it.
type judging struct{ judge Judge }

// Judge implements [session.Judge].
func (j judging) Judge(call turn.Approval) session.Judgement {
	return session.Judgement(j.judge.Judge(Approval(call)))
}

// Places implements [session.Judge].
func (j judging) Places(call turn.Approval) []event.ResolvedPath {
	if p, ok := j.judge.(Placer); ok {
		return p.Places(Approval(call))
	}
	return j.judge.Judge(Approval(call)).Places
}

// Remember implements [session.Judge].
func (j judging) Remember(call turn.Approval) { j.judge.Remember(Approval(call)) }
