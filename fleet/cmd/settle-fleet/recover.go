package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

const recoverHelp = `Continue after a restored database, or after a loss of Temporal's state.

Stop all workers first. recover raises the fencing epochs of all sessions, so that no
worker of before can write a log, and submits to Temporal again every task that the
database knows and that has not ended. A turn that was open continues from its log. Then
start the workers. recover can be repeated.

If only Temporal's state is lost, nothing else is, and no call runs twice. A restored
database is as old as its backup, and recover prints how old that is. What happened since
then is lost: tasks that have ended since then run again, with their calls; tasks and
verdicts that were accepted since then are unknown. Submit such tasks again. To lose less,
archive the write-ahead log of Postgres, and restore to its end.`

func newRecover(d *database) *cobra.Command {
	return &cobra.Command{
		Use: "recover", Short: "Continue after a restored database or a lost Temporal",
		Long: recoverHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := d.openRunning(cmd.Context(), newLogger(cmd))
			if err != nil {
				return err
			}
			defer f.close()
			newest, err := f.index.LastChange(cmd.Context())
			if err != nil {
				return failed(err)
			}
			n, err := f.engine.Recover(cmd.Context())
			if err != nil {
				return failed(err)
			}
			_, err = fmt.Fprintf(
				cmd.OutOrStdout(), "%stasks that have not ended, and were submitted to Temporal again: %d\n",
				newestText(newest, time.Now()), n,
			)
			return failed(err)
		},
	}
}

// newestText describes the age of the newest change in the database.
func newestText(newest, now time.Time) string {
	if newest.IsZero() {
		return ""
	}
	return fmt.Sprintf(
		"the newest change in the database is from %s (%s ago)\n", newest.UTC().Format(time.RFC3339),
		now.Sub(newest).Round(time.Second),
	)
}
