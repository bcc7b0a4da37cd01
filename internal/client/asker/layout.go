package asker

import (
	"strings"

	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// hang is the first column of the rows into which a long line of a question continues. The rows of settle
	// begin further to the left, such as "in: DIR": no text of the model can look like one of them.
	hang = 8
	// minRow is the number of columns that a narrow terminal leaves to the text.
	minRow = 4
)

// Rows returns the rows of a line of a question, of which the first one begins at a column. All rows of the
// text of a model keep its indent.
func Rows(line terminal.Line, column, width int) []terminal.Line {
	room := max(width-minRow, 0)
	column = min(column, room)
	rest := min(max(column, hang), room)
	return terminal.Wrap(line, width, terminal.Indent{First: spaces(column), Rest: spaces(rest)})
}

func spaces(n int) terminal.Line { return terminal.Plain(strings.Repeat(" ", n), terminal.Style{}) }

// Fold breaks the lines of a harmless text of questions into [Rows] of a width; 0 breaks none.
func Fold(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for n, line := range lines {
		if terminal.TextWidth(line) <= width {
			continue
		}
		body := strings.TrimLeft(line, " ")
		var rows []string
		for _, row := range Rows(terminal.Plain(body, terminal.Style{}), len(line)-len(body), width) {
			rows = append(rows, row.Text())
		}
		lines[n] = strings.Join(rows, "\n")
	}
	return strings.Join(lines, "\n")
}
