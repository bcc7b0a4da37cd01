package budget_test

import (
	"context"
	"math"
	"sync"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet/budget"
	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/fleet/pglog"
)

// place makes a database with a budget, and two meters.
func place(t *testing.T, b budget.Budget) (meters [2]*budget.Meter, spent func() budget.Budget) {
	t.Helper()
	pool := server.Pool(t)
	if _, _, err := pglog.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if err := budget.Set(t.Context(), pool, b); err != nil {
		t.Fatal(err)
	}
	for n := range meters {
		meters[n] = budget.Open(t.Context(), pgtest.Connect(t, pool.Config().ConnString()))
		t.Cleanup(meters[n].Close)
	}
	return meters, func() budget.Budget {
		b, ok, err := budget.Get(t.Context(), pool, b.Batch)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		return b
	}
}

// usage returns the usage of a task.
func usage(tokens int64, usd float64) event.Summary {
	return event.Summary{Usage: event.Usage{Input: tokens - 1, Output: 1}, Cost: usd}
}

func settle(t *testing.T, m *budget.Meter, batch, taskID string, sum event.Summary) *event.Cause {
	t.Helper()
	cause, err := m.Store(t.Context(), batch, taskID, sum)
	if err != nil {
		t.Fatal(err)
	}
	return cause
}

// TestWorkersShareABudget, and what a task has taken counts once, however often it is
// said, by whomever.
func TestWorkersShareABudget(t *testing.T) {
	m, spent := place(t, budget.Budget{Batch: "b", Tokens: 100})
	for range 3 {
		for _, meter := range m {
			if cause := settle(t, meter, "b", "u1", usage(60, 0.5)); cause != nil {
				t.Fatal(cause)
			}
		}
	}
	settle(t, m[1], "b", "u1", usage(40, 0.25)) // an older report that came late
	if b := spent(); b.SpentTokens != 60 || b.SpentUSD != 0.5 {
		t.Fatalf("%+v", b)
	}
	if cause := settle(t, m[1], "b", "u2", usage(40, 0)); cause == nil || cause.Reason != event.LimitReached ||
		cause.Limit != event.LimitTokens {
		t.Errorf("%v", cause)
	}
	if cause := settle(t, m[0], "another", "u3", usage(1000, 9)); cause != nil {
		t.Errorf("a batch without a budget: %v", cause)
	}
}

// TestReportsAtTheSameTime count once as well.
func TestReportsAtTheSameTime(t *testing.T) {
	m, spent := place(t, budget.Budget{Batch: "b", USD: 1000})
	var wg sync.WaitGroup
	errs := make(chan error, 400)
	for n := range 8 {
		wg.Go(func() {
			for i := range 25 {
				m[n%2].Record("b", "u", usage(int64(10*i+n), float64(i)))
				_, err := m[(n+1)%2].Store(
					context.WithoutCancel(t.Context()),
					"b",
					"u",
					usage(int64(10*i+n), float64(i)),
				)
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	if b := spent(); b.SpentTokens != 247 || b.SpentUSD != 24 {
		t.Errorf("%+v", b)
	}
}

// TestDollars: the end says what was spent, and a price that is not known is no price
// of nothing.
func TestDollars(t *testing.T) {
	m, _ := place(t, budget.Budget{Batch: "b", USD: 1})
	if cause := settle(t, m[0], "b", "u1", event.Summary{Unpriced: 2}); cause == nil || cause.Limit != event.LimitCost {
		t.Errorf("%v", cause)
	}
	if cause := settle(t, m[0], "b", "u1", usage(5, 1.25)); cause == nil ||
		cause.Message != `the batch "b" has taken $1.25 of the $1.00 of its budget` {
		t.Errorf("%v", cause)
	}
}

// TestABudgetIsANumber of a batch that has a name.
func TestABudgetIsANumber(t *testing.T) {
	for _, b := range []budget.Budget{{USD: 1}, {Batch: "b", USD: math.NaN()}, {Batch: "b", USD: math.Inf(1)}, {Batch: "b", Tokens: -1}} {
		if err := budget.Set(t.Context(), nil, b); err == nil {
			t.Errorf("%+v is taken", b)
		}
	}
}
