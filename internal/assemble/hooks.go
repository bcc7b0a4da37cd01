package assemble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool/mcp"
)

// hooks returns the hooks of the sessions; nil for none.
func (o Options) hooks(c *confinement) *settle.Hooks {
	if len(o.Settings.Hooks) == 0 {
		return nil
	}
	made := settle.Hooks{Env: c.env, Project: o.Dir}
	if root, inside := repo.Root(o.Dir); inside {
		made.Project = root
	}
	for _, h := range o.Settings.Hooks {
		made.List = append(made.List, settle.Hook{
			Event: h.Event, Matcher: h.Matcher, Command: h.Command, Args: h.Args, Timeout: h.Timeout,
			Source: h.Origin.Where, Env: h.Env, Dir: h.Dir, Own: h.Own, Broken: h.Broken, Check: o.checkOf(h),
		})
	}
	made = made.Confined(c.projectPrograms(func() Mode { return o.mode(o.permission()) }))
	return &made
}

// variableNotes names the variables that the user's hooks and servers do not receive whole.
func (o Options) variableNotes(env []string) []string {
	ownHook := func(h config.Hook) bool { return h.Origin.Kind != config.Project }
	ownServer := func(s mcp.Server) bool { return len(s.Argv) > 0 && !s.Named && !s.Project }
	if !slices.ContainsFunc(o.Settings.Hooks, ownHook) && !slices.ContainsFunc(o.servers(), ownServer) {
		return nil
	}
	names := proc.UntrustedVariables(env)
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf(
		"your hooks and MCP servers run without the parts of %s that lead to folders which commands can change",
		strings.Join(names, ", "),
	)}
}

// projectPrograms returns the function that starts programs which a project brings: in the sandbox
// in force, because commands can change the files that such a program runs.
func (c *confinement) projectPrograms(mode func() Mode) func(context.Context, proc.Spec) (*proc.Process, error) {
	return func(ctx context.Context, spec proc.Spec) (*proc.Process, error) {
		in := c.servers.of(mode())
		if !in.On() {
			spec.Env = proc.TrustedEnv(spec.Env)
			return proc.Start(ctx, spec)
		}
		if open, ok := c.sessions.Load(spec.Marker); ok {
			return open.(*sandboxes).programs().StartProgram(ctx, in, spec)
		}
		// The session is being closed, or works in another directory.
		sandboxes := newSandboxes(c.servers, c, spec.Marker)
		p, err := sandboxes.programs().StartProgram(ctx, in, spec)
		if err != nil {
			return nil, errors.Join(err, sandboxes.discard())
		}
		go scope.Shield(func(error) {}, func() { // ends with the process; its caller waits for Done
			<-p.Done()
			_ = sandboxes.discard() // the next start of settle removes the rest
		})()
		return p, nil
	}
}

// programs starts programs of servers and hooks in the sandboxes.
func (b *sandboxes) programs() *executor.Local {
	hosts, _ := egress.ParseList(b.Hosts) // validated with the configuration
	return &executor.Local{Sandbox: b.policy, Hosts: hosts, Repositories: b.repositories}
}

// checkOf returns the check that a hook of a project or plugin is still the version that the
// user trusts, because a command can change its script. It is nil for the user's own hooks.
func (o Options) checkOf(h config.Hook) func(context.Context) error {
	if h.Plugin != nil {
		return func(context.Context) error { return h.Plugin.Check() }
	}
	if h.Origin.Kind != config.Project {
		return nil
	}
	project := o.Settings.Trust.Project(o.Dir)
	for _, file := range o.Settings.ProjectHooks {
		if file.Path == h.Origin.Where {
			return func(ctx context.Context) error { return file.Check(ctx, project) }
		}
	}
	return nil
}

// ConfiguredHook is a hook with its state.
type ConfiguredHook struct {
	config.Hook
	State string        // ok, untrusted, broken
	Limit time.Duration // time limit of a run
}

func limitOf(h config.Hook) time.Duration { return hooks.TimeoutOf(h.Event, h.Timeout) }

// ConfiguredHooks returns all hooks, including untrusted hooks of the project.
func (o Options) ConfiguredHooks() []ConfiguredHook {
	var all []ConfiguredHook
	state := func(h config.Hook) string {
		if h.Broken != "" {
			return "broken"
		}
		return "ok"
	}
	for _, h := range o.Settings.Hooks {
		all = append(all, ConfiguredHook{h, state(h), limitOf(h)})
	}
	for _, file := range o.Settings.ProjectHooks {
		for _, h := range file.Hooks {
			if !file.Trusted {
				all = append(all, ConfiguredHook{h, "untrusted", limitOf(h)})
			}
		}
	}
	return all
}

// TrustHooks records that the user trusts the current version of the project's own hooks,
// except of files with a Problem.
func TrustHooks(r *config.Resolved) error {
	return trust(r, func(recorded map[string]string) {
		for _, file := range r.ProjectHooks {
			if file.Problem == "" {
				recorded[file.Path] = file.Hash
			}
		}
	})
}
