package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/frontend/jobs"
)

const jobsHelp = `List the jobs that are running. A job is a process that a command left running,
such as a server.

A job belongs to its session: it ends when the process that uses the session
ends, or when you or the model kill it. A released job keeps running after its
session until you kill it. If several sessions have a job with the same ID, use
SESSION/JOB.`

func newJobs(s *streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "jobs", Short: "List, show and kill processes that commands left running", Long: jobsHelp,
		Example: "  settle jobs\n  settle jobs show j000001\n  settle jobs kill my-session/j000001",
		Args:    known,
	}
	dataDir := cmd.PersistentFlags().String("data-dir", "", "`DIR` for sessions and logs")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	where := func() (string, error) { return s.storedIn(*dataDir) }
	cmd.RunE = func(*cobra.Command, []string) error {
		dir, err := where()
		if err != nil {
			return err
		}
		if asJSON {
			return failed(jobs.ListJSON(s.lines(), dir))
		}
		return s.list("no jobs are running", func(to io.Writer) error { return jobs.List(to, dir) })
	}
	cmd.AddCommand(newJobShow(s, where), newJobKill(s, where))
	return cmd
}

func newJobShow(s *streams, where func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Print the output of a job",
		Args:  cobra.ExactArgs(1),
		Long:  "Print the output of a job so far, even after it ended. On a terminal, control\ncharacters are shown, not obeyed.",
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := where()
			if err != nil {
				return err
			}
			form := jobs.Raw
			if isTerminal(s.stdout) {
				form = jobs.Safe
			}
			return failed(jobs.Show(s.stdout, dir, args[0], form))
		},
	}
}

func newJobKill(s *streams, where func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "kill ID…",
		Short: "End jobs with everything they started",
		Args:  cobra.MinimumNArgs(1),
		Long:  "End jobs with everything they started: SIGTERM, then SIGKILL after 250 ms. The\nsession continues and records the end. A process that only reuses a job's pid is\nnever touched: the log records when each of the job's processes started, and in\nwhich boot and container.",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := where()
			if err != nil {
				return err
			}
			for _, name := range args {
				if err := jobs.Kill(cmd.Context(), s.stdout, dir, name); err != nil {
					return failed(err)
				}
			}
			return nil
		},
	}
}
