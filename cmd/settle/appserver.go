package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/agent"
	"github.com/settle-agent/settle/internal/face/appserver"
	"github.com/settle-agent/settle/internal/prompt"
)

const appServerHelp = `Serve clients that were written for "codex app-server": JSON lines on standard
input and output, version 2 of the protocol. codex-acp needs no more than
CODEX_PATH set to this program; then every editor that it works in drives settle.

Threads are sessions of settle. What a client says of approvals and the sandbox
holds for its thread: settle has no sandbox, so what one would hold back is asked
about or denied, before it runs. Where a client says nothing, --permission or
SETTLE_PERMISSION does, and without either, what changes something is asked about.

It ends when standard input does, when nobody reads standard output any more,
when the program that started it is gone, or with SIGTERM or Ctrl-C: all turns
are ended, said to be, and within a second and a half nothing of them is left.

Exit codes: 0 everything ended, 1 something did not, 2 wrong usage or
configuration; 128 and its number after a signal.`

const appServerExamples = `  CODEX_PATH=$(command -v settle) codex-acp
  settle app-server -m anthropic/claude-sonnet-4-5`

// appServerFlags are the flags of app-server that are no settings.
type appServerFlags struct {
	dir             string
	overrides       []string
	enable, disable []string
	listen          string
	noProjectConfig bool
}

func newAppServer(s *streams) *cobra.Command {
	var f appServerFlags
	cmd := &cobra.Command{
		Use: "app-server [flags]", Short: "Serve clients of Codex's app-server", Long: appServerHelp, Example: appServerExamples,
		Args: cobra.NoArgs, GroupID: standIns,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd, s) },
	}
	flags := cmd.Flags()
	settingFlags(flags)
	flags.Lookup("permission").Usage = "what calls that change something may do where the client does not say, as `POLICY`: ask, allow or deny"
	flags.StringVarP(&f.dir, "cwd", "C", ".", "work in `DIR`, unless the client names another")
	flags.BoolVar(&f.noProjectConfig, "no-project-config", false, "leave out the project's own configuration and AGENTS.md")
	flags.StringVar(&f.listen, "listen", "stdio://", "only stdio:// is served, as `URL`")
	flags.StringArrayVarP(&f.overrides, "config", "c", nil, "a setting of Codex's, as `KEY=VALUE`: model and model_reasoning_effort hold here, others are left out with a warning")
	flags.StringArrayVar(&f.enable, "enable", nil, "left out with a warning: a `FEATURE` of Codex's")
	flags.StringArrayVar(&f.disable, "disable", nil, "left out with a warning: a `FEATURE` of Codex's")
	for _, name := range []string{"stdio", "strict-config", "analytics-default-enabled"} {
		flags.Bool(name, false, "nothing changes: it is for clients that give it to Codex")
	}
	return cmd
}

func (f *appServerFlags) serve(cmd *cobra.Command, s *streams) error {
	dir, err := directory(f.dir)
	if err != nil {
		return err
	}
	if f.listen != "stdio://" {
		return fmt.Errorf("cannot listen on %q: only stdio:// is served", f.listen)
	}
	if err := f.override(cmd, s); err != nil {
		return err
	}
	o := agent.Options{Face: "app-server", Permission: settle.Ask, Attended: true}
	if f.noProjectConfig {
		o.Project = prompt.IgnoreProject
	}
	in := s.standIn(cmd, o)
	defer in.release()
	resolved, err := in.hosts.Settings(dir, nil)
	if err != nil {
		return err
	}
	data, err := resolved.NeedDataDir()
	if err != nil {
		return err
	}
	stop, err := appserver.Serve(cmd.Context(), appserver.Options{
		In: s.stdin, Out: s.stdout, Hosts: in.hosts, Dir: dir, DataDir: data, Version: version(), Getenv: s.getenv,
		Warn: func(message string) { s.say(errors.New(message)) },
	}, in.stops)
	if stop != nil {
		return &exitError{stop.Code, err}
	}
	return failed(err)
}

// override takes what settle has of Codex's settings for flags.
func (f *appServerFlags) override(cmd *cobra.Command, s *streams) error {
	for _, o := range f.overrides {
		key, value, ok := strings.Cut(o, "=")
		if !ok {
			return fmt.Errorf("cannot read -c %q: it must be KEY=VALUE", o)
		}
		flag := map[string]string{"model": "model", "model_reasoning_effort": "effort"}[strings.TrimSpace(key)]
		if flag == "" {
			s.say(fmt.Errorf("warning: -c %s has no meaning here and is left out", key))
			continue
		}
		if err := cmd.Flags().Set(flag, strings.Trim(strings.TrimSpace(value), `"'`)); err != nil {
			return fmt.Errorf("cannot take -c %q: %w", o, err)
		}
	}
	for _, name := range append(f.enable, f.disable...) {
		s.say(fmt.Errorf("warning: settle has no feature %q to turn on or off", name))
	}
	return nil
}
