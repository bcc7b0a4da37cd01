package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// ServerSource is a source of MCP servers in another agent's format.
type ServerSource struct {
	// Path is its name for people, and Dir the base of relative paths.
	Path, Dir string
	Kind      OriginKind
	Getenv    func(string) string
}

// SharedServer is a server in the format that several agents share, without expanded variables.
type SharedServer struct {
	Type     string            `json:"type"`
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	Cwd      string            `json:"cwd"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers"`
	Timeout  float64           `json:"timeout"` // milliseconds
	Disabled bool              `json:"disabled"`
	OAuth    *SharedOAuth      `json:"oauth"`
}

// SharedOAuth is the login to a server in Claude Code's format.
type SharedOAuth struct {
	ClientID     string `json:"clientId"`
	CallbackPort int    `json:"callbackPort"`
}

func (o *SharedOAuth) settings() *OAuth {
	if o == nil {
		return nil
	}
	return &OAuth{ClientID: o.ClientID, RedirectPort: o.CallbackPort}
}

// Shared reads {"mcpServers": {NAME: …}}, the format of .mcp.json. It omits unusable
// servers and adds a note.
func (from ServerSource) Shared(data []byte) (list []Server, notes []string, err error) {
	var file struct {
		Servers map[string]SharedServer `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, nil, fmt.Errorf("it is not understood: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		f := file.Servers[name]
		s := Server{
			Name: name, Env: f.Env, URL: f.URL, Headers: f.Headers, Enabled: !f.Disabled,
			OAuth:   f.OAuth.settings(),
			Timeout: seconds(f.Timeout / 1000), Origin: Origin{Kind: from.Kind, Where: from.Path},
		}
		if f.Command != "" {
			s.Command = append([]string{f.Command}, f.Args...)
		}
		if from.Kind == Plugin && f.Cwd != sessionDir {
			f.Cwd = s.expand(f.Cwd, from.Getenv)
		}
		s.startIn(f.Cwd, from.Dir, from.Getenv)
		err := checkServerName(name)
		if err == nil && f.Type == "sse" {
			err = fmt.Errorf("uses SSE, which settle does not speak")
		}
		if err == nil {
			err = s.complete(from.Getenv)
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s: the MCP server %q is not used: it %v", from.Path, name, err))
			continue
		}
		list = append(list, s)
	}
	return list, notes, nil
}

// codexServer is a server in Codex's format, which expands no variables.
type codexServer struct {
	Command        string            `json:"command"`
	Args           []string          `json:"args"`
	Env            map[string]string `json:"env"`
	EnvVars        []codexVariable   `json:"env_vars"`
	Cwd            string            `json:"cwd"`
	URL            string            `json:"url"`
	Bearer         string            `json:"bearer_token_env_var"`
	Headers        map[string]string `json:"http_headers"`
	EnvHeaders     map[string]string `json:"env_http_headers"`
	StartupSeconds float64           `json:"startup_timeout_sec"`
	StartupMS      float64           `json:"startup_timeout_ms"`
	ToolSeconds    float64           `json:"tool_timeout_sec"`
	Enabled        *bool             `json:"enabled"`
	Tools          []string          `json:"enabled_tools"`
	Without        []string          `json:"disabled_tools"`
	Scopes         []string          `json:"scopes"`
}

// codexVariable is a variable, given by its name or by an object with its name.
type codexVariable struct{ name string }

// UnmarshalJSON implements [json.Unmarshaler].
func (v *codexVariable) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &v.name) == nil {
		return nil
	}
	var object struct {
		Name string `json:"name"`
	}
	err := json.Unmarshal(raw, &object)
	v.name = object.Name
	return err
}

// Codex reads the value of mcp_servers in Codex's configuration. It omits unusable servers
// and adds a note.
func (from ServerSource) Codex(table any) (list []Server, notes []string) {
	servers, _ := table.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s, err := from.codex(name, servers[name])
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s: the MCP server %q is not used: it %v", from.Path, name, err))
			continue
		}
		list = append(list, s)
	}
	return list, notes
}

func (from ServerSource) codex(name string, value any) (Server, error) {
	var f codexServer
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err != nil {
		return Server{}, fmt.Errorf("is not understood: %w", err)
	}
	s := Server{
		Name: name, Env: map[string]string{}, URL: f.URL, Headers: map[string]string{}, Enabled: f.Enabled == nil ||
			*f.Enabled,
		StartTimeout: seconds(max(f.StartupSeconds, f.StartupMS/1000)), Timeout: seconds(f.ToolSeconds),
		Tools: f.Tools, Without: f.Without, Origin: Origin{Kind: from.Kind, Where: from.Path},
	}
	if f.Scopes != nil {
		s.OAuth = &OAuth{Scopes: f.Scopes}
	}
	if f.Command != "" {
		s.Command = append([]string{f.Command}, f.Args...)
	}
	s.startIn(f.Cwd, from.Dir, from.Getenv)
	for _, v := range f.EnvVars {
		if value := from.Getenv(v.name); value != "" {
			s.Env[v.name] = value
		}
	}
	maps.Copy(s.Env, f.Env)
	maps.Copy(s.Headers, f.Headers)
	for header, variable := range f.EnvHeaders {
		s.header(header, variable, "", from.Getenv)
	}
	if f.Bearer != "" {
		s.header("Authorization", f.Bearer, "Bearer ", from.Getenv)
	}
	if err := checkServerName(name); err != nil {
		return Server{}, err
	}
	return s, s.check()
}

// header sets a header to the value of a variable.
func (s *Server) header(name, variable, prefix string, getenv func(string) string) {
	value := getenv(variable)
	if value == "" {
		s.missing = append(s.missing, variable)
		return
	}
	s.secrets = append(s.secrets, value)
	s.Headers[name] = prefix + value
}

// seconds converts a duration of another agent; 0 for an invalid one.
func seconds(n float64) time.Duration {
	if math.IsNaN(n) || n <= 0 || n > 1e6 {
		return 0
	}
	return time.Duration(n * float64(time.Second))
}
