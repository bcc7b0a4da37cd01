package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/guard"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/frontend/mcp"
)

const mcpHelp = `Serve clients of the Model Context Protocol, such as editors, desktop programs and
other agents. They use settle as a tool.

The tools are run, reply, interrupt, status and sessions. interrupt answers when
the turn has ended and none of its processes is left, and gives the reason. A
request that the client cancels ends its turn and gets no answer, as the protocol
requires.

If the client supports elicitation, settle asks it before calls that could change
something; if not, it denies them. --permission or SETTLE_PERMISSION can change
that.

It ends when standard input ends, when standard output is closed, when its
parent process dies, or on SIGTERM or Ctrl-C. All turns and their processes end
within 1.5 seconds.

With --http it serves over HTTP instead, at the path /mcp, and prints the URL and
the header with the token that clients must send. By default only this machine
can reach it; other addresses need TLS. A client that disconnects interrupts
nothing. SIGTERM and Ctrl-C end everything.

Exit codes: 0 everything ended, 1 something did not, 2 wrong usage.`

const mcpExamples = `  settle mcp
  settle mcp --permission allow -m anthropic/claude-sonnet-4-5 -C ~/project
  settle mcp --http 127.0.0.1:8765 --token-file ~/.settle-token`

// mcpFlags are the flags of mcp that are not settings.
type mcpFlags struct {
	listenFlags
	projectFlags

	dir string
}

func newMCP(s *streams) *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use: "mcp [flags]", Short: "Serve clients of the Model Context Protocol", Long: mcpHelp, Example: mcpExamples,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd, s) },
	}
	flags := cmd.Flags()
	settingFlags(flags)
	flags.StringVar(&f.addr, "http", "", "serve over HTTP on `HOST:PORT` instead; port 0 picks a free one")
	f.listenFlags.define(cmd)
	flags.StringVarP(&f.dir, "cwd", "C", ".", "work in `DIR`, unless the client names another")
	f.projectFlags.define(flags)
	return cmd
}

func (f *mcpFlags) serve(cmd *cobra.Command, s *streams) error {
	dir, err := directory(f.dir)
	if err != nil {
		return err
	}
	o := assemble.Options{
		HostOptions:       assemble.HostOptions{Frontend: "mcp", AtEnd: settle.AwaitTasks},
		PermissionOptions: assemble.PermissionOptions{Permission: settle.Ask, Attended: true},
	}
	f.apply(&o)
	token := ""
	if f.addr != "" {
		if token, err = f.Token(); err != nil {
			return err
		}
		o.Secrets = []string{token}
	}
	in := f.open(cmd, s, o)
	defer in.release()
	in.reportExhausted(s)
	if _, err := in.hosts.Settings(dir, nil); err != nil {
		return err
	}
	if a, err := in.hosts.Agent(in.ctx, assemble.SessionSpec{Dir: dir}); err != nil {
		s.say(err) // not final: a client can name another model or directory
	} else {
		for _, note := range a.Notes {
			s.say(errors.New(note))
		}
	}
	frontend := mcp.New(mcp.Options{Sessions: in.hosts, Dir: dir, Version: version(), Exit: os.Exit})
	if f.addr != "" {
		err = f.http(cmd.Context(), s, frontend, token, in.stops)
	} else {
		err = failed(frontend.Stdio(s.stdin, s.stdout, in.stops))
	}
	return errors.Join(err, failed(frontend.Close()))
}

// open returns the server. Over HTTP, clients connect and disconnect, and the end of the
// parent process is no reason to stop.
func (f *mcpFlags) open(cmd *cobra.Command, s *streams, o assemble.Options) *protocolServer {
	if f.addr == "" {
		return s.protocolServer(cmd, o)
	}
	in, _ := s.server(cmd, o)
	return in
}

// http serves over HTTP. An error before it listens is a wrong use of the command.
func (f *mcpFlags) http(
	ctx context.Context, s *streams, frontend *mcp.Frontend, token string, stops <-chan stdio.Stop,
) error {
	encrypted, err := f.TLS()
	if err != nil {
		return err
	}
	place, err := guard.Listen(ctx, guard.Address{Addr: f.addr, TLS: encrypted, Insecure: f.Insecure})
	if err != nil {
		return err
	}
	name := ""
	if len(f.Names) > 0 {
		name = f.Names[0]
	}
	lines := place.URL(name, mcp.Path).String() + "\n"
	if f.TokenFile == "" {
		lines += "Authorization: Bearer " + token + "\n"
	}
	if _, err := s.stdout.WriteString(lines); err != nil {
		return failed(errors.Join(fmt.Errorf("cannot print the address: %w", err), place.Close()))
	}
	return failed(frontend.HTTP(token, guard.Names{Names: f.Names, Exposed: place.Exposed}).Serve(place, stops))
}
