package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool/mcp"
)

// askTimeout bounds how long a session waits for the tools of servers in the client. The
// model finds the tools of a slower server by tool_search.
const askTimeout = 5 * time.Second

// TakeServers takes the servers of --mcp-config: JSON, or a file with it.
func (o *Options) TakeServers(text, dir string, getenv func(string) string) error {
	raw, err := document(text)
	if err != nil {
		return fmt.Errorf("cannot read the MCP servers: %w", err)
	}
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := decode("the MCP servers", raw, &file); err != nil {
		return err
	}
	return o.addServers(file.Servers, dir, getenv)
}

// addServers takes servers by their names. One that is there already is replaced.
func (o *Options) addServers(servers map[string]json.RawMessage, dir string, getenv func(string) string) error {
	processes := map[string]json.RawMessage{}
	for _, name := range names(servers) {
		var kind struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(servers[name], &kind) == nil && kind.Type == "sdk" {
			o.own(name)
			continue
		}
		processes[name] = servers[name]
	}
	raw, err := json.Marshal(map[string]any{"mcpServers": processes})
	if err != nil {
		return fmt.Errorf("cannot read the MCP servers: %w", err)
	}
	from := config.ServerSource{Path: "--mcp-config", Dir: dir, Kind: config.Flag, Getenv: getenv}
	list, notes, err := from.Shared(raw)
	if err != nil {
		return fmt.Errorf("cannot read the MCP servers: %w", err)
	}
	for _, s := range list {
		if missing := s.Missing(); len(missing) > 0 {
			notes = append(
				notes,
				fmt.Sprintf("the MCP server %q is not used: it refers to %s, which is not set", s.Name, missing[0]),
			)
			continue
		}
		o.Servers = slices.DeleteFunc(o.Servers, func(server config.Server) bool { return server.Name == s.Name })
		o.Servers = append(o.Servers, s)
	}
	o.Warnings = append(o.Warnings, notes...)
	return nil
}

// own takes a server that runs in the client.
func (o *Options) own(name string) {
	if !slices.Contains(o.OwnServers, name) {
		o.OwnServers = append(o.OwnServers, name)
	}
}

// serverStatus is an MCP server as the client sees it.
type serverStatus struct {
	Name   string   `json:"name"`
	Status string   `json:"status"`
	Error  string   `json:"error,omitempty"`
	Source string   `json:"source,omitempty"`
	Tools  []named  `json:"tools,omitempty"`
	Info   *implied `json:"serverInfo,omitempty"`
}

type named struct {
	Name string `json:"name"`
}

type implied struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// servers are the MCP servers of the session.
type servers struct {
	relays     map[string]*mcp.Relay // by name, of the servers in the client; only the driver uses it
	catalogues map[string]*mcp.Catalogue
	asking     bool // the servers list their tools, and the session is not open yet
	// changing means that a server is being reconnected or disabled.
	changing bool

	mu     sync.Mutex // guards the fields below
	states map[string]serverStatus
	// disabled are servers that the client has disabled; the driver alone changes them.
	disabled map[string]bool
}

// seen notes how a server does.
func (s *servers) seen(name string, state mcp.State, why error) {
	now := serverStatus{Name: name}
	switch state {
	case mcp.Starting:
		now.Status = "pending"
	case mcp.Ready:
		now.Status = "connected"
	case mcp.NeedsLogin:
		now.Status, now.Error = "needs-auth", why.Error()
	case mcp.Failed:
		now.Status = "failed"
		if why != nil {
			now.Error = why.Error()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.states == nil {
		s.states = map[string]serverStatus{}
	}
	s.states[name] = now
}

// serverStates are the servers as they do now. One whose tools are known counts as
// connected before it is called: it is started then.
func (d *driver) serverStates() []serverStatus {
	out := []serverStatus{}
	if d.session == nil {
		return out
	}
	d.servers.mu.Lock()
	defer d.servers.mu.Unlock()
	for _, s := range d.session.Agent.Servers {
		now, ok := d.servers.states[s.Name]
		switch {
		case d.servers.disabled[s.Name]:
			now = serverStatus{Name: s.Name, Status: "disabled"}
		case ok && (now.Status != "pending" || s.Known == nil):
			now.Error = d.mask(now.Error)
		case s.Known != nil:
			now = serverStatus{Name: s.Name, Status: "connected"}
		default:
			now = serverStatus{Name: s.Name, Status: "pending"}
		}
		if s.Known != nil {
			now.Info = &implied{s.Known.Server, s.Known.Version}
			for _, t := range s.Known.Tools {
				now.Tools = append(now.Tools, named{t.Name})
			}
		}
		if slices.Contains(d.OwnServers, s.Name) {
			now.Source = "sdk"
		}
		out = append(out, now)
	}
	return out
}

// askServers has the servers that run in the client list their tools, and then calls then; false if
// there are no such servers.
func (d *driver) askServers(then func()) bool {
	if len(d.OwnServers) == 0 {
		return false
	}
	d.servers.relays, d.servers.catalogues, d.servers.asking = map[string]*mcp.Relay{}, map[string]*mcp.Catalogue{}, true
	reports := make([]mcp.Report, len(d.OwnServers))
	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(d.ctx, askTimeout)
	for i, name := range d.OwnServers {
		d.servers.relays[name] = mcp.NewRelay(func(message json.RawMessage) mcp.Await { return d.relay(name, message) })
		s := mcp.Server{Name: name, Relay: d.servers.relays[name]}
		wg.Go(
			scope.Shield(
				d.panicked,
				func() { reports[i] = mcp.Probe(ctx, mcp.Config{Version: cmp.Or(d.Version, "unknown")}, s) },
			),
		) // bounded by ctx
	}
	go scope.Shield(d.panicked, func() { // ends when all have answered, which is bounded
		wg.Wait()
		cancel()
		d.post(func() {
			d.servers.asking = false
			for _, r := range reports {
				if r.Err == nil {
					d.servers.catalogues[r.Server.Name] = &r.Catalogue
				} else {
					d.warn(
						fmt.Sprintf(
							"the MCP server %q in the client did not say which tools it has: %v", r.Server.Name, r.Err,
						),
					)
				}
			}
			then()
		})
	})()
	return true
}

// relay hands a message to a server that runs in the client.
func (d *driver) relay(server string, message json.RawMessage) mcp.Await {
	await := d.send(map[string]any{"subtype": "mcp_message", "server_name": server, "message": message})
	return func(ctx context.Context) (json.RawMessage, error) {
		raw, err := await(ctx)
		if err != nil {
			return nil, err
		}
		var answer struct {
			Response json.RawMessage `json:"mcp_response"`
		}
		if err := json.Unmarshal(raw, &answer); err != nil {
			return nil, errors.New("the client's answer could not be read")
		}
		return answer.Response, nil
	}
}

// deliver passes on a message of a server in the client.
func (d *driver) deliver(server string, message json.RawMessage) error {
	r := d.servers.relays[server]
	if r == nil {
		return fmt.Errorf("there is no MCP server %q", server)
	}
	r.Deliver(message)
	return nil
}

// bring has the session use the client's servers.
func (d *driver) bring(o *assemble.Options) {
	o.OnlyServers, o.Seen = d.OnlyServers, d.servers.seen
	for _, s := range d.Servers {
		if s.Enabled && !slices.Contains(d.OwnServers, s.Name) {
			o.Servers = append(o.Servers, assemble.ServerOf(s))
			o.Secrets = append(o.Secrets, s.Secrets()...)
		}
	}
	for _, name := range d.OwnServers {
		o.Servers = append(
			o.Servers, mcp.Server{Name: name, Relay: d.servers.relays[name], Catalogue: d.servers.catalogues[name]},
		)
	}
}
