package worker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
)

// boomerang is an engine with one unit, which it gives to whoever asks.
type boomerang struct {
	fleet.Engine
	enough func() // called when it has been taken much too often

	mu       sync.Mutex
	attempts int
	taken    bool
}

func (b *boomerang) Heartbeat(_ context.Context, beat fleet.Beat) (fleet.Orders, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var o fleet.Orders
	if !b.taken && beat.Room > 0 {
		b.taken = true
		b.attempts++
		o.Begin = []fleet.Attempt{{Unit: "s/1", Task: fleet.Task{Session: "s", Input: "1", Prompt: "work"}, Number: b.attempts, Epoch: int64(b.attempts)}}
	}
	o.Holds = map[string]int64{"s/1": int64(b.attempts)}
	if b.attempts > 100 {
		b.enough()
	}
	return o, nil
}

func (b *boomerang) Complete(context.Context, fleet.Attempt, *fleet.Result) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = false
	return nil
}

// unreadable are logs that cannot be opened.
type unreadable struct{ settle.Logs }

func (unreadable) Grant(string, int64) {}

func (unreadable) OpenLog(context.Context, string) (settle.Log, error) {
	return nil, errors.New("it is of a later version")
}

// TestAUnitThatNobodyCanRun does not keep the fleet busy: it goes back later each time.
func TestAUnitThatNobodyCanRun(t *testing.T) {
	session := sessions(t, fleettest.Model{}, &fleettest.Record{})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
		defer cancel()
		e := &boomerang{enough: cancel}
		w, err := New(ctx, Config{ID: "w", Engine: e, Logs: unreadable{}, Session: session, Slots: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		if e.attempts < 2 || e.attempts > 20 {
			t.Errorf("it was taken %d times in 100 s", e.attempts)
		}
	})
}
