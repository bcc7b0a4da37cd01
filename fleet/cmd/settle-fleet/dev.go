package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/fleet/temporaldev"
	"github.com/settle-agent/settle/internal/disk"
)

const devHelp = `Start a database, Temporal and a worker on this machine, to try the fleet out.

The database is a Postgres of the machine's packages (on Debian and Ubuntu, apt-get
install postgresql), in a private directory (for root, /var/lib/settle-fleet), with a
socket there, no port, and a password in a file that only you can read.

Temporal is its development server: the program temporal, if it is installed and new
enough, else settle-fleet-temporal, beside settle-fleet or in the PATH. It keeps its
state in the same directory, and listens on the loopback interface only, where every
user of this machine can reach it. dev prints the address of its web UI.

If a server ends, dev says so and starts it again; what was accepted is kept. The
servers end with this command; their data stays. Other settle-fleet commands of the same
user find them by themselves, unless $SETTLE_FLEET_DATABASE or $TEMPORAL_ADDRESS names
others.

Tasks run in a sandbox, so that they cannot reach the servers: their commands and file
tools can change the working directory of the task, and have no network unless your
configuration gives them one (sandbox.network). With --sandbox off, they can do all
that you can.`

// devFlags are the flags of dev.
type devFlags struct {
	workerFlags
	dir      string
	noWorker bool
}

func newDev(d *database) *cobra.Command {
	var f devFlags
	cmd := &cobra.Command{
		Use: "dev", Short: "Start a database, Temporal and a worker on this machine", Long: devHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer outlivePipe()()
			return f.start(cmd, d)
		},
	}
	f.define(cmd)
	f.confinement.define(cmd)
	cmd.Flags().StringVar(
		&f.dir,
		"dir",
		"",
		"keep the servers' data in `DIR`, where other commands need --database; default: fleet in settle's data directory",
	)
	cmd.Flags().BoolVar(&f.noWorker, "no-worker", false, "start only the servers")
	return cmd
}

// start starts the servers and the worker, and returns when the command's context ends or a
// server cannot be kept running.
func (f *devFlags) start(cmd *cobra.Command, d *database) (err error) {
	if cmd.Flags().Changed("database") {
		return errors.New("dev starts a database of its own: leave out --database, or run settle-fleet worker")
	}
	if err := errors.Join(f.check(), f.confinement.check()); err != nil {
		return err
	}
	if f.dir == "" {
		if f.dir, err = devDir(); err != nil {
			return err
		}
	}
	if f.dir, err = filepath.Abs(f.dir); err != nil {
		return failed(err)
	}
	f.confinement.dir = f.dir
	f.tenancy.singleUser = f.confinement.required()
	if !f.noWorker { // a missing key or sandbox is reported before anything starts
		if err := f.tryWorker(cmd); err != nil {
			return err
		}
	}
	program, err := d.engine.findDevServer(cmd.Context())
	if err != nil {
		return err
	}
	if err := ownDir(f.dir); err != nil {
		return failed(err)
	}
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	cmd.SetContext(ctx)
	servers := &devServers{logger: newLogger(cmd), fail: cancel}
	defer servers.stop()
	defer func() { // a server that is gone is the reason for every later error
		if e := (*restartError)(nil); errors.As(context.Cause(ctx), &e) {
			err = failed(e)
		}
	}()
	url, err := f.startServers(cmd, d, servers, program)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.Remove(filepath.Join(f.dir, temporalFile)) }() // the next start writes it
	if f.noWorker {
		<-ctx.Done()
		return nil
	}
	fleet, err := (&database{url: url, engine: d.engine}).openRunning(ctx, newLogger(cmd))
	if err != nil {
		return err
	}
	defer fleet.close()
	// A power cut can lose what Temporal's development server had.
	if _, err := fleet.index.Resend(ctx, fleet.engine.Queue(), ""); err != nil {
		return failed(err)
	}
	return f.run(cmd, fleet)
}

// tryWorker checks whether the worker could run tasks.
func (f *devFlags) tryWorker(cmd *cobra.Command) error {
	a := &agents{flags: f.workerFlags, environ: environment(), logger: newLogger(cmd)}
	if err := a.checkAgent(cmd.Context()); err != nil {
		return err
	}
	return a.checkSandbox(cmd.Context())
}

// startServers starts the servers and prints their addresses, which have no secrets.
func (f *devFlags) startServers(
	cmd *cobra.Command, d *database, servers *devServers, program *temporaldev.Program,
) (string, error) {
	url, err := servers.startDatabase(cmd.Context(), f.dir)
	if err != nil {
		return "", err
	}
	// Other commands find both servers when both run, and none of a dev that was killed.
	for _, name := range []string{urlFile, temporalFile} {
		if err := os.Remove(filepath.Join(f.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	report(cmd.OutOrStdout(), "database", url)
	if program == nil {
		return url, f.publish(urlFile, url)
	}
	configured, err := d.engine.configured() // the worker and other commands use this namespace
	if err != nil {
		return "", err
	}
	address, ui, err := servers.startTemporal(cmd.Context(), *program, f.dir, configured.Namespace)
	if err != nil {
		return "", err
	}
	if err := errors.Join(f.publish(temporalFile, address), f.publish(urlFile, url)); err != nil {
		return "", err
	}
	d.engine.address = address
	if names := otherFleet(os.Getenv); len(names) > 0 {
		servers.logger.Warn(
			"settle-fleet commands of this environment use another fleet, and not these servers; unset the variables",
			"variables", strings.Join(names, " "),
		)
	}
	report(cmd.OutOrStdout(), "temporal", address)
	report(cmd.OutOrStdout(), "temporal web UI", ui)
	return url, nil
}

// otherFleet returns which variables of an environment precede the servers of dev in other commands. They are not
// ignored: who names a production database must not submit to a dev that somebody left running.
func otherFleet(getenv func(string) string) []string {
	isUnset := func(name string) bool { return getenv(name) == "" }
	return slices.DeleteFunc([]string{databaseVar, "TEMPORAL_ADDRESS"}, isUnset)
}

// publish stores the address of a server in a file, where other commands of the user find it.
func (f *devFlags) publish(name, at string) error {
	return os.WriteFile(filepath.Join(f.dir, name), []byte(at+"\n"), 0o600)
}

// ownDir makes the directory of dev. One that other users could change would let them have
// the database, and the commands that find it there. The server, which may be another
// user's, has a private directory in it.
func ownDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return disk.CheckOwned(dir)
}

// findDevServer returns the program of the Temporal server that dev starts; nil if dev
// starts none, because the flags name a running one.
func (f *engineFlags) findDevServer(ctx context.Context) (*temporaldev.Program, error) {
	if f.address != "" {
		return nil, nil // there is none
	}
	program, err := temporaldev.Find(ctx, os.Getenv(temporaldev.ProgramVar))
	return &program, failed(err)
}
