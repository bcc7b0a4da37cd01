package engine

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/settle-agent/settle/fleet/index"
)

const (
	// lostDelay is the average wait between two searches of a worker for tasks that Temporal was sent and does not
	// have, and the minimum age of the last change of such a task. A power cut of Temporal's development server loses
	// tasks.
	lostDelay = 5 * time.Minute
	// maxLooks is the number of sessions that a worker asks Temporal for in one search.
	maxLooks = 200
)

// watchLost sends lost tasks again, until ctx ends.
func (e *Engine) watchLost(ctx context.Context) {
	for sleep(ctx, lostDelay) {
		tasks, err := e.SendLost(ctx, lostDelay)
		if err != nil && ctx.Err() == nil {
			e.logger.Warn("cannot look for tasks that Temporal has lost; the worker looks again", "error", err)
		}
		if tasks > 0 {
			e.logger.Warn("Temporal did not have tasks that it was sent; they are sent again", "tasks", tasks)
		}
	}
}

// SendLost looks at sessions with open tasks that Temporal was sent and that have not changed for a while. If Temporal
// runs no workflow for a session, its tasks go into the outbox once more; if the workflow was terminated, they
// end. SendLost returns how many tasks that are. It looks at a part of the sessions, and the next call at those that
// follow; each worker begins somewhere else.
func (e *Engine) SendLost(ctx context.Context, idle time.Duration) (tasks int64, err error) {
	e.lostMu.Lock()
	defer e.lostMu.Unlock()
	sessions, err := e.Index.IdleSessions(ctx, e.options.Queue, idle, e.lastSession, maxLooks)
	if err != nil {
		return 0, err
	}
	for _, session := range sessions {
		e.lastSession = session
		execution, err := e.latestWorkflow(ctx, session)
		if err != nil {
			return tasks, err
		}
		var n int64
		switch execution.GetStatus() {
		case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED:
			continue
		case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED,
			enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
			n, err = e.Index.Abandon(ctx, index.Abandonment{
				Queue: e.options.Queue, Session: session, By: byTermination, Before: execution.GetCloseTime().AsTime(),
			})
		default:
			n, err = e.Index.Resend(ctx, e.options.Queue, session)
		}
		if tasks += n; err != nil {
			return tasks, err
		}
	}
	return tasks, nil
}
