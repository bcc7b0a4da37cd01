package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/fleet"
)

const (
	// defaultLease is how long a worker that says nothing is believed to be alive.
	defaultLease = 5 * time.Second
	// beatsInLease is how many heartbeats a lease has room for.
	beatsInLease = 5
	// defaultLost is the number of lost workers after which a unit fails.
	defaultLost = 10
	// endTimeout bounds the end of a session whose unit is lost or over.
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
	// Session makes what the session of an attempt works with.
	Session func(context.Context, fleet.Attempt) (settle.SessionConfig, error)
	// Workspaces, if set, make what tasks with a repository work in.
	Workspaces Workspaces
	// Budgets, if set, bound what batches take.
	Budgets Budgets
	// Metrics, if set, counts what the worker does, and Observer what its turns do.
	Metrics  Metrics
	Observer settle.Observer
	// OpenHost, if set, opens the host of the sessions instead of [settle.Open].
	OpenHost func(context.Context, settle.Config) (*settle.Host, error)
	// Slots is how many units it runs at a time.
	Slots int
	// DataDir is for the whole outputs of commands; "" keeps none.
	DataDir string
	// Lease is how long it is believed to be alive without a sign of life; 0 means
	// 5 s.
	Lease time.Duration
	// Lost is how many workers a unit may cost before it has failed; 0 means 10.
	Lost    int
	Version string
	Logger  *slog.Logger
}

// Metrics counts the units of a worker.
type Metrics interface {
	// Began counts one that it has taken.
	Began(fleet.Attempt)
	// Ended counts an attempt that has left the worker, with the time since it was taken.
	// Without a result it continues on another worker.
	Ended(a fleet.Attempt, r *fleet.Result, ago time.Duration)
	// Opened is called once, with what holds the worker's sessions.
	Opened(host *settle.Host)
}

// Worker runs units. Make one with [New].
type Worker struct {
	config Config
	host   *settle.Host
	logger *slog.Logger
	ended  chan struct{} // holds one token when a unit has ended

	mu      sync.Mutex
	running map[string]*run // by unit
	wg      sync.WaitGroup
}

// New returns a worker.
func New(ctx context.Context, c Config) (*Worker, error) {
	c.Lease, c.Lost = cmp.Or(c.Lease, defaultLease), cmp.Or(c.Lost, defaultLost)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.ID == "" || c.Slots < 1 {
		return nil, errors.New("a worker has an id and at least one slot")
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
			Face:     "fleet",
			Version:  c.Version,
			Logger:   c.Logger,
			Observer: c.Observer,
		},
	)
	if err != nil {
		return nil, err
	}
	if c.Metrics != nil {
		c.Metrics.Opened(host)
	}
	return &Worker{
		config:  c,
		host:    host,
		logger:  c.Logger.With("worker", c.ID),
		ended:   make(chan struct{}, 1),
		running: map[string]*run{},
	}, nil
}

// errShutdown is why turns end when the worker does.
var errShutdown = errors.New("the worker shuts down")

// Run runs units until ctx ends. Then it ends all running units in parallel, and gives
// them back. It must be called once.
func (w *Worker) Run(ctx context.Context) error {
	life := context.WithoutCancel(ctx) // what runs ends in good order
	last := time.Now()
	for ctx.Err() == nil {
		sent := time.Now()
		room, rescue := w.room()
		orders, err := w.beat(life, room, rescue) // units that it receives while ctx ends also belong to it
		switch {
		case err == nil:
			last = sent
			w.handleOrders(life, orders)
		case ctx.Err() == nil:
			w.logger.Warn("cannot reach the fleet", "error", err)
		}
		if time.Since(last) > w.config.Lease { // counted from before the beat was sent
			w.loseAll(fmt.Errorf("the lease is over: %w", cmp.Or(err, errNoBeat)))
		}
		w.pause(ctx)
	}
	w.stopAll()
	w.drain(life)
	err := w.host.Close(life)
	if e, ok := w.config.Engine.(leaver); ok {
		leaving, cancel := context.WithTimeout(life, w.config.Lease)
		defer cancel()
		err = errors.Join(err, e.Leave(leaving, w.config.ID))
	}
	return err
}

// leaver is an engine that forgets a worker that has nothing left to do.
type leaver interface {
	Leave(ctx context.Context, worker string) error
}

var errNoBeat = errors.New("no heartbeat in time")

// drain waits until no unit runs, and keeps the lease until then: a checkpoint can take
// longer than a lease. Units that the engine assigns during this go back.
func (w *Worker) drain(life context.Context) {
	ctx, cancel := context.WithCancel(life)
	defer cancel()
	go func() { w.wg.Wait(); cancel() }() // the end of each run is bounded
	for {
		due := time.NewTimer(w.config.Lease / beatsInLease)
		select {
		case <-due.C:
		case <-ctx.Done():
			due.Stop()
			return
		}
		orders, _ := w.beat(life, 0, 0) // without it, another worker continues
		for _, a := range orders.Begin {
			w.giveBack(life, a)
		}
	}
}

// beat sends a heartbeat.
func (w *Worker) beat(ctx context.Context, room, rescue int) (fleet.Orders, error) {
	ctx, cancel := context.WithTimeout(ctx, w.config.Lease)
	defer cancel()
	return w.config.Engine.Heartbeat(
		ctx, fleet.Beat{Worker: w.config.ID, Lease: w.config.Lease, Room: room, Rescue: rescue},
	)
}

// pause waits until another heartbeat is due or worthwhile.
func (w *Worker) pause(ctx context.Context) {
	var wake <-chan struct{}
	if e, ok := w.config.Engine.(fleet.Waker); ok {
		wake = e.Wake()
	}
	due := time.NewTimer(w.config.Lease / beatsInLease)
	defer due.Stop()
	select {
	case <-due.C:
	case <-wake:
	case <-w.ended:
	case <-ctx.Done():
	}
}

// room is how many more units the worker can take, and how many beyond its slots of
// workers that died: half as many as it has slots.
func (w *Worker) room() (room, rescue int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	most := w.config.Slots + (w.config.Slots+1)/2
	room = max(0, w.config.Slots-len(w.running))
	return room, max(0, most-len(w.running)-room)
}

// handleOrders starts new units, and ends units that were cancelled or that another worker has.
func (w *Worker) handleOrders(ctx context.Context, orders fleet.Orders) {
	w.mu.Lock()
	for unit, r := range w.running {
		epoch, holds := orders.Holds[unit]
		switch {
		case r.ending(): // it was completed, perhaps before the orders were written
		case !holds || epoch != r.attempt.Epoch:
			r.lose(fleet.ErrLost)
		case orders.Cancel[unit] != "":
			r.interrupt(orders.Cancel[unit])
		}
	}
	for _, a := range orders.Begin {
		delete(orders.Holds, a.Unit)
	}
	for unit := range w.running {
		delete(orders.Holds, unit)
	}
	w.mu.Unlock()
	for _, a := range orders.Begin {
		w.begin(ctx, a)
	}
	for unit, epoch := range orders.Holds {
		w.giveBack(ctx, fleet.Attempt{Unit: unit, Epoch: epoch})
	}
}

// giveBack returns a unit of this worker that it does not run: its end could not be
// reported, or this process has followed another one with the same id.
func (w *Worker) giveBack(ctx context.Context, a fleet.Attempt) {
	ctx, cancel := context.WithTimeout(ctx, w.config.Lease)
	defer cancel()
	if err := w.config.Engine.Complete(ctx, a, nil); err == nil {
		w.logger.Warn("gave a unit back that nothing runs for", "unit", a.Unit)
	}
}

// begin runs an attempt, after an earlier one of this worker that it has lost.
func (w *Worker) begin(ctx context.Context, a fleet.Attempt) {
	r := newRun(w, a)
	w.mu.Lock()
	before := w.running[a.Unit]
	w.running[a.Unit] = r
	w.mu.Unlock()
	if before != nil {
		before.lose(fleet.ErrLost)
	}
	w.wg.Go(func() {
		defer w.forget(r)
		if before != nil {
			<-before.done // its end is bounded
		}
		r.run(ctx)
	})
}

// forget notes that a run is over.
func (w *Worker) forget(r *run) {
	w.mu.Lock()
	if w.running[r.attempt.Unit] == r {
		delete(w.running, r.attempt.Unit)
	}
	w.mu.Unlock()
	close(r.done)
	select {
	case w.ended <- struct{}{}:
	default:
	}
}

func (w *Worker) loseAll(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.running {
		r.lose(err)
	}
}

func (w *Worker) stopAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.running {
		r.stop(errShutdown)
	}
}
