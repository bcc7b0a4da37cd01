package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

const devHelp = `Start a database and a worker on this machine, to try the fleet out.

The database is a Postgres of the machine's packages (on Debian and Ubuntu, apt-get
install postgresql), in a private directory, with a socket there and no port. It
ends with this command; what is in it stays. Other settle-fleet commands of the same
user find it by themselves.`

func newDev() *cobra.Command {
	var f workerFlags
	var dir string
	var alone bool
	cmd := &cobra.Command{
		Use: "dev", Short: "Start a database and a worker on this machine", Long: devHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			defer outlivePipe()()
			if dir == "" {
				if dir, err = devDir(); err != nil {
					return err
				}
			}
			if err := os.MkdirAll(dir, 0o755); err != nil { // the server, which may be another user, has a private one in it
				return failed(err)
			}
			server, err := startDev(cmd.Context(), dir)
			if err != nil {
				return failed(err)
			}
			defer server.Stop()
			fmt.Fprintf(cmd.OutOrStdout(), "database: %s\n", server.URL)
			if alone {
				select {
				case <-cmd.Context().Done():
				case <-server.Exited():
				}
				return nil
			}
			fleet, err := (&database{url: server.URL}).open(cmd.Context())
			if err != nil {
				return err
			}
			defer fleet.close()
			return f.run(cmd, fleet)
		},
	}
	f.define(cmd)
	cmd.Flags().StringVar(&dir, "dir", "", "keep the database in `DIR`; default: fleet in settle's data directory")
	cmd.Flags().BoolVar(&alone, "no-worker", false, "start only the database")
	return cmd
}
