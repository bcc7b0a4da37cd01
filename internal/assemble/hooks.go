package assemble

import (
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/internal/repo"
)

// hooks returns the hooks of the sessions; nil for none.
func (o Options) hooks(env []string) *settle.Hooks {
	if len(o.Settings.Hooks) == 0 {
		return nil
	}
	made := &settle.Hooks{Env: env, Project: o.Dir}
	if root, inside := repo.Root(o.Dir); inside {
		made.Project = root
	}
	for _, h := range o.Settings.Hooks {
		made.List = append(made.List, settle.Hook{
			Event: h.Event, Matcher: h.Matcher, Command: h.Command, Args: h.Args, Timeout: h.Timeout,
			Source: h.Origin.Where, Dir: h.Dir, Own: h.Own, Broken: h.Broken, Check: o.checkOf(h),
		})
	}
	return made
}

// checkOf returns the check that a project's hook is still the version that the user
// trusts, because a command can change its script. It is nil for the user's own hooks.
func (o Options) checkOf(h config.Hook) func() error {
	if h.Origin.Kind != config.Project {
		return nil
	}
	project := o.Settings.Trust.Project(o.Dir)
	for _, file := range o.Settings.ProjectHooks {
		if file.Path == h.Origin.Where {
			return func() error { return file.Check(project) }
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

// TrustHooks records that the user trusts the current version of the project's own hooks.
func TrustHooks(r *config.Resolved) error {
	return trust(r, func(recorded map[string]string) {
		for _, file := range r.ProjectHooks {
			recorded[file.Path] = file.Hash
		}
	})
}
