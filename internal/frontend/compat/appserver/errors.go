package appserver

import (
	"context"
	"errors"
	"net/http"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model"
)

type turnError struct {
	Message           string  `json:"message"`
	CodexErrorInfo    any     `json:"codexErrorInfo"` // a kind, or an object with one
	AdditionalDetails *string `json:"additionalDetails"`
	Misalignment      *string `json:"misalignment"`
}

// failed returns the error of a failed turn. Clients show some kinds of errors as errors and others
// as text only, so failed chooses a kind with which users see the failure: codex-acp fails a prompt
// for usageLimitExceeded and unauthorized, and shows the message of all other kinds.
func failed(f *event.Failure) *turnError {
	if f == nil {
		return nil
	}
	return &turnError{Message: f.Message, CodexErrorInfo: errorInfo(f), AdditionalDetails: ptr(f.Body)}
}

func errorInfo(f *event.Failure) any {
	kinds := map[model.ErrorKind]string{
		model.ErrAuth:       "unauthorized",
		model.ErrQuota:      "usageLimitExceeded",
		model.ErrRateLimit:  "usageLimitExceeded",
		model.ErrOverloaded: "serverOverloaded",
		model.ErrContext:    "contextWindowExceeded",
		model.ErrNotFound:   "modelNotFound",
		model.ErrInvalid:    "badRequest",
		model.ErrReasoning:  "badRequest",
		model.ErrImage:      "badRequest",
		model.ErrDocument:   "badRequest",
		model.ErrTooLarge:   "badRequest",
		model.ErrToolSearch: "badRequest",
		model.ErrPolicy:     "cyberPolicy",
	}
	withStatus := func(kind string) object { return object{kind: object{"httpStatusCode": ptr(f.Status)}} }
	switch kind := model.ErrorKind(f.Kind); {
	case kinds[kind] != "":
		return kinds[kind]
	case kind == model.ErrConnection && f.Status == 0:
		return withStatus("httpConnectionFailed")
	case f.Status == http.StatusUnauthorized:
		return "unauthorized"
	case f.Name == event.NameRetryExhausted:
		return withStatus("responseTooManyFailedAttempts")
	case kind != "":
		return withStatus("responseStreamDisconnected")
	case f.Name == event.NamePanic || f.Name == event.NameInternal:
		return "internalServerError"
	default:
		return "other"
	}
}

// turnStatus returns the status of a turn, and its error if it failed.
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

// refusal answers an error as an invalid request: Codex has one code for all of them.
func refusal(_ context.Context, err error) error {
	if answer := (*jsonrpc.Error)(nil); errors.As(err, &answer) || errors.Is(err, settle.ErrClosed) {
		return err
	}
	return invalid("%v", err)
}

func invalid(format string, a ...any) error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, format, a...)
}
