// Command settle-fleet runs many turns of settle on many machines, with the logs in
// Postgres: it submits tasks, runs workers, and says what became of them. This
// package has the flags and the wiring; what happens is decided below it.
//
// Files:
//
//   - submit.go: settle-fleet submit
//   - executor.go: names of a task's executor in flags and JSON
//   - status.go: settle-fleet status; budgets and progress
//   - approvals.go: settle-fleet approvals
//   - show.go: settle-fleet results, logs and cancel
//   - list.go: commands that list
//   - atif.go: trajectories of ended tasks
//   - worker.go: settle-fleet worker
//   - tenancy.go: what isolates tenants on a worker
//   - sandbox.go: whether workers confine commands
//   - workspace.go: directories of workspaces, checkpoints
//   - dev.go: settle-fleet dev
//   - dev_servers.go: its servers, and when they restart
//   - page.go: settle-fleet page
//   - rate.go: settle-fleet rate
//   - tenant.go: settle-fleet tenant
//   - schedule.go: settle-fleet schedule
//   - keep.go: settle-fleet migrate and prune
//   - recover.go: settle-fleet recover
//   - engine.go: which Temporal a command uses
//   - database.go: which database a command uses
//   - unreachable.go: messages about servers that do not answer
//   - metrics.go: metrics of a worker
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/fleet/pglog"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/proc"
	_ "github.com/settle-agent/settle/internal/proc/early" // supervisors start before all else
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/terminal"
)

// The exit codes.
const (
	codeFailed = 1 // it could not be done; or a task has not completed
	codeUsage  = 2
)

func main() {
	settle.RunAsSupervisor()
	_ = proc.Seclude() // an old kernel at worst
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// exitError ends the program with a code; err is nil if the cause was printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }

// failed marks an error that is none of usage.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{codeFailed, err}
}

// execute runs the command line and returns its exit code.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	code := codeUsage
	exit := (*exitError)(nil)
	if errors.As(err, &exit) {
		code, err = exit.code, exit.err
	}
	if err != nil {
		fmt.Fprintf(stderr, "settle-fleet: %s\n", terminal.Text(redact.Diagnostic(err.Error())))
	}
	return code
}

const rootHelp = `Run many turns of settle on many machines.

A task is one prompt in a session. settle-fleet keeps tasks and the logs of their
sessions in a Postgres database; workers take tasks and run them. If a worker dies,
another worker ends its open turn and continues the task; no call runs twice.

  settle-fleet dev                       start a database and a worker on this machine
  settle-fleet submit "fix the test"     submit a task
  settle-fleet results --wait            one line of JSON for each task`

func newRoot() *cobra.Command {
	var d database
	cmd := &cobra.Command{
		Use: "settle-fleet", Short: "Run many turns of settle on many machines", Long: rootHelp, Version: version(),
		SilenceUsage: true, SilenceErrors: true, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	cmd.PersistentFlags().StringVar(&d.url, "database", "",
		"`URL` of the Postgres database; default: $"+databaseVar+", else the database of settle-fleet dev")
	d.engine.define(cmd)
	cmd.SetVersionTemplate(fmt.Sprintf("settle-fleet {{.Version}}\nschema number %d\n", pglog.SchemaNumber()))
	cmd.AddCommand(
		newDev(&d),
		newWorker(&d),
		newSubmit(&d),
		newStatus(&d),
		newResults(&d),
		newLogs(&d),
		newCheckpoint(&d),
		newCancel(&d),
		newApprovals(&d),
		newPage(&d),
		newTenant(&d),
		newRate(&d),
		newSchedule(&d),
		newMigrate(&d),
		newPrune(&d),
		newRecover(&d),
	)
	return cmd
}

// environment returns the environment of commands, without the variables of the database
// and of Temporal.
func environment() []string {
	var out []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name != databaseVar && !strings.HasPrefix(name, "PG") && !strings.HasPrefix(name, temporalPrefix) {
			out = append(out, entry)
		}
	}
	return out
}

// dataDir returns the directory of settle's files outside of the database.
func dataDir() (string, error) {
	r, err := config.Load(config.Input{Dir: "/", Getenv: os.Getenv, ProjectConfig: config.IgnoreProject})
	if err != nil {
		return "", err
	}
	return r.NeedDataDir()
}

// outlivePipe keeps a process with running tasks from ending when its output is closed,
// until stop is called.
func outlivePipe() (stop func()) {
	pipeSignals := make(chan os.Signal, 1)
	signal.Notify(pipeSignals, syscall.SIGPIPE)
	return func() { signal.Stop(pipeSignals) }
}
