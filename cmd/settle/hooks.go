package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/about"
	"github.com/settle-agent/settle/internal/redact"
)

const hooksHelp = `List the hooks: commands that sessions run on occasions, such as before a tool call.
They come from your configuration, from your files and the project's of Claude Code
and Codex.

--trust shows the project's own hooks and trusts them as they are now, with the scripts
of the project that they name. Until then, and again when one of those changes, they
are not run: they are programs that the repository chose.

States: ok, untrusted, broken (settle cannot run it; a gate denies).

Exit codes: 0 listed, 1 cannot record the trust, 2 wrong usage or configuration.`

// hooksFlags are the flags of hooks.
type hooksFlags struct {
	place  placeFlags
	trust  bool
	asJSON bool
}

func newHooks(s *streams) *cobra.Command {
	var f hooksFlags
	cmd := &cobra.Command{
		Use: "hooks [flags]", Short: "List the hooks that sessions run", Long: hooksHelp,
		Example: "  settle hooks\n  settle hooks --trust",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd, s) },
	}
	cmd.Flags().BoolVar(&f.trust, "trust", false, "trust the project's own hooks as they are now")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object per line")
	f.place.define(cmd.Flags())
	return cmd
}

func (f *hooksFlags) run(cmd *cobra.Command, s *streams) error {
	dir, r, err := f.place.settings(s, cmd.Flags())
	if err != nil {
		return err
	}
	if f.trust {
		if r, err = f.record(cmd, s, r); err != nil {
			return err
		}
	}
	for _, note := range r.Notes {
		s.say(fmt.Errorf("note: %s", note))
	}
	list := assemble.Options{Settings: r, Dir: dir}.ConfiguredHooks()
	mask := redact.New(r.Secrets()...)
	if f.asJSON {
		err = about.HooksJSON(s.lines(), list, mask)
	} else {
		err = about.Hooks(s.stdout, list, mask)
	}
	if err != nil {
		return failed(err)
	}
	return nil
}

// record trusts the project's hooks, prints them, and returns the settings that are in
// force afterwards.
func (f *hooksFlags) record(cmd *cobra.Command, s *streams, r *config.Resolved) (*config.Resolved, error) {
	if len(r.ProjectHooks) == 0 {
		return nil, &config.Error{
			Where:   "--trust",
			Message: "there are no hooks of a project here that settle could run",
		}
	}
	mask := redact.New(r.Secrets()...)
	for _, file := range r.ProjectHooks {
		for _, h := range file.Hooks {
			s.say(fmt.Errorf("trusted: %s: %s: %s", file.Path, h.Event, mask.Diagnostic(h.Line())))
		}
	}
	if err := assemble.TrustHooks(r); err != nil {
		return nil, failed(err)
	}
	_, r, err := f.place.settings(s, cmd.Flags())
	return r, err
}
