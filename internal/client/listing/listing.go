// Package listing writes lists to standard output: as a table for people, and as
// JSON for programs, one object a line.
package listing

import (
	"bytes"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/terminal"
)

// Table writes rows of cells, which are made fit for a terminal.
func Table(to io.Writer, rows [][]string) error {
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for n, cell := range row {
			cells[n] = strings.ReplaceAll(terminal.Text(cell), "\t", " ")
		}
		_, _ = io.WriteString(w, strings.Join(cells, "\t")+"\n") // into memory
	}
	_ = w.Flush() // into memory
	var out bytes.Buffer
	for line := range bytes.Lines(table.Bytes()) {
		out.Write(append(bytes.TrimRight(line, " \n"), '\n'))
	}
	_, err := to.Write(out.Bytes())
	return err
}

// JSON writes values, each when it is encoded.
func JSON[T any](to io.Writer, values []T) error {
	for _, value := range values {
		line, err := jsonrpc.Append(nil, value)
		if err != nil {
			return err
		}
		if _, err := to.Write(line); err != nil {
			return err
		}
	}
	return nil
}
