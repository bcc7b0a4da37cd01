package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/safefile"
)

// ProjectServers is a project's own list of MCP servers, .mcp.json. Its commands
// are the words of whoever wrote the repository: they count once the user has
// trusted the file as it is.
type ProjectServers struct {
	Path string
	// Hash is of the file's content.
	Hash string
	// Servers are those in the file, by name; they are in force if it is trusted.
	Servers []Server
	Trusted bool
}

// TrustFile is where it is recorded which projects' files the user trusts: a JSON
// object of paths and hashes. Empty if there is no data directory.
func (r *Resolved) TrustFile() string {
	if r.DataDir == "" {
		return ""
	}
	return filepath.Join(r.DataDir, "trust.json")
}

// Recorded is what the file at TrustFile says. What cannot be read says nothing.
func (r *Resolved) Recorded() map[string]string {
	recorded := map[string]string{}
	if path := r.TrustFile(); path != "" {
		if data, size, err := safefile.Read(path, maxFile); err == nil && size <= maxFile {
			_ = json.Unmarshal(data, &recorded)
		}
	}
	if recorded == nil {
		recorded = map[string]string{}
	}
	return recorded
}

// projectServers reads the .mcp.json of the project's directories.
func (l *loader) projectServers() {
	project := l.in.Trust.Project(l.in.Dir)
	for _, dir := range project.Dirs {
		path := filepath.Join(dir, ".mcp.json")
		data, size, err := project.ReadFile(path, maxFile)
		switch {
		case missing(err):
			continue
		case err == nil && size > maxFile:
			err = fmt.Errorf("it is larger than %d bytes", maxFile)
		}
		if err != nil {
			l.Notes = append(l.Notes, fmt.Sprintf("%s: its MCP servers are not used: %v", path, err))
			continue
		}
		sum := sha256.Sum256(data)
		file := ProjectServers{Path: path, Hash: hex.EncodeToString(sum[:])}
		file.Trusted = l.Recorded()[path] == file.Hash
		if file.Servers, err = l.parseServers(path, data); err != nil {
			l.Notes = append(l.Notes, fmt.Sprintf("%s: its MCP servers are not used: %v", path, err))
			continue
		}
		l.ProjectServers = append(l.ProjectServers, file)
		l.use(file)
	}
}

// use puts the servers of a file into force that is trusted. The user's own of the
// same name stay.
func (l *loader) use(file ProjectServers) {
	var names []string
	for _, s := range file.Servers {
		names = append(names, s.Name)
		if own, ok := l.Servers[s.Name]; file.Trusted && (!ok || own.Origin.Kind == Project) {
			l.add(s)
		}
	}
	if !file.Trusted && len(names) > 0 {
		l.Notes = append(l.Notes, fmt.Sprintf(
			"%s: its MCP servers (%s) are not used, since you have not trusted the file as it is now; to see them and trust it: settle mcp-servers --trust",
			file.Path, strings.Join(names, ", ")))
	}
}

// foreignServer is a server in the form that several agents share.
type foreignServer struct {
	Type     string            `json:"type"`
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	Cwd      string            `json:"cwd"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers"`
	Disabled bool              `json:"disabled"`
}

// parseServers reads {"mcpServers": {NAME: …}}. A server that settle cannot use is
// left out, with a note.
func (l *loader) parseServers(path string, data []byte) ([]Server, error) {
	var file struct {
		Servers map[string]foreignServer `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("it is not understood: %w", err)
	}
	var list []Server
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		f := file.Servers[name]
		s := Server{
			Name: name, Env: f.Env, URL: f.URL, Headers: f.Headers, Enabled: !f.Disabled,
			Origin: Origin{Kind: Project, Where: path},
		}
		if f.Command != "" {
			s.Command = append([]string{f.Command}, f.Args...)
		}
		if f.Cwd != "" {
			s.Dir = expand(f.Cwd, filepath.Dir(path), l.in.Getenv)
		}
		err := checkServerName(name)
		if err == nil && f.Type == "sse" {
			err = fmt.Errorf("uses SSE, which settle does not speak")
		}
		if err == nil {
			err = l.complete(&s)
		}
		if err != nil {
			l.Notes = append(l.Notes, fmt.Sprintf("%s: the MCP server %q is not used: it %v", path, name, err))
			continue
		}
		list = append(list, s)
	}
	return list, nil
}
