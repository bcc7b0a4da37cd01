package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/guard"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/compat/execserver"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/tool/shell"
)

const execServerHelp = `Run commands and change files for an agent that speaks the protocol of "codex
exec-server". It needs no model and no key. Point Codex at it with
CODEX_EXEC_SERVER_URL; Codex then works in this machine or container.

settle tracks every process that a client starts: when the client terminates it,
when the client has disconnected, and when this program ends or is killed, settle ends
the process with all its descendants. Sandbox settings that a client sends are enforced, or
the request is refused.

It listens on ws://127.0.0.1:PORT and prints its address, which ends in a new token;
with --token-file, add "/" and the token of the file yourself. --listen unix:PATH
listens on a socket that only you can reach, --listen stdio serves the program that
started it, and --connect connects to a client that listens. A client with the token
can run commands as you: an address that other machines can reach needs TLS or
--insecure. It refuses web pages.

A client that loses its connection has --resume-timeout to come back for its
processes and their output. Then they end.

It ends on SIGTERM or Ctrl-C, and with --listen stdio or --exit-on-stdin-close when
standard input ends. Everything ends within 1.5 seconds.

Exit codes: 0 everything ended, 1 something did not, 2 wrong usage.`

const execServerExamples = `  settle exec-server --listen ws://127.0.0.1:8931 --token-file ~/.settle-token
  CODEX_EXEC_SERVER_URL=ws://127.0.0.1:8931/$(cat ~/.settle-token) codex exec "fix the failing test"
  settle exec-server --connect wss://agents.example.com/executor --token-file ~/.settle-token`

// execServerFlags are the flags of exec-server.
type execServerFlags struct {
	listenFlags

	connect       string
	resumeTimeout time.Duration
	stdinClose    bool
	passEnv       []string
}

func newExecServer(s *streams) *cobra.Command {
	var f execServerFlags
	cmd := &cobra.Command{
		Use:     "exec-server [flags]",
		Short:   "Run commands for clients of Codex's exec-server",
		Long:    execServerHelp,
		Example: execServerExamples,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.serve(cmd, s) },
	}
	f.define(cmd)
	flags := cmd.Flags()
	flags.Lookup("token-file").Usage = "clients must know the token in `FILE`, instead of a new one; with --connect, it is sent"
	flags.StringVar(
		&f.addr,
		"listen",
		"ws://127.0.0.1:0",
		"listen on `URL`: ws://HOST:PORT, where port 0 picks one, unix:PATH, or stdio",
	)
	flags.StringVar(
		&f.connect,
		"connect",
		"",
		"connect to the `URL` of a client that listens, ws:// or wss://, instead of listening",
	)
	flags.DurationVar(
		&f.resumeTimeout, "resume-timeout", 30*time.Second,
		"end a client's processes so long after its connection is gone; 0 ends them at once",
	)
	flags.BoolVar(&f.stdinClose, "exit-on-stdin-close", false, "end when standard input ends")
	flags.StringSliceVar(
		&f.passEnv,
		"pass-env",
		nil,
		"give commands these `VARIABLES` although they hold keys of providers; comma-separated",
	)
	cmd.MarkFlagsMutuallyExclusive("listen", "connect")
	return cmd
}

func (f *execServerFlags) serve(cmd *cobra.Command, s *streams) error {
	server, err := f.server(s)
	if err != nil {
		return err
	}
	sig := catch(cmd.Context())
	defer sig.release()
	if stop, err := proc.BecomeReaper(); err == nil {
		defer stop()
	}
	switch {
	case f.connect != "":
		return f.out(sig, s, server)
	case slices.Contains([]string{"stdio", "stdio://"}, f.addr):
		return f.streams(sig, s, server)
	}
	return f.listen(sig, s, server)
}

// server returns the server, without settle's own keys.
func (f *execServerFlags) server(s *streams) (*execserver.Server, error) {
	if f.resumeTimeout < 0 {
		return nil, fmt.Errorf("cannot use --resume-timeout %v: it is negative", f.resumeTimeout)
	}
	dir, err := directory(".")
	if err != nil {
		return nil, err
	}
	resolved, err := s.settings(dir, nil, config.IgnoreProject)
	if err != nil {
		return nil, err
	}
	byName := resolved.Withheld()
	secret := func(name, value string) bool { return slices.Contains(byName, name) || resolved.Withholds(value) }
	env, withheld := shell.Environment(s.environ, secret, append(resolved.PassEnv, f.passEnv...))
	if len(withheld) > 0 {
		s.say(fmt.Errorf("commands do not get %s; --pass-env gives them a variable", strings.Join(withheld, ", ")))
	}
	o := execserver.Options{
		Version: version(), Dir: dir, Home: s.getenv("HOME"), TempDir: os.TempDir(), Shell: s.getenv("SHELL"), Env: env,
		Environ: s.environ,
		Marker:  fmt.Sprintf("exec-server-%d", os.Getpid()), ResumeTimeout: f.resumeTimeout,
	}
	if f.resumeTimeout == 0 {
		o.ResumeTimeout = -1
	}
	return execserver.New(o), nil
}

// secret returns the token for a client; empty for none.
func (f *execServerFlags) secret() (string, error) {
	if f.TokenFile == "" {
		return "", nil
	}
	return f.Token()
}

// shutdown returns the steps that end a server.
func shutdown(server *execserver.Server, stops <-chan stdio.Stop) stdio.Shutdown {
	return stdio.Shutdown{
		Close: server.Close, Hurry: func(context.Context, stdio.Stop) {}, Stops: stops, Exit: os.Exit,
	}
}

// watchInput treats the end of standard input as a stop, if a flag asks for it.
func (f *execServerFlags) watchInput(sig *signals, s *streams) {
	if !f.stdinClose {
		return
	}
	go func() { // ends with the input, or with the process
		buf := make([]byte, 4<<10)
		for {
			if _, err := s.stdin.Read(buf); err != nil {
				sig.lost("stdin", stdio.CodeCompleted, nil)
				return
			}
		}
	}()
}

func (f *execServerFlags) listen(sig *signals, s *streams, server *execserver.Server) error {
	place, token, err := f.place(sig.ctx)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.stdout, f.address(place, token)); err != nil {
		return failed(errors.Join(fmt.Errorf("cannot print the address: %w", err), place.Close()))
	}
	f.watchInput(sig, s)
	handler := server.Handler(
		context.WithoutCancel(sig.ctx), token, guard.Names{Names: f.Names, Exposed: place.Exposed},
	)
	return failed(
		guard.Serve(place, guard.Limits{}.WithDefaults().Server(handler, server.Logger()), shutdown(server, sig.stops)),
	)
}

// place listens, and returns the token that clients must send, since a client can run
// commands. A Unix socket needs no token: only the user can connect to it.
func (f *execServerFlags) place(ctx context.Context) (place *guard.Place, token string, err error) {
	if path, ok := strings.CutPrefix(f.addr, "unix:"); ok {
		if f.TokenFile != "" || f.Cert != "" {
			return nil, "", errors.New(
				"--listen unix: takes no --token-file and no --tls-cert: only you can reach the socket",
			)
		}
		place, err = guard.ListenUnix(ctx, strings.TrimPrefix(path, "//"))
		return place, "", err
	}
	addr, err := webSocket(f.addr)
	if err != nil {
		return nil, "", err
	}
	if token, err = f.Token(); err != nil {
		return nil, "", err
	}
	encrypted, err := f.TLS()
	if err != nil {
		return nil, "", err
	}
	place, err = guard.Listen(ctx, guard.Address{Addr: addr, TLS: encrypted, Insecure: f.Insecure})
	return place, token, err
}

// address returns the address to print: with the token, unless a file has the token.
func (f *execServerFlags) address(place *guard.Place, token string) string {
	if strings.HasPrefix(f.addr, "unix:") {
		return "unix:" + place.Addr().String()
	}
	name, path := "", ""
	if len(f.Names) > 0 {
		name = f.Names[0]
	}
	if f.TokenFile == "" {
		path = "/" + token
	}
	link := place.URL(name, path)
	link.Scheme = strings.Replace(link.Scheme, "http", "ws", 1)
	return link.String()
}

// webSocket returns HOST:PORT of an address to listen on.
func webSocket(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" || u.Port() == "" ||
		strings.Trim(u.Path, "/") != "" ||
		u.User != nil ||
		u.RawQuery != "" {
		return "", fmt.Errorf(
			"cannot listen on %q: write ws://HOST:PORT, such as ws://127.0.0.1:0, unix:PATH, or stdio",
			address,
		)
	}
	return u.Host, nil
}

// out connects to a client that listens, and serves it.
func (f *execServerFlags) out(sig *signals, s *streams, server *execserver.Server) error {
	address, err := url.Parse(f.connect)
	if err != nil || address.Scheme != "ws" && address.Scheme != "wss" || address.Host == "" {
		return fmt.Errorf("cannot connect to %q: write ws://HOST:PORT/PATH or wss://…", f.connect)
	}
	token, err := f.secret()
	if err != nil {
		return err
	}
	header := http.Header{}
	if token != "" {
		if address.Scheme == "ws" && !f.Insecure && !(guard.Names{}).Know(address.Host) {
			return fmt.Errorf(
				"refusing to send the token to %q without TLS, where others could read it; use wss://, or say --insecure if you mean it",
				address.Host,
			)
		}
		header.Set("Authorization", "Bearer "+token)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(sig.ctx))
	defer cancel()
	done := make(chan struct{})
	go func() { // ends with ctx
		defer close(done)
		server.Connect(ctx, address, header, s.say)
	}()
	f.watchInput(sig, s)
	stop := <-sig.stops
	cancel()
	err = shutdown(server, sig.stops).Run(stop)
	<-done
	return failed(err)
}

// streams serves the parent process over standard streams.
func (f *execServerFlags) streams(sig *signals, s *streams, server *execserver.Server) error {
	defer proc.Closed(s.stdout, func(err error) { sig.lost("stdout", stdio.CodeStdoutClosed, err) })()
	defer sig.watchParent()()
	ctx, cancel := context.WithCancel(context.WithoutCancel(sig.ctx))
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- server.ServeStreams(ctx, s.stdin, s.stdout) }() // ends with the input, or ctx; never blocks: room for one
	stop := stdio.Stop{Reason: event.Shutdown, By: "stdin"}
	var err error
	select {
	case stop = <-sig.stops:
	case err = <-served:
	}
	cancel()
	return failed(errors.Join(err, shutdown(server, sig.stops).Run(stop)))
}
