package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
)

// interrupt answers after the turn's terminal event, with the turn's outcome (C10).
func (s *Server) interrupt(w http.ResponseWriter, r *http.Request) error {
	var body interruption
	if err := s.decode(w, r, s.Limits.BodyBytes, &body); err != nil {
		return err
	}
	ctx, cancel := s.bounded(r)
	defer cancel()
	return s.with(ctx, r.PathValue("id"), func(session *settle.Session) error {
		ended, err := session.Interrupt(ctx, settle.Interruption{By: client(r), Input: body.Input, Hurry: body.Hurry})
		if err != nil {
			return s.unended(err, body.Input)
		}
		reply(w, http.StatusOK, outcomeOf(ended))
		return nil
	})
}

func (s *Server) unended(err error, input string) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	detail := fmt.Sprintf("the turn has not ended within %v; settle is still ending it", s.Limits.AnswerTimeout)
	if input != "" {
		detail = fmt.Sprintf(
			"input %[2]q has not arrived within %[1]v, or its turn has not ended; if it arrives later, its turn is not interrupted",
			s.Limits.AnswerTimeout,
			input,
		)
	}
	return newProblem(http.StatusGatewayTimeout, "timeout", detail)
}

func outcomeOf(o settle.Outcome) outcome {
	if o.Cause == nil {
		return outcome{}
	}
	return outcome{
		Turn:    o.Turn,
		Outcome: o.Cause.Outcome,
		Reason:  o.Cause.Reason,
		Message: o.Cause.Error(),
		By:      o.Cause.By,
	}
}

// verdicts returns the possible answers about a call.
func verdicts() []event.Verdict {
	return []event.Verdict{event.Approved, event.ApprovedSession, event.Denied, event.ApprovalAborted}
}

func (s *Server) answerApproval(w http.ResponseWriter, r *http.Request) error {
	var body verdict
	if err := s.decode(w, r, s.Limits.BodyBytes, &body); err != nil {
		return err
	}
	if !slices.Contains(verdicts(), body.Verdict) {
		return newProblem(
			http.StatusBadRequest, "verdict", "the verdict is one of approved, approved_session, denied and aborted",
		)
	}
	if m, err := assemble.ModeNamed(body.Permission); err == nil && !assemble.Within(s.Ceiling, m) {
		return newProblem(http.StatusForbidden, "permission", "the permission "+m.Name+
			" allows more than the user configured ("+string(s.Ceiling)+"); the plan still waits")
	}
	ctx, cancel := s.bounded(r)
	defer cancel()
	answer := settle.Answer{
		Approval:  r.PathValue("approval"),
		Verdict:   body.Verdict,
		Message:   body.Message,
		Explain:   body.Explain,
		Arguments: body.Arguments, Permission: body.Permission,
		By:      client(r),
		Content: body.Content,
	}
	return s.with(ctx, r.PathValue("id"), func(session *settle.Session) error {
		if err := session.Answer(ctx, answer); err != nil {
			return err
		}
		reply(w, http.StatusNoContent, nil)
		return nil
	})
}

func (s *Server) cancelCall(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := s.bounded(r)
	defer cancel()
	return s.with(ctx, r.PathValue("id"), func(session *settle.Session) error {
		if !session.CancelCall(r.PathValue("item"), client(r)) {
			return newProblem(
				http.StatusConflict, "not-running", "the call is not running: it has ended, or never existed",
			)
		}
		reply(w, http.StatusNoContent, nil)
		return nil
	})
}

func (s *Server) killJob(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := s.bounded(r)
	defer cancel()
	return s.with(ctx, r.PathValue("id"), func(session *settle.Session) error {
		if err := session.KillJob(ctx, r.PathValue("job")); err != nil {
			return err
		}
		reply(w, http.StatusNoContent, nil)
		return nil
	})
}
