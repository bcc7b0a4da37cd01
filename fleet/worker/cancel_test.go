package worker

import (
	"context"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool"
)

// singleEngine is an engine with one attempt.
type singleEngine struct {
	fleet.Engine
	cancelled context.Context // as the engine's
	result    chan *fleet.Result
}

func (e singleEngine) Work(ctx context.Context, w fleet.Work) error {
	w.Run(context.WithoutCancel(ctx), e.cancelled, &fleet.Attempt{
		TaskID: "s/1", Number: 1, Epoch: 1, Task: fleet.Task{Session: "s", Input: "1", Prompt: "work"},
	})
	return nil
}

func (e singleEngine) Complete(_ context.Context, _ fleet.Attempt, r *fleet.Result) error {
	e.result <- r
	return nil
}

// noLogs are logs of sessions in memory.
type noLogs struct{ Logs }

func (noLogs) Grant(string, int64) {}

// A cancellation ends the turn whether it comes while the session is opened or while the turn runs.
func TestCancelReachesOpeningsAndTurns(t *testing.T) {
	for name, whileOpening := range map[string]bool{"opening": true, "turn": false} {
		t.Run(name, func(t *testing.T) {
			cancelled, cancel := context.WithCancelCause(t.Context())
			e := singleEngine{cancelled: cancelled, result: make(chan *fleet.Result, 1)}
			called := make(chan struct{})
			work, err := tool.New("work", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
				close(called)
				<-ctx.Done()
				return "", context.Cause(ctx)
			})
			if err != nil {
				t.Fatal(err)
			}
			w, err := New(t.Context(), Config{
				ID: "w", Engine: e, Logs: noLogs{}, Slots: 1,
				OpenHost: func(ctx context.Context, c settle.Config) (*settle.Host, error) {
					c.Logs = nil
					return settle.Open(ctx, c)
				},
				Session: func(context.Context, fleet.Attempt) (settle.SessionConfig, error) {
					if whileOpening {
						cancel(&fleet.CancelledError{By: "me"})
					}
					return settle.SessionConfig{
						Model: model.Config{
							Provider: fleettest.Model{
								Calls: 1, Call: func(string) (string, string) { return "work", "{}" },
							},
							ProviderName: "test", Name: "test",
						},
						Permission: settle.Allow, WorkDir: t.TempDir(), Tools: []tool.Tool{work},
					}, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- w.Run(t.Context()) }() // it is waited for below
			if !whileOpening {
				<-called
				cancel(&fleet.CancelledError{By: "me"})
			}
			r := <-e.result
			if r == nil || r.Outcome != event.Aborted || r.Reason != event.Interrupted {
				t.Errorf("result %+v", r)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
