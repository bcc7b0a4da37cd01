package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/budget"
	"github.com/settle-agent/settle/fleet/pglog"
	"github.com/settle-agent/settle/fleet/rates"
	"github.com/settle-agent/settle/fleet/worker"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/telemetry"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/model"
)

// workerFlags are the flags of worker and dev.
type workerFlags struct {
	metrics        string // where they are served; "" is nowhere
	id             string
	slots          int
	drain          time.Duration
	model, baseURL string
	executor       string

	workspaceDir                string // "" is beside or in settle's data directory
	workspaceMiB, checkpointMiB int
	workspaceTimeout            time.Duration

	approvals string // hold or deny; "" is hold, unless the worker confines the tasks

	confinement confinement // of dev, and of workers that isolate tenants
	tenancy     tenancy
}

func (f *workerFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.slots, "slots", 4, "run `N` tasks at a time")
	flags.StringVarP(&f.model, "model", "m", "", "`PROVIDER/NAME` of the model for tasks that name none")
	flags.StringVar(&f.baseURL, "base-url", "", "`URL` of the provider's server")
	flags.StringVar(&f.executor, "executor", "",
		"for tasks that name none, `COMMAND` that leads to the machine to work on")
	flags.StringVar(&f.approvals, "approvals", "",
		"`hold` tasks whose calls need a person until one decides (settle-fleet approvals), or deny these calls; "+
			"default: hold, and deny where settle-fleet confines tasks in a sandbox")
	flags.StringVar(
		&f.workspaceDir,
		"workspace-dir",
		"",
		"keep clones of repositories in `DIR`; default: in settle's data directory, or beside it if tasks are confined",
	)
	flags.IntVar(
		&f.workspaceMiB,
		"workspace-size",
		4096,
		"refuse a repository that has more than `MIB` of files or history",
	)
	flags.IntVar(&f.checkpointMiB, "checkpoint-size", 64, "store no checkpoint that has more than `MIB`")
	flags.DurationVar(
		&f.workspaceTimeout,
		"workspace-timeout",
		10*time.Minute,
		"give a clone or a checkpoint up after `DURATION`",
	)
}

const workerHelp = `Take tasks and run them until a signal comes.

Model, keys, limits and tools are configured as for settle run: the user's
configuration and the environment of the worker. Calls are allowed unless the
configuration says otherwise. A task with a call that needs a person frees its slot and
is held, until settle-fleet approvals gives the verdict; with --approvals deny, such
calls are denied.

At SIGTERM or SIGINT the worker takes no more tasks, and lets the turns that run finish.
Turns that are longer than --drain-timeout end, and other workers continue them. A second
signal ends all turns at once.

With --deployment, the workers have versions: Temporal gives them tasks only when their
version is the current one. This command makes it the current one:

  temporal worker deployment set-current-version --namespace NAMESPACE \
    --deployment-name NAME --build-id VERSION`

// gcPercent collects the garbage of hundreds of turns sooner than Go's default of 100: it saves a third of a
// worker's memory. Most of the processor time of a fleet is Temporal's and the database's.
const gcPercent = 33

// defaultDrain is the time that turns have to finish when their worker ends.
const defaultDrain = 10 * time.Minute

func newWorker(d *database) *cobra.Command {
	var f workerFlags
	cmd := &cobra.Command{
		Use: "worker", Short: "Take tasks and run them", Long: workerHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer outlivePipe()()
			if err := f.checkTenancy(); err != nil {
				return err
			}
			fleet, err := d.openRunning(cmd.Context(), newLogger(cmd))
			if err != nil {
				return err
			}
			defer fleet.close()
			return f.run(cmd, fleet)
		},
	}
	f.define(cmd)
	f.tenancy.define(cmd)
	cmd.Flags().StringVar(&f.metrics, "metrics", "",
		"serve metrics for Prometheus at `HOST:PORT`/metrics, and /ready for probes; "+
			"without a host, only to this machine")
	cmd.Flags().DurationVar(&f.drain, "drain-timeout", defaultDrain,
		"after SIGTERM, let turns that run finish for `DURATION`; longer ones continue on another worker")
	cmd.Flags().StringVar(&f.id, "id", "", "`NAME` of the worker in Temporal and in results; default: a new one")
	cmd.Flags().StringVar(&d.engine.deployment, "deployment", "",
		"`NAME` of Temporal's worker deployment: the workers have versions; default: they have none")
	return cmd
}

// check refuses what no worker can have.
func (f *workerFlags) check() error {
	if f.slots < 1 {
		return fmt.Errorf("--slots %d: a worker needs at least 1", f.slots)
	}
	if f.drain < 0 {
		return fmt.Errorf("--drain-timeout %v: it must not be negative", f.drain)
	}
	if f.approvals != "" && f.approvals != approvalsHold && f.approvals != approvalsDeny {
		return fmt.Errorf("--approvals is %s or %s, not %q", approvalsHold, approvalsDeny, f.approvals)
	}
	if f.workspaceMiB < 1 || f.checkpointMiB < 1 || f.workspaceTimeout <= 0 {
		return errors.New("the limits of workspaces must be above zero")
	}
	return nil
}

// What becomes of calls that need a person.
const (
	approvalsHold = "hold"
	approvalsDeny = "deny"
)

// holds reports whether tasks wait for people. A call that leaves the sandbox which keeps tenants and
// the database apart is not offered to one, unless that was asked for.
func (f *workerFlags) holds() bool {
	return f.approvals == approvalsHold || f.approvals == "" && !f.confinement.required()
}

// run runs a worker until the command's context ends.
func (f *workerFlags) run(cmd *cobra.Command, to *fleetOf) error {
	if err := f.check(); err != nil {
		return err
	}
	if stop, err := proc.BecomeReaper(); err == nil {
		defer stop()
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	dir, err := dataDir()
	if err != nil {
		return err
	}
	logger := newLogger(cmd)
	rates, err := rates.Open(cmd.Context(), to.pool)
	if err != nil {
		return failed(err)
	}
	defer rates.Close()
	budgets := budget.Open(cmd.Context(), to.pool)
	defer budgets.Close()
	name, err := pglog.Identity(cmd.Context(), to.pool)
	if err != nil {
		return failed(err)
	}
	a := &agents{flags: *f, fleet: name, environ: environment(), logger: logger, secrets: to.secrets()}
	a.shared.Account = func(account assemble.Account) func(model.Provider) model.Provider {
		return rates.Key(account.Provider, account.ID, account.Limiter).Wrap
	}
	if err := a.check(cmd.Context()); err != nil {
		return err
	}
	dir = filepath.Join(dir, "fleet", name) // other fleets may have sessions of the same names
	keeper := a.workspaces(to, a.workspaceDir(dir))
	exporter := telemetry.New(os.Getenv)
	exporter.Report = func(err error) { logger.Warn("telemetry is not exported", "error", err) }
	defer func() { _ = exporter.Close() }()                    // it has reported what went wrong
	stderrOutput := stdio.NewOutput(os.Stderr, func(error) {}) // no one reads it
	defer func() { _ = stderrOutput.Close(func() time.Duration { return time.Second }) }()
	hurry, stopWatch := secondSignal(cmd.Context())
	defer stopWatch()
	config := worker.Config{
		ID:         f.name(),
		Engine:     to.engine,
		Logs:       to.logs,
		Session:    a.session,
		Budgets:    budgets,
		Workspaces: keeper,
		Hold:       f.holds(),
		Slots:      f.slots,
		DataDir:    filepath.Join(dir, "work"),
		Drain:      f.drain,
		Hurry:      hurry,
		Version:    version(),
		Logger:     logger,
		OpenHost: func(ctx context.Context, c settle.Config) (*settle.Host, error) {
			c.Observer = telemetry.Join(c.Observer, stdio.ObserveExhausted(stderrOutput.Add))
			return exporter.Open(ctx, c)
		},
	}
	ready := make(chan struct{})
	config.Ready = func() {
		close(ready)
		logger.Info("the worker is ready", "worker", config.ID, "slots", f.slots)
	}
	stop, err := f.serveMetrics(cmd.Context(), to, &config, ready)
	if err != nil {
		return err
	}
	defer stop()
	w, err := worker.New(cmd.Context(), config)
	if err != nil {
		return err
	}
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	sweeping.Go(func() { sweep(cmd.Context(), keeper, logger) }) // ends with the context
	return failed(w.Run(cmd.Context()))
}

// name returns the name of the worker: the one that was given, or a new one.
func (f *workerFlags) name() string {
	if f.id != "" {
		return f.id
	}
	host, _ := os.Hostname() // it is only for people
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:6])
}

// secrets returns the credentials of the database and of Temporal, which no task must see.
func (f *fleetOf) secrets() (secrets []string) {
	if password := f.pool.Config().ConnConfig.Password; password != "" {
		secrets = []string{password}
	}
	return append(secrets, temporalSecrets()...)
}

// secondSignal returns a channel that is closed at the first signal after ctx has ended, as
// the first signal does. stop ends the watch for it.
func secondSignal(ctx context.Context) (hurry <-chan struct{}, stop func()) {
	hurryCh, stopCh := make(chan struct{}), make(chan struct{})
	var watchGroup sync.WaitGroup
	watchGroup.Go(func() { // ends with stop, which waits for it
		select {
		case <-ctx.Done():
		case <-stopCh:
			return
		}
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(signals)
		select {
		case <-signals:
			close(hurryCh)
		case <-stopCh:
		}
	})
	return hurryCh, func() {
		close(stopCh)
		watchGroup.Wait()
	}
}

// newLogger returns the logger of a worker.
func newLogger(cmd *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{ReplaceAttr: maskAttr}))
}

// maskAttr masks text that may be a secret in an attribute of a log line.
func maskAttr(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		return slog.String(a.Key, redact.Diagnostic(err.Error()))
	}
	if a.Value.Kind() == slog.KindString {
		return slog.String(a.Key, redact.Diagnostic(a.Value.String()))
	}
	return a
}

// releaseVersion is the version of a released program. The linker of a release build sets it.
var releaseVersion string

// version returns the version of the program: that of the release, or of the commit.
func version() string {
	if releaseVersion != "" {
		return releaseVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

// agents make the agent of each attempt.
type agents struct {
	flags   workerFlags
	fleet   string   // the fleet's id
	environ []string // of commands
	shared  assemble.Shared
	secrets []string
	logger  *slog.Logger
}

// check checks before the first task whether the worker can make agents, and confine them.
func (a *agents) check(ctx context.Context) error {
	if err := a.checkAgent(ctx); err != nil {
		return err
	}
	return a.checkSandbox(ctx)
}

// checkAgent makes the agent of a task without settings, so that a worker without a key does not
// fail one task after the other. Without a model, tasks have to name theirs.
func (a *agents) checkAgent(ctx context.Context) error {
	flags := a.taskSettings(fleet.Task{})
	delete(flags, "executor") // which may be made with the first task
	delete(flags, "sandbox.use")
	environ, dir := a.environ, os.TempDir()
	settings, err := config.Load(
		config.Input{Dir: dir, Getenv: os.Getenv, Flags: flags, ProjectConfig: config.IgnoreProject},
	)
	if err != nil || settings.Model == "" {
		return err
	}
	settings.Executor = ""
	_, err = assemble.New(ctx, assemble.Options{
		Settings: settings, Dir: dir, Environ: environ, Getenv: os.Getenv, Version: version(), Secrets: a.secrets,
		HostOptions:       assemble.HostOptions{Frontend: "fleet"},
		PermissionOptions: assemble.PermissionOptions{Permission: settle.Allow, Release: settle.Deny},
		PromptOptions:     assemble.PromptOptions{Project: assemble.IgnoreProject},
	})
	return err
}

// session implements [worker.Config].Session. Its error becomes the task's result, and is
// masked.
func (a *agents) session(ctx context.Context, attempt fleet.Attempt) (settle.SessionConfig, error) {
	cfg, err := a.make(ctx, attempt)
	if err == nil {
		return cfg, nil
	}
	mask := redact.New(a.secrets...)
	if r, err := config.Load(
		config.Input{Dir: "/", Getenv: os.Getenv, ProjectConfig: config.IgnoreProject},
	); err == nil {
		mask.Add(r.Secrets()...)
	}
	if text := mask.Diagnostic(err.Error()); text != err.Error() {
		err = errors.New(text)
	}
	return cfg, err
}

func (a *agents) make(ctx context.Context, attempt fleet.Attempt) (settle.SessionConfig, error) {
	task := attempt.Task
	if err := a.flags.tenancy.admit(task); err != nil {
		return settle.SessionConfig{}, err
	}
	dir, err := assemble.WorkDir(task.Dir)
	if err != nil {
		return settle.SessionConfig{}, err
	}
	environ := a.environ
	settings, err := config.Load(
		config.Input{
			Dir: dir, Getenv: os.Getenv, Flags: a.taskSettings(task), Trust: assemble.Trust(environ, os.Getenv),
		},
	)
	if err != nil {
		return settle.SessionConfig{}, err
	}
	if err := assemble.CheckDirectory(dir, settings, os.Getenv); err != nil {
		return settle.SessionConfig{}, err
	}
	o := assemble.Options{
		Settings: settings,
		Dir:      dir,
		Environ:  environ,
		Getenv:   os.Getenv,
		Version:  version(),
		Secrets:  a.secrets,
		HostOptions: assemble.HostOptions{
			Frontend:       "fleet",
			SharedExecutor: assemble.ShareExecutor("fleet/" + a.fleet),
		},
		PermissionOptions: assemble.PermissionOptions{Permission: settle.Allow, Release: settle.Deny},
		ModelOptions:      assemble.ModelOptions{Shared: &a.shared},
	}
	a.flags.confinement.apply(&o)
	agent, err := assemble.New(ctx, o)
	if err != nil {
		return settle.SessionConfig{}, err
	}
	agent.Session.Secrets = append(agent.Session.Secrets, a.secrets...)
	return agent.Session, nil
}

// taskSettings returns the settings of a task and of the worker's flags.
func (a *agents) taskSettings(task fleet.Task) map[string]string {
	settings := map[string]string{}
	set := func(key string, values ...string) {
		for _, value := range values {
			if value != "" {
				settings[key] = value
				return
			}
		}
	}
	set("model", task.Model, a.flags.model)
	set("base_url", a.flags.baseURL)
	set("executor", task.Executor, a.flags.executor)
	set("sandbox.use", a.flags.confinement.use)
	if task.Limits.Steps > 0 {
		settings["max_steps"] = strconv.Itoa(task.Limits.Steps)
	}
	if task.Limits.Tokens > 0 {
		settings["max_tokens"] = strconv.FormatInt(task.Limits.Tokens, 10)
	}
	if task.Limits.Seconds > 0 {
		settings["timeout"] = time.Duration(task.Limits.Seconds * float64(time.Second)).String()
	}
	return settings
}
