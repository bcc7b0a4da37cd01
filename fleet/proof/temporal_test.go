//go:build unix && temporal

package proof

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/temporal"
	"github.com/settle-agent/settle/fleet/temporaldev/temporaltest"
)

const addressVar = "FLEET_PROOF_TEMPORAL"

var temporalServer temporaltest.Server

// openEngine opens the engine that a worker works with.
func openEngine(ctx context.Context, pool *pgxpool.Pool) (fleet.Engine, func(), error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	c, err := client.DialContext(ctx, client.Options{HostPort: os.Getenv(addressVar), Logger: log.NewStructuredLogger(logger)})
	if err != nil {
		return nil, nil, err
	}
	e := temporal.Open(ctx, pool, c, temporal.Options{Silence: leaseTimeout, Logger: logger})
	return e, func() { e.Close(); c.Close() }, nil
}

// engineVars are the variables that lead a worker to the engine's server.
func engineVars(t *testing.T) []string {
	return []string{addressVar + "=" + temporalServer.Address(t)}
}

func stopEngine() { temporalServer.Stop() }
