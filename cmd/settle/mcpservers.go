package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/about"
	"github.com/settle-agent/settle/internal/redact"
)

const mcpServersHelp = `List the MCP servers whose tools sessions can use, with the state of each server. With
names, also list their tools and prompts.

--test starts each server, asks it for its tools, and prints how long the answer took.
settle keeps the answer: sessions offer these tools from their first request on,
without waiting for the server. The programs of a project run in the sandbox, as in a
session.

--trust prints the servers in the .mcp.json of the project, and asks whether you trust the
present content of that file. Without trust, and again after a change of the file, settle
does not use these servers, since they are programs that the repository chose. Without a
terminal, it needs --yes.

Some servers over HTTP ask for a login: "settle mcp-servers login NAME" logs in.

States: new (never asked), known, needs-login, disabled, untrusted (of the project, not
trusted), ok, failed.

Exit codes: 0 listed, 1 a server failed its test or needs a login, 2 wrong usage or
configuration.`

// mcpServersFlags are the flags of mcp-servers.
type mcpServersFlags struct {
	trustFlags

	test bool
}

func newMCPServers(s *streams) *cobra.Command {
	var f mcpServersFlags
	cmd := &cobra.Command{
		Use:     "mcp-servers [flags] [NAME…]",
		Short:   "List and test the MCP servers that sessions use",
		Long:    mcpServersHelp,
		Example: "  settle mcp-servers\n  settle mcp-servers --test\n  settle mcp-servers --test github",
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args) },
	}
	cmd.Flags().BoolVar(&f.test, "test", false, "start each server and ask it for its tools")
	f.define(cmd.Flags(), "trust the present content of the project's .mcp.json")
	cmd.AddCommand(newLogin(s), newLogout(s))
	return cmd
}

func (f *mcpServersFlags) run(cmd *cobra.Command, s *streams, names []string) error {
	sig := catch(cmd.Context())
	defer sig.release()
	dir, r, err := f.settings(sig.ctx, s, cmd.Flags(), trusting{
		show: s.showServers, record: func(r *config.Resolved) error { return failed(assemble.TrustServers(r)) },
		question: "Trust these servers? Sessions start them.", command: "settle mcp-servers --trust --yes",
	})
	if err != nil {
		return sig.instead(err)
	}
	o := s.options(r, dir)
	all := o.ConfiguredServers()
	if !f.test {
		all = append(all, o.UntrustedServers()...)
	}
	list, err := serversNamed(all, names)
	if err != nil {
		return err
	}
	mask := redact.New(r.Secrets()...)
	o.Learn = mask.Add
	if f.test {
		if len(names) == 0 {
			list = slices.DeleteFunc(list, func(c assemble.Configured) bool { return !c.Enabled })
		}
		err := o.Probe(sig.ctx, list)
		if sig.ctx.Err() != nil {
			return sig.instead(sig.ctx.Err())
		}
		if err != nil {
			return failed(err)
		}
	}
	if f.asJSON {
		err = failed(about.ServersJSON(s.lines(), list, mask))
	} else {
		err = s.list("no MCP servers are configured here", func(to io.Writer) error {
			if err := about.Servers(to, list, mask); err != nil || len(names) == 0 {
				return err
			}
			return about.ServerTools(to, list)
		})
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(c assemble.Configured) bool { return c.Report != nil && c.Report.Err != nil }) {
		return &exitError{code: stdio.CodeFailed} // the command has printed the cause
	}
	return nil
}

// showServers prints the project's servers.
func (s *streams) showServers(r *config.Resolved) error {
	if len(r.ProjectServers) == 0 {
		return &config.Error{Where: "--trust", Message: "there is no .mcp.json here that settle could use"}
	}
	mask := redact.New(r.Secrets()...)
	for _, file := range r.ProjectServers {
		for _, server := range file.Servers {
			of, more := assemble.ServerOf(server), ""
			details := slices.Concat(of.Env, slices.Sorted(maps.Keys(of.Headers)))
			if of.Dir != "" {
				details = append(details, "in "+of.Dir)
			}
			if len(details) > 0 {
				more = " (with " + strings.Join(details, " ") + ")"
			}
			s.say(fmt.Errorf("%s: %s: %s", file.Path, server.Name, mask.Diagnostic(of.Where()+more)))
		}
	}
	return nil
}

// serversNamed returns the servers with the names; all servers if there are no names.
func serversNamed(all []assemble.Configured, names []string) ([]assemble.Configured, error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, c := range all {
		known = append(known, c.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, &config.Error{
				Where:   "mcp",
				Message: fmt.Sprintf("there is no MCP server %q; the servers are: %s", name, strings.Join(known, ", ")),
			}
		}
	}
	return slices.DeleteFunc(all, func(c assemble.Configured) bool { return !slices.Contains(names, c.Name) }), nil
}
