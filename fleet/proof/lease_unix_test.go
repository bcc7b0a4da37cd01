//go:build unix && !temporal

package proof

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/lease"
)

// openEngine opens the engine that a worker works with.
func openEngine(ctx context.Context, pool *pgxpool.Pool) (fleet.Engine, func(), error) {
	e := lease.Open(ctx, pool)
	return e, e.Close, nil
}

// engineVars are the variables that lead a worker to the engine's server.
func engineVars(*testing.T) []string { return nil }

func stopEngine() {}
