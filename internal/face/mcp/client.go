package mcp

import (
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// client is who is at the other end of a session of the protocol.
type client struct {
	session *sdk.ServerSession
	order   order // of requests that have no place from their connection

	mu    sync.Mutex // guards what follows
	doing map[*job]struct{}
	left  bool // it has ended its session: nobody waits for what it does any more
}

// client returns who is at the other end of the session.
func (f *Face) client(s *sdk.ServerSession) *client {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.clients[s]
	if c == nil {
		c = &client{session: s, doing: map[*job]struct{}{}}
		f.clients[s] = c
		go func() { // ends with the client's session
			_ = s.Wait() // why it ended matters to nobody here
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.clients, s)
		}()
	}
	return c
}

// name is what the client calls itself, for the log.
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

// add notes what a request does, and reports whether somebody waits for it.
func (c *client) add(j *job) (wanted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doing[j] = struct{}{}
	return !c.left
}

// leave notes that the client has ended its session.
func (c *client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
}

func (c *client) remove(j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.doing, j)
}

// jobs are what the client's requests do at the moment.
func (c *client) jobs() []*job {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*job, 0, len(c.doing))
	for j := range c.doing {
		all = append(all, j)
	}
	return all
}
