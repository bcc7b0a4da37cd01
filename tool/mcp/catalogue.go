package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

const (
	// maxTools bounds the tools of a server.
	maxTools = 512
	// maxCatalogue bounds the catalogue file in bytes.
	maxCatalogue = 4 << 20
)

// Catalogue is a server's description of itself from its last connection.
type Catalogue struct {
	// At is the time of the description.
	At time.Time `json:"at"`
	// Protocol is the negotiated version of the protocol.
	Protocol string `json:"protocol"`
	// Server and Version are the server's own name and version.
	Server  string `json:"server,omitempty"`
	Version string `json:"version,omitempty"`
	Tools   []Tool `json:"tools"`
	// Omitted is the number of tools beyond settle's limit.
	Omitted int `json:"omitted,omitempty"`
	// Resources reports that the server has resources to read.
	Resources bool `json:"resources,omitempty"`
	// Prompts are nil if they were not requested.
	Prompts []Prompt `json:"prompts"`
}

// Tool is a tool in its server's description.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	// ReadOnly is the server's claim that a call changes nothing. No call is allowed
	// because of it.
	ReadOnly bool `json:"read_only,omitempty"`
}

func cataloguePath(dir string, s Server) string { return filepath.Join(dir, s.hash()+".json") }

// Known returns a server's stored catalogue; nil if there is none, or if it cannot be read.
// dir is a [Config].CacheDir.
func Known(dir string, s Server) *Catalogue {
	if s.Relay != nil || s.Catalogue != nil {
		return s.Catalogue
	}
	if dir == "" {
		return nil
	}
	data, size, err := disk.Read(cataloguePath(dir, s), maxCatalogue)
	if err != nil || size > maxCatalogue {
		return nil
	}
	var c Catalogue
	if json.Unmarshal(data, &c) != nil || c.At.IsZero() || len(c.Tools) > maxTools || len(c.Prompts) > maxPrompts {
		return nil
	}
	return &c
}

// keep stores the catalogue for later sessions. If several processes store one, the last
// one wins, and each file is complete.
func keep(dir string, s Server, c Catalogue) error {
	if dir == "" || s.Relay != nil { // the next client's server can be another one
		return nil
	}
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("cannot encode the catalogue of %q: %w", s.Name, err)
	}
	if len(data) > maxCatalogue {
		return fmt.Errorf("cannot keep the catalogue of %q: it has more than %d bytes", s.Name, maxCatalogue)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot keep the catalogue of %q: %w", s.Name, err)
	}
	if err := disk.Replace(cataloguePath(dir, s), data); err != nil {
		return fmt.Errorf("cannot keep the catalogue of %q: %w", s.Name, err)
	}
	return nil
}
