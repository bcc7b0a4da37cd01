package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
)

// Local is the executor of this machine.
type Local struct {
	// Env is the whole environment of commands, and Withheld the names of the removed variables.
	Env      []string
	Withheld []string
	// Marker and Lock are as in [proc.Spec].
	Marker string
	Lock   *os.File
	// Sandbox returns the policy of a sandboxed command and its additional environment; nil
	// refuses such commands.
	Sandbox func(Confined) (sandbox.Policy, []string, error)
	// Secret reports whether a variable is removed for commands without secrets; nil removes
	// none.
	Secret func(name, value string) bool
	// Repositories, if set, are checked after commands that can change files.
	Repositories *Repositories
	// Hosts are the allowed hosts of commands with a proxy; Dialer is the proxy's.
	Hosts  egress.List
	Dialer egress.Dialer
	// WorkDir is the session's working directory, held open; nil holds none. No command starts
	// if its name leads elsewhere.
	WorkDir *disk.WorkDir
	// Calls are further operations by name, beside [Port].
	Calls map[string]func(context.Context, Request) (json.RawMessage, error)

	sandboxed sandboxedCalls
}

// Confined describes the sandbox of a command in a directory.
type Confined struct {
	Sandbox event.Sandbox
	Secrets event.Secrets
	Dir     string
}

// withoutSecrets returns the environment of a command without secrets.
func (l *Local) withoutSecrets(env []string) []string {
	if l.Secret == nil {
		return env
	}
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return l.Secret(name, value)
	})
}

// Machine implements [Executor].
func (l *Local) Machine() Machine {
	m := Machine{OS: runtime.GOOS, Withheld: l.Withheld}
	if shell, ok := findShell(); ok {
		m.Shell = strings.TrimSuffix(filepath.Base(shell[0]), ".exe")
	}
	return m
}

// Start implements [Executor].
func (l *Local) Start(ctx context.Context, c Command) (*proc.Process, error) {
	shell, ok := findShell()
	if !ok {
		return nil, errors.New("cannot run a command: there is neither bash nor sh")
	}
	if err := l.WorkDir.Check(c.Dir); err != nil {
		return nil, err
	}
	dir, err := c.dir()
	if err != nil {
		return nil, err
	}
	spec := proc.Spec{
		Argv: append(shell, c.Script), Dir: dir, Env: append(l.Env[:len(l.Env):len(l.Env)], c.Env...),
		Input: c.Input, Terminal: c.Terminal, Stdout: c.Output, Grace: c.Grace, Rest: proc.KeepRest,
		Lock: l.Lock, Marker: l.Marker,
	}
	if c.Secrets == event.SecretsWithheld {
		spec.Env = l.withoutSecrets(spec.Env)
	}
	if c.Sandbox.On() {
		if l.Sandbox == nil {
			return nil, errors.New("cannot run the command: it needs a sandbox, and this machine has none")
		}
		return l.startInSandbox(ctx, c.Call, Confined{c.Sandbox, c.Secrets, dir}, spec)
	}
	spec.RealDir = c.Workdir != ""
	if c.Alone == nil || l.Repositories == nil {
		return proc.Start(ctx, spec)
	}
	return l.startAlone(ctx, c.Alone, spec)
}

// startAlone starts a command that excludes sandboxed commands until its exit, or until ctx, the context of
// its call, ends.
func (l *Local) startAlone(ctx context.Context, confirm func() error, spec proc.Spec) (*proc.Process, error) {
	leave, err := l.Repositories.Exclusion.enterAlone(ctx)
	if err != nil {
		return nil, err
	}
	if err := confirm(); err != nil {
		leave()
		return nil, err
	}
	p, err := proc.Start(ctx, spec)
	if err != nil {
		leave()
		return nil, err
	}
	context.AfterFunc(ctx, leave) // it runs on as a job, or is being ended
	go func() {                   // ends with the command, which Close of its keeper awaits
		select {
		case <-p.Exited():
		case <-p.Done(): // it was released
		}
		leave()
	}()
	return p, nil
}

// StartProgram starts a sandboxed program without a shell.
func (l *Local) StartProgram(ctx context.Context, in event.Sandbox, spec proc.Spec) (*proc.Process, error) {
	return l.startInSandbox(ctx, "", Confined{Sandbox: in, Dir: spec.Dir}, spec)
}

// dir returns the directory of the command. A Workdir is canonical: the path that the decision
// resolved.
func (c Command) dir() (string, error) {
	if c.Workdir == "" {
		return c.Dir, nil
	}
	p, err := disk.Locate(c.Dir, c.Workdir, c.Places)
	if err != nil {
		return "", fmt.Errorf("cannot run in %q: %w", c.Workdir, err)
	}
	d, err := p.Tree()
	if err != nil {
		return "", fmt.Errorf("cannot run in %q: %w", c.Workdir, err)
	}
	d.Close()
	return p.Real, nil
}

// Call implements [Executor].
func (l *Local) Call(ctx context.Context, r Request) (json.RawMessage, error) {
	if r.Name == Port {
		return nil, awaitPort(ctx, r.Args)
	}
	if r.Name == Denials {
		return l.denials(ctx, r)
	}
	if call, ok := l.Calls[r.Name]; ok {
		return call(ctx, r)
	}
	return nil, fmt.Errorf("cannot do %q here", r.Name)
}
