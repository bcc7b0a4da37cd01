package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/index"
	"github.com/settle-agent/settle/fleet/pglog"
)

// The names that histories have. They never change.
const (
	scheduleWorkflow = "settle.schedule"
	submitActivity   = "settle.submit"
)

const (
	// catchUpWindow is the maximum delay of a run that Temporal could not start in time.
	catchUpWindow = 10 * time.Minute
	// submitTimeout bounds one attempt to submit, and maxSubmitDelay the pause before the next.
	submitTimeout, maxSubmitDelay = 30 * time.Second, time.Minute
)

// Schedule is a schedule with its state in Temporal.
type Schedule struct {
	index.Schedule

	// Next is its next time, and Missing says that Temporal does not know the schedule.
	Next    *time.Time `json:"next,omitempty"`
	Missing bool       `json:"missing,omitempty"`
}

// scheduleID returns the id of a schedule in Temporal. No session has such an id, since the
// workflows that a schedule starts get it, with the time behind it.
func scheduleID(queue, name string) string { return "schedule~" + queue + "~" + name }

// Schedule stores a schedule, for the engine's task queue, and has Temporal run it.
func (e *Engine) Schedule(ctx context.Context, s index.Schedule) error {
	if err := pglog.Need(ctx, e.pool, pglog.SchedulesVersion); err != nil {
		return err
	}
	s.Queue = e.options.Queue
	isFree, err := e.Index.AddSchedule(ctx, s)
	if err != nil {
		return err
	}
	if !isFree {
		return fmt.Errorf(
			"cannot create schedule %q: there is one; delete it first (settle-fleet schedule delete)", s.Name,
		)
	}
	err = e.createSchedule(ctx, s)
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) { // one whose row is gone
		if err = e.deleteSchedule(ctx, s); err == nil {
			err = e.createSchedule(ctx, s)
		}
	}
	if err != nil {
		_, undoErr := e.Index.RemoveSchedule(context.WithoutCancel(ctx), s.Name)
		return errors.Join(fmt.Errorf("cannot create schedule %q in Temporal: %w", s.Name, err), undoErr)
	}
	return nil
}

// createSchedule creates a schedule in Temporal.
func (e *Engine) createSchedule(ctx context.Context, s index.Schedule) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	spec := client.ScheduleSpec{}
	if s.Cron != "" {
		spec.CronExpressions = []string{s.Cron}
	} else {
		spec.Intervals = []client.ScheduleIntervalSpec{{Every: s.Every}}
	}
	id := scheduleID(s.Queue, s.Name)
	_, err := e.client.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: id, Spec: spec, CatchupWindow: catchUpWindow, Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
		Action: &client.ScheduleWorkflowAction{
			ID: id, Workflow: scheduleWorkflow, Args: []any{s.Name}, TaskQueue: s.Queue,
			WorkflowTaskTimeout: decisionTimeout, StaticSummary: "schedule " + s.Name,
			Priority: temporal.Priority{PriorityKey: urgentPriority},
		},
	})
	return err
}

// Unschedule deletes a schedule, and reports whether there was one. The tasks that it has
// submitted stay.
func (e *Engine) Unschedule(ctx context.Context, name string) (bool, error) {
	if err := pglog.Need(ctx, e.pool, pglog.SchedulesVersion); err != nil {
		return false, err
	}
	s, err := e.Index.Schedule(ctx, name)
	if err != nil || s == nil {
		return false, err
	}
	if err := e.deleteSchedule(ctx, *s); err != nil {
		return false, fmt.Errorf("cannot delete schedule %q in Temporal: %w", name, err)
	}
	return e.Index.RemoveSchedule(ctx, name)
}

func (e *Engine) deleteSchedule(ctx context.Context, s index.Schedule) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := e.client.ScheduleClient().GetHandle(ctx, scheduleID(s.Queue, s.Name)).Delete(ctx)
	if isNotFound(err) {
		return nil
	}
	return err
}

// Schedules returns all schedules, by name.
func (e *Engine) Schedules(ctx context.Context) ([]Schedule, error) {
	if err := pglog.Need(ctx, e.pool, pglog.SchedulesVersion); err != nil {
		return nil, err
	}
	stored, err := e.Index.Schedules(ctx)
	if err != nil {
		return nil, err
	}
	schedules := make([]Schedule, len(stored))
	for n, s := range stored {
		schedules[n].Schedule = s
		if err := e.describe(ctx, &schedules[n]); err != nil {
			return nil, fmt.Errorf("cannot ask Temporal for schedule %q: %w", s.Name, err)
		}
	}
	return schedules, nil
}

// describe sets the fields of a schedule that come from Temporal.
func (e *Engine) describe(ctx context.Context, s *Schedule) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	d, err := e.client.ScheduleClient().GetHandle(ctx, scheduleID(s.Queue, s.Name)).Describe(ctx)
	switch {
	case isNotFound(err):
		s.Missing = true
	case err != nil:
		return err
	case len(d.Info.NextActionTimes) > 0:
		s.Next = &d.Info.NextActionTimes[0]
	}
	return nil
}

// restoreSchedules creates the schedules again that Temporal has lost.
func (e *Engine) restoreSchedules(ctx context.Context) error {
	schedules, err := e.Schedules(ctx)
	if errors.As(err, new(*pglog.VersionError)) { // of an older schema, which has none
		return nil
	}
	for _, s := range schedules {
		if s.Missing {
			err = errors.Join(err, e.createSchedule(ctx, s.Schedule))
		}
	}
	return err
}

// Periodic is the workflow that a schedule starts: it submits the schedule's task once.
func Periodic(ctx workflow.Context, name string) (taskID string, err error) {
	// Not an ordinary activity: it would wait for a slot behind the turns.
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: submitTimeout, Summary: name,
		RetryPolicy: &temporal.RetryPolicy{MaximumInterval: maxSubmitDelay},
	})
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	err = workflow.ExecuteLocalActivity(ctx, submitActivity, name, id).Get(ctx, &taskID)
	return taskID, err
}

// submitScheduled implements the activity settle.submit. The session is named after the time
// that is in the workflow's id, so that a repetition submits nothing twice.
func (e *Engine) submitScheduled(ctx context.Context, name, workflow string) (taskID string, err error) {
	defer func() { err = e.private("cannot submit the task of a schedule; the worker tries again", name, err) }()
	s, err := e.Index.Schedule(ctx, name)
	if err != nil {
		return "", err
	}
	runTime, found := strings.CutPrefix(workflow, scheduleID(e.options.Queue, name)+"-")
	if s == nil || !found {
		return "", temporal.NewNonRetryableApplicationError("there is no schedule "+name, "unknown", nil)
	}
	s.Task.Session, s.Task.Input = name+"-"+strings.ReplaceAll(runTime, ":", ""), ""
	task, err := s.Task.Complete()
	if err != nil {
		return "", temporal.NewNonRetryableApplicationError(
			"cannot submit the task: settle-fleet schedule list has it", "invalid", nil,
		)
	}
	_, err = e.Submit(ctx, []fleet.Task{task})
	return task.ID(), err
}
