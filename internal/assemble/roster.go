package assemble

import (
	"context"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/tool/mcp"
)

// roster has the MCP connections of an agent's open sessions, including child agents.
type roster struct {
	mu       sync.Mutex // guards the fields below
	open     map[string]*mcp.Servers
	disabled map[string]bool
}

func newRoster() *roster {
	return &roster{open: map[string]*mcp.Servers{}, disabled: map[string]bool{}}
}

func (r *roster) joined(session string, servers *mcp.Servers) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[session] = servers
	for name := range r.disabled {
		servers.Set(name, mcp.Disabled)
	}
}

func (r *roster) left(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, session)
}

// SetServer disables an MCP server of the session and of its child agents, or reconnects to
// it. A disabled server receives no more calls, and ends when its running calls have ended.
// The session's tools change with the next turn (C21).
func (o *Opened) SetServer(ctx context.Context, name string, to mcp.State) error {
	r := o.Agent.servers.roster
	r.mu.Lock()
	if delete(r.disabled, name); to == mcp.Disabled {
		r.disabled[name] = true
	}
	for _, servers := range r.open {
		servers.Set(name, to)
	}
	own := r.open[o.ID()]
	r.mu.Unlock()
	if own == nil {
		return settle.ErrClosed
	}
	err := o.SetTools(ctx, own.Names(), own.Tools()...)
	if err == nil && to != mcp.Disabled {
		err = own.Connect(ctx, name)
	}
	return err
}
