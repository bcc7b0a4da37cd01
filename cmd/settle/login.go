package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/oauth"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/terminal"
)

const loginHelp = `Log in to an MCP server that uses OAuth. NAME is one of your servers, or a URL.

settle prints a link, and opens it in a browser if it finds one. After the login, the
browser returns to a port of this machine. If the browser runs on another machine, copy
the last address from it, paste it here and press Enter.

settle keeps the tokens in the data directory, readable by you alone, and renews them
when they expire. Sessions never wait for a login.

Exit codes: 0 logged in, 1 the login failed, 2 wrong usage or configuration,
130 interrupted.`

const logoutHelp = `Forget the login to an MCP server. The tokens are removed, and revoked if the server
supports that. NAME is one of your servers, or a URL.

Exit codes: 0 logged out, or there was no login; 1 failed, 2 wrong usage or
configuration.`

// loginFlags are the flags of mcp-servers login and logout.
type loginFlags struct {
	place   placeFlags
	browser bool
}

func newLogin(s *streams) *cobra.Command {
	var f loginFlags
	cmd := &cobra.Command{
		Use:     "login [flags] NAME",
		Short:   "Log in to an MCP server",
		Long:    loginHelp,
		Args:    cobra.ExactArgs(1),
		Example: "  settle mcp-servers login linear\n  settle mcp-servers login --browser=false https://mcp.example.com/mcp",
		RunE:    func(cmd *cobra.Command, args []string) error { return f.login(cmd, s, args[0]) },
	}
	cmd.Flags().BoolVar(&f.browser, "browser", true, "open the link in a browser, if there is one")
	f.place.define(cmd.Flags())
	return cmd
}

func newLogout(s *streams) *cobra.Command {
	var f loginFlags
	cmd := &cobra.Command{
		Use:   "logout [flags] NAME",
		Short: "Forget the login to an MCP server",
		Long:  logoutHelp,
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return f.logout(cmd, s, args[0]) },
	}
	f.place.define(cmd.Flags())
	return cmd
}

// server returns the named server and the options that reach it.
func (f *loginFlags) server(
	cmd *cobra.Command, s *streams, name string,
) (o assemble.Options, server assemble.Configured, err error) {
	dir, r, err := f.place.settings(s, cmd.Flags())
	if err != nil {
		return o, server, err
	}
	if _, err := r.NeedDataDir(); err != nil {
		return o, server, err
	}
	o = s.options(r, dir)
	if strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://") {
		return o, assemble.Configured{Server: config.Server{Name: name, URL: name}}, nil
	}
	list, err := serversNamed(o.ConfiguredServers(), []string{name})
	if err != nil {
		return o, server, err
	}
	if server = list[0]; server.URL == "" {
		return o, server, &config.Error{
			Where:   "mcp",
			Message: fmt.Sprintf("the MCP server %q is a program; only servers with a url have logins", name),
		}
	}
	return o, server, nil
}

func (f *loginFlags) login(cmd *cobra.Command, s *streams, name string) error {
	o, server, err := f.server(cmd, s, name)
	if err != nil {
		return err
	}
	mask := redact.New(o.Settings.Secrets()...)
	o.Learn = mask.Add
	sig := catch(cmd.Context())
	defer sig.release()
	var b browser
	err = o.Login(sig.ctx, &server.Server, &oauth.Login{
		Show: func(link string) {
			fmt.Fprintf(
				s.stderr,
				"To log in to %s, open this link in a browser:\n\n  %s\n\nIf the browser runs on another machine, paste the address that it ends at here, and press Enter.\n",
				terminal.OneLine(name),
				terminal.OneLine(link),
			)
			if f.browser {
				b.open(s, link)
			}
		},
		Pasted: pasted(sig.ctx, s.stdin), Reject: s.say, Learn: mask.Add,
	})
	if err != nil {
		b.close() // after a success the user keeps the browser
		if sig.ctx.Err() != nil {
			return sig.instead(err)
		}
		return failed(fmt.Errorf("cannot log in to the MCP server %q: %s", name, mask.Diagnostic(err.Error())))
	}
	list := []assemble.Configured{server}
	if err := o.Probe(sig.ctx, list); err != nil {
		return failed(err)
	}
	if why := list[0].Report.Err; why != nil {
		if sig.ctx.Err() != nil {
			return sig.instead(sig.ctx.Err())
		}
		return failed(
			fmt.Errorf("logged in to %q, but the server cannot be used: %s", name, mask.Diagnostic(why.Error())),
		)
	}
	fmt.Fprintf(s.stdout, "Logged in to %s: %d tools.\n", terminal.OneLine(name), len(list[0].Known.Tools))
	return nil
}

func (f *loginFlags) logout(cmd *cobra.Command, s *streams, name string) error {
	o, server, err := f.server(cmd, s, name)
	if err != nil {
		return err
	}
	sig := catch(cmd.Context())
	defer sig.release()
	mask := redact.New(o.Settings.Secrets()...)
	had, err := o.Logout(sig.ctx, server.URL)
	if err != nil && !had {
		return failed(errors.New(mask.Diagnostic(err.Error())))
	}
	if err != nil {
		s.say(
			fmt.Errorf(
				"warning: the tokens are removed here, but may be valid at the server: %s",
				mask.Diagnostic(err.Error()),
			),
		)
	}
	if !had {
		fmt.Fprintf(s.stdout, "There was no login to %s.\n", terminal.OneLine(name))
		return nil
	}
	fmt.Fprintf(s.stdout, "Logged out of %s.\n", terminal.OneLine(name))
	return nil
}

// maxPasted is the maximum length of a pasted address in bytes.
const maxPasted = 64 << 10

// pasted returns a channel of the lines of the input.
func pasted(ctx context.Context, input *os.File) <-chan string {
	lines := make(chan string)
	go func() { // ends with the input, or with the command's process
		defer close(lines)
		scanner := bufio.NewScanner(input)
		scanner.Buffer(nil, maxPasted)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// browser is the program that opens a link.
type browser struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// open opens the link in the user's browser, if there seems to be one. It does not wait
// for the browser: the link is on the screen.
func (b *browser) open(s *streams, link string) {
	var argv []string
	switch runtime.GOOS {
	case "darwin":
		argv = []string{"open", link}
	case "windows":
		argv = []string{"rundll32", "url.dll,FileProtocolHandler", link}
	default:
		if s.getenv("DISPLAY") == "" && s.getenv("WAYLAND_DISPLAY") == "" {
			return
		}
		argv = []string{"xdg-open", link}
	}
	var ctx context.Context
	ctx, b.cancel = context.WithCancel(context.Background())
	b.ended = make(chan struct{})
	go func() { // ends with the program, with close, or with the command's process
		defer close(b.ended)
		err := proc.RunForeground(ctx, proc.ForegroundProgram{
			Argv: argv, Dir: assemble.Nowhere(), Env: s.withoutCredentials(),
		})
		if err != nil && ctx.Err() == nil {
			s.say(fmt.Errorf("note: no browser could be opened (%w); use the link", err))
		}
	}()
}

// close ends the program if it still runs, in a bounded time.
func (b *browser) close() {
	if b.cancel == nil {
		return
	}
	b.cancel()
	<-b.ended
}

// withoutCredentials returns an environment without keys, for a program of the user
// (C15).
func (s *streams) withoutCredentials() []string {
	return slices.DeleteFunc(slices.Clone(s.environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return config.Credential(name) && name != "XAUTHORITY" // it names a file
	})
}
