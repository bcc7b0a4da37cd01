package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/face/sessions"
)

const sessionsHelp = `List, show, export, check and delete sessions.

Each run is kept as a session, unless it was given --ephemeral: one log with
everything that happened, which any later run can go on with
(settle run --resume ID, settle run --last). Without a command, they are listed.
For an ID, its beginning is enough where no other session begins so.`

func newSessions(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "sessions", Short: "List, show, export, check and delete sessions", Long: sessionsHelp,
		Args: known,
	}
	dataDir := cmd.PersistentFlags().String("data-dir", "", "keep sessions and logs in `DIR`")
	settings := func() (*config.Resolved, error) {
		flags := map[string]string{}
		if *dataDir != "" {
			flags["data_dir"] = *dataDir
		}
		dir, err := directory(".")
		if err != nil {
			return nil, err
		}
		return s.settings(dir, flags, config.IgnoreProject)
	}
	where := func() (string, error) {
		r, err := settings()
		if err != nil {
			return "", err
		}
		return r.NeedDataDir()
	}
	cmd.RunE = listSessions(s, where, cmd.Flags())
	cmd.AddCommand(newList(s, where), newShow(s, where), newExport(s, where), newCheck(s, settings), newDelete(where))
	return cmd
}

func newList(s *streams, where func() (string, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, the newest first", Args: cobra.NoArgs,
		Long: "List sessions, the newest first: id, when it changed last, how its last turn ended, model, title.",
	}
	cmd.RunE = listSessions(s, where, cmd.Flags())
	return cmd
}

// listSessions defines the flags of a list and returns what lists.
func listSessions(s *streams, where func() (string, error), flags *pflag.FlagSet) func(*cobra.Command, []string) error {
	var (
		query        catalogue.Query
		asJSON, here bool
	)
	flags.StringVar(&query.Text, "search", "", "only those in which `TEXT` was asked for")
	flags.IntVarP(&query.Limit, "limit", "n", 0, "at most `N`; 0: all")
	flags.BoolVar(&here, "here", false, "only those of this directory")
	flags.BoolVar(&asJSON, "json", false, "one JSON object a line")
	return func(cmd *cobra.Command, _ []string) error {
		dataDir, err := where()
		if err != nil {
			return err
		}
		if here {
			if query.Dir, err = directory("."); err != nil {
				return err
			}
		}
		if asJSON {
			return failed(sessions.ListJSON(cmd.Context(), s.lines(), dataDir, query))
		}
		return failed(sessions.List(cmd.Context(), s.stdout, dataDir, query))
	}
}

func newShow(s *streams, where func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show what was said and done", Args: cobra.ExactArgs(1),
		Long: "Show what was said and done in a session: the inputs, the answers, the calls with\nthe beginning of their outputs, and how each turn ended.",
		RunE: func(_ *cobra.Command, args []string) error {
			dataDir, err := where()
			if err != nil {
				return err
			}
			id, err := sessions.ID(dataDir, args[0])
			if err != nil {
				return failed(err)
			}
			return failed(sessions.Show(s.stdout, dataDir, id))
		},
	}
}

func newExport(s *streams, where func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use: "export ID", Short: "Print the session's events, one JSON object a line", Args: cobra.ExactArgs(1),
		Long: "Print the session's events, one JSON object a line, from the first on. This is all\nthat there is of a session; another process may be writing it meanwhile.",
		RunE: func(cmd *cobra.Command, args []string) error {
			dataDir, err := where()
			if err != nil {
				return err
			}
			return failed(sessions.Export(cmd.Context(), s.lines(), dataDir, args[0]))
		},
	}
}

const checkHelp = `Hold the logs of sessions against the contract (docs/contract.md), and print what
breaks it: the clause by its number, the event, and what is wrong there. The keys
that settle finds in the environment and the configuration must not be in a log,
either (C15). Nothing is changed; another process may be writing meanwhile.

Exit codes: 0 the contract is kept by all; 1 a clause is broken, or a log is
damaged or cannot be read; 2 wrong usage or configuration.`

func newCheck(s *streams, settings func() (*config.Resolved, error)) *cobra.Command {
	var (
		i   sessions.Inspection
		all bool
	)
	cmd := &cobra.Command{
		Use: "check ID…", Short: "Hold sessions against the contract", Long: checkHelp,
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return errors.New("say which sessions to check, or --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := settings()
			if err != nil {
				return err
			}
			if i.DataDir, err = r.NeedDataDir(); err != nil {
				return err
			}
			for _, name := range args {
				if id, err := sessions.ID(i.DataDir, name); err == nil {
					name = id // else the check says that there is none
				}
				i.Sessions = append(i.Sessions, name)
			}
			i.Secrets = r.Secrets()
			to := io.Writer(s.stdout)
			if i.JSON {
				to = s.lines()
			}
			return failed(i.Check(cmd.Context(), to))
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all that there are")
	cmd.Flags().BoolVar(&i.JSON, "json", false, "one JSON object a line")
	return cmd
}

func newDelete(where func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use: "delete ID…", Short: "Delete sessions with all that belongs to them", Args: cobra.MinimumNArgs(1),
		Long: "Delete sessions with all that belongs to them: their logs and the long outputs of\ntheir commands. A session that is in use is not deleted. There is no way back.",
		RunE: func(cmd *cobra.Command, args []string) error {
			dataDir, err := where()
			if err != nil {
				return err
			}
			for _, name := range args {
				session, err := sessions.ID(dataDir, name)
				if err != nil {
					return failed(err)
				}
				if err := sessions.Delete(cmd.Context(), dataDir, session); err != nil {
					return failed(err)
				}
			}
			return nil
		},
	}
}
