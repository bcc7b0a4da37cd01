package appserver

import (
	"net/http"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

type turnError struct {
	Message           string  `json:"message"`
	CodexErrorInfo    any     `json:"codexErrorInfo"` // a kind, or an object with one
	AdditionalDetails *string `json:"additionalDetails"`
	Misalignment      *string `json:"misalignment"`
}

// failed says why a turn failed. Clients show some kinds of errors as errors
// and others as text only, so a kind is chosen by which users see the failure:
// codex-acp fails a prompt for usageLimitExceeded and unauthorized, and shows
// the message of the others.
func failed(f *event.Failure) *turnError {
	if f == nil {
		return nil
	}
	return &turnError{Message: f.Message, CodexErrorInfo: errorInfo(f), AdditionalDetails: ptr(f.Body)}
}

// withStatus is a kind of error that names an HTTP status.
type withStatus struct {
	HTTPStatusCode *int `json:"httpStatusCode"`
}

func errorInfo(f *event.Failure) any {
	status := withStatus{ptr(f.Status)}
	switch model.ErrorKind(f.Kind) {
	case model.ErrAuth:
		return "unauthorized"
	case model.ErrQuota, model.ErrRateLimit:
		return "usageLimitExceeded"
	case model.ErrOverloaded:
		return "serverOverloaded"
	case model.ErrContext:
		return "contextWindowExceeded"
	case model.ErrNotFound:
		return "modelNotFound"
	case model.ErrInvalid, model.ErrReasoning, model.ErrImage:
		return "badRequest"
	case model.ErrPolicy:
		return "cyberPolicy"
	case model.ErrConnection:
		if f.Status == 0 {
			return map[string]withStatus{"httpConnectionFailed": status}
		}
	}
	switch {
	case f.Status == http.StatusUnauthorized:
		return "unauthorized"
	case f.Name == event.NameRetryExhausted:
		return map[string]withStatus{"responseTooManyFailedAttempts": status}
	case f.Kind != "":
		return map[string]withStatus{"responseStreamDisconnected": status}
	case f.Name == event.NamePanic || f.Name == event.NameInternal:
		return "internalServerError"
	default:
		return "other"
	}
}

// turnStatus says how a turn ended: its status, and its error if it has one.
func turnStatus(c *event.Cause) (status string, err *turnError) {
	switch {
	case c == nil:
		return "inProgress", nil
	case c.Outcome == event.Completed:
		return "completed", nil
	case c.Outcome == event.Failed:
		if c.Failure == nil {
			return "failed", &turnError{Message: c.Error(), CodexErrorInfo: "other"}
		}
		return "failed", failed(c.Failure)
	case c.Reason == event.LimitReached:
		return "failed", &turnError{Message: c.Error(), CodexErrorInfo: "sessionBudgetExceeded"}
	case c.Reason == event.Interrupted:
		return "interrupted", nil
	default: // replaced, shutdown, crashed …
		return "interrupted", &turnError{Message: c.Error(), CodexErrorInfo: "other"}
	}
}
