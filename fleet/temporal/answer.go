package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

const (
	// handOverDelay is how long Temporal waits with the next attempt at a unit that
	// was given back.
	handOverDelay = 10 * time.Millisecond
	// refusalDelay is that of a unit that cannot be claimed now.
	refusalDelay = 10 * time.Second
)

// answer tells Temporal how an attempt has ended: an activity has completed, was
// cancelled or has failed as its unit has, and is retried where there is no result.
// The answer of the model stays in Postgres.
func (e *Engine) answer(ctx context.Context, h *hold, r *fleet.Result) error {
	if r == nil {
		return e.giveBack(ctx, h.token, handOverDelay)
	}
	brief := *r
	brief.Answer = ""
	raw, err := json.Marshal(brief)
	if err != nil {
		return err
	}
	switch {
	case r.Outcome == event.Completed:
		_, err = e.service.RespondActivityTaskCompleted(ctx, &workflowservice.RespondActivityTaskCompletedRequest{
			Namespace: e.options.Namespace, TaskToken: h.token, Identity: h.attempt.Unit, Result: payload(raw),
		})
	case r.Outcome == event.Aborted && r.Reason == event.Interrupted && h.attempt.Cancel != "":
		_, err = e.service.RespondActivityTaskCanceled(ctx, &workflowservice.RespondActivityTaskCanceledRequest{
			Namespace: e.options.Namespace, TaskToken: h.token, Details: payload(raw),
		})
		if errors.As(err, new(*serviceerror.InvalidArgument)) { // it was cancelled in Postgres, and not there
			err = e.failed(ctx, h, r, raw)
		}
	default:
		err = e.failed(ctx, h, r, raw)
	}
	return err
}

// failed tells Temporal that an activity has failed for good.
func (e *Engine) failed(ctx context.Context, h *hold, r *fleet.Result, brief []byte) error {
	return e.fail(ctx, h.token, cmp.Or(r.Message, string(r.Outcome)), &failurepb.ApplicationFailureInfo{
		Type: "turn." + string(r.Outcome), NonRetryable: true, Details: payload(brief),
	})
}

// giveBack has Temporal begin another attempt.
func (e *Engine) giveBack(ctx context.Context, token []byte, delay time.Duration) error {
	return e.fail(
		ctx, token, "another worker continues",
		&failurepb.ApplicationFailureInfo{Type: "handed over", NextRetryDelay: durationpb.New(delay)},
	)
}

func (e *Engine) fail(ctx context.Context, token []byte, message string, info *failurepb.ApplicationFailureInfo) error {
	_, err := e.service.RespondActivityTaskFailed(ctx, &workflowservice.RespondActivityTaskFailedRequest{
		Namespace: e.options.Namespace,
		TaskToken: token,
		Failure: &failurepb.Failure{
			Message:     message,
			Source:      "settle",
			FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: info},
		},
	})
	return err
}
