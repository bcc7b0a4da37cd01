package about

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/printable"
)

// Settings writes what is in force, with secrets masked, and returns the notes
// for people on what is not.
func Settings(to io.Writer, r *config.Resolved) error {
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, l := range r.Lines() {
		value := l.Value
		if value == "" {
			value = "-"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", printable.Text(l.Key), printable.Text(value), printable.Text(l.Origin.String()))
	}
	_ = w.Flush() // into memory
	for _, path := range r.Files {
		fmt.Fprintf(&table, "# read: %s\n", printable.Text(path))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&table, "# %s\n", printable.Text(note))
	}
	_, err := to.Write(table.Bytes())
	return err
}
