package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
)

// dyingLogs are logs that refuse all appends once a session has a number of events, as if their
// process had died: later events are not stored.
type dyingLogs struct {
	Logs
	at uint64

	mu   sync.Mutex
	dead chan struct{} // closed when they are
}

var errDead = errors.New("this worker is dead")

func (m *dyingLogs) OpenLog(ctx context.Context, session string) (settle.Log, error) {
	log, err := m.Logs.OpenLog(ctx, session)
	return &dyingLog{log, m}, err
}

type dyingLog struct {
	settle.Log
	of *dyingLogs
}

func (l *dyingLog) Append(events []event.Event, d settle.Durability) error {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	select {
	case <-l.of.dead:
		return errDead
	default:
	}
	last := events[len(events)-1].Seq
	if last < l.of.at {
		return l.Log.Append(events, d)
	}
	close(l.of.dead)
	n := len(events) - int(last-l.of.at)
	return errors.Join(l.Log.Append(events[:n], d), errDead)
}

// silentEngine is an engine whose worker, once it is dead, says nothing until it is stopped.
type silentEngine struct {
	fleet.Engine
	dead <-chan struct{}
}

func (s silentEngine) Work(ctx context.Context, w fleet.Work) error {
	run := w.Run
	w.Run = func(ctx, cancelled context.Context, a *fleet.Attempt) {
		run(ctx, cancelled, a)
		select {
		case <-s.dead:
			<-ctx.Done()
		default:
		}
	}
	return s.Engine.Work(ctx, w)
}

func (s silentEngine) Complete(ctx context.Context, a fleet.Attempt, r *fleet.Result) error {
	select {
	case <-s.dead:
		return errDead
	default:
		return s.Engine.Complete(ctx, a, r)
	}
}

// TestCrashAtEveryEvent: a worker dies when the log has n events, for each n. The
// next one settles what it left and goes on: every turn has one ending, no input is
// lost, no call runs twice.
func TestCrashAtEveryEvent(t *testing.T) {
	p := newPlace(t)
	var record fleettest.Record
	p.Submit(t, fleet.Task{Session: "whole", Prompt: "work"})
	stop := start(
		t,
		Config{
			ID:      "whole",
			Engine:  p.Engine,
			Logs:    p.Logs,
			Session: sessions(t, fleettest.Model{Calls: 2}, &record),
			Slots:   1,
		},
	)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p.Await(ctx, t)
	stop()
	events := len(p.Events(t, "whole"))
	if events < 20 {
		t.Fatalf("only %d events", events)
	}
	for n := 1; n < events; n++ { // after the last one there is nothing to lose
		t.Run(fmt.Sprint(n), func(t *testing.T) { crashAt(t, p, uint64(n)) })
	}
}

func crashAt(t *testing.T, p *fleettest.Place, n uint64) {
	session := fmt.Sprintf("at%d", n)
	var r fleettest.Record
	config := sessions(t, fleettest.Model{Calls: 2}, &r)
	logs := &dyingLogs{Logs: p.Logs, at: n, dead: make(chan struct{})}
	p.Submit(t, fleet.Task{Session: session, Prompt: "work"})
	stop := start(
		t, Config{
			ID: session + "-first", Engine: silentEngine{p.Engine, logs.dead}, Logs: logs, Session: config, Slots: 1,
		},
	)
	select {
	case <-logs.dead:
	case <-time.After(patience):
		t.Fatal("it does not die")
	}
	stop()
	stop = start(t, Config{ID: session + "-second", Engine: p.Engine, Logs: p.Logs, Session: config, Slots: 1})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	statuses := p.Await(ctx, t)
	stop()
	u := statuses[slices.IndexFunc(statuses, func(u fleet.TaskStatus) bool { return u.Task.Session == session })]
	if u.Result.Outcome != event.Completed || !strings.HasPrefix(u.Result.Answer, "done after ") || u.Attempt != 2 {
		t.Errorf("%+v, %+v", u, u.Result)
	}
	runs := r.Runs()
	fleettest.CheckOnce(t, runs)
	state := event.State{}
	for _, e := range p.Events(t, session) {
		var err error
		if state, err = event.Fold(state, e); err != nil {
			t.Fatal(err)
		}
	}
	if len(state.Waiting) > 0 || len(state.Turns) == 0 || len(state.Turns) > 2 {
		t.Errorf("%d inputs wait after %d turns (C19)", len(state.Waiting), len(state.Turns))
	}
	for _, turn := range state.Turns[:len(state.Turns)-1] {
		if turn.Cause.Outcome == event.Completed || turn.Cause.Reason != event.Crashed {
			t.Errorf("the first turn ended so: %v", turn.Cause)
		}
	}
}

// TestShutdownPassesTasksOn: what a worker runs when it is told to stop goes on at
// another one, and nothing of it runs twice.
func TestShutdownPassesTasksOn(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	session := sessions(t, fleettest.Model{Calls: 3, Delay: 300 * time.Millisecond}, &r)
	p.Submit(t, tasks(10)...)
	stop := start(t, Config{ID: "w1", Engine: p.Engine, Logs: p.Logs, Session: session, Slots: 10})
	follow(t, p, "s005", event.KindCallStarted)
	stop()
	start(t, Config{ID: "w2", Engine: p.Engine, Logs: p.Logs, Session: session, Slots: 10})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	handed := 0
	for _, u := range p.Await(ctx, t) {
		if u.Result.Outcome != event.Completed || u.Lost != 0 {
			t.Errorf("%+v, %+v", u, u.Result)
		}
		handed += u.Attempt - 1
		p.Events(t, u.Task.Session)
	}
	if handed == 0 {
		t.Error("nothing was handed over")
	}
	fleettest.CheckOnce(t, r.Runs())
}

// follow waits until a session's log has an event of the kind.
func follow(t *testing.T, p *fleettest.Place, session string, kind event.Kind) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for e, err := range p.Logs.Follow(ctx, session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind() == kind {
			return
		}
	}
	t.Fatalf("session %s has no %s", session, kind)
}

// TestCancel ends a task that runs, and says who asked for it.
func TestCancel(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	p.Submit(t, tasks(2)[:1]...)
	start(
		t,
		Config{
			ID:      "w1",
			Engine:  p.Engine,
			Logs:    p.Logs,
			Session: sessions(t, fleettest.Model{Calls: 1, Delay: time.Hour}, &r),
			Slots:   1,
		},
	)
	follow(t, p, "s000", event.KindAttemptStarted)
	p.Submit(t, tasks(2)[1:]...)
	for _, taskID := range []string{"s000/1", "s001/1"} { // one runs, one waits
		if ok, err := p.Engine.Cancel(t.Context(), taskID, "ada"); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, u := range p.Await(ctx, t) {
		if u.Result.Outcome != event.Aborted || u.Result.Reason != event.Interrupted || u.Cancel != "ada" {
			t.Errorf("%+v, %+v", u, u.Result)
		}
	}
	if events := p.Events(t, "s000"); len(events) == 0 {
		t.Error("no events")
	}
}

// TestCancelOfWhatWasGivenBack: the task has had a turn, and its result has that.
func TestCancelOfWhatWasGivenBack(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	session := sessions(t, fleettest.Model{Calls: 1, Delay: time.Hour}, &r)
	p.Submit(t, tasks(1)...)
	stop := start(t, Config{ID: "w1", Engine: p.Engine, Logs: p.Logs, Session: session, Slots: 1})
	follow(t, p, "s000", event.KindAttemptStarted)
	stop()
	if ok, err := p.Engine.Cancel(t.Context(), "s000/1", "ada"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	start(t, Config{ID: "w2", Engine: p.Engine, Logs: p.Logs, Session: session, Slots: 1})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	u := p.Await(ctx, t)[0]
	if u.Result.Outcome != event.Aborted || u.Result.Reason != event.Interrupted || u.Result.Turns != 1 ||
		!strings.Contains(u.Result.Message, "cancelled by ada") {
		t.Errorf("%+v, %+v", u, u.Result)
	}
	p.Events(t, "s000")
}

// TestATaskThatKillsItsWorkers fails in the end, and its log is settled.
func TestATaskThatKillsItsWorkers(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	session := sessions(t, fleettest.Model{Calls: 1, Delay: time.Hour}, &r)
	p.Submit(t, tasks(1)...)
	for n := range 3 {
		id := fmt.Sprint("w", n)
		logs := &dyingLogs{Logs: p.Logs, at: uint64(4 + 7*n), dead: make(chan struct{})}
		stop := start(
			t, Config{
				ID: id, Engine: silentEngine{p.Engine, logs.dead}, Logs: logs, Session: session, Slots: 1, Lost: 2,
			},
		)
		select {
		case <-logs.dead:
		case <-time.After(patience):
			t.Fatal("it does not die")
		}
		stop()
	}
	start(t, Config{ID: "last", Engine: p.Engine, Logs: p.Logs, Session: session, Slots: 1, Lost: 2})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	u := p.Await(ctx, t)[0]
	if u.Result.Outcome != event.Failed || !strings.Contains(u.Result.Message, "it was lost 3 times") || u.Lost != 3 {
		t.Errorf("%+v, %+v", u, u.Result)
	}
	p.Events(t, "s000")
}
