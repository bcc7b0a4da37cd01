package worker

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/model"
)

// countedLogs count the events that are read at openings.
type countedLogs struct {
	Logs
	read atomic.Int64
}

// OpenLog implements [settle.Logs].
func (c *countedLogs) OpenLog(ctx context.Context, session string) (settle.Log, error) {
	log, err := c.Logs.OpenLog(ctx, session)
	if err != nil {
		return nil, err
	}
	return &countedLog{log.(epochStateLog), c}, nil
}

type epochStateLog interface {
	settle.StateLog
	settle.EpochLog
}

type countedLog struct {
	epochStateLog
	of *countedLogs
}

// Read implements [settle.Log].
func (l *countedLog) Read(ctx context.Context, cursor uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range l.epochStateLog.Read(ctx, cursor) {
			l.of.read.Add(1)
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestSessionOfManyInputs: a worker that runs one input of a session after the other does not read the
// log again for each.
func TestSessionOfManyInputs(t *testing.T) {
	p := newPlace(t)
	logs := &countedLogs{Logs: p.Logs}
	const inputs = 8
	var all []fleet.Task
	for n := range inputs {
		all = append(all, fleet.Task{
			Session: "s", Input: fmt.Sprint(n + 1), Prompt: strings.Repeat("a long prompt ", 10_000),
		})
	}
	p.Submit(t, all...)
	dir := t.TempDir()
	start(
		t,
		Config{
			ID:     "w",
			Engine: p.Engine,
			Logs:   logs,
			Slots:  1,
			Session: func(context.Context, fleet.Attempt) (settle.SessionConfig, error) {
				return settle.SessionConfig{
					Model:      model.Config{Provider: fleettest.Model{}, ProviderName: "test", Name: "test"},
					Permission: settle.Allow, WorkDir: dir,
				}, nil
			},
		},
	)
	for _, u := range p.Await(t.Context(), t) {
		if u.Result == nil || u.Result.Outcome != event.Completed {
			t.Errorf("%s: %+v", u.ID, u.Result)
		}
	}
	// Each turn reads the event that accepted its input. Reading the log again for each would be hundreds.
	if n := logs.read.Load(); n > 2*inputs {
		t.Errorf("the worker has read %d events", n)
	}
	if events := p.Events(t, "s"); len(events) < inputs*5 {
		t.Errorf("the log has %d events", len(events))
	}
}
