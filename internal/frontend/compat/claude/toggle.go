package claude

import (
	"errors"
	"fmt"
	"slices"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool/mcp"
)

// toggleServer disables a server of the open session, or makes a new connection to it,
// and then answers.
func (d *driver) toggleServer(id string, r controlRequest) (any, error) {
	if d.servers.asking || d.servers.changing {
		return nil, errors.New("an MCP server is being changed; ask again when that is answered")
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	// The driver changes them.
	disabled, reconnect := d.servers.disabled[r.Named], r.Subtype == "mcp_reconnect"
	switch {
	case !slices.ContainsFunc(d.session.Agent.Servers, func(s assemble.KnownServer) bool { return s.Name == r.Named }):
		return nil, fmt.Errorf("there is no MCP server %q", r.Named)
	case reconnect && disabled:
		return nil, fmt.Errorf("the MCP server %q is disabled", r.Named)
	case !reconnect && disabled != r.Enabled:
		return nil, nil
	}
	to := mcp.Ready
	if !reconnect && !r.Enabled {
		to = mcp.Disabled
	}
	d.servers.mu.Lock()
	if d.servers.disabled == nil {
		d.servers.disabled = map[string]bool{}
	}
	d.servers.disabled[r.Named] = to == mcp.Disabled
	d.servers.mu.Unlock()
	d.servers.changing = true
	go scope.Shield(d.panicked, func() { // ends with the server's start, which is bounded
		err := d.session.SetServer(d.ctx, r.Named, to)
		d.post(func() {
			d.servers.changing = false
			d.answer(id, nil, err)
		})
	})()
	return nil, errLater
}
