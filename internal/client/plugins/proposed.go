package plugins

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	maxSettings = 1 << 20 // bytes
	maxProposed = 50
)

// Proposed is a plugin that a project's settings of Claude Code name.
type Proposed struct{ Name, Where string }

// ProposedBy returns the plugins that a project proposes, as text: settle fetches and runs nothing
// of it.
func ProposedBy(project repo.Project) (out []Proposed) {
	for _, dir := range project.Dirs {
		for _, name := range []string{"settings.json", "settings.local.json"} {
			path := filepath.Join(dir, ".claude", name)
			data, size, err := project.ReadFile(path, maxSettings)
			if err != nil || size > maxSettings {
				continue
			}
			var file struct {
				Enabled map[string]json.RawMessage `json:"enabledPlugins"`
			}
			if json.Unmarshal(data, &file) != nil {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(file.Enabled)) {
				if len(out) < maxProposed && string(file.Enabled[name]) != "false" {
					out = append(out, Proposed{terminal.Short(name, 100), path})
				}
			}
		}
	}
	return out
}
