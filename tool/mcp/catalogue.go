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
	// maxCatalogue bounds the file with them, in bytes.
	maxCatalogue = 4 << 20
)

// Catalogue is what a server said of itself when it was asked last.
type Catalogue struct {
	// At is when that was.
	At time.Time `json:"at"`
	// Protocol is the version that was agreed on.
	Protocol string `json:"protocol"`
	// Server and Version are what it calls itself.
	Server  string `json:"server,omitempty"`
	Version string `json:"version,omitempty"`
	Tools   []Tool `json:"tools"`
	// Omitted is how many tools there were beyond what settle keeps.
	Omitted int `json:"omitted,omitempty"`
	// Resources says that it has resources to read.
	Resources bool `json:"resources,omitempty"`
	// Prompts are nil if it was not asked for them.
	Prompts []Prompt `json:"prompts"`
}

// Tool is a tool as its server describes it.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	// ReadOnly is the server's claim that a call changes nothing. Nothing is
	// allowed because of it.
	ReadOnly bool `json:"read_only,omitempty"`
}

func cataloguePath(dir string, s Server) string { return filepath.Join(dir, s.hash()+".json") }

// Known returns what is known of a server's tools; nil if it has not been asked
// yet, or if what is known cannot be read. dir is a [Config].CacheDir.
func Known(dir string, s Server) *Catalogue {
	if s.Relay != nil || s.Asked != nil {
		return s.Asked
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

// keep writes the catalogue for the sessions to come. Another process may do the
// same: whichever is last counts, and each is whole.
func keep(dir string, s Server, c Catalogue) error {
	if dir == "" || s.Relay != nil { // the next client's may be another
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
