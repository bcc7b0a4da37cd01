package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/disk"
)

const devHelp = `Start a database and a worker on this machine, to try the fleet out.

The database is a Postgres of the machine's packages (on Debian and Ubuntu, apt-get
install postgresql), in a private directory (for root, /var/lib/settle-fleet), with a
socket there, no port, and a password in a file that only you can read. The database
ends with this command; its data stays. Other settle-fleet commands of the same user
find it by themselves. With --engine temporal, dev starts Temporal's development server
as well (the program settle-fleet-temporal), on the loopback interface.

Tasks run in a sandbox, so that they cannot reach the database: their commands and file
tools can change the working directory of the task, and have no network unless your
configuration gives them one (sandbox.network). With --sandbox off, they can do all
that you can.`

// errDatabase is why dev ends when it is not asked to.
var errDatabase = errors.New("the database has ended")

func newDev(d *database) *cobra.Command {
	var f workerFlags
	var dir string
	var alone bool
	cmd := &cobra.Command{
		Use: "dev", Short: "Start a database and a worker on this machine", Long: devHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			defer outlivePipe()()
			if cmd.Flags().Changed("database") {
				return errors.New("dev starts a database of its own: leave out --database, or run settle-fleet worker")
			}
			if err := errors.Join(f.check(), f.confinement.check()); err != nil {
				return err
			}
			engine, err := d.engine.find(d)
			if err != nil {
				return err
			}
			if dir == "" {
				if dir, err = devDir(); err != nil {
					return err
				}
			}
			if dir, err = ownDir(dir); err != nil {
				return failed(err)
			}
			server, err := startDev(cmd.Context(), dir)
			if err != nil {
				return failed(err)
			}
			defer server.Stop()
			fmt.Fprintf(cmd.OutOrStdout(), "database: %s\n", server.URL) // it has no secret
			f.confinement.dir = dir
			stop, err := devEngine(cmd, d, engine, dir)
			if err != nil {
				return err
			}
			defer stop()
			ctx, cancel := context.WithCancelCause(cmd.Context())
			defer cancel(nil)
			go func() { // ends with the server, which Stop ends
				<-server.Exited()
				cancel(errDatabase)
			}()
			cmd.SetContext(ctx)
			defer func() {
				if errors.Is(context.Cause(ctx), errDatabase) {
					err = failed(fmt.Errorf("%w; its log is %s", errDatabase, filepath.Join(dir, "postgres", "log")))
				}
			}()
			if alone {
				<-ctx.Done()
				return nil
			}
			fleet, err := (&database{url: server.URL, engine: d.engine}).openRunning(cmd.Context(), newLogger(cmd))
			if err != nil {
				return err
			}
			defer fleet.close()
			return f.run(cmd, fleet)
		},
	}
	f.define(cmd)
	f.confinement.define(cmd)
	cmd.Flags().
		StringVar(&dir, "dir", "", "keep the database in `DIR`, where other commands find it only by --database; default: fleet in settle's data directory")
	cmd.Flags().BoolVar(&alone, "no-worker", false, "start only the database")
	return cmd
}

// ownDir makes the directory of dev and returns its absolute path. One that other users
// could change would let them have the database, and the commands that find it there. The
// server, which may be another user's, has a private directory in it.
func ownDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return dir, disk.CheckOwned(dir)
}

// devEngine starts Temporal where that is the engine, and no server is named.
func devEngine(cmd *cobra.Command, d *database, name, dir string) (stop func(), err error) {
	if name == engineTemporal && d.engine.address == "" {
		server, err := startTemporal(cmd.Context(), dir, d.engine.namespace)
		if err != nil {
			return nil, failed(err)
		}
		d.engine.name, d.engine.address = name, server.Address
		fmt.Fprintf(cmd.OutOrStdout(), "temporal: %s\n", server.Address)
		return func() {
			server.Stop()
			_ = os.Remove(filepath.Join(dir, temporalFile)) // the next start writes it
		}, nil
	}
	d.engine.name = name
	_ = os.Remove(filepath.Join(dir, temporalFile)) // of one that was killed
	return func() {}, nil
}
