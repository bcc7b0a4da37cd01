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

// Table writes rows of cells, which are made fit for a terminal, and folded at its width.
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
	_, err := io.WriteString(to, terminal.Fold(out.String(), terminal.Columns(to)))
	return err
}

// Width returns how many columns of a table the rows take, with the gap behind them.
func Width(rows [][]string) int {
	var widest []int
	for _, row := range rows {
		for n, cell := range row {
			if n == len(widest) {
				widest = append(widest, 0)
			}
			widest[n] = max(widest[n], terminal.TextWidth(cell)+2)
		}
	}
	sum := 0
	for _, width := range widest {
		sum += width
	}
	return sum
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
