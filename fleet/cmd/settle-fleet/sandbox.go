package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// confinement has the sandbox settings for the tasks of settle-fleet dev, or of a worker that isolates
// tenants. The tasks of dev run as the user who can read the database's password, so that
// only a sandbox keeps them from it.
type confinement struct {
	use string // config.SandboxRequired or config.SandboxOff; "" leaves it to the configuration
	dir string // of dev: no task works in a folder that contains it
}

const devSandboxHelp = "`required` or off: whether tasks run in a sandbox that keeps them from the database; " +
	"with off, they can do all that you can"

func (c *confinement) define(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.use, "sandbox", config.SandboxRequired, devSandboxHelp)
}

func (c *confinement) check() error {
	if c.use != config.SandboxRequired && c.use != config.SandboxOff {
		return fmt.Errorf("cannot use the sandbox %q: it is %s or %s", c.use, config.SandboxRequired, config.SandboxOff)
	}
	return nil
}

// required reports whether tasks must be confined.
func (c *confinement) required() bool { return c.use == config.SandboxRequired }

// confinedBy is the name, in denials and rules, of the program that confines the tasks.
const confinedBy = "settle-fleet"

// mode returns the permissions of a confined task: its tools can do everything in the working
// directory, and run commands in the sandbox, without a person. Other calls would need an approval, and are
// denied: files outside, and commands outside of the sandbox.
func (c *confinement) mode() assemble.Mode {
	return assemble.Mode{
		Name: confinedBy, Permission: event.Ask, Unasked: confinedBy, Sandbox: event.Workspace,
		Rules: []config.Rule{assemble.Allow("*", "", confinedBy)},
	}
}

// apply confines an agent that is made with the options.
func (c *confinement) apply(o *assemble.Options) {
	if !c.required() {
		return
	}
	o.Ceiling = o.Settings.Permission
	o.Policy = assemble.NewPolicy(c.mode())
	if c.dir != "" {
		o.OutOfReach = []string{c.dir}
	}
}

// checkSandbox checks whether tasks can be confined on this machine, before the first one. If they work
// on another machine, their executor checks it.
func (a *agents) checkSandbox(ctx context.Context) error {
	c, flags := a.flags.confinement, a.taskSettings(fleet.Task{})
	if !c.required() {
		return nil
	}
	dir, err := os.MkdirTemp("", "settle-fleet-") // a directory like a task's
	if err != nil {
		return failed(fmt.Errorf("cannot try the sandbox: %w", err))
	}
	defer os.RemoveAll(dir)
	settings, err := config.Load(
		config.Input{Dir: dir, Getenv: os.Getenv, Flags: flags, ProjectConfig: config.IgnoreProject},
	)
	if err != nil || settings.Executor != "" {
		return err
	}
	o := assemble.Options{
		Settings:          settings,
		Dir:               dir,
		Environ:           environment(),
		Getenv:            os.Getenv,
		Version:           version(),
		HostOptions:       assemble.HostOptions{Frontend: "fleet"},
		PermissionOptions: assemble.PermissionOptions{Release: settle.Deny},
		PromptOptions:     assemble.PromptOptions{Project: assemble.IgnoreProject},
		ModelOptions: assemble.ModelOptions{
			Model: model.Config{Provider: script.New(), ProviderName: "none", Name: "none"},
		},
	}
	c.apply(&o)
	if _, err := assemble.New(ctx, o); err != nil {
		return failed(
			fmt.Errorf(
				"cannot confine tasks, which could reach the database and each other's files: %w; "+
					"dev --sandbox off and worker --isolation none run tasks that can do all that you can",
				err,
			),
		)
	}
	return nil
}
