package assemble

import (
	"cmp"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/skills"
	"github.com/settle-agent/settle/model/transport"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/mcp"
)

// serverTools is the name, among the tools that are offered, of those of all MCP
// servers.
const serverTools = "mcp"

// servers are the MCP servers of a session: the user's, then a client's own, which
// replace those of the same name.
func (o Options) servers() []mcp.Server {
	if o.Settings.Tools != nil && !slices.Contains(o.Settings.Tools, serverTools) {
		return nil
	}
	var all []mcp.Server
	for _, s := range o.Settings.SortedServers() {
		if o.OnlyServers {
			break
		}
		own := slices.ContainsFunc(o.Servers, func(other mcp.Server) bool { return other.Name == s.Name })
		if s.Enabled && !own {
			all = append(all, ServerOf(s))
		}
	}
	for _, s := range o.Servers {
		s.Named = len(s.Argv) > 0 && s.URL == "" && s.Relay == nil
		all = append(all, s)
	}
	return all
}

// namesPrograms reports whether a client names programs to start.
func namesPrograms(servers []mcp.Server) bool {
	return slices.ContainsFunc(servers, func(s mcp.Server) bool { return s.Named })
}

// mayStart says which programs of clients may start without a call: those that no call
// would be asked about, as of now.
func mayStart(build func() (settle.Judge, error)) (func(tool.Program) (event.Sandbox, bool), error) {
	if build == nil { // everything is allowed
		return func(tool.Program) (event.Sandbox, bool) { return "", true }, nil
	}
	judge, err := build()
	if err != nil {
		return nil, err
	}
	return func(p tool.Program) (event.Sandbox, bool) {
		j := judge.Judge(settle.Approval{Tool: tool.Spec{Name: mcp.StartName}, Starts: []tool.Program{p}})
		return j.Sandbox, j.Decision == event.Allow
	}, nil
}

// ServerOf is a server as it is configured.
func ServerOf(s config.Server) mcp.Server {
	return mcp.Server{
		Name: s.Name, Argv: s.Command, Env: assignments(s.Env), Dir: s.Dir, URL: s.URL, Headers: s.Headers,
		StartTimeout: s.StartTimeout, CallTimeout: s.Timeout, Tools: s.Tools, Without: s.Without,
	}
}

func assignments(env map[string]string) []string {
	var list []string
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// catalogues is where settle keeps what servers say of themselves; "" if there is
// no place for it.
func catalogues(dataDir string) string {
	if dataDir == "" {
		return ""
	}
	return filepath.Join(dataDir, "mcp")
}

// serverClient is what asks servers over HTTP; nil where there are none.
func (o Options) serverClient(servers []mcp.Server) *http.Client {
	if !slices.ContainsFunc(servers, func(s mcp.Server) bool { return s.URL != "" }) {
		return nil
	}
	return transport.NewClient(o.transport(config.Provider{}))
}

// open makes ready to reach a session's servers; nil where there are none. What is
// known of them is read anew for each session.
func (b *bench) open(info settle.SessionInfo, spool string, box *boxes) *mcp.Servers {
	if len(b.servers) == 0 {
		return nil
	}
	c := mcp.Config{
		Env: b.env, Dir: info.WorkDir, CacheDir: b.catalogues, SpoolDir: spool, Marker: info.Marker, Lock: info.Lock,
		Client: b.client, Version: cmp.Or(b.version, "unknown"), Logger: b.logger, Seen: b.seen, Listed: b.listed,
		Tokens: b.tokens(info.Learn), MayStart: b.mayStart,
	}
	if box != nil {
		hosts, _ := egress.ParseList(b.sandbox.Hosts) // the configuration has read them
		local := &executor.Local{Box: box.policy, Hosts: hosts, Repositories: box.repositories}
		c = c.Confined(local.StartProgram)
	}
	if info.Mask != nil {
		c.Mask = func() mcp.Masker { return info.Mask() }
	}
	open := mcp.Open(c, mcp.Read(b.catalogues, b.servers, b.offered...))
	b.roster.joined(info.ID, open)
	return open
}

// KnownServer is an MCP server of a session.
type KnownServer struct {
	Name string
	URL  string // empty if it is not reached by HTTP
	// Known is what it has said of itself; nil if it was never asked.
	Known *mcp.Catalogue
}

// Prompts are the prompts of the servers, as far as they are known; none is asked.
func (o Options) Prompts() (list []mcp.Command, notes []string) {
	return mcp.KnownCommands(catalogues(o.Settings.DataDir), o.servers())
}

// Commands are what a person can call in a session.
type Commands struct{ of *Opened }

// Commands are what a person can call in the session.
func (o *Opened) Commands() Commands { return Commands{o} }

// Sources say where files and skills are.
func (c Commands) Sources() skills.Sources { return c.of.Agent.Sources() }

// Skills are those that there are now.
func (c Commands) Skills() skills.Found { return c.of.Agent.Skills() }

// Prompts are the prompts of the session's servers that are known now.
func (c Commands) Prompts() (list []mcp.Command, notes []string) { return c.Asked().Commands() }

// Asked are the servers that are asked for prompts: the session's; nil where it has none.
func (c Commands) Asked() *mcp.Servers {
	r := c.of.Agent.roster
	if c.of.Session == nil || r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open[c.of.ID()]
}

// serve says which servers an agent has.
func (o Options) serve(a *Agent, b *bench, names []string) {
	offer := mcp.Read(b.catalogues, b.servers, names...)
	a.Notes, a.ServerTools = append(a.Notes, offer.Notes...), offer.Names()
	for _, s := range b.servers {
		a.Servers = append(a.Servers, KnownServer{s.Name, s.URL, mcp.Known(b.catalogues, s)})
	}
}
