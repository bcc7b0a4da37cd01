package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

const recoverHelp = `Continue after a restored database, or after a loss of Temporal's state.

Stop all workers first. recover raises the fencing epochs of all sessions, so that no
worker of before can write a log, and submits to Temporal again every task that the
database knows and that has not ended. A turn that was open continues from its log; no call
runs twice. Then start the workers.

It changes nothing for tasks that have ended, and can be repeated.`

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
			n, err := f.engine.Recover(cmd.Context())
			if err != nil {
				return failed(err)
			}
			_, err = fmt.Fprintf(
				cmd.OutOrStdout(), "tasks that have not ended, and were submitted to Temporal again: %d\n", n,
			)
			return failed(err)
		},
	}
}
