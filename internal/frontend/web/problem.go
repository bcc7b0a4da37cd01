package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

// problem is an error as clients get it (RFC 9457).
type problem struct {
	Type   string `json:"type" jsonschema:"stable, for programs"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail" jsonschema:"what happened, and what to do next"`
	// Extensions.
	Verdict event.Verdict `json:"verdict,omitempty" jsonschema:"how the approval ended"`
	By      string        `json:"by,omitempty" jsonschema:"who ended it"`
	Holder  *holder       `json:"holder,omitempty" jsonschema:"the process that holds the session"`
}

// holder is the process that holds a session.
type holder struct {
	PID     int  `json:"pid" jsonschema:"0 if it cannot be seen from here"`
	Stopped bool `json:"stopped,omitempty"`
}

// Error implements [error], so that a handler can return a problem.
func (p *problem) Error() string { return p.Detail }

const problemType = "urn:settle:problem:"

func newProblem(status int, name, detail string) *problem {
	return &problem{Type: problemType + name, Title: http.StatusText(status), Status: status, Detail: detail}
}

// problemOf translates an error of the host for a client.
func problemOf(err error) *problem {
	var (
		own      *problem
		held     *journal.HeldError
		missing  *journal.MissingError
		name     *journal.NameError
		answered *settle.AnsweredError
		unasked  *settle.UnknownApprovalError
		misfit   *settle.FormError
		unfit    *settle.MisfitError
		job      *settle.NoJobError
		tooLarge *http.MaxBytesError
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &misfit):
		return newProblem(http.StatusUnprocessableEntity, "form", misfit.Error())
	case errors.As(err, &unfit):
		return newProblem(http.StatusUnprocessableEntity, "answer", err.Error()+"; the approval still waits")
	case errors.As(err, &held):
		p := newProblem(http.StatusConflict, "session-held", err.Error())
		p.Holder = &holder{PID: held.PID, Stopped: held.Stopped}
		return p
	case errors.As(err, &missing):
		return newProblem(http.StatusNotFound, "no-session", "there is no session "+strconv.Quote(missing.Session))
	case errors.As(err, &name):
		return newProblem(http.StatusBadRequest, "session-id", err.Error())
	case errors.As(err, &answered):
		p := newProblem(http.StatusConflict, "answered", err.Error())
		p.Verdict, p.By = answered.Verdict, answered.By
		return p
	case errors.As(err, &unasked):
		return newProblem(http.StatusNotFound, "no-approval", err.Error())
	case errors.As(err, &job):
		return newProblem(http.StatusNotFound, "no-job", err.Error())
	case errors.As(err, &tooLarge):
		return newProblem(
			http.StatusRequestEntityTooLarge, "too-large",
			"the request's body has more than "+strconv.FormatInt(tooLarge.Limit, 10)+" bytes; nothing was done",
		)
	case errors.Is(err, settle.ErrClosed):
		return newProblem(http.StatusServiceUnavailable, "closing", "the session is closing; try again")
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem(http.StatusGatewayTimeout, "timeout", err.Error())
	}
	return newProblem(http.StatusInternalServerError, "internal", err.Error())
}

// retryDelay is the delay after which a client should try again.
const retryDelay = time.Second

// refuse answers with a problem. The answer closes connections that can
// still carry an unread body.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	p := *problemOf(err)
	p.Detail = s.mask(p.Detail)
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="settle"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.Itoa(int(retryDelay.Seconds())))
	case http.StatusInternalServerError:
		s.Logger.Error("cannot answer a request", "error", p.Detail)
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a client that is gone misses nothing
}

// reply answers with JSON.
func reply(w http.ResponseWriter, status int, body any) {
	if body == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(body) // a client that is gone misses nothing
}
