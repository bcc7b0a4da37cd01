package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/sessions"
)

const sessionsHelp = `List, show, export, import, check and delete sessions.

settle keeps each run as a session, unless you use --ephemeral. A session is one
log of everything that happened, which a later run can continue
(settle run --resume ID, settle run --last). Without a command, settle lists
sessions. A unique prefix of a generated ID is enough; on a terminal, the list shows
only that. A name that you chose must be whole.`

func newSessions(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "sessions", Short: "List, show, export, import, check and delete sessions", Long: sessionsHelp,
		Args: known,
	}
	dataDir := cmd.PersistentFlags().String("data-dir", "", "`DIR` for sessions and logs")
	settings := func() (*config.Resolved, error) { return s.storedSettings(*dataDir) }
	where := func() (string, error) { return s.storedIn(*dataDir) }
	cmd.RunE = listSessions(s, where, cmd.Flags())
	cmd.AddCommand(
		newList(s, where), newShow(s, where), newExport(s, where), newImport(s, where), newCheck(s, settings),
		newInterrupt(s, where), newDelete(s, where),
	)
	return cmd
}

func newList(s *streams, where func() (string, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions, newest first",
		Args:  cobra.NoArgs,
		Long:  "List sessions, newest first, with their id, last change, the outcome of the last\nturn, model and title.",
	}
	cmd.RunE = listSessions(s, where, cmd.Flags())
	return cmd
}

// listSessions defines the flags of a list, and returns the function that lists.
func listSessions(s *streams, where func() (string, error), flags *pflag.FlagSet) func(*cobra.Command, []string) error {
	var (
		query        catalogue.Query
		asJSON, here bool
	)
	flags.StringVar(
		&query.Text,
		"search",
		"",
		"only sessions with `TEXT` in a prompt, the title, the directory or the id",
	)
	flags.IntVarP(&query.Limit, "limit", "n", 0, "at most `N` sessions; 0: all")
	flags.BoolVar(&here, "here", false, "only sessions of this directory")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return func(cmd *cobra.Command, _ []string) error {
		dataDir, err := where()
		if err != nil {
			return err
		}
		if query.Limit < 0 {
			return fmt.Errorf("--limit is %d; it cannot be negative", query.Limit)
		}
		if here {
			if query.Dir, err = directory("."); err != nil {
				return err
			}
		}
		if asJSON {
			return failed(sessions.ListJSON(cmd.Context(), s.lines(), dataDir, query))
		}
		return s.list("there are no such sessions", func(to io.Writer) error {
			return sessions.List(cmd.Context(), to, dataDir, query)
		})
	}
}

func newInterrupt(s *streams, where func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "interrupt ID",
		Short: "Interrupt the turn of a session that another process hosts",
		Args:  cobra.ExactArgs(1),
		Long: "Interrupt the running turn of a session that another process hosts, such as one of\n" +
			"\"settle run --detach\", and print how the turn ended. The session stays open there.",
		RunE: func(cmd *cobra.Command, args []string) error {
			dataDir, err := where()
			if err != nil {
				return err
			}
			id, err := store.Resolve(dataDir, args[0])
			if err != nil {
				return failed(err)
			}
			return failed(sessions.Interrupt(cmd.Context(), s.stdout, dataDir, id))
		},
	}
}

func newShow(s *streams, where func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Print the conversation of a session",
		Args:  cobra.ExactArgs(1),
		Long:  "Print the conversation of a session: prompts, answers, calls with the beginning\nof their output, tokens with the share that came from the provider's cache, and how\neach turn ended.",
		RunE: func(_ *cobra.Command, args []string) error {
			dataDir, err := where()
			if err != nil {
				return err
			}
			id, err := store.Resolve(dataDir, args[0])
			if err != nil {
				return failed(err)
			}
			return failed(sessions.Show(s.stdout, dataDir, id))
		},
	}
}

func newExport(s *streams, where func() (string, error)) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Print a session for programs",
		Args:  cobra.ExactArgs(1),
		Long:  "Print all events of a session, one JSON object per line. The session consists of\nnothing else. With --format atif, print it as a trajectory (ATIF 1.7), which\nevaluations read. Another process may be writing to it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			dataDir, err := where()
			if err != nil {
				return err
			}
			if format != "events" && format != "atif" {
				return fmt.Errorf("--format is events or atif, not %q", format)
			}
			id, err := store.Resolve(dataDir, args[0])
			if err != nil {
				return failed(err)
			}
			if format == "atif" {
				return failed(sessions.ExportATIF(s.lines(), dataDir, id))
			}
			return failed(sessions.Export(cmd.Context(), s.lines(), dataDir, id))
		},
	}
	cmd.Flags().StringVar(&format, "format", "events", "`FORMAT` of the output: events, atif")
	return cmd
}

const importHelp = `Make a session of a file and print its id: of the events that settle sessions export
prints, or of a trajectory of any agent (ATIF 1). Continue it with settle run --resume.

The steps of a trajectory become prompts, answers, reasoning and tool calls with their
results. Its tokens and costs are not counted again, and steps of child agents and
images are left out. Import only what you trust: the model reads it as its own past.`

func newImport(s *streams, where func() (string, error)) *cobra.Command {
	var id, dir string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a session of an exported one, or of a trajectory",
		Args:  cobra.ExactArgs(1),
		Long:  importHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			dataDir, err := where()
			if err != nil {
				return err
			}
			if dir, err = directory(dir); err != nil {
				return err
			}
			if cmd.Flags().Changed("session") && id == "" {
				return errors.New("--session needs an ID")
			}
			made, err := importSession(cmd.Context(), dataDir, args[0], id, dir)
			if err == nil {
				_, err = fmt.Fprintln(s.stdout, made)
			}
			return failed(err)
		},
	}
	cmd.Flags().StringVar(&id, "session", "", "`ID` of the new session")
	cmd.Flags().StringVarP(&dir, "cwd", "C", ".", "the steps of a trajectory happened in `DIR`")
	return cmd
}

// importSession creates a session with the id; with a new id if it is empty.
func importSession(ctx context.Context, dataDir, file, id, dir string) (string, error) {
	if id == "" {
		id = settle.NewSessionID()
	}
	return id, store.Import(ctx, dataDir, file, id, event.SessionOpened{Settle: version(), Dir: dir})
}

const checkHelp = `Check sessions against the contract (docs/contract.md). settle prints each violation
with the number of the clause, the event and the fault. It also reports keys in a log
(C15) that it knows from the environment or the configuration. It changes nothing, and
works while another process writes to the session.

Exit codes: 0 no violations; 1 a violation, or a log that is damaged or cannot be
read; 2 wrong usage or configuration.`

func newCheck(s *streams, settings func() (*config.Resolved, error)) *cobra.Command {
	var (
		i   sessions.Inspection
		all bool
	)
	cmd := &cobra.Command{
		Use: "check ID…", Short: "Check sessions against the contract", Long: checkHelp,
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return errors.New("name the sessions to check, or use --all")
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
				id, err := store.Resolve(i.DataDir, name)
				if _, several := errors.AsType[*store.AmbiguousError](err); several {
					return failed(err)
				}
				if err == nil {
					name = id // else the check reports an unknown session
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
	cmd.Flags().BoolVar(&all, "all", false, "check all sessions")
	cmd.Flags().BoolVar(&i.JSON, "json", false, "print one JSON object per line")
	return cmd
}

func newDelete(s *streams, where func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID…",
		Short: "Delete sessions and everything that belongs to them",
		Args:  cobra.MinimumNArgs(1),
		Long:  "Delete sessions and everything that belongs to them: their logs and the long\noutputs of their commands. A session in use is not deleted. You cannot undo this, so\na shortened ID must have at least 8 characters.",
		RunE: func(cmd *cobra.Command, args []string) error {
			dataDir, err := where()
			if err != nil {
				return err
			}
			var all []string
			for _, name := range args { // a wrong name deletes nothing
				id, wrong := store.ResolveWhole(dataDir, name)
				switch {
				case wrong != nil:
					err = errors.Join(err, fmt.Errorf("cannot delete %q: %w", name, wrong))
				case !slices.Contains(all, id):
					all = append(all, id)
				}
			}
			if err != nil {
				return failed(fmt.Errorf("%w; nothing was deleted", err))
			}
			for _, session := range all { // a session in use does not keep the others
				kept := store.Delete(cmd.Context(), dataDir, session)
				if kept == nil {
					_, kept = fmt.Fprintf(s.stdout, "deleted session %s\n", session)
				}
				err = errors.Join(err, kept)
			}
			return failed(err)
		},
	}
}
