package assemble

import (
	"cmp"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/oauth"
	"github.com/settle-agent/settle/internal/skills"
	"github.com/settle-agent/settle/model/transport"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/mcp"
)

// serverTools is the name of all MCP tools in the list of offered tools.
const serverTools = "mcp"

// servers returns the MCP servers of a session: the user's servers, then the client's,
// which replace servers of the same name.
func (o Options) servers() []mcp.Server {
	if o.Settings.Tools != nil && !slices.Contains(o.Settings.Tools, serverTools) {
		return nil
	}
	var all []mcp.Server
	for _, s := range o.Settings.SortedServers() {
		if o.OnlyServers {
			break
		}
		own := slices.ContainsFunc(o.Servers, func(named mcp.Server) bool { return named.Name == s.Name })
		if s.Enabled && !own {
			all = append(all, o.configured(s))
		}
	}
	for _, s := range o.Servers {
		s.Named = len(s.Argv) > 0 && s.URL == "" && s.Relay == nil
		all = append(all, s)
	}
	return all
}

// namesPrograms reports whether a client or a project names programs to start.
func namesPrograms(servers []mcp.Server) bool {
	return slices.ContainsFunc(servers, func(s mcp.Server) bool { return s.Named || s.Project })
}

// mayStart returns the function that decides which programs of clients start without a
// call: the programs whose start currently needs no approval.
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

// projectSandbox returns the function that decides where the programs of a project's servers run:
// in the sandbox in force, because commands can change the files that such a program runs, unless a
// rule of the user for [mcp.StartName] starts them without it.
func (o Options) projectSandbox(
	c *confinement, build func() (settle.Judge, error),
) (func(tool.Program) event.Sandbox, error) {
	if build == nil { // everything is allowed, and no sandbox is in force
		return func(tool.Program) event.Sandbox { return event.NoSandbox }, nil
	}
	judge, err := build()
	if err != nil {
		return nil, err
	}
	return func(p tool.Program) event.Sandbox {
		j := judge.Judge(settle.Approval{Tool: tool.Spec{Name: mcp.StartName}, Starts: []tool.Program{p}})
		if j.Decision != event.Deny {
			return j.Sandbox
		}
		return c.servers.of(o.mode(o.permission()))
	}, nil
}

// configured converts a server of the user or the project. A program of the user runs
// outside of the sandbox, and many programs obey the files of their working directory
// (npx, uvx, python -m). So it starts in a directory that commands cannot change.
func (o Options) configured(s config.Server) mcp.Server {
	one := ServerOf(s)
	if s.Plugin != nil {
		one.Check = s.Plugin.Check
	}
	one.Project = s.Origin.Kind == config.Project
	if one.Project || one.Dir != "" || s.InSession || len(one.Argv) == 0 {
		return one
	}
	if o.Settings.DataDir == "" {
		one.Dir = Nowhere()
		return one
	}
	one.Dir, one.OwnDir = filepath.Join(o.Settings.DataDir, "mcp-work-"+url.PathEscape(s.Name)), true
	return one
}

// ServerOf converts a server that a client names.
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

// catalogues is the directory of the servers' catalogues; "" for none.
func catalogues(dataDir string) string {
	if dataDir == "" {
		return ""
	}
	return filepath.Join(dataDir, "mcp")
}

// serverClient is the HTTP client of MCP servers; nil if no server uses HTTP.
func (o Options) serverClient(servers []mcp.Server) *http.Client {
	if !slices.ContainsFunc(servers, func(s mcp.Server) bool { return s.URL != "" }) {
		return nil
	}
	return transport.NewClient(o.transport(config.Provider{}))
}

// serverSet makes the connections to the MCP servers of sessions.
type serverSet struct {
	list       []mcp.Server
	selected   []string // names of the selected tools
	roster     *roster  // the connections of open sessions
	seen       func(server string, state mcp.State, why error)
	listed     func(server string)
	catalogues string       // directory of the servers' catalogues; empty for none
	client     *http.Client // of servers over HTTP; nil for none
	tokens     func(learn func(secrets ...string)) *oauth.Tokens
	mayStart   func(tool.Program) (event.Sandbox, bool) // of programs that a client names
	project    func(tool.Program) event.Sandbox         // of programs that a project brings
	version    string                                   // of this program
}

// serverSet returns the agent's MCP servers. The judge decides which programs of a client
// start without an approval.
func (o *Options) serverSet(tools []string, c *confinement, build func() (settle.Judge, error)) (*serverSet, error) {
	list := o.servers()
	start, err := mayStart(build)
	if err != nil {
		return nil, err
	}
	project, err := o.projectSandbox(c, build)
	if err != nil {
		return nil, err
	}
	return &serverSet{
		list:       list,
		selected:   tools,
		roster:     newRoster(),
		seen:       o.Seen,
		listed:     o.Listed,
		catalogues: catalogues(o.Settings.DataDir),
		client: o.serverClient(
			list,
		),
		tokens:   o.tokens,
		mayStart: start,
		project:  project,
		version:  cmp.Or(o.Version, "unknown"),
	}, nil
}

// open prepares the connections to a session's servers; nil if there are no servers. Each
// session reads the servers' catalogues again.
func (s *serverSet) open(t *sessionTools) *mcp.Servers {
	if len(s.list) == 0 {
		return nil
	}
	info := t.info
	c := mcp.Config{
		Env: t.env, Dir: info.WorkDir, CacheDir: s.catalogues, SpoolDir: t.spool, Marker: info.Marker, Lock: info.Lock,
		Client: s.client, Version: s.version, Logger: t.logger, Seen: s.seen, Listed: s.listed,
		Tokens: s.tokens(info.Learn), MayStart: s.mayStart, ProjectSandbox: s.project,
	}
	c = c.Confined(t.programs.programs().StartProgram)
	if info.Mask != nil {
		c.Mask = func() mcp.Masker { return info.Mask() }
	}
	open := mcp.Open(c, mcp.Read(s.catalogues, s.list, s.selected...))
	s.roster.joined(info.ID, open)
	return open
}

// KnownServer is an MCP server of a session.
type KnownServer struct {
	Name string
	URL  string // empty without HTTP
	// Known is the catalogue of the last connection; nil if there was none.
	Known *mcp.Catalogue
}

// Prompts returns the known prompts of the servers, without a request.
func (o Options) Prompts() (list []mcp.Command, notes []string) {
	return mcp.KnownCommands(catalogues(o.Settings.DataDir), o.servers())
}

// Commands are the commands that a person can call in a session.
type Commands struct{ of *Opened }

// Commands returns the commands that a person can call in the session.
func (o *Opened) Commands() Commands { return Commands{o} }

// Sources returns the sources of files and skills.
func (c Commands) Sources() skills.Sources { return c.of.Agent.Sources() }

// Skills returns the current skills.
func (c Commands) Skills() skills.Found { return c.of.Agent.Skills() }

// Prompts returns the currently known prompts of the session's servers.
func (c Commands) Prompts() (list []mcp.Command, notes []string) { return c.Servers().Commands() }

// Servers returns the session's connections, which prompts are requested from; nil for none.
func (c Commands) Servers() *mcp.Servers {
	if c.of.Session == nil || c.of.Agent.servers == nil {
		return nil
	}
	r := c.of.Agent.servers.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open[c.of.ID()]
}

// listServers records the agent's servers and the names of their tools.
func (a *Agent) listServers() {
	s := a.servers
	offer := mcp.Read(s.catalogues, s.list, s.selected...)
	a.note(offer.Notes...)
	a.ServerTools = offer.Names()
	for _, one := range s.list {
		a.Servers = append(a.Servers, KnownServer{one.Name, one.URL, mcp.Known(s.catalogues, one)})
	}
}
