package appserver

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/tool/mcp"
)

// serverStates has the states of the MCP servers of a thread.
type serverStates struct {
	signal chan struct{} // there is something to say; holds one

	mu      sync.Mutex // guards the fields below
	now     map[string]serverState
	pending []serverState // not said yet, in order
}

type serverState struct {
	name  string
	state mcp.State
	why   error
}

func newServerStates() *serverStates {
	return &serverStates{signal: make(chan struct{}, 1), now: map[string]serverState{}}
}

// seen notes how a server does.
func (s *serverStates) seen(name string, state mcp.State, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now[name] = serverState{name, state, why}
	s.pending = append(s.pending, s.now[name])
	select {
	case s.signal <- struct{}{}:
	default: // it is known
	}
}

// of returns the state of a server; false if it has none yet.
func (s *serverStates) of(name string) (serverState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, ok := s.now[name]
	return now, ok
}

// take returns the states that must be sent.
func (s *serverStates) take() []serverState {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.pending
	s.pending = nil
	return out
}

// tellServers sends the states of the thread's servers to the client, until the thread is closed. A
// server whose tools are known is ready: its first call starts it.
func (l *loadedThread) tellServers() {
	for _, s := range l.opened.Agent.Servers {
		if _, seen := l.servers.of(s.Name); !seen && s.Known != nil {
			l.tellServer(serverState{name: s.Name, state: mcp.Ready})
		}
	}
	for {
		for _, s := range l.servers.take() {
			l.tellServer(s)
		}
		select {
		case <-l.servers.signal:
		case <-l.done:
			return
		}
	}
}

func (l *loadedThread) tellServer(s serverState) {
	status, failure := s.state, any(nil)
	if status == mcp.NeedsLogin {
		status, failure = mcp.Failed, "reauthenticationRequired"
	}
	l.s.notify(note{"mcpServer/startupStatus/updated", object{
		"threadId": l.id(), "name": s.name, "status": status, "failureReason": failure, "error": l.reason(s.why),
	}})
}

// reason is an error for the client; nil if there is none.
func (l *loadedThread) reason(why error) any {
	if why == nil {
		return nil
	}
	return l.opened.Agent.Redact.Diagnostic(why.Error())
}

// bring has a session use the client's MCP servers.
func (s *Server) bring(a *assemble.Options, dir string, p setup) {
	from := config.ServerSource{Path: "mcp_servers", Dir: dir, Kind: config.Flag, Getenv: s.Sessions.Base.Getenv}
	list, notes := from.Codex(p.Config["mcp_servers"])
	for _, n := range notes {
		s.Tell(errors.New(n))
	}
	for _, server := range list {
		if server.Enabled {
			a.Servers = append(a.Servers, assemble.ServerOf(server))
			a.Secrets = append(a.Secrets, server.Secrets()...)
		}
	}
}

// listServers are the parameters of mcpServerStatus/list.
type listServers struct {
	ThreadID string `json:"threadId"`
	Server   string `json:"serverName"`
}

// serverList lists the MCP servers of a thread, or the configured servers.
func (s *Server) serverList(_ context.Context, p listServers) (any, error) {
	data := []object{}
	l := s.threads.Get(p.ThreadID)
	if l == nil {
		resolved, err := s.configured("")
		if err != nil {
			return nil, err
		}
		o := assemble.Options{Settings: resolved}
		for _, c := range o.ConfiguredServers() {
			status := "notStarted"
			if !c.Enabled {
				status = "disabled"
			}
			data = append(data, listServer(c.Name, c.URL, status, c.Known, nil))
		}
	} else {
		for _, k := range l.opened.Agent.Servers {
			status, why := "notStarted", error(nil)
			if now, seen := l.servers.of(k.Name); seen {
				status, why = map[mcp.State]string{mcp.Starting: "starting", mcp.Ready: "connected", mcp.Failed: "failed"}[now.state], now.why
			}
			data = append(data, listServer(k.Name, k.URL, status, k.Known, l.reason(why)))
		}
	}
	data = slices.DeleteFunc(data, func(o object) bool { return p.Server != "" && o["name"] != p.Server })
	return object{"data": data, "nextCursor": nil}, nil
}

func listServer(name, address, status string, known *mcp.Catalogue, why any) object {
	tools := object{}
	out := object{
		"name": name, "authStatus": "unsupported", "runtimeStatus": status, "toolsError": why, "tools": tools,
		"resources": []object{}, "resourceTemplates": []object{}, "serverInfo": nil, "httpOrigin": nil, "pluginId": nil,
	}
	if u, err := url.Parse(address); address != "" && err == nil {
		out["authStatus"], out["httpOrigin"] = "unknown", u.Scheme+"://"+u.Host
	}
	if known == nil {
		return out
	}
	if known.Server != "" {
		out["serverInfo"] = object{"name": known.Server, "version": known.Version}
	}
	for _, t := range known.Tools {
		tools[t.Name] = object{
			"name":        t.Name,
			"title":       t.Title,
			"description": t.Description,
			"inputSchema": schemaOf(t),
		}
	}
	return out
}

// schemaOf is the schema of a tool's arguments; where it is not known, of any.
func schemaOf(t mcp.Tool) any {
	if len(t.Schema) == 0 {
		return object{"type": "object"}
	}
	return t.Schema
}
