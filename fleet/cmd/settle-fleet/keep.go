package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/fleet/pglog"
)

const migrateHelp = `Make the database's tables, or bring them up to date, and make the partitions of the next days.
Run it before the first worker, and after an update before the new workers: workers of the
version before work with the new tables.`

func newMigrate(d *database) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Make the database's tables, or bring them up to date",
		Long:  migrateHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pool, err := d.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer pool.Close()
			from, to, err := pglog.Migrate(cmd.Context(), pool)
			if err != nil {
				return failed(err)
			}
			if from > to {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "the schema has number %d, of a newer settle-fleet; "+
					"this one works with it, and changed nothing\n", from)
				return failed(err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the schema had number %d and has %d\n", from, to)
			return failed(err)
		},
	}
}

// maxDays is more than any session is old.
const maxDays = 100_000

func newPrune(d *database) *cobra.Command {
	var days int
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Delete old sessions, with their tasks and results",
		Long:  "Delete the sessions that began more than --days ago, day by day. A day with a session that\nis newer than that, or that has something left to do, is kept.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 1 || days > maxDays {
				return fmt.Errorf("--days must be from 1 to %d", maxDays)
			}
			f, err := d.open(cmd.Context()) // of another version, nothing is deleted
			if err != nil {
				return err
			}
			defer f.close()
			results, err := pglog.Prune(cmd.Context(), f.pool, time.Now().AddDate(0, 0, -days))
			if len(results) == 0 && err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "no session began more than %d days ago\n", days)
			}
			for _, p := range results {
				action := "deleted"
				if p.Kept {
					action = "kept, since some are in use:"
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s %d sessions\n", p.Day.Format(time.DateOnly), action, p.Sessions)
				if p.Held > 0 {
					fmt.Fprintf(
						cmd.OutOrStdout(),
						"%s: %d tasks wait for a person; \"settle-fleet approvals\" lists their calls, "+
							"\"settle-fleet cancel\" ends them\n",
						p.Day.Format(time.DateOnly),
						p.Held,
					)
				}
			}
			return failed(err)
		},
	}
	cmd.Flags().IntVar(&days, "days", 30, "keep the sessions of the last `N` days")
	return cmd
}
