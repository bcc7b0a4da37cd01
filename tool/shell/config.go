package shell

import (
	"context"
	"os"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
)

// Defaults of Config.
const (
	DefaultTimeout     = 120 * time.Second
	DefaultMaxTimeout  = 600 * time.Second
	DefaultEndTimeout  = 250 * time.Millisecond
	DefaultOutputBytes = 30_000
	DefaultSpoolBytes  = 64 << 20
)

// Config says how commands are run. The zero value works, without jobs that
// anybody is told of and without files for long outputs.
type Config struct {
	// Env is the whole environment of commands, secrets left out already (see
	// Environment). Withheld names what was left out; the model is told.
	Env      []string
	Withheld []string
	// Timeout is a command's unless its call says otherwise, MaxTimeout the
	// most that it may say.
	Timeout    time.Duration
	MaxTimeout time.Duration
	// Grace is the time between TERM and KILL.
	Grace time.Duration
	// EndTimeout is how much longer than Grace a call waits for its processes
	// to be gone (C9). What is still there is named; its ending goes on, and
	// Close waits for it.
	EndTimeout time.Duration
	// OutputBytes is how much of an output the model is told.
	OutputBytes int
	// SpoolDir takes the files with whole outputs, each of at most SpoolBytes.
	SpoolDir   string
	SpoolBytes int64
	// Mask, if set, returns what masks secrets in the output of one command.
	Mask func() Masker
	// Marker and Lock are as in proc.Spec.
	Marker string
	Lock   *os.File
	// Registry is told of jobs; nil for nobody.
	Registry Registry
	// Release decides whether a job may outlive settle; its error is what the
	// model is told. Nil refuses.
	Release func(ctx context.Context, command string) error
	// Box returns what a command is held to whose call has a sandbox. Nil refuses such
	// calls.
	Box func(s event.Sandbox, secrets event.Secrets, dir string) (Box, error)
	// Secret reports whether a variable is kept from commands whose secrets are
	// withheld; nil keeps none.
	Secret func(name, value string) bool
	// Hosts are what commands may reach whose Box has the network "proxy", as
	// docs/sandbox.md has them. Where one of them is malformed, none can be reached.
	Hosts []string
	// Inspect has the machine asked about every boxed command what came of its Box,
	// and not only about those that fail: there is a proxy, or files are compared.
	Inspect bool
	// Outside offers calls that ask to run outside of the sandbox. It is not for the
	// tool to say whether they may.
	Outside bool
	// machine is where commands run; nil is here. See On.
	machine machine
	// repositories are looked after where commands can change files; nil for none. See
	// Guarding.
	repositories *repositories
}

// repositories find what sandboxed commands leave in them: only settle itself has any.
type repositories = executor.Repositories

// Guarding returns the configuration of commands after which repositories are looked
// after.
func (c Config) Guarding(r *repositories) Config {
	c.repositories = r
	return c
}

// machine is where commands run: other programs than settle run them here.
type machine = executor.Executor

// On returns the configuration of commands that run on another machine, whose
// environment, lock and marker are its own.
func (c Config) On(m machine) Config {
	c.machine = m
	return c
}

// Box is what a confined command may do.
type Box struct {
	// Read are files and folders that may be read, Write folders that may be
	// changed, absolute.
	Read, Write []string
	// Network is "on" for the network that the user has, "proxy" for the hosts of the
	// Config, and none otherwise; Apart gives the command a network of its own, on
	// which there is nothing else. It takes what View takes.
	Network string
	Apart   bool
	// View says that the command has a view of the files of its own, and Protect
	// what in Write it cannot change then.
	View    bool
	Protect []string
	// OwnProcesses says that the command sees its own processes and no others.
	OwnProcesses bool
	// Hide are files and folders in Read and Write, absolute and without links, that
	// cannot be opened.
	Hide []string
	// Env is its environment in addition.
	Env []string
}

// Masker masks secrets in a text that comes in pieces. It may keep back the
// beginning of a secret, until more comes or Flush.
type Masker interface {
	Write(text string) (masked string)
	Flush() (masked string)
}

// Registry is told of the session's jobs.
type Registry interface {
	// JobStarted returns the job's id. When it fails, the job is ended.
	JobStarted(ctx context.Context, job event.JobStarted) (id string, err error)
	// JobEnded is called once for each job that started.
	JobEnded(ctx context.Context, end event.JobEnded) error
}

// box is Box as the machine has it.
func (c Config) box() func(executor.Confined) (sandbox.Policy, []string, error) {
	if c.Box == nil {
		return nil
	}
	return func(command executor.Confined) (sandbox.Policy, []string, error) {
		box, err := c.Box(command.Sandbox, command.Secrets, command.Dir)
		if err != nil {
			return sandbox.Policy{}, nil, err
		}
		hidden, err := sandbox.FindAll(box.Hide)
		return sandbox.Policy{
			Read: box.Read, Write: box.Write, Network: sandbox.NetworkOf(box.Network), OwnNetwork: box.Apart, View: box.View, Protect: box.Protect, OwnProcesses: box.OwnProcesses, Hide: hidden,
		}, box.Env, err
	}
}

func (c Config) withDefaults() Config {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxTimeout <= 0 {
		c.MaxTimeout = max(DefaultMaxTimeout, c.Timeout)
	}
	if c.Grace <= 0 {
		c.Grace = proc.DefaultGrace
	}
	if c.EndTimeout <= 0 {
		c.EndTimeout = DefaultEndTimeout
	}
	if c.OutputBytes <= 0 {
		c.OutputBytes = DefaultOutputBytes
	}
	if c.SpoolBytes <= 0 {
		c.SpoolBytes = DefaultSpoolBytes
	}
	if c.machine == nil {
		hosts, _ := egress.ParseList(c.Hosts)
		c.machine = &executor.Local{Hosts: hosts, Env: c.Env, Withheld: c.Withheld, Marker: c.Marker, Lock: c.Lock, Sandbox: c.box(), Secret: c.Secret, Repositories: c.repositories}
	}
	return c
}
