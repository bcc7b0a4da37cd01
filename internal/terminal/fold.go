package terminal

import (
	"io"
	"strings"

	"golang.org/x/term"
)

// Columns returns the width of the terminal that to is; 0 if it is none, and its lines are
// for programs.
func Columns(to io.Writer) int {
	f, ok := to.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// minFolded is the fewest columns that the last column of a folded row has.
const minFolded = 24

// Fold breaks the lines of a harmless text between words, at width columns; 0 breaks none.
// A row of a table continues below its last column.
func Fold(text string, width int) string {
	if width <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		if TextWidth(body) <= width {
			b.WriteString(line)
			continue
		}
		indent := Indent{Rest: Plain(strings.Repeat(" ", lastColumn(body, width)), Style{})}
		for n, row := range Wrap(Plain(body, Style{}), width, indent) {
			if n > 0 {
				b.WriteByte('\n')
			}
			for _, span := range row {
				b.WriteString(span.Text)
			}
		}
		b.WriteString(line[len(body):])
	}
	return b.String()
}

// lastColumn returns the start of the last column of a row that leaves room for words. A column
// starts behind two spaces. In a text without columns, it is the start of the first word.
func lastColumn(row string, width int) int {
	column := TextWidth(row) - TextWidth(strings.TrimLeft(row, " "))
	for i := range row {
		if i >= 2 && row[i] != ' ' && row[i-2:i] == "  " {
			if at := TextWidth(row[:i]); at <= width-minFolded {
				column = at
			}
		}
	}
	return column
}
