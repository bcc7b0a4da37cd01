package worker

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/budget"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/model"
)

// metered is a model whose responses take 100 tokens each.
type metered struct{ fleettest.Model }

// Stream implements [model.Provider].
func (m metered) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		first := true
		for c, err := range m.Model.Stream(ctx, r) {
			if !yield(c, err) {
				return
			}
			if first && !yield(model.Chunk{Kind: model.UsageReport, Usage: &model.Usage{Input: 90, Output: 10}}, nil) {
				return
			}
			first = false
		}
	}
}

// runBatch runs tasks of a batch that has a budget, one after the other, each with so
// many calls.
func runBatch(t *testing.T, tasks, calls int) (statuses []fleet.TaskStatus, left budget.Budget) {
	t.Helper()
	p := newPlace(t)
	if err := budget.Set(t.Context(), p.Pool, budget.Budget{Batch: "b", Tokens: 250}); err != nil {
		t.Fatal(err)
	}
	meter := budget.Open(t.Context(), p.Pool)
	t.Cleanup(meter.Close)
	var r fleettest.Record
	session := sessions(t, fleettest.Model{Calls: calls}, &r)
	for n := range tasks {
		p.Submit(t, fleet.Task{Session: fmt.Sprint("s", n), Prompt: "work", Batch: "b"})
	}
	stop := start(
		t,
		Config{
			ID:      "w",
			Engine:  p.Engine,
			Logs:    p.Logs,
			Slots:   1,
			Budgets: meter,
			Session: func(ctx context.Context, a fleet.Attempt) (settle.SessionConfig, error) {
				c, err := session(ctx, a)
				c.Model.Provider = metered{c.Model.Provider.(fleettest.Model)}
				return c, err
			},
		},
	)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	statuses = p.Await(ctx, t)
	stop()
	left, _, err := budget.Get(t.Context(), p.Pool, "b")
	if err != nil {
		t.Fatal(err)
	}
	return statuses, left
}

// TestABatchEndsAtItsBudget: the tasks that wait then end as what they are, without a
// request.
func TestABatchEndsAtItsBudget(t *testing.T) {
	statuses, left := runBatch(t, 8, 0)
	completed := 0
	for n, u := range statuses {
		r := u.Result
		switch {
		case r.Outcome == event.Completed && r.Summary.Usage.Input == 90:
			completed++
		case r.Outcome != event.Aborted || r.Reason != event.LimitReached || r.Turns != 0 || !strings.Contains(r.Message, "300 of the 250 tokens"):
			t.Errorf("task %d: %+v", n, r)
		}
	}
	if completed != 3 {
		t.Errorf("%d tasks completed", completed)
	}
	if left.SpentTokens != 300 {
		t.Errorf("%+v", left)
	}
}

// TestARunningTaskEndsWithItsBatch, before its next request, and what it took counts.
func TestARunningTaskEndsWithItsBatch(t *testing.T) {
	statuses, left := runBatch(t, 1, 1_000_000)
	r := statuses[0].Result
	if r.Outcome != event.Aborted || r.Reason != event.LimitReached || r.Summary.Usage.Input < 270 ||
		!strings.Contains(r.Message, "of its budget") {
		t.Errorf("%+v", r)
	}
	if left.SpentTokens != r.Summary.Usage.Input+r.Summary.Usage.Output {
		t.Errorf("%+v, but it took %+v", left, r.Summary)
	}
}
