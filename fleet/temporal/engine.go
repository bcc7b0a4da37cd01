package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/lease"
)

const (
	defaultNamespace = "default"
	defaultQueue     = "settle"
	// defaultSilence finds the death of a worker within ten seconds.
	defaultSilence = 6 * time.Second
	// defaultStall is longer than anything that a turn waits for without a word.
	defaultStall = 2 * time.Hour
	// callTimeout bounds a call to Temporal that is not a long poll.
	callTimeout = 10 * time.Second
	// maxCalls is how many such calls one heartbeat makes at a time.
	maxCalls = 16
)

// Options say how the engine works with Temporal. The zero value is usable.
type Options struct {
	// Namespace is where the activities are; "" means default. It is the client's.
	Namespace string
	// Queue is the task queue; "" means settle.
	Queue string
	// Silence is how long an attempt may be without a heartbeat before Temporal has
	// another worker take it; 0 means 6 s. It is that of units that are started from
	// now on.
	Silence time.Duration
	// Stall is how long a unit's log may stand still before its heartbeats end; 0
	// means two hours.
	Stall  time.Duration
	Logger *slog.Logger
}

// Engine is the engine. Its methods may be called by several goroutines.
type Engine struct {
	// Table is what Postgres knows of the units, for listing and counting them. Its
	// Heartbeat and Complete are not for use.
	Table *lease.Engine

	options Options
	pool    *pgxpool.Pool
	client  client.Client
	service workflowservice.WorkflowServiceClient
	logger  *slog.Logger

	life    context.Context //nolint:containedctx // it is the engine's own
	stop    context.CancelFunc
	running sync.WaitGroup
	once    sync.Once
	wake    chan struct{} // has room for one token

	mu      sync.Mutex
	workers map[string]*member
	swept   time.Time
}

var (
	_ fleet.Engine = (*Engine)(nil)
	_ fleet.Waker  = (*Engine)(nil)
)

// Open returns the engine over a database that was migrated, and a client that leads
// to the namespace. The caller closes the engine before both.
func Open(ctx context.Context, pool *pgxpool.Pool, c client.Client, o Options) *Engine {
	o.Namespace, o.Queue = cmp.Or(o.Namespace, defaultNamespace), cmp.Or(o.Queue, defaultQueue)
	o.Silence, o.Stall = cmp.Or(o.Silence, defaultSilence), cmp.Or(o.Stall, defaultStall)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		Table: lease.Open(ctx, pool), options: o, pool: pool, client: c, service: c.WorkflowService(), logger: o.Logger,
		wake: make(chan struct{}, 1), workers: map[string]*member{},
	}
	e.life, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	return e
}

// Close ends what the engine runs.
func (e *Engine) Close() {
	e.stop()
	e.running.Wait()
	e.Table.Close()
}

// Wake implements [fleet.Waker].
func (e *Engine) Wake() <-chan struct{} {
	e.once.Do(func() {
		changes := e.Table.Wake()
		e.running.Go(func() { // ends with the engine's life
			for {
				select {
				case <-changes:
					e.nudge()
				case <-e.life.Done():
					return
				}
			}
		})
	})
	return e.wake
}

// nudge says that a heartbeat is worthwhile.
func (e *Engine) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Submit implements [fleet.Engine]. A worker with room starts the activities.
func (e *Engine) Submit(ctx context.Context, tasks []fleet.Task) (int, error) {
	return e.Table.Submit(ctx, tasks)
}

// State implements [fleet.Engine].
func (e *Engine) State(ctx context.Context, unit string) (fleet.Unit, error) {
	return e.Table.State(ctx, unit)
}

// Cancel implements [fleet.Engine]. The worker hears of it through Postgres at once,
// or with the activity's next heartbeat.
func (e *Engine) Cancel(ctx context.Context, unit, by string) (bool, error) {
	open, err := e.Table.Cancel(ctx, unit, by)
	if err != nil || !open {
		return open, err
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	handle := e.client.GetActivityHandle(client.GetActivityHandleOptions{ActivityID: e.activity(unit)})
	if err := handle.Cancel(call, client.CancelActivityOptions{Reason: "cancelled by " + by}); err != nil &&
		!missing(err) {
		e.logger.Warn("cannot cancel the activity; the worker hears of it all the same", "unit", unit, "error", err)
	}
	return true, nil
}

// missing reports whether Temporal does not have what it was asked for, or has it no
// more.
func missing(err error) bool { return errors.As(err, new(*serviceerror.NotFound)) }

// Complete implements [fleet.Engine]: first in Postgres, where it counts.
func (e *Engine) Complete(ctx context.Context, a fleet.Attempt, r *fleet.Result) error {
	if err := e.Table.Complete(ctx, a, r); err != nil {
		return err
	}
	h := e.release(a)
	if h == nil {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := e.answer(call, h, r); err != nil && !missing(err) {
		// Its heartbeats end, and the next attempt finds how the unit has ended.
		e.logger.Warn("cannot tell Temporal how an attempt has ended", "unit", a.Unit, "error", err)
	}
	return nil
}

// Leave forgets a worker that has nothing left to do. What Temporal has sent it
// meanwhile goes back at once.
func (e *Engine) Leave(ctx context.Context, worker string) error {
	m := e.forget(worker)
	if m == nil {
		return nil
	}
	m.stop()
	m.polls.Wait() // their calls have ended
	var errs []error
	for _, t := range m.take() {
		errs = append(errs, e.giveBack(ctx, t.token, handOverDelay))
	}
	if _, err := e.pool.Exec(ctx, `DELETE FROM settle_fleet.worker WHERE id = $1`, workerPrefix+worker); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot leave the fleet: %w", err)
	}
	return nil
}

// activity returns the id of a unit's activity: the unit's, after the queue's name if
// that is not the usual one, since other fleets may use the namespace.
func (e *Engine) activity(unit string) string {
	if e.options.Queue == defaultQueue {
		return unit
	}
	return e.options.Queue + ":" + unit
}
