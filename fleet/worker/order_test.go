package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
)

// late is an engine that is told to hand something out, and whose answer comes when the
// worker is about to end.
type late struct {
	fleet.Engine
	end context.CancelFunc
}

func (l late) Heartbeat(ctx context.Context, b fleet.Beat) (fleet.Orders, error) {
	o, err := l.Engine.Heartbeat(ctx, b)
	if len(o.Begin) > 0 {
		l.end()
	}
	if ctx.Err() != nil { // who asked does not hear of it any more
		return fleet.Orders{}, ctx.Err()
	}
	return o, err
}

// TestOrdersAtTheEnd: what a worker is given while it is told to end goes back.
func TestOrdersAtTheEnd(t *testing.T) {
	p := newPlace(t)
	p.Submit(t, tasks(3)...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := New(t.Context(), Config{ID: "w", Engine: late{p.Runs, cancel}, Logs: p.Logs, Session: sessions(t, fleettest.Model{}, &fleettest.Record{}), Slots: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(ctx); err != nil {
		t.Error(err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatal("it was given nothing")
	}
	for _, task := range tasks(3) {
		if u, err := p.Engine.State(t.Context(), task.Session+"/1"); err != nil || u.State == fleet.Running {
			t.Errorf("%+v, %v", u, err)
		}
	}
}

// TestSettlesFirst: what a dead worker left is settled before the next one looks for what
// it works with, such as hands.
func TestSettlesFirst(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	session := sessions(t, fleettest.Model{Calls: 2}, &r)
	logs := &mortal{Logs: p.Logs, at: 12, dead: make(chan struct{})}
	p.Submit(t, tasks(1)...)
	stop := start(t, Config{ID: "first", Engine: silent{p.Runs, logs.dead}, Logs: logs, Session: session, Slots: 1})
	select {
	case <-logs.dead:
	case <-time.After(patience):
		t.Fatal("it does not die")
	}
	stop()
	p.Kill(t, "first")
	start(t, Config{ID: "second", Engine: p.Runs, Logs: p.Logs, Slots: 1, Session: func(ctx context.Context, a fleet.Attempt) (settle.SessionConfig, error) {
		ctx, cancel := context.WithTimeout(ctx, patience/4)
		defer cancel()
		for e, err := range p.Logs.Follow(ctx, a.Task.Session, 0) {
			if err == nil && e.Kind() == event.KindSessionRecovered {
				return session(ctx, a)
			}
		}
		return settle.SessionConfig{}, errors.New("nobody has settled what the first worker left")
	}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if u := p.Await(ctx, t)[0]; u.Result.Outcome != event.Completed {
		t.Errorf("%+v", u.Result)
	}
	fleettest.CheckOnce(t, r.Runs())
}
