package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/frontend/demo"
	"github.com/settle-agent/settle/internal/frontend/run"
	"github.com/settle-agent/settle/internal/proc"
)

const demoHelp = `Show what settle does when a turn is interrupted, in less than five seconds,
without a key or a network.

The model is a script. The engine, the tools, the processes and the log are real,
in a temporary directory. The model talks, runs two commands at once, and is
interrupted during a third that ignores TERM. You see how each one ended; then
the session continues and completes.`

func newDemo(s *streams) *cobra.Command {
	keep := false
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show what happens when a turn is interrupted; needs no key",
		Long:  demoHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sig := catch(cmd.Context())
			defer sig.release()
			if stop, err := proc.BecomeReaper(); err == nil {
				defer stop()
			}
			code, err := demo.Run(cmd.Context(), demo.Options{
				Stdout: s.stdout, Environ: s.environ, Stops: sig.stops, Keep: keep, Version: version(),
				Show: func(ctx context.Context, t demo.Turn) int {
					return run.Turn(ctx, run.Options{Format: run.Terminal, Options: oneturn.Options{
						Host: t.Host, Session: t.Session, Config: t.Config, Prompt: t.Prompt,
						Stdout: s.stdout, Stderr: s.stdout, Stops: sig.stops, Ended: t.Ended,
					}})
				},
			})
			switch {
			case err != nil:
				return failed(err)
			case code != stdio.CodeCompleted:
				return &exitError{code: code}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the temporary directory with the session")
	return cmd
}
