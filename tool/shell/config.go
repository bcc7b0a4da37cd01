package shell

import (
	"context"
	"os"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
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

// Config configures commands. The zero value works, without a registry of jobs and without
// files for long outputs.
type Config struct {
	// Env is the whole environment of commands, without secrets (see Environment). Withheld
	// are the names of withheld variables, which the model receives.
	Env      []string
	Withheld []string
	// Timeout is the default timeout of a command, MaxTimeout its maximum.
	Timeout    time.Duration
	MaxTimeout time.Duration
	// Grace is the time between TERM and KILL.
	Grace time.Duration
	// EndTimeout is the additional time after Grace in which a call waits for the end of
	// its processes (C9). The result names the remaining processes; their ending continues,
	// and Close waits for it.
	EndTimeout time.Duration
	// OutputBytes bounds the model's part of an output.
	OutputBytes int
	// SpoolDir is the directory of whole outputs, each of at most SpoolBytes.
	SpoolDir   string
	SpoolBytes int64
	// Mask, if set, returns the masker of one command's output.
	Mask func() Masker
	// Marker and Lock are the fields of proc.Spec.
	Marker string
	Lock   *os.File
	// Registry records jobs; nil for none.
	Registry Registry
	// Release decides whether a job can outlive settle; the model receives its error. Nil
	// refuses.
	Release func(ctx context.Context, command string) error
	// Sandbox returns the sandbox of a command whose call has one. Nil refuses such calls.
	Sandbox func(s event.Sandbox, secrets event.Secrets, dir string) (Sandbox, error)
	// Secret reports whether a variable is withheld from commands whose secrets are
	// withheld; nil withholds none.
	Secret func(name, value string) bool
	// Hosts are the hosts that commands whose Sandbox has the network "proxy" can reach, in the
	// form of docs/sandbox.md. If one is malformed, none can be reached.
	Hosts []string
	// Inspect requests a report about every sandboxed command from the machine, and not
	// only about failed ones, because there is a proxy or because files are compared.
	Inspect bool
	// Outside offers calls that request to run outside the sandbox. The policy decides about them.
	// Unasked states instead that no person can let a command run outside.
	Outside, Unasked bool
	// Asks, if set, reports whether the mode in force asks a person about commands.
	Asks func() bool
	// machine runs the commands; nil for this machine. See On.
	machine machine
	// repositories are checked where commands can change files; nil for none. See Guarding.
	repositories *repositories
	workDir      *workDir // held open; nil holds none
}

// repositories are the checks for repositories that sandboxed commands leave behind; only
// settle itself has them.
type repositories = executor.Repositories

// Guarding returns the configuration with checks of repositories after commands.
func (c Config) Guarding(r *repositories) Config {
	c.repositories = r
	return c
}

// workDir is a session's working directory, held open; only settle itself has it.
type workDir = disk.WorkDir

// In returns the configuration with the session's working directory held open.
func (c Config) In(dir *workDir) Config {
	c.workDir = dir
	return c
}

// machine runs commands; other programs than settle use only the local one.
type machine = executor.Executor

// On returns the configuration of commands on another machine, which has its own
// environment, lock and marker.
func (c Config) On(m machine) Config {
	c.machine = m
	return c
}

// Sandbox is the sandbox of a command.
type Sandbox struct {
	// Read are readable files and folders, Write writable folders, absolute.
	Read, Write []string
	// Network is "on" for the user's network, "proxy" for the hosts of the Config, and none
	// otherwise. Apart gives the command its own, empty network; like View, it requires user
	// namespaces, or a user who can mount.
	Network string
	Apart   bool
	// View gives the command an own view of the files, in which it cannot change the paths
	// of Protect.
	View    bool
	Protect []string
	// Pinned are folders in Write that a command cannot rename, with a View.
	Pinned []string
	// OwnProcesses hides all processes except the command's own.
	OwnProcesses bool
	// Hide are files and folders in Read and Write, absolute and without links, that the command
	// cannot open. Contents has, for some of them, the content that the command reads instead.
	Hide     []string
	Contents map[string][]byte
	// Env is its additional environment.
	Env []string
}

// Masker masks secrets in a text that arrives in pieces. It can keep back the beginning of
// a secret until the next piece or Flush.
type Masker interface {
	Write(text string) (masked string)
	Flush() (masked string)
}

// Registry records the session's jobs.
type Registry interface {
	// JobStarted returns the job's id. If it fails, the job is ended.
	JobStarted(ctx context.Context, job event.JobStarted) (id string, err error)
	// JobEnded is called once for each started job.
	JobEnded(ctx context.Context, end event.JobEnded) error
}

// policies returns the sandboxes in the form of the machine; nil for none.
func (c Config) policies() func(executor.Confined) (sandbox.Policy, []string, error) {
	if c.Sandbox == nil {
		return nil
	}
	return func(command executor.Confined) (sandbox.Policy, []string, error) {
		confined, err := c.Sandbox(command.Sandbox, command.Secrets, command.Dir)
		if err != nil {
			return sandbox.Policy{}, nil, err
		}
		policy, err := confined.policy()
		return policy, confined.Env, err
	}
}

// policy returns the sandbox in the form of package sandbox, with the files of Hide.
func (s Sandbox) policy() (sandbox.Policy, error) {
	hidden, err := sandbox.FindAll(s.Hide, s.Contents)
	return sandbox.Policy{
		Read: s.Read, Write: s.Write, Network: sandbox.NetworkOf(s.Network), OwnNetwork: s.Apart,
		View: s.View, Protect: s.Protect, Pinned: s.Pinned, OwnProcesses: s.OwnProcesses, Hide: hidden,
	}, err
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
		c.machine = &executor.Local{
			Hosts: hosts, Env: c.Env, Withheld: c.Withheld, Marker: c.Marker, Lock: c.Lock,
			Sandbox: c.policies(), Secret: c.Secret, Repositories: c.repositories, WorkDir: c.workDir,
		}
	}
	return c
}
