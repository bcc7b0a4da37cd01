package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/agent"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/face/appserver"
	"github.com/settle-agent/settle/internal/face/exec"
	"github.com/settle-agent/settle/model/catalog"
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
	projectFlags

	dir             string
	overrides       []string
	enable, disable []string
	listen          string
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
	f.defineIgnore(flags)
	flags.StringVar(&f.listen, "listen", "stdio://", "only stdio:// is served, as `URL`")
	flags.StringArrayVarP(&f.overrides, "config", "c", nil, "override `KEY=VALUE` of Codex's configuration; may be repeated; what settle has no word for is left out with a warning")
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
	wish, err := f.understand(cmd, s, dir)
	if err != nil {
		return err
	}
	o := agent.Options{Face: "app-server", Permission: settle.Ask, Attended: true}
	f.apply(&o)
	o.Append, o.SystemFile = wish.Instructions, wish.SystemFile
	s = s.with(wish.Env, wish.Hidden)
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
		Sandbox: string(wish.Sandbox), Approval: wish.Approval,
		Warn: func(message string) { s.say(errors.New(message)) },
	}, in.stops)
	if stop != nil {
		return &exitError{stop.Code, err}
	}
	return failed(err)
}

// understand takes Codex's settings for settle's: those that have a flag are set
// as one.
func (f *appServerFlags) understand(cmd *cobra.Command, s *streams, dir string) (*exec.Wish, error) {
	configured, err := s.settings(dir, nil, config.UseProject)
	if err != nil {
		return nil, err
	}
	said := exec.Flags{Config: f.overrides, Model: cmd.Flag("model").Value.String()}
	if said.Model == "" && slices.ContainsFunc(f.overrides, func(o string) bool { return strings.HasPrefix(o, "model_provider") }) &&
		!slices.ContainsFunc(f.overrides, func(o string) bool { return strings.HasPrefix(o, "model=") }) {
		said.Model = catalog.Default("openai") // until a thread or a turn names one
	}
	wish, err := exec.Understand(said, exec.Known{
		Model: configured.Model, Getenv: s.getenv,
		Provider: func(name string) (string, bool) {
			p, ok := configured.Providers[name]
			return p.Model, ok
		},
	})
	if err != nil {
		return nil, err
	}
	for name, value := range wish.Settings {
		if err := cmd.Flags().Set(strings.ReplaceAll(name, "_", "-"), value); err != nil {
			return nil, fmt.Errorf("cannot take %s from the client's settings: %w", name, err)
		}
	}
	for _, name := range slices.Concat(wish.Ignored, f.enable, f.disable) {
		s.say(fmt.Errorf("warning: %s has no meaning here and is left out", name))
	}
	return wish, nil
}
