package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/settle-agent/settle/fleet/index"
)

const (
	// watchDelay is the average wait between two searches of a worker for sessions whose workflow was
	// ended from outside. Each wait is random.
	watchDelay = 20 * time.Second
	// watchPast is the period of the first search, and watchOverlap the overlap of each later one with
	// the search before: Temporal's lists are late by seconds.
	watchPast, watchOverlap = 24 * time.Hour, 2 * time.Minute
	// byTermination is the requester of the cancellation of tasks whose workflow was terminated.
	byTermination = "temporal (the workflow was terminated)"
)

// watch ends the tasks of sessions whose workflow was terminated, until ctx ends.
func (e *Engine) watch(ctx context.Context) {
	since := time.Now().Add(-watchPast)
	for sleep(ctx, watchDelay) {
		lookStart := time.Now()
		tasks, err := e.EndTerminated(ctx, since)
		switch {
		case err == nil:
			since = lookStart.Add(-watchOverlap)
		case ctx.Err() == nil:
			e.logger.Warn("cannot look for workflows that were terminated; the worker looks again", "error", err)
		}
		if tasks > 0 {
			e.logger.Warn(
				"the workflows of tasks were terminated in Temporal; the tasks end as aborted", "tasks", tasks,
			)
		}
	}
}

// sleep waits for about the delay, and reports whether ctx is still alive. Workers do not do the same at once.
func sleep(ctx context.Context, delay time.Duration) bool {
	timer := time.NewTimer(time.Duration((0.5 + rand.Float64()) * float64(delay))) // it spreads load
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// latestWorkflow returns the last workflow of a session in Temporal; nil if there is none.
func (e *Engine) latestWorkflow(ctx context.Context, session string) (*workflowpb.WorkflowExecutionInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	execution, err := e.client.DescribeWorkflowExecution(ctx, workflowID(e.options.Queue, session), "")
	if err != nil && !isNotFound(err) {
		return nil, fmt.Errorf("cannot ask Temporal for session %s: %w", session, err)
	}
	return execution.GetWorkflowExecutionInfo(), nil
}

// EndTerminated ends the tasks of sessions whose workflow was terminated since then, and
// returns how many. A task that no worker has had ends at once. Of the others, a worker writes the
// endings: they are cancelled, and sent to Temporal again. A session that has a new workflow, after
// another task or a recovery, continues.
func (e *Engine) EndTerminated(ctx context.Context, since time.Time) (tasks int64, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: e.options.Namespace,
		Query: fmt.Sprintf(
			`WorkflowType = '%s' AND ExecutionStatus IN ('Terminated', 'Failed', 'TimedOut') AND CloseTime >= '%s'`,
			sessionWorkflow, since.UTC().Format(time.RFC3339Nano),
		),
	}
	for {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		page, err := e.client.ListWorkflow(call, request)
		cancel()
		if err != nil {
			return tasks, fmt.Errorf("cannot list workflows that were terminated: %w", err)
		}
		closeTimes := map[string]time.Time{} // by session
		for _, w := range page.GetExecutions() {
			if id := w.GetExecution().GetWorkflowId(); e.ownsWorkflow(id) {
				session := strings.TrimPrefix(id, workflowID(e.options.Queue, ""))
				if at := w.GetCloseTime().AsTime(); at.After(closeTimes[session]) {
					closeTimes[session] = at
				}
			}
		}
		n, err := e.endSessions(ctx, closeTimes)
		tasks += n
		if request.NextPageToken = page.GetNextPageToken(); err != nil || len(request.NextPageToken) == 0 {
			return tasks, err
		}
	}
}

// ownsWorkflow reports whether a workflow's id can be one of this engine's task queue.
func (e *Engine) ownsWorkflow(id string) bool {
	return strings.HasPrefix(id, workflowID(e.options.Queue, ""))
}

// endSessions ends the tasks of those sessions that have no other workflow.
func (e *Engine) endSessions(ctx context.Context, closeTimes map[string]time.Time) (tasks int64, err error) {
	sessions := make([]string, 0, len(closeTimes))
	for session := range closeTimes {
		sessions = append(sessions, session)
	}
	open, err := e.Index.WithOpenTasks(ctx, e.options.Queue, sessions)
	if err != nil {
		return 0, err
	}
	for _, session := range open {
		execution, err := e.latestWorkflow(ctx, session)
		if err != nil {
			return tasks, err
		}
		if execution.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			continue
		}
		n, err := e.Index.Abandon(ctx, index.Abandonment{
			Queue: e.options.Queue, Session: session, By: byTermination, Before: closeTimes[session],
		})
		if tasks += n; err != nil {
			return tasks, err
		}
	}
	return tasks, nil
}
