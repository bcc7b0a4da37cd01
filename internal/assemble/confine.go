package assemble

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/repo/quarantine"
	"github.com/settle-agent/settle/tool/shell"
)

// commandEnv is the environment of commands.
type commandEnv struct {
	env      []string
	withheld []string // names of the variables that no command receives
	// secret reports the variables that a command receives only after a person approved
	// the command.
	secret func(name, value string) bool
}

// commandEnv returns the environment without keys and other secrets.
func (o Options) commandEnv() commandEnv {
	r := o.Settings
	byName := r.Withheld()
	secret := func(name, value string) bool {
		return slices.Contains(byName, name) || r.Withholds(value) || o.hasSecret(value)
	}
	env, withheld := shell.Environment(o.Environ, secret, r.PassEnv)
	return commandEnv{env, withheld, policy.Withhold(slices.Concat(r.KeepEnv, r.PassEnv))}
}

// hasSecret reports whether the value of a variable contains a secret of the Options.
func (o Options) hasSecret(value string) bool {
	return slices.ContainsFunc(o.Secrets, func(secret string) bool {
		return len(secret) >= redact.MinLength && strings.Contains(value, secret)
	})
}

// confinement has the sandbox and the executor of the commands and MCP servers of an agent's
// sessions.
type confinement struct {
	commandEnv
	remote  *remoteTools // nil if tools run on this machine
	sandbox sandboxing
	// servers is the sandbox of MCP servers, which always run on this machine.
	servers sandboxing
	skills  *skillSet // nil for none; sandboxed commands can read their folders
	plugins []string  // folders of plugins, which sandboxed commands can read
	files   *policy.SecretFiles
	// sessions has the *sandboxes of the programs of each open session, by its marker.
	sessions *sync.Map
	extent   func() policy.Extent // additions of a client's mode; nil for none
	guards   guards
}

// guards are the guards of all sandboxes, whose commands can change the same folders.
type guards struct {
	mu   sync.Mutex // guards list
	list []*sandboxes
	executor.Exclusion
}

func (g *guards) add(b *sandboxes) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = append(g.list, b)
}

// pointers returns [quarantine.Guard.Pointers] of all guards.
func (g *guards) pointers() (t quarantine.Targets) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.list {
		t = t.With(b.repositories.Pointers())
	}
	return t
}

func (g *guards) remove(b *sandboxes) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = slices.DeleteFunc(g.list, func(open *sandboxes) bool { return open == b })
}

// gitRiskTimeout bounds the wait for a look that is under way.
const gitRiskTimeout = 10 * time.Second

// risk returns the reason why a sandboxed command may have changed the files that git finds at some
// paths, or can change them while git runs; empty if none can.
func (g *guards) risk(paths []string) string {
	g.mu.Lock()
	list := slices.Clone(g.list)
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), gitRiskTimeout)
	defer cancel()
	for _, b := range list {
		at := paths
		if len(at) > 0 {
			at = append(slices.Clip(at), b.unprotected()...)
		}
		if b.repositories.Unsettled(ctx, at...) {
			return "a sandboxed job or MCP server still runs, or settle could not look through all that one left; it may change the repository that git finds here, so that git would run its code outside of the sandbox"
		}
	}
	return ""
}

// confine tests which sandboxes are available. It fails if they are weaker than the
// configuration requires (C22).
func (o *Options) confine(commands commandEnv, remote *remoteTools, known *skillSet) (*confinement, error) {
	c := &confinement{
		commandEnv: commands,
		remote:     remote,
		skills:     known,
		files:      new(policy.SecretFiles),
		sessions:   new(sync.Map),
	}
	if remote == nil {
		c.plugins = o.pluginRoots()
	}
	var err error
	if c.sandbox, err = o.sandboxing(remote); err != nil {
		return nil, err
	}
	if c.servers = c.sandbox; remote != nil && (namesPrograms(o.servers()) || len(o.Settings.ProjectHooks) > 0) {
		if c.servers, err = o.sandboxing(nil); err != nil {
			return nil, err
		}
	}
	if o.Policy != nil {
		c.extent = func() policy.Extent { return o.Policy.Mode().Extent }
	}
	return c, nil
}
