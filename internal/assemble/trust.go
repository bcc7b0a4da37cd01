package assemble

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
)

// TrustServers records that the user trusts the current version of the project's own lists
// of MCP servers. A changed list needs a new decision.
func TrustServers(r *config.Resolved) error {
	return trust(r, func(recorded map[string]string) {
		for _, file := range r.ProjectServers {
			recorded[file.Path] = file.Hash
		}
	})
}

// trust changes the record of trusted files.
func trust(r *config.Resolved, change func(recorded map[string]string)) error {
	if _, err := r.NeedDataDir(); err != nil {
		return err
	}
	recorded := r.Recorded()
	change(recorded)
	data, err := json.MarshalIndent(recorded, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot encode what is trusted: %w", err)
	}
	path := r.TrustFile()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("cannot record what is trusted: %w", err)
	}
	if err := disk.Replace(path, append(data, '\n')); err != nil {
		return fmt.Errorf("cannot record what is trusted: %w", err)
	}
	return nil
}
