package main

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/frontend/sessions"
)

const usageHelp = `Show what the stored sessions used: requests, tokens, the share of the input that
providers read from their caches, and the cost. Child agents count to the directory of
the session that started them. The numbers come from the catalogue of sessions, which
reads only logs that changed. Deleted sessions and --ephemeral runs are not counted; a
copy of a session counts only what it used itself. Sessions have no tags.

In the terminal, /usage shows the same for the open session.`

func newUsage(s *streams) *cobra.Command {
	var (
		dataDir, by, since string
		asJSON             bool
	)
	cmd := &cobra.Command{
		Use: "usage", Short: "Show tokens and cost of all sessions", Long: usageHelp, Args: cobra.NoArgs,
		Example: "  settle usage --since 7d\n  settle usage --by model,directory --json",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			var q sessions.UsageQuery
			if q.By, err = sessions.ParseGroupings(by); err != nil {
				return err
			}
			if cmd.Flags().Changed("since") {
				if q.Since, err = sessions.ParseSince(since, time.Now()); err != nil {
					return err
				}
			}
			where, err := s.storedIn(dataDir)
			if err != nil {
				return err
			}
			var notes []string
			if asJSON {
				notes, err = q.UsageJSON(cmd.Context(), s.lines(), where)
			} else {
				err = s.list("no request to a model is stored for this period", func(to io.Writer) (err error) {
					notes, err = q.Usage(cmd.Context(), to, where)
					return err
				})
			}
			for _, note := range notes {
				s.say(errors.New(note))
			}
			return failed(err)
		},
	}
	cmd.Flags().StringVar(&by, "by", "day", "sum by `WHAT`: day, model, directory, session, or several with commas")
	cmd.Flags().StringVar(&since, "since", "", "only requests since `WHEN`: a date, a time, or a duration (7d, 36h)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "`DIR` for sessions and logs")
	return cmd
}
