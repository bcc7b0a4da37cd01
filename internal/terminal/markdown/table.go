package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// columnGap is between two columns of a table.
	columnGap = " │ "
	// leastColumn is the minimum width of a column; below it, a table is shown as a list.
	leastColumn = 5
)

// alignment is the alignment of a column's text.
type alignment byte

const (
	left alignment = iota
	center
	right
)

// table renders a paragraph that is a table: columns as wide as they must be,
// narrower ones with their cells wrapped, and where that is no use, each row as a
// list of cells. It reports whether it is one; lines before the table are a
// paragraph of their own.
func (p *page) table(n *ast.Paragraph) bool {
	var lines []string
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		lines = append(lines, strings.TrimSpace(string(segment.Value(p.source))))
	}
	head, alignments := tableHead(lines)
	if head < 0 {
		return false
	}
	if head > 0 {
		p.lines([]terminal.Line{p.text(strings.Join(lines[:head], " "), terminal.Style{})})
		p.put(nil)
	}
	var rows [][]terminal.Line
	for i, line := range lines[head:] {
		if i == 1 {
			continue // the line under the table's head
		}
		style := terminal.Style{}
		if i == 0 {
			style.Attr = terminal.Bold
		}
		row := make([]terminal.Line, len(alignments))
		for c, cell := range tableCells(line) {
			if c < len(row) {
				row[c] = p.text(cell, style)
			}
		}
		rows = append(rows, row)
	}
	p.tableRows(rows, alignments)
	return true
}

// text is Markdown within a line.
func (p *page) text(source string, style terminal.Style) terminal.Line {
	inner := page{parser: p.parser, source: []byte(source)}
	if n, ok := p.parser.Parse(text.NewReader(inner.source)).FirstChild().(*ast.Paragraph); ok {
		return flat(inner.inline(n, style))
	}
	return terminal.Plain(source, style)
}

// tableHead returns the line that is a table's head, and how its columns are
// aligned; -1 if there is none.
func tableHead(lines []string) (head int, alignments []alignment) {
	for i := 1; i < len(lines); i++ {
		if alignments := tableRule(lines[i]); alignments != nil && len(alignments) == len(tableCells(lines[i-1])) {
			return i - 1, alignments
		}
	}
	return -1, nil
}

// tableRule reads the line under a table's head; nil if it is none.
func tableRule(line string) (alignments []alignment) {
	if !strings.Contains(line, "|") {
		return nil
	}
	for _, cell := range tableCells(line) {
		dashes := strings.TrimSuffix(strings.TrimPrefix(cell, ":"), ":")
		if dashes == "" || strings.Trim(dashes, "-") != "" {
			return nil
		}
		switch ends := strings.HasSuffix(cell, ":"); {
		case ends && strings.HasPrefix(cell, ":"):
			alignments = append(alignments, center)
		case ends:
			alignments = append(alignments, right)
		default:
			alignments = append(alignments, left)
		}
	}
	return alignments
}

// tableCells splits a row at the bars that no backslash stands before.
func tableCells(line string) (cells []string) {
	line = strings.TrimPrefix(line, "|")
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			b.WriteByte('|')
			i++
		case line[i] == '|':
			cells = append(cells, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			b.WriteByte(line[i])
		}
	}
	if rest := strings.TrimSpace(b.String()); rest != "" || len(cells) == 0 {
		cells = append(cells, rest)
	}
	return cells
}

// tableRows lays rows out, of which the first one is the head.
func (p *page) tableRows(rows [][]terminal.Line, alignments []alignment) {
	widths := columns(rows, p.width-p.indent.Rest.Width())
	if widths == nil {
		p.cells(rows)
		return
	}
	for i, row := range rows {
		p.tableRow(row, widths, alignments)
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

// columns returns the width of each column, or nil if there is no room.
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

func (p *page) tableRow(row []terminal.Line, widths []int, alignments []alignment) {
	parts := make([][]terminal.Line, len(widths))
	height := 1
	for i := range widths {
		if i < len(row) {
			parts[i] = terminal.Wrap(row[i], widths[i], terminal.Indent{})
			height = max(height, len(parts[i]))
		}
	}
	for n := range height {
		var line terminal.Line
		for i, w := range widths {
			if i > 0 {
				line = append(line, terminal.Span{Text: columnGap, Style: faint()})
			}
			var part terminal.Line
			if n < len(parts[i]) {
				part = parts[i][n]
			}
			line = append(line, padded(part, w, alignments[i], i == len(widths)-1)...)
		}
		p.put(line)
	}
}

// padded fills a cell up; nothing is added after the last one.
func padded(part terminal.Line, width int, align alignment, last bool) terminal.Line {
	before, gap := 0, max(width-part.Width(), 0)
	switch align {
	case right:
		before = gap
	case center:
		before = gap / 2
	}
	after := gap - before
	if last {
		after = 0
	}
	out := terminal.Line{{Text: strings.Repeat(" ", before)}}
	return append(append(out, part...), terminal.Span{Text: strings.Repeat(" ", after)})
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
