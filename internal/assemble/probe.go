package assemble

import (
	"context"
	"sync"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool/mcp"
)

// maxProbed is how many servers are tried at the same time.
const maxProbed = 8

// Configured is an MCP server, with what is known of it.
type Configured struct {
	config.Server
	// Known is what it said of itself the last time; nil if it was never asked.
	Known *mcp.Catalogue
	// Report is how it did now; nil if it was not tried.
	Report *mcp.Report
	// Login says whether somebody has logged in to it.
	Login LoginState
}

// ConfiguredServers are the user's MCP servers, by name.
func (o Options) ConfiguredServers() []Configured {
	var all []Configured
	for _, s := range o.Settings.SortedServers() {
		all = append(all, Configured{Server: s, Known: mcp.Known(catalogues(o.Settings.DataDir), ServerOf(s)), Login: o.loginState(&s)})
	}
	return all
}

// Probe tries the servers, several at the same time, and keeps what they say.
func (o Options) Probe(ctx context.Context, servers []Configured) {
	places := make(chan struct{}, maxProbed)
	var wg sync.WaitGroup
	env := o.commandEnv().env
	for i := range servers {
		s := ServerOf(servers[i].Server)
		c := mcp.Config{Env: env, Dir: o.Dir, CacheDir: catalogues(o.Settings.DataDir), Version: o.Version, Client: o.serverClient([]mcp.Server{s}), Tokens: o.tokens(o.Learn)}
		wg.Go(scope.Shield(func(err error) { servers[i].Report = &mcp.Report{Server: s, Err: err} }, func() { // each ends in a bounded time
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
}
