package main

import (
	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/face/jobs"
)

const jobsHelp = `List the jobs that run: processes that commands left behind, such as servers.

A job belongs to its session: it ends with the process that holds the session,
and before that where you or the model kill it. A released job outlives its
session until you kill it. Jobs are called by their id or, where several
sessions have one of that id, as SESSION/JOB.`

func newJobs(s *streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "jobs", Short: "List, show and kill what sessions left running", Long: jobsHelp,
		Example: "  settle jobs\n  settle jobs show j000001\n  settle jobs kill my-session/j000001",
		Args:    known,
	}
	dataDir := cmd.PersistentFlags().String("data-dir", "", "look for sessions in `DIR`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	where := func() (string, error) {
		flags := map[string]string{}
		if *dataDir != "" {
			flags["data_dir"] = *dataDir
		}
		dir, err := directory(".")
		if err != nil {
			return "", err
		}
		r, err := s.settings(dir, flags, config.IgnoreProject)
		if err != nil {
			return "", err
		}
		return r.NeedDataDir()
	}
	cmd.RunE = func(*cobra.Command, []string) error {
		dir, err := where()
		if err != nil {
			return err
		}
		if asJSON {
			return failed(jobs.ListJSON(s.lines(), dir))
		}
		return failed(jobs.List(s.stdout, dir))
	}
	cmd.AddCommand(newJobShow(s, where), newJobKill(s, where))
	return cmd
}

func newJobShow(s *streams, where func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show what a job has put out", Args: cobra.ExactArgs(1),
		Long: "Show what a job has put out so far, also one that has ended. On a terminal,\ncontrol characters are shown, not obeyed.",
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := where()
			if err != nil {
				return err
			}
			form := jobs.Raw
			if terminal(s.stdout) {
				form = jobs.Safe
			}
			return failed(jobs.Show(s.stdout, dir, args[0], form))
		},
	}
}

func newJobKill(s *streams, where func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use: "kill ID…", Short: "End jobs with all that they have started", Args: cobra.MinimumNArgs(1),
		Long: "End jobs with all that they have started: TERM, after 250 ms KILL. Its session\ngoes on and has the end on record. A process that took over a job's number is\nnot touched: the log has when the job's processes started, and in which boot and\ncontainer.",
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
