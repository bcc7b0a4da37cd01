package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/config/plugin"
	"github.com/settle-agent/settle/internal/terminal"
)

// listPath is the file with which a source lists plugins.
const listPath = ".claude-plugin/marketplace.json"

// Entry is a plugin in a list.
type Entry struct {
	Name, Description string
	// Folder is its folder in the same source; "" if it is elsewhere.
	Folder string
	// Add is the argument of "settle plugins add" for an entry that is elsewhere; "" if
	// settle cannot fetch it.
	Add string
}

// listEntry is an entry in the format of Claude Code.
type listEntry struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Source      json.RawMessage `json:"source"`
}

// elsewhere is the source of an entry in another place.
type elsewhere struct {
	Source, URL, Repo, Path, Ref, SHA string
}

// List returns the plugins that a source lists; listed is false without a list.
func List(ctx context.Context, s Snapshot) (entries []Entry, listed bool, err error) {
	data, err := s.File(ctx, listPath)
	if notThere(err) {
		return nil, false, nil
	}
	var file struct {
		Plugins  []listEntry `json:"plugins"`
		Metadata struct {
			PluginRoot string `json:"pluginRoot"`
		} `json:"metadata"`
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return nil, true, fmt.Errorf("cannot read %s: %w", listPath, err)
	}
	for _, e := range file.Plugins {
		if plugin.CheckName(e.Name) == nil {
			entries = append(entries, e.entry(file.Metadata.PluginRoot))
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, true, nil
}

func (e listEntry) entry(root string) Entry {
	out := Entry{Name: e.Name, Description: terminal.Short(e.Description, 100)}
	var folder string
	if json.Unmarshal(e.Source, &folder) == nil {
		if !strings.HasPrefix(folder, "./") {
			folder = path.Join(root, folder)
		}
		if clean, err := CleanFolder(folder); err == nil {
			if out.Folder = clean; clean == "" {
				out.Folder = "."
			}
		}
		return out
	}
	var place elsewhere
	if json.Unmarshal(e.Source, &place) != nil {
		return out
	}
	where := place.URL
	if place.Source == "github" {
		where = "https://github.com/" + place.Repo
	}
	ref := place.SHA
	if ref == "" {
		ref = place.Ref
	}
	if ref != "" {
		where += "@" + ref
	}
	from, err := ParseSource("/nonexistent", where)
	if err != nil || !from.Git || strings.ContainsAny(where+place.Path, " \t\n'\"\\$`;&|<>()*?[]{}!#~") {
		return out
	}
	out.Add = where
	if place.Path != "" {
		if folder, err := CleanFolder(place.Path); err == nil {
			out.Add += " --path " + folder
		} else {
			out.Add = ""
		}
	}
	return out
}

// ChooseError reports that a source lists several plugins, or that the chosen one is not there.
type ChooseError struct {
	Entries []Entry
	// Source is the argument of the command, and Name the chosen name; "" for none.
	Source, Name string
}

func (e *ChooseError) Error() string {
	if e.Name != "" {
		for _, one := range e.Entries {
			if one.Name == e.Name && one.Add != "" {
				return fmt.Sprintf("the plugin %q is in another place: settle plugins add %s", e.Name, one.Add)
			}
			if one.Name == e.Name {
				return fmt.Sprintf("the plugin %q is in a place that settle does not fetch", e.Name)
			}
		}
		return fmt.Sprintf("the list of %s has no plugin %q", e.Source, e.Name)
	}
	return fmt.Sprintf("%s lists %s; choose one with --plugin NAME", e.Source, terminal.Count(len(e.Entries), "plugin"))
}

// Choose returns the folder of the plugin to add: the given folder, the folder of the named entry
// of the source's list, or the whole source. A list without a choice is a [*ChooseError]. Without
// a list, name is a name for a plugin without a manifest.
func Choose(ctx context.Context, s Snapshot, source, folder, name string) (chosen string, err error) {
	if folder != "" {
		return CleanFolder(folder)
	}
	manifest, err := s.File(ctx, plugin.ManifestPath)
	if err != nil && !notThere(err) || err == nil && name == "" {
		return "", err
	}
	entries, listed, err := List(ctx, s)
	switch {
	case err != nil:
		return "", err
	case !listed && name != "" && names(manifest) != "" && names(manifest) != name:
		return "", fmt.Errorf("%s has no list of plugins (%s), and is the plugin %q", source, listPath, names(manifest))
	case !listed:
		return "", nil
	}
	for _, e := range entries {
		if e.Name == name && e.Folder != "" {
			if e.Folder == "." { // the whole source
				return "", nil
			}
			return e.Folder, nil
		}
	}
	return "", &ChooseError{entries, source, name}
}

// names returns the name in a manifest; "" for none.
func names(manifest []byte) string {
	var file struct{ Name string }
	_ = json.Unmarshal(manifest, &file) // plugin.Parse reports the errors
	return file.Name
}
