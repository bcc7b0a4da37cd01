package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/client/guard"
	"github.com/settle-agent/settle/internal/client/metrics"
	"github.com/settle-agent/settle/internal/client/telemetry"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/frontend/web"
	"github.com/settle-agent/settle/internal/frontend/web/page"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/redact"
)

const serveHelp = `Serve sessions over HTTP: a page for browsers, and an API for programs.

The first line on standard output is the link to the page. It contains a token:
anyone who has it can run commands here as you. Sessions work in the current
directory. Many clients can use the same session, and a client that disconnects
interrupts nothing.

By default settle asks before calls that could change something. You answer on
the page or over the API, which is described at /api/openapi.json and in
docs/server.md.

By default only this machine can reach the server; other addresses (--addr) need
TLS. SIGTERM and Ctrl-C end all turns, notify the clients and exit within ten
seconds. A second signal skips the grace period of running commands; a third
waits for nothing.

Exit codes: 0 everything ended, 1 something did not, 2 wrong usage or
configuration.`

const serveExamples = `  settle serve
  settle serve --addr 127.0.0.1:8080 --token-file ~/.settle-token
  settle serve --addr 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem --allow-host box.example.org`

// serveGCPercent is the server's GOGC. Half of Go's default saves a sixth of the memory
// of streaming sessions, and costs CPU below the noise of BenchmarkServe.
const serveGCPercent = 50

// serveFlags are the flags of serve that are not settings.
type serveFlags struct {
	listenFlags
	projectFlags

	dir  string
	take bool
}

func newServe(s *streams) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:     "serve [flags]",
		Short:   "Serve sessions to browsers and programs over HTTP",
		Long:    serveHelp,
		Example: serveExamples,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.serve(cmd, s) },
	}
	flags := cmd.Flags()
	settingFlags(flags)
	flags.StringVarP(&f.dir, "cwd", "C", ".", "work in `DIR`")
	flags.StringVar(&f.addr, "addr", "127.0.0.1:0", "listen on `HOST:PORT`; port 0 picks a free one")
	f.listenFlags.define(cmd)
	flags.BoolVar(&f.take, "take", false, takeAllHelp)
	f.projectFlags.define(flags)
	return cmd
}

// serve prepares and runs the server. An error before it listens is a wrong use of the
// command or a wrong configuration.
func (f *serveFlags) serve(cmd *cobra.Command, s *streams) error {
	dir, err := directory(f.dir)
	if err != nil {
		return err
	}
	resolved, err := f.settings(cmd, s, dir)
	if err != nil {
		return err
	}
	token, err := f.Token()
	if err != nil {
		return err
	}
	encrypted, err := f.TLS()
	if err != nil {
		return err
	}
	sig := catch(cmd.Context())
	defer sig.release()
	if stop, err := proc.BecomeReaper(); err == nil {
		defer stop()
	}
	s.keepGarbage(serveGCPercent)
	base := f.agent(s, resolved, dir)
	base.Secrets = []string{token}
	a, err := assemble.New(sig.ctx, base)
	if err != nil {
		return sig.instead(err)
	}
	a.Host.Secrets = append(a.Host.Secrets, token)
	a.Session.LockTimeout = 0 // a client can ask again
	place, err := guard.Listen(sig.ctx, guard.Address{Addr: f.addr, TLS: encrypted, Insecure: f.Insecure})
	if err != nil {
		return sig.instead(err)
	}
	var meter metrics.Meter
	s.telemetry.Report = s.say
	exhausted, stop := s.observeExhausted()
	defer stop()
	a.Host.Observer = telemetry.Join(exhausted, settle.Observer{
		Turn: meter.Turn, Attempt: meter.Attempt, Output: meter.Output, Call: meter.Call,
	})
	host, err := s.telemetry.Open(cmd.Context(), a.Host)
	if err != nil {
		return errors.Join(err, place.Close())
	}
	sessions := f.sessions(cmd, s, base)
	sessions.Use(host, a.Host.DataDir)
	options := f.options(a, sessions, host, place, encrypted, token)
	options.Meter, options.Plugins = &meter, webPlugins(s, a.Host.DataDir)
	server, err := web.New(options)
	if err != nil {
		return errors.Join(err, place.Close())
	}
	if err := f.announce(s, place, token); err != nil {
		return failed(errors.Join(err, place.Close(), server.Close()))
	}
	if isTerminal(s.stderr) {
		s.say(fmt.Errorf("serves sessions in %s; Ctrl-C stops", dir))
	}
	for _, note := range a.Notes {
		s.say(errors.New(note))
	}
	err = server.Serve(place, sig.stops)
	if err == nil && isTerminal(s.stderr) {
		s.say(errors.New("stopped; everything has ended"))
	}
	return failed(errors.Join(err, server.Close()))
}

func (f *serveFlags) settings(cmd *cobra.Command, s *streams, dir string) (*config.Resolved, error) {
	resolved, err := s.settings(dir, given(cmd.Flags()), f.project())
	if err != nil || resolved.Permission == "" {
		return resolved, err
	}
	return resolved, assemble.CheckDirectory(dir, resolved, s.getenv)
}

// agent returns the options of each session's agent.
func (f *serveFlags) agent(s *streams, r *config.Resolved, dir string) assemble.Options {
	o := s.options(r, dir)
	o.HostOptions = assemble.HostOptions{Frontend: "serve", Take: f.take, Releasable: true, Attach: attach.Serve}
	o.PermissionOptions = assemble.PermissionOptions{
		Policy:     assemble.NewPolicy(assemble.ModeOf(cmp.Or(r.Permission, settle.Ask))),
		Ceiling:    r.Permission,
		Permission: settle.Ask,
		Sandbox:    config.SandboxAuto,
		Attended:   true,
	}
	f.apply(&o)
	if log := assemble.Log(r); log != nil {
		o.Logger = func(mask *redact.Redactor) *slog.Logger { return disk.Aloud(log(mask), s.stderr, mask.Diagnostic) }
	}
	return o
}

// sessions returns the sessions, whose settings clients can choose.
func (f *serveFlags) sessions(cmd *cobra.Command, s *streams, base assemble.Options) *assemble.Sessions {
	base.Policy = nil // each session has its own
	return &assemble.Sessions{
		Base: base,
		Settings: func(dir string, chosen map[string]string) (*config.Resolved, error) {
			return config.LoadOver(given(cmd.Flags()), chosen, func(all map[string]string) (*config.Resolved, error) {
				return s.settings(dir, all, f.project())
			})
		},
	}
}

func (f *serveFlags) options(
	a *assemble.Agent, sessions *assemble.Sessions, host *settle.Host, place *guard.Place, encrypted *tls.Config,
	token string,
) web.Options {
	return web.Options{
		Host:     host,
		Sessions: sessions,
		Agent:    a,
		Ceiling:  sessions.Base.Settings.Permission,
		DataDir:  a.Host.DataDir, FindsDataDir: sessions.Base.Settings.FindsDataDir(),
		WorkDir: a.Session.WorkDir,
		Model:   a.Session.Model.ProviderName + "/" + a.Session.Model.Name,
		Version: version(),
		Token:   token,
		Names:   f.Names,
		Exposed: place.Exposed,
		TLS:     encrypted,
		Take:    f.take,
		Page:    page.Handler(),
		Mask:    a.Redact.Diagnostic,
		Logger:  a.Host.Logger,
	}
}

// announce prints the link, without a token that the user chose.
func (f *serveFlags) announce(s *streams, place *guard.Place, token string) error {
	if _, err := fmt.Fprintln(s.stdout, f.Link(place, token)); err != nil {
		return fmt.Errorf("cannot print the link: %w", err)
	}
	return nil
}
