//go:build unix

package proof

import (
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/settle-agent/settle/fleet/engine"
	"github.com/settle-agent/settle/fleet/temporaldev/temporaltest"
)

// The variables that lead a worker to Temporal, and to the task queue of its crew.
const (
	addressVar = "FLEET_PROOF_TEMPORAL"
	queueVar   = "FLEET_PROOF_QUEUE"
	silenceVar = "FLEET_PROOF_SILENCE"
)

var temporalServer temporaltest.Server

// openEngine opens the engine that a worker works with.
func openEngine(pool *pgxpool.Pool) (*engine.Engine, func(), error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	// It connects when it is needed: Temporal may be away.
	c, err := client.NewLazyClient(client.Options{
		HostPort: os.Getenv(addressVar), Logger: log.NewStructuredLogger(logger),
		ConnectionOptions: client.ConnectionOptions{GrpcCompression: engine.Compression()},
	})
	if err != nil {
		return nil, nil, err
	}
	silence, err := time.ParseDuration(os.Getenv(silenceVar))
	return engine.Open(
		pool, c, engine.Options{Queue: os.Getenv(queueVar), Silence: silence, Logger: logger},
	), c.Close, err
}

// engineVars are the variables that lead a worker to the engine's server.
func (c *crew) engineVars() []string {
	return []string{
		addressVar + "=" + temporalServer.Address(c.t),
		queueVar + "=" + c.queue,
		silenceVar + "=" + c.silence.String(),
	}
}

// engineOf returns the engine that a crew's test submits with.
func (c *crew) engineOf() *engine.Engine {
	return engine.Open(c.place.Pool, temporalServer.Client(c.t), engine.Options{Queue: c.queue, Silence: c.silence})
}
