package markdown

import (
	"strings"

	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// columnGap is between two columns of a table.
	columnGap = " │ "
	// leastColumn is how narrow a column may become; below that, a table is shown
	// as a list.
	leastColumn = 5
)

// table renders a table: columns as wide as they must be, narrower ones with
// their cells wrapped, and where that is no use, each row as a list of cells.
func (p *page) table(t *extast.Table) {
	var rows [][]terminal.Line
	for r := t.FirstChild(); r != nil; r = r.NextSibling() {
		var row []terminal.Line
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			style := terminal.Style{}
			if r.Kind() == extast.KindTableHeader {
				style.Attr = terminal.Bold
			}
			row = append(row, flat(p.inline(c, style)))
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 || len(rows[0]) == 0 {
		return
	}
	widths := columns(rows, p.width-p.indent.Rest.Width())
	if widths == nil {
		p.cells(rows)
		return
	}
	for i, row := range rows {
		p.tableRow(row, widths, t.Alignments)
		if i == 0 {
			rule := make([]string, len(widths))
			for n, w := range widths {
				rule[n] = strings.Repeat("─", w)
			}
			p.put(terminal.Plain(strings.Join(rule, "─┼─"), faint()))
		}
	}
}

func flat(lines []terminal.Line) terminal.Line {
	var out terminal.Line
	for i, line := range lines {
		if i > 0 {
			out = append(out, terminal.Span{Text: " "})
		}
		out = append(out, line...)
	}
	return out
}

// columns returns how wide each column is to be, nil if there is no room.
func columns(rows [][]terminal.Line, room int) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row[:min(len(row), len(widths))] {
			widths[i] = max(widths[i], c.Width(), 1)
		}
	}
	room -= (len(widths) - 1) * terminal.TextWidth(columnGap)
	for {
		total, widest := 0, 0
		for i, w := range widths {
			total += w
			if w > widths[widest] {
				widest = i
			}
		}
		if total <= room {
			return widths
		}
		if widths[widest] <= leastColumn {
			return nil
		}
		widths[widest]--
	}
}

func (p *page) tableRow(row []terminal.Line, widths []int, alignments []extast.Alignment) {
	parts := make([][]terminal.Line, len(widths))
	most := 1
	for i := range widths {
		if i < len(row) {
			parts[i] = terminal.Wrap(row[i], widths[i], terminal.Indent{})
			most = max(most, len(parts[i]))
		}
	}
	for n := range most {
		var line terminal.Line
		for i, w := range widths {
			if i > 0 {
				line = append(line, terminal.Span{Text: columnGap, Style: faint()})
			}
			var part terminal.Line
			if n < len(parts[i]) {
				part = parts[i][n]
			}
			align := extast.AlignNone
			if i < len(alignments) {
				align = alignments[i]
			}
			line = append(line, padded(part, w, align, i == len(widths)-1)...)
		}
		p.put(line)
	}
}

// padded fills a cell up; nothing is added after the last one.
func padded(part terminal.Line, width int, align extast.Alignment, last bool) terminal.Line {
	left, gap := 0, max(width-part.Width(), 0)
	switch align {
	case extast.AlignRight:
		left = gap
	case extast.AlignCenter:
		left = gap / 2
	}
	right := gap - left
	if last {
		right = 0
	}
	out := terminal.Line{{Text: strings.Repeat(" ", left)}}
	return append(append(out, part...), terminal.Span{Text: strings.Repeat(" ", right)})
}

// cells shows a table without its columns.
func (p *page) cells(rows [][]terminal.Line) {
	for n, row := range rows[1:] {
		if n > 0 {
			p.put(nil)
		}
		for i, c := range row {
			line := c
			if i < len(rows[0]) {
				line = join(append(rows[0][i][:len(rows[0][i]):len(rows[0][i])], terminal.Span{Text: ": "}), c)
			}
			p.lines([]terminal.Line{line})
		}
	}
}
