package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/lease"
	"github.com/settle-agent/settle/fleet/pglog"
	"github.com/settle-agent/settle/internal/config"
)

// databaseVar names the database where --database does not.
const databaseVar = "SETTLE_FLEET_DATABASE"

// database is what the flags say of the fleet.
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

// secrets are what this process knows that must not be stored (C15): keys of the
// configuration and the environment, and what leads to the database and to Temporal.
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

// urlFile is where settle-fleet dev says where its database is.
const urlFile = "url"

// devDir is where settle-fleet dev keeps its database: for root, where the user
// that Postgres runs as can get to it.
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
	pool, err := pglog.Connect(ctx, url)
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

// fleet is what commands work with.
type fleetOf struct {
	pool   *pgxpool.Pool
	logs   *pglog.Logs
	engine *lease.Engine
	// runs is what hands units out, where it was asked for: the engine, or Temporal.
	runs     fleet.Engine
	closeRun func()
}

// open connects to the fleet; the caller closes it.
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
	return &fleetOf{pool: pool, logs: logs, engine: lease.Open(ctx, pool)}, nil
}

// openRunning is open for commands that need the engine.
func (d *database) openRunning(ctx context.Context, logger *slog.Logger) (*fleetOf, error) {
	f, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	f.runs = f.engine
	name, err := d.engine.find(d)
	if err == nil && name == engineTemporal {
		f.runs, f.closeRun, err = d.engine.open(ctx, f.pool, d.dev, logger)
	}
	if err != nil {
		f.closeRun = nil
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *fleetOf) close() {
	if f.closeRun != nil {
		f.closeRun()
	}
	f.engine.Close()
	f.logs.Close()
	f.pool.Close()
}
