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

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"

	"github.com/settle-agent/settle/fleet/temporal"
)

// The engines, and the variable that names one where --engine does not.
const (
	engineLease    = "lease"
	engineTemporal = "temporal"
	engineVar      = "SETTLE_FLEET_ENGINE"
)

// temporalPrefix is the prefix of the variables that Temporal's own tools also read.
const temporalPrefix = "TEMPORAL_"

// engineFlags say what hands tasks out.
type engineFlags struct{ name, address, namespace, queue string }

func (f *engineFlags) define(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(
		&f.name,
		"engine",
		"",
		"`lease` or temporal: what hands tasks out to workers; default: $"+engineVar+", else the engine of settle-fleet dev, else lease",
	)
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
		"`NAME` of Temporal's task queue, one for each fleet in a namespace; default: settle",
	)
}

// find returns the engine's name.
func (f *engineFlags) find(d *database) (string, error) {
	name := f.name
	if name == "" {
		name = os.Getenv(engineVar)
	}
	switch {
	case name == "" && (f.address != "" || d.dev && devTemporal() != ""):
		return engineTemporal, nil
	case name == "":
		return engineLease, nil
	case name != engineLease && name != engineTemporal:
		return "", fmt.Errorf("there is no engine %q: it is lease or temporal", name)
	case name == engineLease && f.address != "":
		return "", errors.New("--temporal is for --engine temporal")
	}
	return name, nil
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

// temporalFile is where settle-fleet dev says where its Temporal is.
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

// options returns what leads to Temporal.
func (f *engineFlags) options(dev bool, logger *slog.Logger) (client.Options, error) {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return o, fmt.Errorf("cannot read Temporal's configuration: %w", err)
	}
	o.HostPort = f.server(o.HostPort, devTemporal(), dev)
	if f.namespace != "" {
		o.Namespace = f.namespace
	}
	o.Logger = log.NewStructuredLogger(slog.New(discardInfo{logger.Handler()}))
	return o, nil
}

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

// open connects to Temporal; close ends the engine and the connection.
func (f *engineFlags) open(
	ctx context.Context, pool *pgxpool.Pool, dev bool, logger *slog.Logger,
) (*temporal.Engine, func(), error) {
	o, err := f.options(dev, logger)
	if err != nil {
		return nil, nil, err
	}
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return nil, nil, temporalUnreachable(o.HostPort, dev, err)
	}
	e := temporal.Open(ctx, pool, c, temporal.Options{Namespace: o.Namespace, Queue: f.queue, Logger: logger})
	return e, func() { e.Close(); c.Close() }, nil
}
