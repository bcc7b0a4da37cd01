package about

import (
	"cmp"
	"fmt"
	"io"

	"github.com/settle-agent/settle/internal/client/listing"
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
	if err := listing.Table(to, rows); err != nil {
		return err
	}
	notes := ""
	for _, path := range r.Files {
		notes += "# read: " + path + "\n"
	}
	for _, note := range r.Notes {
		notes += "# " + note + "\n"
	}
	_, err := fmt.Fprint(to, terminal.Text(notes))
	return err
}
