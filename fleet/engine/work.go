package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/index"
	"github.com/settle-agent/settle/fleet/pgnotify"
)

const (
	// endGrace is the time that attempts have, after the drain, to end and to be completed.
	endGrace = time.Minute
	// stickyTimeout is the time that Temporal waits for the worker that has a session's workflow in
	// memory, before it asks another one.
	stickyTimeout = time.Second
	// maxDeciders is the number of workflow tasks that a worker polls for at a time. With the SDK's 2, sessions
	// that have not begun keep others waiting for minutes after the start of a busy fleet.
	maxDeciders = 8
	// maxCached is the maximum number of workflows that a worker keeps in memory. Each takes about 30 KB. The
	// decision of another one reads its history, which is short.
	maxCached = 256
	// startDelay is the wait before another attempt to begin.
	startDelay = time.Second
)

// work is a worker of Temporal's SDK.
type work struct {
	fleet.Work
	engine *Engine

	idle      atomic.Bool    // the last turn began without a wait: no backlog is known
	slots     *slots         // of turns
	turnGroup sync.WaitGroup // the turns that run

	mu         sync.Mutex
	turns      map[string]*turn // by task
	isEnding   bool             // no turn begins, and those that run end
	isDraining bool             // the worker ends
}

// Work implements [fleet.Engine]. If Temporal becomes unreachable, it tries again.
func (e *Engine) Work(ctx context.Context, w fleet.Work) error {
	k := &work{Work: w, engine: e, slots: newSlots(w.Slots), turns: map[string]*turn{}}
	worker.SetStickyWorkflowCacheSize(maxCached)
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	defer loops.Wait()
	defer stop()
	loops.Go(func() { e.sendDue(life) })
	loops.Go(func() { e.watch(life) })
	loops.Go(func() { e.watchLost(life) })
	loops.Go(func() { k.listen(life) })
	fatal := make(chan error, 1)
	s, err := k.start(ctx, fatal)
	if err != nil || s == nil {
		return err
	}
	if k.Ready != nil {
		k.Ready()
	}
	select {
	case <-ctx.Done():
	case err = <-fatal:
	}
	k.setDraining()
	stopped := make(chan struct{})
	loops.Go(func() { k.endAfter(stopped) })
	s.Stop() // waits until no turn is claimed any more
	k.awaitTurns()
	close(stopped)
	if err != nil {
		return fmt.Errorf("the worker cannot continue: %w", err)
	}
	return nil
}

// start starts the SDK's worker; none if ctx ends before Temporal answers.
func (w *work) start(ctx context.Context, fatal chan<- error) (worker.Worker, error) {
	for {
		o, err := w.options(func(err error) {
			select {
			case fatal <- err:
			default:
			}
		})
		if err != nil {
			return nil, err
		}
		s := worker.New(w.engine.client, w.engine.options.Queue, o)
		s.RegisterWorkflowWithOptions(Session, workflow.RegisterOptions{
			Name: sessionWorkflow, VersioningBehavior: w.versioning(),
		})
		s.RegisterWorkflowWithOptions(Periodic, workflow.RegisterOptions{
			Name: scheduleWorkflow, VersioningBehavior: w.versioning(),
		})
		s.RegisterActivityWithOptions(w.engine.submitScheduled, activity.RegisterOptions{Name: submitActivity})
		s.RegisterActivityWithOptions(w.turn, activity.RegisterOptions{Name: turnActivity})
		err = s.Start()
		if err == nil {
			return s, nil
		}
		if !unreachable(err) {
			return nil, fmt.Errorf("cannot work for Temporal: %w", err)
		}
		w.engine.logger.Warn("cannot reach Temporal; the worker tries again", "error", err)
		select {
		case <-time.After(startDelay):
		case <-ctx.Done():
			return nil, nil // there is none
		}
	}
}

// versioning has a session continue on the version that is current.
func (w *work) versioning() workflow.VersioningBehavior {
	if w.engine.options.Deployment == "" {
		return workflow.VersioningBehaviorUnspecified
	}
	return workflow.VersioningBehaviorAutoUpgrade
}

func (w *work) options(fatal func(error)) (worker.Options, error) {
	base, err := worker.NewFixedSizeTuner(worker.FixedSizeTunerOptions{NumActivitySlots: w.Slots})
	if err != nil {
		return worker.Options{}, fmt.Errorf("cannot make the worker's slots: %w", err)
	}
	o := worker.Options{
		Identity:                         w.Worker,
		Tuner:                            tuner{base, w.slots},
		MaxConcurrentWorkflowTaskPollers: maxDeciders,
		DisableEagerActivities:           true, // else a worker runs the turns that it decides about
		WorkerStopTimeout:                w.Drain + endGrace,
		StickyScheduleToStartTimeout:     stickyTimeout,
		OnFatalError:                     fatal,
	}
	if name := w.engine.options.Deployment; name != "" {
		o.DeploymentOptions = worker.DeploymentOptions{
			UseVersioning: true,
			Version:       worker.WorkerDeploymentVersion{DeploymentName: name, BuildID: w.engine.options.Build},
		}
	}
	return o, nil
}

// add notes a turn that begins, and reports whether the worker still runs turns.
func (w *work) add(t *turn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turns[t.taskID] = t
	return !w.isEnding
}

func (w *work) remove(t *turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turns[t.taskID] == t {
		delete(w.turns, t.taskID)
	}
}

func (w *work) draining() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.isDraining
}

func (w *work) setDraining() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isDraining = true
}

// awaitTurns waits until the turns have ended.
func (w *work) awaitTurns() {
	ended := make(chan struct{})
	go func() { // ends with the last turn
		w.turnGroup.Wait()
		close(ended)
	}()
	timer := time.NewTimer(w.Drain + endGrace)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		w.engine.logger.Error("turns have not ended in time; other workers continue them")
	}
}

// endAfter ends the turns that run after the drain, unless all have ended before.
func (w *work) endAfter(stopped <-chan struct{}) {
	timer := time.NewTimer(w.Drain)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.Hurry:
	case <-stopped:
		return
	}
	w.endAll()
}

// endAll ends the turns that run.
func (w *work) endAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isEnding = true
	for _, t := range w.turns {
		t.end(fleet.ErrShutdown)
	}
}

// cancel cancels the turn of a task, if it runs here.
func (w *work) cancel(taskID, by string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.turns[taskID]; t != nil {
		t.cancel(&fleet.CancelledError{By: by})
	}
}

// listen cancels the turns of tasks whose cancellation Postgres notifies, until ctx ends. After each connection, it
// reads the cancellations whose notifications may have been lost.
func (w *work) listen(ctx context.Context) {
	pgnotify.Listen(ctx, w.engine.database, pgnotify.Listener{
		Channel: index.CancelChannel,
		Begin: func(ctx context.Context) {
			w.mu.Lock()
			ids := slices.Collect(maps.Keys(w.turns))
			w.mu.Unlock()
			requesters, err := w.engine.Index.Requesters(ctx, ids)
			if err != nil && !errors.Is(err, context.Canceled) {
				w.engine.logger.Warn("cannot look for cancellations; Temporal's heartbeats have them", "error", err)
			}
			for taskID, by := range requesters {
				w.cancel(taskID, by)
			}
		},
		Payload: func(text string) {
			taskID, by, _ := strings.Cut(text, " ")
			w.cancel(taskID, by)
		},
	})
}
