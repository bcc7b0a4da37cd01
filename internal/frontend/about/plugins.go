package about

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/client/plugins"
	"github.com/settle-agent/settle/internal/config/plugin"
	"github.com/settle-agent/settle/internal/terminal"
)

// ShownPlugin is a plugin with its parts.
type ShownPlugin struct {
	plugin.Plugin
	Inventory []plugins.Part
}

// pluginLine is a plugin as JSON.
type pluginLine struct {
	Name        string `json:"name"`
	State       string `json:"state"` // ok, changed, disabled, unusable
	Problem     string `json:"problem,omitempty"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	pluginSource
	Parts []plugins.Part `json:"parts"`
}

// pluginSource is the source of a plugin, and the version that was copied from it.
type pluginSource struct {
	Source  string   `json:"source"`
	Path    string   `json:"path,omitempty"`
	Ref     string   `json:"ref,omitempty"`
	Commit  string   `json:"commit,omitempty"`
	Digest  string   `json:"digest"`
	Root    string   `json:"root"`
	Changed []string `json:"changed,omitempty"` // files of the directory that differ
}

// PluginSource returns the source of a plugin, on one line.
func PluginSource(p *plugin.Plugin) string {
	where := p.Source
	if p.Path != "" {
		where += " (" + p.Path + ")"
	}
	if p.Ref != "" && p.Ref != p.Commit {
		where += " " + p.Ref
	}
	if p.Commit != "" {
		where += fmt.Sprintf(" @ %.12s", p.Commit)
	}
	return terminal.OneLine(where)
}

// PluginsJSON writes the plugins, one JSON object a line.
func PluginsJSON(to io.Writer, list []ShownPlugin) error {
	lines := make([]pluginLine, 0, len(list))
	for n := range list {
		p := &list[n]
		lines = append(lines, pluginLine{
			Name: p.Name, State: p.State(), Problem: p.Problem, Version: p.Parts.Version,
			Description: p.Parts.Description,
			pluginSource: pluginSource{
				Source: p.Source, Path: p.Path, Ref: p.Ref, Commit: p.Commit, Digest: p.Digest, Root: p.Root,
				Changed: p.Drift,
			},
			Parts: p.Inventory,
		})
	}
	return listing.JSON(to, lines)
}

// Plugins writes a table of the plugins, with the reasons why some are not used, and the plugins
// that the project proposes.
func Plugins(to io.Writer, list []ShownPlugin, proposed []plugins.Proposed) error {
	rows := [][]string{{"PLUGIN", "STATE", "VERSION", "HAS", "FROM"}}
	var notes []string
	for n := range list {
		p := &list[n]
		version := terminal.Short(p.Parts.Version, 20)
		if version == "" {
			version = "-"
		}
		rows = append(rows, []string{
			p.Name, p.State(), version, plugins.Summary(p.Inventory), PluginSource(&p.Plugin),
		})
		switch {
		case p.Problem != "":
			notes = append(notes, fmt.Sprintf("%s: %s; %s", p.Name, p.Problem, p.Remedy()))
		case len(p.Drift) > 0:
			notes = append(notes, fmt.Sprintf(
				"%s: its directory has changed (%s); sessions use it as you trusted it; %s",
				p.Name, p.Drifted(), p.Remedy(),
			))
		}
	}
	for _, p := range proposed {
		notes = append(notes, fmt.Sprintf("the project proposes the plugin %q in %s; settle does not add it by itself",
			p.Name, p.Where))
	}
	if len(rows) > 1 {
		if err := listing.Table(to, rows); err != nil {
			return err
		}
	}
	for n, note := range notes {
		if note = terminal.OneLine(note); n == 0 && len(rows) > 1 {
			note = "\n" + note
		}
		if _, err := fmt.Fprintln(to, note); err != nil {
			return fmt.Errorf("cannot write to standard output: %w", err)
		}
	}
	return nil
}

// Plugin writes everything about a plugin: where it comes from, its files, and each part.
func Plugin(to io.Writer, p ShownPlugin, files plugin.Tree) error {
	var b strings.Builder
	title := "Plugin " + p.Name
	if p.Parts.Version != "" {
		title += " " + terminal.Short(p.Parts.Version, 40)
	}
	if p.Parts.Author != "" {
		title += ", which says it is by " + terminal.Short(p.Parts.Author, 60)
	}
	fmt.Fprintln(&b, title)
	add := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-8s  %s\n", name, terminal.OneLine(text))
		}
	}
	add("about", terminal.Short(p.Parts.Description, 300))
	add("from", PluginSource(&p.Plugin))
	add("commit", p.Commit)
	add("digest", p.Digest)
	add("copy", p.Root)
	add("problem", p.Problem)
	add("files", fileSummary(files))
	if len(p.Inventory) > 0 {
		fmt.Fprintln(&b, "Everything that settle uses or ignores of it; variables are as in its files:")
	}
	for _, part := range p.Inventory {
		fmt.Fprintln(&b, "  "+part.Line())
	}
	if _, err := io.WriteString(to, terminal.Fold(b.String(), terminal.Columns(to))); err != nil {
		return fmt.Errorf("cannot write to standard output: %w", err)
	}
	return nil
}

// PluginChange writes the differences between a plugin that a person trusts and another content of
// it, and the command that shows the difference of its files; read is the folder with the other
// content, "" if it does not stay.
func PluginChange(to io.Writer, before, now ShownPlugin, changed []string, read string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Plugin %s: what differs from what you trusted (- before, + now):\n", now.Name)
	for _, of := range [][3]string{
		{"version", terminal.Short(before.Parts.Version, 40), terminal.Short(now.Parts.Version, 40)},
		{"commit", before.Commit, now.Commit},
		{"digest", before.Digest, now.Digest},
		{"copy", before.Root, now.Root},
	} {
		for n, sign := range []string{"-", "+"} {
			if value := of[n+1]; value != "" && of[1] != of[2] {
				fmt.Fprintf(&b, "  %s %-8s  %s\n", sign, of[0], terminal.OneLine(value))
			}
		}
	}
	for _, line := range plugins.Difference(before.Inventory, now.Inventory, changed) {
		fmt.Fprintln(&b, "  "+line)
	}
	text := terminal.Fold(b.String(), terminal.Columns(to))
	if _, err := os.Stat(before.Root); err == nil && read != "" && len(changed) > 0 { // not folded: it can be copied
		text += fmt.Sprintf(
			"To read the change: diff -r %s %s\n", terminal.ShellWord(before.Root), terminal.ShellWord(read),
		)
	}
	if _, err := io.WriteString(to, text); err != nil {
		return fmt.Errorf("cannot write to standard output: %w", err)
	}
	return nil
}

// maxPrograms bounds the named executable files.
const maxPrograms = 12

func fileSummary(t plugin.Tree) string {
	var programs []string
	for _, f := range t.Files {
		if f.Program {
			programs = append(programs, f.Path)
		}
	}
	text := fmt.Sprintf("%s, %d KiB", terminal.Count(len(t.Files), "file"), (t.Total()+1023)/1024)
	if n := len(programs); n > maxPrograms {
		programs = append(programs[:maxPrograms], fmt.Sprintf("and %d more", n-maxPrograms))
	}
	if len(programs) > 0 {
		text += "; executable: " + strings.Join(programs, ", ")
	}
	return text
}

// PluginEntries writes a table of the plugins that a source lists.
func PluginEntries(to io.Writer, entries []plugins.Entry) error {
	rows := [][]string{{"PLUGIN", "WHAT IT IS FOR", "WHERE"}}
	for _, e := range entries {
		where := e.Folder
		switch {
		case e.Folder != "":
		case e.Add != "":
			where = e.Add
		default:
			where = "elsewhere"
		}
		rows = append(rows, []string{e.Name, terminal.Short(e.Description, 60), terminal.OneLine(where)})
	}
	return listing.Table(to, rows)
}
