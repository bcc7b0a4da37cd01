package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"

	"github.com/settle-agent/settle/fleet/engine"
	"github.com/settle-agent/settle/fleet/index"
	"github.com/settle-agent/settle/fleet/pglog"
	"github.com/settle-agent/settle/internal/config"
)

const (
	// databaseVar names the database where --database does not.
	databaseVar = "SETTLE_FLEET_DATABASE"
	// connectionsVar says how many connections a program has for queries, where the address of the database does
	// not: other programs that use this address, such as a scaler, do not know pgx's parameter.
	connectionsVar = "SETTLE_FLEET_CONNECTIONS"
	// poolParameter is pgx's parameter.
	poolParameter = "pool_max_conns"
	// maxConnections is more than any server has.
	maxConnections = 10_000
)

// withConnections returns the address of a database with the number of connections that connectionsVar has.
func withConnections(address, number string) (string, error) {
	if number == "" || strings.Contains(address, poolParameter) {
		return address, nil
	}
	if n, err := strconv.Atoi(number); err != nil || n < 1 || n > maxConnections {
		return "", fmt.Errorf("$%s must be a number from 1 to %d, not %q", connectionsVar, maxConnections, number)
	}
	separator := " " // of keywords and values
	if strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://") {
		separator = "?"
		if strings.Contains(address, "?") {
			separator = "&"
		}
	}
	return address + separator + poolParameter + "=" + number, nil
}

// database has the flags that choose the fleet.
type database struct {
	url    string
	engine engineFlags
	dev    bool // it is the database of settle-fleet dev
}

// find returns the URL of the database.
func (d *database) find() (string, error) {
	if d.url != "" {
		return d.url, nil
	}
	if url := os.Getenv(databaseVar); url != "" {
		return url, nil
	}
	dir, err := devDir()
	if err != nil {
		return "", err
	}
	url, err := os.ReadFile(filepath.Join(dir, urlFile))
	if errors.Is(err, os.ErrNotExist) {
		return "", errors.New(
			"no database is named: use --database or $" + databaseVar + ", or start one with settle-fleet dev",
		)
	}
	d.dev = true
	return strings.TrimSpace(string(url)), err
}

// secrets returns the secrets of this process that must not be stored (C15): keys of the
// configuration and the environment, and the credentials of the database and of Temporal.
func (d *database) secrets() ([]string, error) {
	r, err := config.Load(config.Input{Dir: "/", Getenv: os.Getenv, ProjectConfig: config.IgnoreProject})
	if err != nil {
		return nil, err
	}
	secrets := append(r.Secrets(), temporalSecrets()...)
	if text, err := d.find(); err == nil {
		if c, err := pglog.ParseConfig(text); err == nil && c.ConnConfig.Password != "" {
			secrets = append(secrets, c.ConnConfig.Password)
		}
	}
	return secrets, nil
}

// urlFile is the file in which settle-fleet dev stores the URL of its database.
const urlFile = "url"

// devDir returns the directory of settle-fleet dev. For root, the user that Postgres runs as
// can reach the directory.
func devDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/settle-fleet", nil
	}
	dir, err := dataDir()
	return filepath.Join(dir, "fleet"), err
}

// connect connects to the database.
func (d *database) connect(ctx context.Context) (*pgxpool.Pool, error) {
	url, err := d.find()
	if err != nil {
		return nil, err
	}
	sized, err := withConnections(url, os.Getenv(connectionsVar))
	if err != nil {
		return nil, err
	}
	pool, err := pglog.Connect(ctx, sized)
	if err == nil {
		if err = pool.Ping(ctx); err != nil {
			pool.Close()
		}
	}
	if err != nil {
		return nil, databaseUnreachable(url, d.dev, err)
	}
	return pool, nil
}

// fleetOf has the database, and the engine if it is open, with which commands work.
type fleetOf struct {
	pool  *pgxpool.Pool
	logs  *pglog.Logs
	index *index.Index
	// engine runs tasks; nil for commands that use only the database.
	engine      *engine.Engine
	closeEngine func()
}

// open connects to the fleet's database; the caller closes it.
func (d *database) open(ctx context.Context) (*fleetOf, error) {
	pool, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	logs, err := pglog.Open(ctx, pool)
	if err != nil {
		pool.Close()
		return nil, failed(err)
	}
	return &fleetOf{pool: pool, logs: logs, index: index.Open(pool)}, nil
}

// openRunning is open for commands that cannot work without Temporal.
func (d *database) openRunning(ctx context.Context, logger *slog.Logger) (*fleetOf, error) {
	return d.openEngine(ctx, logger, func(ctx context.Context, o client.Options) (client.Client, error) {
		c, err := client.DialContext(ctx, o)
		if err != nil {
			return nil, temporalUnreachable(o.HostPort, d.dev, err)
		}
		return c, nil
	})
}

// openLazily is open for commands that use Temporal, and whose work is durable without it.
func (d *database) openLazily(ctx context.Context, logger *slog.Logger) (*fleetOf, error) {
	return d.openEngine(ctx, logger, func(_ context.Context, o client.Options) (client.Client, error) {
		return client.NewLazyClient(o)
	})
}

func (d *database) openEngine(
	ctx context.Context, logger *slog.Logger, dial func(context.Context, client.Options) (client.Client, error),
) (*fleetOf, error) {
	f, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	f.engine, f.closeEngine, err = d.engine.open(ctx, f.pool, d.dev, logger, dial)
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *fleetOf) close() {
	if f.closeEngine != nil {
		f.closeEngine()
	}
	f.logs.Close()
	f.pool.Close()
}
