package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// The agents whose MCP server files are read.
const (
	claudeAgent = "claude"
	codexAgent  = "codex"
)

// maxClaudeFile bounds Claude's file, which also has other data, in bytes.
const maxClaudeFile = 16 << 20

// importServers reads the servers that the user configured for other agents. An earlier
// server of the same name wins.
func (l *loader) importServers() {
	if slices.Contains(l.MCPImport, claudeAgent) {
		dir := absolute(l.in.Getenv("CLAUDE_CONFIG_DIR"))
		if dir == "" {
			dir = under(l.in.Getenv, ".")
		}
		l.importFrom(dir, ".claude.json", maxClaudeFile, l.claudeServers)
	}
	if slices.Contains(l.MCPImport, codexAgent) {
		dir := absolute(l.in.Getenv("CODEX_HOME"))
		if dir == "" {
			dir = under(l.in.Getenv, ".codex")
		}
		l.importFrom(dir, "config.toml", maxFile, codexServers)
	}
}

// importFrom reads the servers of a file. A wrong file affects only its own servers.
func (l *loader) importFrom(dir, name string, limit int64,
	read func(ServerSource, []byte) ([]Server, []string, error),
) {
	if dir == "" {
		return
	}
	from := ServerSource{Path: filepath.Join(dir, name), Dir: dir, Kind: File, Getenv: l.in.Getenv}
	data, size, err := readOwned(from.Path, limit)
	if missing(err) {
		return
	}
	if err == nil && size > limit {
		err = fmt.Errorf("it is larger than %d bytes", limit)
	}
	var servers []Server
	var notes []string
	if err == nil {
		servers, notes, err = read(from, data)
	}
	if l.Notes = append(l.Notes, notes...); err != nil {
		l.Notes = append(l.Notes, fmt.Sprintf("%s: its MCP servers are not used: %v", from.Path, err))
	}
	for _, s := range servers {
		if _, own := l.Servers[s.Name]; !own {
			l.add(s)
		}
	}
}

// claudeServers reads ~/.claude.json: the servers of the working directory's projects, the
// nearest first, then the servers for all projects.
func (l *loader) claudeServers(from ServerSource, data []byte) (all []Server, notes []string, err error) {
	var file struct {
		Projects map[string]json.RawMessage `json:"projects"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, nil, fmt.Errorf("it is not understood: %w", err)
	}
	var parts [][]byte
	for dir := l.in.Dir; ; dir = filepath.Dir(dir) {
		if part, ok := file.Projects[dir]; ok {
			parts = append(parts, part)
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for _, part := range append(parts, data) {
		servers, more, err := from.Shared(part)
		notes = append(notes, more...)
		if err != nil {
			return all, notes, err
		}
		for _, s := range servers {
			if !slices.ContainsFunc(all, func(known Server) bool { return known.Name == s.Name }) {
				all = append(all, s)
			}
		}
	}
	return all, notes, nil
}

// codexServers reads ~/.codex/config.toml.
func codexServers(from ServerSource, data []byte) ([]Server, []string, error) {
	var file struct {
		Servers map[string]any `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal(data, &file); err != nil {
		return nil, nil, fmt.Errorf("it is not TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	servers, notes := from.Codex(file.Servers)
	return servers, notes, nil
}
