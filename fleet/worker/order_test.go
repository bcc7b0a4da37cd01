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

// TestSettlesFirst: what a dead worker left is settled before the next one looks for what
// it works with, such as an executor.
func TestSettlesFirst(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	session := sessions(t, fleettest.Model{Calls: 2}, &r)
	logs := &dyingLogs{Logs: p.Logs, at: 12, dead: make(chan struct{})}
	p.Submit(t, tasks(1)...)
	stop := start(t, Config{
		ID: "first", Engine: silentEngine{p.Engine, logs.dead}, Logs: logs, Session: session, Slots: 1,
	})
	select {
	case <-logs.dead:
	case <-time.After(patience):
		t.Fatal("it does not die")
	}
	stop()
	start(
		t,
		Config{
			ID:     "second",
			Engine: p.Engine,
			Logs:   p.Logs,
			Slots:  1,
			Session: func(ctx context.Context, a fleet.Attempt) (settle.SessionConfig, error) {
				ctx, cancel := context.WithTimeout(ctx, patience/4)
				defer cancel()
				for e, err := range p.Logs.Follow(ctx, a.Task.Session, 0) {
					if err == nil && e.Kind() == event.KindSessionRecovered {
						return session(ctx, a)
					}
				}
				return settle.SessionConfig{}, errors.New("nobody has settled what the first worker left")
			},
		},
	)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if u := p.Await(ctx, t)[0]; u.Result.Outcome != event.Completed {
		t.Errorf("%+v", u.Result)
	}
	fleettest.CheckOnce(t, r.Runs())
}
