package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"

	"github.com/settle-agent/settle/fleet/engine"
)

// temporalPrefix is the prefix of the variables that Temporal's own tools also read.
const temporalPrefix = "TEMPORAL_"

// queueVar names the task queue where --queue does not.
const queueVar = "SETTLE_FLEET_QUEUE"

// heartbeatVar says how long a turn may be without a heartbeat where --heartbeat-timeout does not.
const heartbeatVar = "SETTLE_FLEET_HEARTBEAT_TIMEOUT"

// engineFlags say which Temporal runs tasks, and how.
type engineFlags struct {
	address, namespace, queue string
	silence                   time.Duration // 0 if the flag is not given
	deployment                string        // of worker and dev
}

func (f *engineFlags) define(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(
		&f.address,
		"temporal",
		"",
		"`HOST:PORT` of Temporal; default: $TEMPORAL_ADDRESS, else the address of settle-fleet dev",
	)
	flags.StringVar(
		&f.namespace,
		"namespace",
		"",
		"`NAME` of Temporal's namespace; default: $TEMPORAL_NAMESPACE, else default",
	)
	flags.StringVar(
		&f.queue,
		"queue",
		"",
		"`NAME` of Temporal's task queue, one for each fleet in a namespace; default: $"+queueVar+", else "+engine.DefaultQueue,
	)
	flags.DurationVar(
		&f.silence,
		"heartbeat-timeout",
		0,
		"after `DURATION` without a heartbeat of a turn, another worker runs it; for sessions that this command starts"+
			"; default: $"+heartbeatVar+", else "+engine.DefaultSilence.String(),
	)
}

// minSilence is the shortest time after which a turn counts as lost.
const minSilence = time.Second

// checkQueue refuses new tasks for a queue with a colon in its name. The ids of workflows have the queue before a
// colon: sessions of two queues could have the same id. Workers still run the tasks that such a queue has.
func (f *engineFlags) checkQueue() error {
	if queue := cmp.Or(f.queue, os.Getenv(queueVar)); strings.Contains(queue, ":") {
		return fmt.Errorf("cannot submit to the task queue %q: its name has a colon; use another queue", queue)
	}
	return nil
}

// heartbeatTimeout returns the time of the flag, else that of the variable, else the default.
func (f *engineFlags) heartbeatTimeout() (time.Duration, error) {
	name, silence := "--heartbeat-timeout", f.silence
	if text := os.Getenv(heartbeatVar); silence == 0 && text != "" {
		var err error
		if silence, err = time.ParseDuration(text); err != nil {
			return 0, fmt.Errorf("$%s is not a duration such as 6s: %q", heartbeatVar, text)
		}
		name = "$" + heartbeatVar
	} else if silence == 0 {
		silence = engine.DefaultSilence
	}
	if silence < minSilence {
		return 0, fmt.Errorf("%s must be at least %s", name, minSilence)
	}
	return silence, nil
}

// devTemporal returns the address of the server that settle-fleet dev has started; ""
// if there is none.
func devTemporal() string {
	dir, err := devDir()
	if err != nil {
		return ""
	}
	address, _ := os.ReadFile(filepath.Join(dir, temporalFile))
	return strings.TrimSpace(string(address))
}

// temporalFile is the file in which settle-fleet dev stores the address of its Temporal.
const temporalFile = "temporal"

// server returns Temporal's address: from the flag, from the variable or the file of
// Temporal's own tools, or from settle-fleet dev. The address of dev precedes the file if
// the database is dev's.
func (f *engineFlags) server(configured, devs string, dev bool) string {
	if dev {
		configured = cmp.Or(os.Getenv("TEMPORAL_ADDRESS"), devs, configured)
	}
	return cmp.Or(f.address, configured, devs)
}

// configured returns the configuration of Temporal's own tools, with the flag's namespace if there is one.
func (f *engineFlags) configured() (client.Options, error) {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return o, fmt.Errorf("cannot read Temporal's configuration: %w", err)
	}
	o.Namespace = cmp.Or(f.namespace, o.Namespace)
	return o, nil
}

// options returns what leads to Temporal.
func (f *engineFlags) options(dev bool, logger *slog.Logger) (client.Options, error) {
	o, err := f.configured()
	if err != nil {
		return o, err
	}
	o.HostPort = f.server(o.HostPort, devTemporal(), dev)
	if dev && o.HostPort == "" { // what has Temporal's usual port is another one
		return o, failed(errNoDevTemporal)
	}
	o.HostPort = cmp.Or(o.HostPort, client.DefaultHostPort) // errors name it
	o.Logger = log.NewStructuredLogger(slog.New(discardInfo{logger.Handler()}))
	o.ConnectionOptions.GrpcCompression = engine.Compression()
	return o, nil
}

var errNoDevTemporal = errors.New("the database is that of settle-fleet dev, whose Temporal does not run; " +
	"start settle-fleet dev, and leave it running, or name a server with --temporal; nothing was changed")

// temporalSecrets returns the key and the headers of Temporal's configuration, from
// variables or its file.
func temporalSecrets() []string {
	p, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
	if err != nil {
		return nil // options says so, if Temporal is used
	}
	secrets := append(slices.Collect(maps.Values(p.GRPCMeta)), p.APIKey)
	return slices.DeleteFunc(secrets, func(secret string) bool { return secret == "" })
}

// discardInfo drops what the client says of its work.
type discardInfo struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (discardInfo) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// WithAttrs implements [slog.Handler].
func (d discardInfo) WithAttrs(a []slog.Attr) slog.Handler {
	return discardInfo{d.Handler.WithAttrs(a)}
}

// WithGroup implements [slog.Handler].
func (d discardInfo) WithGroup(name string) slog.Handler {
	return discardInfo{d.Handler.WithGroup(name)}
}

// open returns the engine; closeEngine ends its connection.
func (f *engineFlags) open(
	ctx context.Context, pool *pgxpool.Pool, dev bool, logger *slog.Logger,
	dial func(context.Context, client.Options) (client.Client, error),
) (e *engine.Engine, closeEngine func(), err error) {
	silence, err := f.heartbeatTimeout()
	if err != nil {
		return nil, nil, err
	}
	o, err := f.options(dev, logger)
	if err != nil {
		return nil, nil, err
	}
	c, err := dial(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return engine.Open(pool, c, engine.Options{
		Namespace: o.Namespace, Queue: cmp.Or(f.queue, os.Getenv(queueVar)), Silence: silence,
		Deployment: f.deployment, Build: version(), Logger: logger,
	}), c.Close, nil
}
