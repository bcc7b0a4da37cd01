package about

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/terminal"
)

// Settings writes the settings in force with their origins, and notes on ignored settings.
// Secrets are masked.
func Settings(to io.Writer, r *config.Resolved) error {
	var rows [][]string
	for _, l := range r.Lines() {
		rows = append(rows, []string{l.Key, cmp.Or(l.Value, "-"), l.Origin.String()})
	}
	if _, err := io.WriteString(to, terminal.Fold(settingRows(rows), terminal.Columns(to))); err != nil {
		return fmt.Errorf("cannot write to standard output: %w", err)
	}
	notes := ""
	for _, path := range r.Files {
		notes += "# read: " + path + "\n"
	}
	for _, note := range r.Notes {
		notes += "# " + note + "\n"
	}
	_, err := fmt.Fprint(to, terminal.Fold(terminal.Text(notes), terminal.Columns(to)))
	return err
}

// Chosen writes the settings that are not the defaults, with their origins, and the files that were read.
// Secrets are masked.
func Chosen(to io.Writer, r *config.Resolved) error {
	var rows [][]string
	lines := r.Lines()
	for _, l := range lines {
		if l.Origin.Kind != config.Default && l.Value != "" {
			rows = append(rows, []string{"  " + l.Key, l.Value, l.Origin.String()})
		}
	}
	text := settingRows(rows) +
		fmt.Sprintf("  %d settings have their defaults: \"settle config\" lists them\n", len(lines)-len(rows))
	for _, path := range r.Files {
		text += terminal.Text("  read: "+path) + "\n"
	}
	for _, note := range r.Notes {
		text += terminal.Text("  "+note) + "\n"
	}
	if _, err := io.WriteString(to, text); err != nil {
		return fmt.Errorf("cannot write to standard output: %w", err)
	}
	return nil
}

// maxValueColumn is the widest column of values. A longer value moves only its own origin.
const maxValueColumn = 40

// settingRows writes a row for each setting: its name, its value and its origin.
func settingRows(rows [][]string) string {
	name, value := 0, 0
	for _, row := range rows {
		name = max(name, terminal.TextWidth(row[0]))
		value = max(value, min(terminal.TextWidth(row[1]), maxValueColumn))
	}
	var b strings.Builder
	for _, row := range rows {
		line := fmt.Sprintf("%-*s  %-*s  %s", name, row[0], value, terminal.OneLine(row[1]), row[2])
		b.WriteString(strings.TrimRight(terminal.Text(line), " ") + "\n")
	}
	return b.String()
}
