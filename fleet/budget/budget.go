// Package budget bounds the usage of all tasks of a batch together, on all workers:
//
//	step ─► Record: the task's usage so far ─► one transaction for all tasks that report
//	              └─► the batch's budget at the last transaction is spent: the turn ends
//
// The count of a task is the maximum of its reports, so that a report can be repeated, and
// the report of a dead worker counts. The usage of a request is known at its end: a batch
// exceeds its budget by the requests that run when the budget is spent.
package budget

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle/event"
)

// Budget is the maximum usage of a batch, and its usage so far.
type Budget struct {
	Batch string `json:"batch"`
	// Tokens counts input and output tokens, USD the price of requests; 0 is no limit.
	Tokens int64   `json:"budget_tokens,omitempty"`
	USD    float64 `json:"budget_usd,omitempty"`
	// SpentTokens and SpentUSD are the usage of its tasks, and Unpriced is the number of
	// their requests with an unknown price.
	SpentTokens int64   `json:"spent_tokens"`
	SpentUSD    float64 `json:"spent_usd"`
	Unpriced    int     `json:"unpriced,omitempty"`
}

// EndCause returns the cause with which turns of the batch must end; nil if the budget has something left.
func (b Budget) EndCause() *event.Cause {
	switch {
	case b.Tokens > 0 && b.SpentTokens >= b.Tokens:
		return event.AbortLimit(
			event.LimitTokens,
			fmt.Sprintf("the batch %q has taken %d of the %d tokens of its budget", b.Batch, b.SpentTokens, b.Tokens),
		)
	case b.USD > 0 && b.SpentUSD >= b.USD:
		return event.AbortLimit(
			event.LimitCost,
			fmt.Sprintf("the batch %q has taken $%.2f of the $%.2f of its budget", b.Batch, b.SpentUSD, b.USD),
		)
	case b.USD > 0 && b.Unpriced > 0:
		return event.AbortLimit(
			event.LimitCost,
			fmt.Sprintf(
				"what %d requests of the batch %q cost is not known, so that its budget in dollars cannot be kept; "+
					"say the price of the model in the workers' configuration",
				b.Unpriced,
				b.Batch,
			),
		)
	}
	return nil
}

// Set sets the budget of a batch. Its spending stays.
func Set(ctx context.Context, pool *pgxpool.Pool, b Budget) error {
	if b.Batch == "" || b.Tokens < 0 || !(b.USD >= 0) || math.IsInf(b.USD, 1) { // as NaN is
		return errors.New("a budget has the name of a batch, and is a number that is not below zero")
	}
	_, err := pool.Exec(ctx, `INSERT INTO settle_fleet.budget (batch, tokens, usd) VALUES ($1, $2, $3)
		ON CONFLICT (batch) DO UPDATE SET tokens = excluded.tokens, usd = excluded.usd`, b.Batch, b.Tokens, b.USD)
	if err != nil {
		return fmt.Errorf("cannot set the budget of batch %q: %w", b.Batch, err)
	}
	return nil
}

// Get returns the budget of a batch; ok is false if it has none.
func Get(ctx context.Context, pool *pgxpool.Pool, batch string) (b Budget, ok bool, err error) {
	rows, err := pool.Query(ctx, `SELECT `+columns+` FROM settle_fleet.budget WHERE batch = $1`, batch)
	if err == nil {
		b, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Budget])
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return b, false, nil
	}
	if err != nil {
		return b, false, fmt.Errorf("cannot read the budget of batch %q: %w", batch, err)
	}
	return b, true, nil
}

// columns are the columns of [Budget].
const columns = `batch, tokens, usd, spent_tokens, spent_usd, unpriced`
