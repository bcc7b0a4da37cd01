package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// ProjectServers is a project's own list of MCP servers, .mcp.json. The repository's author
// chose its commands: the servers are used only after the user trusted this version of the
// file.
type ProjectServers struct {
	Path string
	// Hash is the hash of the file's content.
	Hash string
	// Servers are the servers in the file by name; they are in force if the file is
	// trusted.
	Servers []Server
	Trusted bool
}

// TrustFile is the file that records trusted project files: a JSON object of paths and
// hashes. Empty without a data directory.
func (r *Resolved) TrustFile() string {
	if r.DataDir == "" {
		return ""
	}
	return filepath.Join(r.DataDir, "trust.json")
}

// Recorded returns the content of TrustFile; empty if it cannot be read.
func (r *Resolved) Recorded() map[string]string {
	recorded := map[string]string{}
	if path := r.TrustFile(); path != "" {
		if data, size, err := disk.Read(path, maxFile); err == nil && size <= maxFile {
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
		from := ServerSource{Path: path, Dir: dir, Kind: Project, Getenv: l.in.Getenv}
		var notes []string
		file.Servers, notes, err = from.Shared(data)
		if l.Notes = append(l.Notes, notes...); err != nil {
			l.Notes = append(l.Notes, fmt.Sprintf("%s: its MCP servers are not used: %v", path, err))
			continue
		}
		l.ProjectServers = append(l.ProjectServers, file)
		l.use(file)
	}
}

// use adds the servers of a trusted file. A server of the user with the same name wins.
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
			"%s: its MCP servers (%s) are not used, since you have not trusted this version of the file; to see and trust it: settle mcp-servers --trust",
			file.Path,
			strings.Join(names, ", "),
		))
	}
}
