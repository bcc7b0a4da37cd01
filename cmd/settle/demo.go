package main

import (
	"context"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/frontend/demo"
	"github.com/settle-agent/settle/internal/frontend/run"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/terminal"
)

const demoHelp = `Show what settle does in a few seconds, without a key or a network.

The model is a script. The engine, the tools, the processes and the log are real,
in a temporary directory. The model changes a file after a question, is
interrupted during a command that ignores TERM, and loses its process to kill -9
during another one. You see how each call ended; then the session continues from
its log and completes. The last lines are commands to try next.`

func newDemo(s *streams) *cobra.Command {
	keep, host, columns := false, "", 0
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a change, an interrupt and a crash; needs no key",
		Long:  demoHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sig := catch(cmd.Context())
			defer sig.release()
			if stop, err := proc.BecomeReaper(); err == nil {
				defer stop()
			}
			program, err := os.Executable()
			if err != nil {
				return failed(err)
			}
			if columns == 0 {
				columns = terminal.Columns(s.stdout)
			}
			o := demo.Options{
				Host: []string{program, "demo", "--columns", strconv.Itoa(columns), "--host"}, Columns: columns,
				Stdout: s.stdout, Environ: s.environ, Stops: sig.stops, Keep: keep, Version: version(),
				Show: func(ctx context.Context, t demo.Turn) int {
					return run.Turn(ctx, run.Options{Format: run.Terminal, Options: oneturn.Options{
						Host: t.Host, Session: t.Session, Config: t.Config, Prompt: t.Prompt,
						Stdout: s.stdout, Stderr: s.stdout, Stops: sig.stops, Ended: t.Ended,
					}, Answers: t.Answers, Columns: func() int { return columns }})
				},
			}
			play := demo.Run
			if host != "" {
				play = func(ctx context.Context, o demo.Options) (int, error) { return demo.Host(ctx, o, host) }
			}
			code, err := play(cmd.Context(), o)
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
	cmd.Flags().StringVar(&host, "host", "", "run the part that the demo kills, in the directory `DIR` of a demo")
	cmd.Flags().IntVar(&columns, "columns", 0, "break lines at `N` columns; 0: at the width of the terminal")
	for _, internal := range []string{"host", "columns"} {
		_ = cmd.Flags().MarkHidden(internal) // it exists
	}
	return cmd
}
