package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/face/about"
	"github.com/settle-agent/settle/internal/redact"
)

const mcpServersHelp = `List the MCP servers whose tools sessions can use, with what is known of them. With
names, list their tools, too.

--test starts each server, asks it for its tools, and says how long that took.
What it says is kept: sessions offer its tools from their first request on,
without waiting for the server.

States: new (never asked), known, disabled, ok, failed.

Exit codes: 0 listed, 1 a server failed its test, 2 wrong usage or configuration.`

// mcpServersFlags are the flags of mcp-servers.
type mcpServersFlags struct {
	place  placeFlags
	test   bool
	asJSON bool
}

func newMCPServers(s *streams) *cobra.Command {
	var f mcpServersFlags
	cmd := &cobra.Command{
		Use: "mcp-servers [flags] [NAME…]", Short: "List and test the MCP servers that sessions use", Long: mcpServersHelp,
		Example: "  settle mcp-servers\n  settle mcp-servers --test\n  settle mcp-servers --test github",
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args) },
	}
	cmd.Flags().BoolVar(&f.test, "test", false, "start each server and ask it for its tools")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object per line")
	f.place.define(cmd.Flags())
	return cmd
}

func (f *mcpServersFlags) run(cmd *cobra.Command, s *streams, names []string) error {
	dir, r, err := f.place.settings(s, cmd.Flags())
	if err != nil {
		return err
	}
	for _, note := range r.Notes {
		s.say(fmt.Errorf("note: %s", note))
	}
	o := assemble.Options{Settings: r, Dir: dir, Environ: s.environ, Getenv: s.getenv, Version: version()}
	list, err := serversNamed(o.ConfiguredServers(), names)
	if err != nil {
		return err
	}
	sig := catch(cmd.Context())
	defer sig.release()
	if f.test {
		if len(names) == 0 {
			list = slices.DeleteFunc(list, func(c assemble.Configured) bool { return !c.Enabled })
		}
		o.Probe(sig.ctx, list)
		if sig.ctx.Err() != nil {
			return sig.instead(sig.ctx.Err())
		}
	}
	mask := redact.New(r.Secrets()...)
	if f.asJSON {
		err = about.ServersJSON(s.lines(), list, mask)
	} else if err = about.Servers(s.stdout, list, mask); err == nil && len(names) > 0 {
		err = about.ServerTools(s.stdout, list)
	}
	if err != nil {
		return failed(err)
	}
	if slices.ContainsFunc(list, func(c assemble.Configured) bool { return c.Report != nil && c.Report.Err != nil }) {
		return &exitError{code: stdio.CodeFailed} // it has been said why
	}
	return nil
}

// serversNamed are the servers with the names; all if there are none.
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
			return nil, &config.Error{Where: "mcp", Message: fmt.Sprintf("there is no MCP server %q; the servers are: %s", name, strings.Join(known, ", "))}
		}
	}
	return slices.DeleteFunc(all, func(c assemble.Configured) bool { return !slices.Contains(names, c.Name) }), nil
}
