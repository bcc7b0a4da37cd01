package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/compat/appserver"
	"github.com/settle-agent/settle/internal/frontend/compat/codex"
	"github.com/settle-agent/settle/model/catalog"
)

const appServerHelp = `Serve clients that were written for "codex app-server": JSON lines on standard
input and output, version 2 of the protocol. For codex-acp, set CODEX_PATH to this
program; every editor that it works in then uses settle.

Threads are sessions of settle. The client's approval and sandbox settings apply
to its thread. On Linux, the kernel holds commands to its sandbox; elsewhere
settle asks about calls that a sandbox would restrict, or denies them, before they
run. If the client sends no such settings,
--permission or SETTLE_PERMISSION applies. Without those, settle asks before
calls that could change something.

It ends when standard input ends, when standard output is closed, when its parent
process dies, or on SIGTERM or Ctrl-C. It notifies the client, and all
turns and their processes end within 1.5 seconds.

Exit codes: 0 everything ended, 1 something did not, 2 wrong usage or
configuration, 128 plus its number after a signal.`

const appServerExamples = `  CODEX_PATH=$(command -v settle) codex-acp
  settle app-server -m anthropic/claude-sonnet-4-5`

// appServerFlags are the flags of app-server that are not settings.
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
		Use:     "app-server [flags]",
		Short:   "Serve clients of Codex's app-server",
		Long:    appServerHelp,
		Example: appServerExamples,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.serve(cmd, s) },
	}
	flags := cmd.Flags()
	settingFlags(flags)
	flags.Lookup("permission").Usage = "decide about calls that change something by `POLICY`, if the client sends none: " +
		"ask, allow or deny"
	flags.StringVarP(&f.dir, "cwd", "C", ".", "work in `DIR`, unless the client names another")
	f.defineIgnore(flags)
	flags.StringVar(&f.listen, "listen", "stdio://", "listen on `URL`: only stdio:// is supported")
	flags.StringArrayVarP(
		&f.overrides,
		"config",
		"c",
		nil,
		"override a Codex setting, as `KEY=VALUE`; unsupported ones are ignored with a warning; repeatable",
	)
	flags.StringArrayVar(&f.enable, "enable", nil, "ignored with a warning: a Codex `FEATURE`")
	flags.StringArrayVar(&f.disable, "disable", nil, "ignored with a warning: a Codex `FEATURE`")
	for _, name := range []string{"stdio", "strict-config", "analytics-default-enabled"} {
		flags.Bool(name, false, "accepted without effect")
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
	spec, err := f.understand(cmd, s, dir)
	if err != nil {
		return err
	}
	o := assemble.Options{
		HostOptions: assemble.HostOptions{Frontend: "app-server"},
		PermissionOptions: assemble.PermissionOptions{
			Permission: settle.Ask,
			Sandbox:    assemble.SandboxByMode,
			Attended:   true,
		},
	}
	f.apply(&o)
	o.Append, o.SystemFile = spec.Instructions, spec.SystemFile
	s = s.with(spec.Env, spec.Hidden)
	in := s.protocolServer(cmd, o)
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
		Options:  in.rpc(s, dir),
		DataDir:  data,
		Sandbox:  spec.Sandbox,
		Approval: codex.Approval(spec.Approval),
	})
	if stop != nil {
		return &exitError{stop.Code, err}
	}
	return failed(err)
}

// understand translates Codex's settings into settle's. A setting with a flag is set as
// that flag.
func (f *appServerFlags) understand(cmd *cobra.Command, s *streams, dir string) (*codex.Spec, error) {
	configured, err := s.settings(dir, nil, config.UseProject)
	if err != nil {
		return nil, err
	}
	flags := codex.Flags{Config: f.overrides, Model: cmd.Flag("model").Value.String()}
	if flags.Model == "" &&
		slices.ContainsFunc(f.overrides, func(o string) bool { return strings.HasPrefix(o, "model_provider") }) &&
		!slices.ContainsFunc(f.overrides, func(o string) bool { return strings.HasPrefix(o, "model=") }) {
		flags.Model = catalog.Default("openai") // until a thread or a turn names one
	}
	spec, err := codex.Understand(flags, codex.Known{
		Model: configured.Model, Getenv: s.getenv,
		Provider: func(name string) (string, bool) {
			p, ok := configured.Providers[name]
			return p.Model, ok
		},
	})
	if err != nil {
		return nil, err
	}
	for name, value := range spec.Settings {
		if err := cmd.Flags().Set(strings.ReplaceAll(name, "_", "-"), value); err != nil {
			return nil, fmt.Errorf("cannot use %s from the client's settings: %w", name, err)
		}
	}
	for _, name := range slices.Concat(spec.Ignored, f.enable, f.disable) {
		s.say(fmt.Errorf("warning: %s is not supported and is ignored", name))
	}
	return spec, nil
}
