package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

const (
	// defaultLost is the number of lost workers after which a task fails.
	defaultLost = 10
	// maxReturns is the number of times in a row that workers can give a task back without an event of it in the log.
	// The engine's pauses between them take an hour together: one bad node, which takes a task again and again, can be
	// repaired. Then the task fails.
	maxReturns = 126
	// endTimeout bounds the end of a session whose task is lost or over.
	endTimeout = 15 * time.Second
)

// Logs are the logs of sessions.
type Logs interface {
	settle.Logs
	// Grant has the next opening of the session's log use the epoch.
	Grant(session string, epoch int64)
}

// Config is the configuration of a worker.
type Config struct {
	// ID names it; no other worker has the same.
	ID     string
	Engine fleet.Engine
	Logs   Logs
	// Session makes the configuration of an attempt's session.
	Session func(context.Context, fleet.Attempt) (settle.SessionConfig, error)
	// Workspaces, if set, makes the workspaces of tasks with a repository.
	Workspaces Workspaces
	// Budgets, if set, bounds the usage of batches.
	Budgets Budgets
	// Metrics, if set, counts attempts, and Observer receives the events of turns.
	Metrics  Metrics
	Observer settle.Observer
	// OpenHost, if set, opens the host of the sessions instead of [settle.Open].
	OpenHost func(context.Context, settle.Config) (*settle.Host, error)
	// Hold has tasks wait for a person whose calls need one, without the worker: see [holder]. Without
	// it, a policy denies these calls.
	Hold bool
	// Slots is the maximum number of tasks that run at a time.
	Slots int
	// DataDir is for the whole outputs of commands; "" keeps none.
	DataDir string
	// Drain is the time for which tasks that run may continue after the worker's shutdown has
	// begun.
	Drain time.Duration
	// Hurry, if set, ends the drain early when it is closed.
	Hurry <-chan struct{}
	// Lost is how many workers a task may cost before it has failed; 0 means 10.
	Lost int
	// Ready, if set, is called once, when the worker can receive tasks.
	Ready   func()
	Version string
	Logger  *slog.Logger
}

// Metrics counts the tasks of a worker.
type Metrics interface {
	// CountStart counts a task that the worker has received.
	CountStart(fleet.Attempt)
	// CountEnd counts the end of an attempt on this worker, and the attempt's duration.
	// Without a result the task continues on another worker.
	CountEnd(a fleet.Attempt, r *fleet.Result, duration time.Duration)
	// CountReturn counts an attempt that could not run its task: another worker tries.
	CountReturn(fleet.Attempt)
	// SetHost is called once, with the host of the worker's sessions.
	SetHost(host *settle.Host)
}

// Worker runs tasks. Make one with [New].
type Worker struct {
	config Config
	host   *settle.Host
	logger *slog.Logger

	mu      sync.Mutex
	running map[string]*run // by task
}

// New returns a worker.
func New(ctx context.Context, c Config) (*Worker, error) {
	c.Lost = cmp.Or(c.Lost, defaultLost)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.ID == "" || c.Slots < 1 {
		return nil, errors.New("a worker needs an ID and at least one slot")
	}
	open := c.OpenHost
	if open == nil {
		open = settle.Open
	}
	host, err := open(
		ctx,
		settle.Config{
			DataDir:  c.DataDir,
			Logs:     c.Logs,
			Frontend: "fleet",
			Version:  c.Version,
			Logger:   c.Logger,
			Observer: c.Observer,
		},
	)
	if err != nil {
		return nil, err
	}
	if c.Metrics != nil {
		c.Metrics.SetHost(host)
	}
	return &Worker{
		config:  c,
		host:    host,
		logger:  c.Logger.With("worker", c.ID),
		running: map[string]*run{},
	}, nil
}

// Run runs tasks until ctx ends. Then the tasks that run have until [Config].Drain; those that
// are left end in parallel, and are given back. It must be called once.
func (w *Worker) Run(ctx context.Context) error {
	life := context.WithoutCancel(ctx) // what runs ends in good order
	err := w.config.Engine.Work(ctx, fleet.Work{
		Worker:   w.config.ID,
		Slots:    w.config.Slots,
		Drain:    w.config.Drain,
		Hurry:    w.config.Hurry,
		Run:      w.attempt,
		Ready:    w.config.Ready,
		Progress: w.progress,
	})
	return errors.Join(err, w.host.Close(life))
}

// attempt runs an attempt, after an earlier one of this worker at the same task, which was lost.
func (w *Worker) attempt(ctx, taskCtx context.Context, a *fleet.Attempt) {
	r := newRun(taskCtx, w, *a)
	w.mu.Lock()
	previous := w.running[a.TaskID]
	w.running[a.TaskID] = r
	w.mu.Unlock()
	defer w.forget(r)
	if previous != nil {
		previous.lose(fleet.ErrLost)
		<-previous.done // its end is bounded
	}
	defer context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); errors.Is(cause, fleet.ErrLost) {
			r.lose(cause)
		} else {
			r.stop(cause)
		}
	})()
	r.run(context.WithoutCancel(ctx))
}

// forget notes that a run is over.
func (w *Worker) forget(r *run) {
	w.mu.Lock()
	if w.running[r.attempt.TaskID] == r {
		delete(w.running, r.attempt.TaskID)
	}
	w.mu.Unlock()
	close(r.done)
}

// Progress is the progress of a task, which Temporal shows to people.
type Progress struct {
	Attempt int    `json:"attempt"`
	Epoch   int64  `json:"epoch"`
	Events  uint64 `json:"events"` // of the session's log
	// Waited is the time, in milliseconds, for which requests have waited for a limit of their provider; 0 if none
	// waits now.
	Waited int64 `json:"waited_ms,omitempty"`
}

// progress implements [fleet.Work].Progress.
func (w *Worker) progress(taskID string) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.running[taskID]
	if r == nil {
		return nil
	}
	p := Progress{Attempt: r.attempt.Number, Epoch: r.attempt.Epoch, Waited: r.waits.waitTime()}
	if s := r.session.Load(); s != nil {
		s.View(func(state event.State) { p.Events = state.Seq })
	}
	return p
}
