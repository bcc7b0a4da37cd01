package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/workspace"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/tool/shell"
)

// workspaceDir returns the directory of workspaces, where dir is the fleet's in settle's data
// directory. The sandbox refuses all directories in the data directory.
func (a *agents) workspaceDir(dir string) string {
	name := filepath.Base(dir) // the fleet's id
	switch {
	case a.flags.workspaceDir != "":
		return filepath.Join(a.flags.workspaceDir, name)
	case a.flags.confinement.required():
		return filepath.Join(filepath.Dir(filepath.Dir(dir))+"-workspaces", name)
	}
	return filepath.Join(dir, "workspaces")
}

// workspaces returns the keeper of the workspaces on this machine, in a directory of its own.
func (a *agents) workspaces(to *fleetOf, dir string) *workspace.Keeper {
	return &workspace.Keeper{
		Store: workspace.Store{Pool: to.pool}, Dir: dir, Machine: a.machine,
		KiB: a.flags.workspaceMiB << 10, CheckpointKiB: a.flags.checkpointMiB << 10, Timeout: a.flags.workspaceTimeout,
	}
}

// machine implements [workspace.Keeper].Machine. Git gets the environment that the
// agent's commands get.
func (a *agents) machine(ctx context.Context, task fleet.Task, dir string) (executor.Executor, func(), error) {
	if err := a.flags.tenancy.admit(task); err != nil { // before anything is cloned for it
		return nil, nil, err
	}
	environ := environment()
	settings, err := config.Load(
		config.Input{
			Dir:           dir,
			Getenv:        os.Getenv,
			Flags:         a.taskSettings(task),
			Trust:         assemble.Trust(environ, os.Getenv),
			ProjectConfig: config.IgnoreProject,
		},
	)
	if err != nil {
		return nil, nil, err
	}
	withheld := settings.Withheld()
	env, _ := shell.Environment(
		environ, func(name, value string) bool { return slices.Contains(withheld, name) || settings.Withholds(value) },
		settings.PassEnv,
	)
	if settings.Executor == "" {
		return &executor.Local{Env: env}, func() {}, nil
	}
	dialer := &executor.CommandDialer{Command: settings.Executor, Env: env, Dir: dir}
	if settings.ExecutorInstall == config.InstallMissing {
		program, err := os.Executable()
		if err != nil {
			return nil, nil, err
		}
		dialer.Install = &executor.Install{Program: program}
	}
	remote, err := executor.NewRemote(
		ctx, executor.RemoteConfig{Dial: dialer.Dial, Settle: version(), Lease: settings.ExecutorLease},
	)
	leave := func() {
		closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
		defer cancel()
		if remote != nil {
			_ = remote.Close(closeCtx) // what it cannot end ends with its lease
		}
		_ = dialer.Close(closeCtx)
	}
	if err != nil {
		leave()
		return nil, nil, fmt.Errorf("cannot reach the executor by %q: %w", settings.Executor, err)
	}
	return remote, leave, nil
}

const (
	// leaveTimeout bounds the end of a connection to an executor.
	leaveTimeout = 5 * time.Second
	// sweepDelay is the wait between two removals of the workspaces of deleted sessions.
	sweepDelay = time.Hour
)

// sweep removes the workspaces on this machine of deleted sessions, every sweepDelay,
// until ctx ends.
func sweep(ctx context.Context, k *workspace.Keeper, logger *slog.Logger) {
	for {
		if err := k.Sweep(ctx); err != nil && ctx.Err() == nil {
			logger.Warn("cannot remove old workspaces", "error", err)
		}
		select {
		case <-time.After(sweepDelay):
		case <-ctx.Done():
			return
		}
	}
}

const checkpointHelp = `Write the changes of a task's agent to its repository into a file.

The file is a git bundle with all that follows the commit that the task began with:
the commits and branches of the agent, and, as refs/settle/checkpoint, a commit that
also has what was not committed. In a clone of the repository:

  git fetch FILE refs/settle/checkpoint
  git diff BASE FETCH_HEAD               as a patch
  git merge FETCH_HEAD

The checkpoint's commits are printed as JSON, BASE among them.`

func newCheckpoint(d *database) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "checkpoint TASK -o FILE",
		Short: "Write what a task has made of its repository as a git bundle",
		Long:  checkpointHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := d.open(cmd.Context())
			if err != nil {
				return err
			}
			defer f.close()
			return failed(
				writeCheckpoint(cmd.Context(), workspace.Store{Pool: f.pool}, args[0], file, cmd.OutOrStdout()),
			)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write the bundle to `FILE`; without it, only say what there is")
	return cmd
}

// writeCheckpoint writes the bundle of a task's checkpoint to a file, and prints its
// description.
func writeCheckpoint(ctx context.Context, s workspace.Store, taskID, file string, out io.Writer) error {
	if file == "" {
		c, err := s.Get(ctx, taskID, io.Discard)
		if err != nil {
			return err
		}
		return writeLine(out, c)
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("cannot write the bundle to %q: it is there, and it is not a file", file)
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".settle-checkpoint-")
	if err != nil {
		return fmt.Errorf("cannot write the bundle: %w", err)
	}
	defer os.Remove(temp.Name()) // it has its name by then
	c, err := s.Get(ctx, taskID, temp)
	err = errors.Join(err, temp.Close())
	if err != nil {
		return err
	}
	if c.Bytes == 0 {
		return fmt.Errorf("there is nothing to write: task %s has changed nothing of commit %s", taskID, c.Base)
	}
	if at, err := filepath.EvalSymlinks(file); err == nil { // a link stays one
		file = at
	}
	if err := os.Rename(temp.Name(), file); err != nil {
		return fmt.Errorf("cannot write the bundle: %w", err)
	}
	return writeLine(out, c)
}
