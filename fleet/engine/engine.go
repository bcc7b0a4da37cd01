package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/index"
)

const (
	// DefaultQueue is the task queue of a fleet that names none.
	DefaultQueue = "settle"
	// DefaultSilence finds the death of a worker within ten seconds.
	DefaultSilence   = 6 * time.Second
	defaultNamespace = "default"
	// callTimeout bounds a call to Temporal.
	callTimeout = 10 * time.Second
)

// Compression returns the compression for the clients of workers: none. Messages to Temporal are short, since prompts and
// answers stay in Postgres. Compression took a tenth of a worker's time, and as much of the server's.
func Compression() client.GrpcCompression { return &client.GrpcCompressionNone{} }

// Options say how the engine works with Temporal. The zero value is usable.
type Options struct {
	// Namespace is the client's; "" means default.
	Namespace string
	// Queue is the task queue of the tasks that are submitted, and of the workers; "" means
	// [DefaultQueue].
	Queue string
	// Silence is the time without a heartbeat of a turn after which another worker runs the turn; 0
	// means [DefaultSilence]. It counts for sessions whose workflow this engine starts.
	Silence time.Duration
	// Deployment names the worker deployment, if its workers are versioned, and Build the version
	// of this program.
	Deployment, Build string
	Logger            *slog.Logger
}

// Engine runs tasks on Temporal. Its methods may be called by several goroutines.
type Engine struct {
	// Index has the tasks in Postgres.
	Index *index.Index

	options  Options
	client   client.Client
	pool     *pgxpool.Pool
	database *pgx.ConnConfig
	logger   *slog.Logger

	attributesMu                     sync.Mutex
	hasAttributes, attributesRefused bool // whether the namespace has the search attributes

	lostMu      sync.Mutex // held by SendLost
	lastSession string     // the last session that SendLost has checked; at first, any text
}

var _ fleet.Engine = (*Engine)(nil)

// Open returns the engine over a database that was migrated, and a client that leads
// to the namespace. The caller closes both.
func Open(pool *pgxpool.Pool, c client.Client, o Options) *Engine {
	o.Namespace, o.Queue = cmp.Or(o.Namespace, defaultNamespace), cmp.Or(o.Queue, DefaultQueue)
	o.Silence = cmp.Or(o.Silence, DefaultSilence)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Engine{
		Index: index.Open(pool), options: o, client: c, pool: pool, database: pool.Config().ConnConfig,
		logger: o.Logger, lastSession: rand.Text(),
	}
}

// Queue returns the task queue of the tasks that are submitted.
func (e *Engine) Queue() string { return e.options.Queue }

// Submit implements [fleet.Engine]. If Temporal cannot be reached, the tasks are accepted all
// the same, and a worker sends them later.
func (e *Engine) Submit(ctx context.Context, tasks []fleet.Task) (int, error) {
	newIDs, err := e.Accept(ctx, tasks)
	if err == nil {
		if err := e.Send(ctx, newIDs); err != nil {
			e.logger.Warn(
				"cannot send tasks to Temporal; a worker sends them later", "tasks", len(newIDs), "error", err,
			)
		}
	}
	return len(newIDs), err
}

// Accept makes complete tasks durable, all or none, and returns the ids
// of the new ones. [Engine.Send] sends them to Temporal.
func (e *Engine) Accept(ctx context.Context, tasks []fleet.Task) (newIDs []string, err error) {
	return e.Index.Accept(ctx, e.options.Queue, tasks)
}

// State implements [fleet.Engine].
func (e *Engine) State(ctx context.Context, taskID string) (fleet.TaskStatus, error) {
	return e.Index.State(ctx, taskID)
}

// Complete implements [fleet.Engine].
func (e *Engine) Complete(ctx context.Context, a fleet.Attempt, r *fleet.Result) error {
	return e.Index.End(ctx, a, r)
}

// Cancel implements [fleet.Engine]: Postgres notes the request and notifies the worker, and
// Temporal requests the cancellation of the turn. The two need no order: an activity never
// reports itself as cancelled, it returns what Postgres says.
func (e *Engine) Cancel(ctx context.Context, taskID, by string) (bool, error) {
	c, err := e.Index.Cancel(ctx, taskID, by)
	if err != nil || !c.Open {
		return false, err
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err = e.client.SignalWorkflow(call, workflowID(c.Queue, session(taskID)), "", cancelSignal, taskID)
	if err != nil && !isNotFound(err) {
		e.logger.Warn(
			"cannot cancel the turn in Temporal; its worker is notified all the same", "task", taskID, "error", err,
		)
	}
	return true, nil
}

// isNotFound reports whether the error says that Temporal does not have the workflow, activity or schedule.
func isNotFound(err error) bool { return errors.As(err, new(*serviceerror.NotFound)) }

// session returns the session of a task.
func session(taskID string) string {
	session, _, _ := strings.Cut(taskID, "/")
	return session
}

// workflowID returns the id of a session's workflow: the session's, after the queue's name if
// that is not the usual one, since other fleets may use the namespace.
func workflowID(queue, session string) string {
	if queue == DefaultQueue {
		return session
	}
	return queue + ":" + session
}

// Answer records a verdict about a held call of a task, see [index.Index.Answer]. If it was the last
// one that the task waits for, Temporal is sent the task. If Temporal cannot be reached, a worker sends
// it later.
func (e *Engine) Answer(ctx context.Context, taskID string, v fleet.Verdict) (queued bool, err error) {
	queued, err = e.Index.Answer(ctx, taskID, v)
	if err == nil && queued {
		if err := e.Send(ctx, []string{taskID}); err != nil {
			e.logger.Warn("cannot send the task to Temporal; a worker sends it later", "task", taskID, "error", err)
		}
	}
	return queued, err
}
