package assemble

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool/mcp"
)

// maxProbed bounds the servers that are probed concurrently.
const maxProbed = 8

// Configured is an MCP server with its known state.
type Configured struct {
	config.Server
	// Known is the catalogue of the last connection; nil if there was none.
	Known *mcp.Catalogue
	// Report is the result of Probe; nil before it.
	Report *mcp.Report
	// Login is the state of the login.
	Login LoginState
	// Untrusted reports that the server is of a project's file that the user has not trusted.
	Untrusted bool
}

// UntrustedServers returns the MCP servers of the project's files that the user has not trusted. No
// session uses them.
func (o Options) UntrustedServers() (all []Configured) {
	for _, file := range o.Settings.ProjectServers {
		for _, s := range file.Servers {
			if !file.Trusted {
				all = append(all, Configured{Server: s, Untrusted: true})
			}
		}
	}
	return all
}

// ConfiguredServers returns the user's MCP servers by name.
func (o Options) ConfiguredServers() []Configured {
	var all []Configured
	for _, s := range o.Settings.SortedServers() {
		all = append(all, Configured{
			Server: s, Known: mcp.Known(catalogues(o.Settings.DataDir), o.configured(s)),
			Login: o.loginState(&s),
		})
	}
	return all
}

// Probe connects to the servers, several concurrently, and stores their catalogues. The programs of
// a project run in the sandbox in which a session runs them. The error means that this sandbox, or
// its removal, failed.
func (o Options) Probe(ctx context.Context, servers []Configured) error {
	places := make(chan struct{}, maxProbed)
	var wg sync.WaitGroup
	confined, discard, err := o.confinedProbe(servers)
	if err != nil {
		return err
	}
	env := o.commandEnv().env
	for i := range servers {
		s := o.configured(servers[i].Server)
		c := mcp.Config{
			Env: env, Dir: o.Dir, CacheDir: catalogues(o.Settings.DataDir), Version: o.Version,
			Client: o.serverClient([]mcp.Server{s}), Tokens: o.tokens(o.Learn),
		}
		c = confined(c)
		// each probe ends within a deadline
		wg.Go(scope.Shield(func(err error) { servers[i].Report = &mcp.Report{Server: s, Err: err} }, func() {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				servers[i].Report = &mcp.Report{Server: s, Err: context.Cause(ctx)}
				return
			}
			defer func() { <-places }()
			r := mcp.Probe(ctx, c, s)
			servers[i].Report, servers[i].Login = &r, o.loginState(&servers[i].Server)
			if r.Err == nil {
				servers[i].Known = &r.Catalogue
			}
		}))
	}
	wg.Wait()
	return discard()
}

// confinedProbe returns the function that has the programs of a project run in the sandbox.
func (o Options) confinedProbe(servers []Configured) (
	confined func(mcp.Config) mcp.Config, discard func() error, err error,
) {
	if !slices.ContainsFunc(servers, func(s Configured) bool {
		return len(s.Command) > 0 && o.configured(s.Server).Project
	}) {
		return func(c mcp.Config) mcp.Config { return c }, func() error { return nil }, nil
	}
	o.Sandbox, o.Permission = cmp.Or(o.Sandbox, config.SandboxAuto), cmp.Or(o.Permission, settle.Ask)
	c, err := o.confine(o.commandEnv(), nil, nil)
	if err != nil {
		return nil, nil, err
	}
	judge, err := o.judge(o.permission(), c)
	if err != nil {
		return nil, nil, err
	}
	in, err := o.projectSandbox(c, judge)
	if err != nil {
		return nil, nil, err
	}
	sandboxes := newSandboxes(c.servers, c, "")
	return func(c mcp.Config) mcp.Config {
		c.ProjectSandbox = in
		return c.Confined(sandboxes.programs().StartProgram)
	}, sandboxes.discard, nil
}
