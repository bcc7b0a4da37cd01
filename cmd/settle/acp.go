package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/acp"
	"github.com/settle-agent/settle/internal/redact"
)

const acpHelp = `Serve an editor or another client of the Agent Client Protocol. The client starts
settle and talks to it over standard input and output.

The client chooses the directory of each session and can change its mode, model
and effort. settle asks before calls that could change something, unless
--permission, SETTLE_PERMISSION or the client's mode says otherwise.

It ends when standard input ends, when standard output is closed, when its parent
process dies, or on SIGTERM or Ctrl-C. All turns and their processes end
within 1.5 seconds. Sessions are kept and can be resumed.

Exit codes: 0 everything ended, 1 something did not, 2 wrong usage.`

const acpExamples = `  acpx --agent "settle acp" "fix the failing test"
  settle acp --permission allow -m anthropic/claude-sonnet-4-5`

// acpFlags are the flags of acp that are not settings.
type acpFlags struct {
	projectFlags
	dir  string
	take bool
}

func newACP(s *streams) *cobra.Command {
	var f acpFlags
	cmd := &cobra.Command{
		Use:     "acp [flags]",
		Short:   "Serve editors that speak the Agent Client Protocol",
		Long:    acpHelp,
		Example: acpExamples,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.serve(cmd, s) },
	}
	flags := cmd.Flags()
	settingFlags(flags)
	flags.StringVarP(&f.dir, "cwd", "C", ".", "look for settings in `DIR` if the client names none")
	flags.BoolVar(&f.take, "take", false, takeAllHelp)
	f.projectFlags.define(flags)
	return cmd
}

func (f *acpFlags) serve(cmd *cobra.Command, s *streams) error {
	dir, err := directory(f.dir)
	if err != nil {
		return err
	}
	o := assemble.Options{
		HostOptions:       assemble.HostOptions{Frontend: "acp", Take: f.take},
		PermissionOptions: assemble.PermissionOptions{Permission: settle.Ask, Attended: true},
	}
	f.apply(&o)
	in := s.protocolServer(cmd, o)
	defer in.release()
	resolved, err := in.hosts.Settings(dir, nil)
	if err != nil {
		return err
	}
	served := in.rpc(s, dir)
	served.Logger = clientLog(resolved)
	return failed(acp.Serve(cmd.Context(), served))
}

// clientLog returns the log of clients' protocol errors.
func clientLog(r *config.Resolved) *slog.Logger {
	if log := assemble.Log(r); log != nil {
		return log(redact.New(r.Secrets()...))
	}
	return nil
}
