package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/settle-agent/settle/internal/client/pending"
)

// client is the client of a session of the protocol.
type client struct {
	session *sdk.ServerSession
	order   order                   // of requests that have no place from their connection
	tasks   pending.Requests[*task] // running tasks of its requests, by input; closed when the client ends its session
}

// client returns who is at the other end of the session.
func (f *Frontend) client(s *sdk.ServerSession) *client {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.clients[s]
	if c == nil {
		c = &client{session: s}
		f.clients[s] = c
		go func() { // ends with the client's session
			_ = s.Wait() // the cause of the end does not matter here
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.clients, s)
		}()
	}
	return c
}

// name returns the client's own name, for the log; "mcp" if it has none.
func (c *client) name() string {
	p := c.session.InitializeParams()
	if p == nil || p.ClientInfo == nil || p.ClientInfo.Name == "" {
		return "mcp"
	}
	return p.ClientInfo.Name
}

// asks reports whether the client can be asked: it takes forms.
func (c *client) asks() bool {
	p := c.session.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil // naming neither means forms
}

// opens reports whether the client opens pages.
func (c *client) opens() bool {
	p := c.session.InitializeParams()
	return p != nil && p.Capabilities != nil && p.Capabilities.Elicitation != nil &&
		p.Capabilities.Elicitation.URL != nil
}
