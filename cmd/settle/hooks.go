package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/about"
	"github.com/settle-agent/settle/internal/redact"
)

const hooksHelp = `List the hooks: commands that sessions run on occasions, such as before a tool call.
They come from your configuration, from your files and the project's of Claude Code
and Codex.

--trust shows the project's own hooks whole, and asks whether you trust them as they are
now, with the scripts of the project that they name. Until then, and again when one of
those changes, they are not run: they are programs that the repository chose. Without a
terminal, it needs --yes.

States: ok, untrusted, broken (settle cannot run it; a blocking hook denies).

Exit codes: 0 listed, 1 cannot trust all of them, 2 wrong usage or configuration.`

// hooksFlags are the flags of hooks.
type hooksFlags struct{ trustFlags }

func newHooks(s *streams) *cobra.Command {
	var f hooksFlags
	cmd := &cobra.Command{
		Use: "hooks [flags]", Short: "List the hooks that sessions run", Long: hooksHelp,
		Example: "  settle hooks\n  settle hooks --trust",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd, s) },
	}
	f.define(cmd.Flags(), "trust the project's own hooks as they are now")
	return cmd
}

func (f *hooksFlags) run(cmd *cobra.Command, s *streams) error {
	sig := catch(cmd.Context())
	defer sig.release()
	dir, r, err := f.settings(sig.ctx, s, cmd.Flags(), trusting{
		show: s.showHooks, record: s.trustHooks, command: "settle hooks --trust --yes",
		question: "Trust these hooks? They run at the times that are named, without a question.",
	})
	if err != nil {
		return sig.instead(err)
	}
	list := assemble.Options{Settings: r, Dir: dir}.ConfiguredHooks()
	mask := redact.New(r.Secrets()...)
	if f.asJSON {
		return failed(about.HooksJSON(s.lines(), list, mask))
	}
	return s.list("no hooks are configured here", func(to io.Writer) error { return about.Hooks(to, list, mask) })
}

// showHooks prints the project's hooks that can be trusted.
func (s *streams) showHooks(r *config.Resolved) error {
	if len(r.ProjectHooks) == 0 {
		return &config.Error{
			Where:   "--trust",
			Message: "there are no hooks of a project here that settle could run",
		}
	}
	mask := redact.New(r.Secrets()...)
	for _, file := range r.ProjectHooks {
		for _, h := range file.Hooks {
			of := string(h.Event)
			if h.Matcher != "" {
				of += " of " + h.Matcher
			}
			if file.Problem == "" {
				s.say(fmt.Errorf("%s: %s: %s", file.Path, of, mask.Diagnostic(h.Line())))
			}
		}
	}
	return nil
}

// trustHooks trusts the project's hooks.
func (s *streams) trustHooks(r *config.Resolved) error {
	var refused error
	for _, file := range r.ProjectHooks {
		if file.Problem != "" {
			refused = errors.Join(refused, fmt.Errorf("the hooks of %s cannot be trusted: %s", file.Path, file.Problem))
		}
	}
	return failed(errors.Join(refused, assemble.TrustHooks(r)))
}
