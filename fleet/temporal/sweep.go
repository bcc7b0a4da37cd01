package temporal

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

const (
	// activityType is that of all activities.
	activityType = "settle.turn"
	// maxTime bounds an attempt in Temporal; what ends a turn is its limits.
	maxTime = 365 * 24 * time.Hour
	// retryDelay is how long Temporal waits with the next attempt after a silence.
	retryDelay = 100 * time.Millisecond
	// sweepDelay is how often a worker looks for units that nobody moves.
	sweepDelay = 5 * time.Second
	// sweepAge is how old they are.
	sweepAge = 15 * time.Second
	// maxSwept is how many of them it looks at.
	maxSwept = 50
)

// retries has Temporal begin another attempt as long as there is no end.
func retries() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: retryDelay, BackoffCoefficient: 1}
}

// orphans are units that were started, and that no worker has had for a while, also
// those of the other engine's workers, of which none may be left. Usually Temporal is
// about to send them to one: so that these hide no others, they are drawn.
const orphans = `
SELECT id FROM (
	SELECT id FROM settle_fleet.unit WHERE state = 'queued' AND taken < now() - $1::interval
	UNION ALL
	SELECT u.id FROM settle_fleet.unit u WHERE u.state = 'running' AND u.taken < now() - $1::interval AND NOT EXISTS (
		SELECT FROM settle_fleet.worker w WHERE w.id = u.worker AND w.until > now() - $1::interval OR w.id = $2 || u.worker AND w.until > now())
) u ORDER BY random() LIMIT $3`

// sweep finds the units that Temporal does not know any more, or has ended there
// while their worker was dead, and has them started again.
func (e *Engine) sweep() {
	e.mu.Lock()
	due := time.Since(e.swept) >= sweepDelay
	if due {
		e.swept = time.Now()
	}
	e.mu.Unlock()
	if !due {
		return
	}
	e.running.Go(func() { // its calls are bounded
		ctx, cancel := context.WithTimeout(e.life, callTimeout)
		defer cancel()
		rows, err := e.pool.Query(ctx, orphans, sweepAge, workerPrefix, maxSwept)
		if err != nil {
			return // the next one is soon
		}
		units, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return
		}
		e.parallel(units, e.revive)
	})
}

// revive has a unit started again if Temporal has no activity for it that goes on. If
// somebody has ended that there, the unit is cancelled.
func (e *Engine) revive(ctx context.Context, unit string) {
	d, err := e.describe(ctx, unit)
	switch {
	case err != nil && !missing(err):
		return
	case err == nil && !ended(d.Status):
		return
	case err == nil && dismissed(d.Status):
		e.cancelled(ctx, unit) // one that waits has ended now; of another, the log is to be settled
	}
	if _, err := e.pool.Exec(
		ctx,
		`UPDATE settle_fleet.unit SET state = 'queued', taken = NULL, lost = lost + (state = 'running')::int
		WHERE id = $1 AND state <> 'ended' AND taken < now() - $2::interval`,
		unit,
		sweepAge,
	); err != nil {
		e.logger.Warn("cannot start a unit again", "unit", unit, "error", err)
		return
	}
	e.logger.Warn("Temporal does not have the unit any more; it is started again", "unit", unit)
	e.nudge()
}

func (e *Engine) describe(ctx context.Context, unit string) (*client.ActivityExecutionDescription, error) {
	return e.client.GetActivityHandle(client.GetActivityHandleOptions{ActivityID: e.activity(unit)}).
		Describe(ctx, client.DescribeActivityOptions{})
}

func ended(s enumspb.ActivityExecutionStatus) bool {
	return s != enumspb.ACTIVITY_EXECUTION_STATUS_RUNNING && s != enumspb.ACTIVITY_EXECUTION_STATUS_PAUSED
}

// dismissed reports whether somebody has ended the activity in Temporal.
func dismissed(s enumspb.ActivityExecutionStatus) bool {
	return s == enumspb.ACTIVITY_EXECUTION_STATUS_TERMINATED || s == enumspb.ACTIVITY_EXECUTION_STATUS_CANCELED
}
