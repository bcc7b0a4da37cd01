// Package terminaltest has a small terminal in memory for tests of [terminal.Screen]. It
// supports the sequences that a Screen may use, and reports all others as mistakes. When it
// is resized, it reflows its rows, as most terminals do.
//
// Tests with the tag machine also use the real terminals tmux and xterm.js; this one needs
// no installation.
package terminaltest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Grid is a terminal.
type Grid struct {
	width, height int
	rows          []row // of the scrollback and the screen
	top           int   // first row of the screen
	x, y          int   // y counts from top
	pending       bool  // the next character goes to the next row
	noWrap        bool
	rest          []byte

	// Bells counts the rings of the terminal bell.
	Bells int
	// Mistakes are the written sequences that a Screen must not use.
	Mistakes []string
}

// row is a row of cells, up to the last written one.
type row struct {
	cells   []string // a wide character is followed by an empty cell
	wrapped bool     // the text continues in the next row
}

// NewGrid returns an empty terminal.
func NewGrid(width, height int) *Grid {
	return &Grid{width: width, height: height, rows: make([]row, 1)}
}

// Write implements [io.Writer].
func (g *Grid) Write(data []byte) (int, error) {
	g.rest = append(g.rest, data...)
	for len(g.rest) > 0 {
		n := g.step(g.rest)
		if n == 0 {
			break
		}
		g.rest = g.rest[n:]
	}
	return len(data), nil
}

func (g *Grid) step(data []byte) int {
	switch b := data[0]; {
	case b == '\r':
		g.x, g.pending = 0, false
		return 1
	case b == '\n':
		g.feed()
		return 1
	case b == '\a':
		g.Bells++
		return 1
	case b == 0x1b:
		return g.escape(string(data))
	case b < 0x20 || b == 0x7f:
		g.mistake("control character %q", b)
		return 1
	case !utf8.FullRune(data):
		return 0
	}
	cluster, width := ansi.FirstGraphemeCluster(data, ansi.GraphemeWidth)
	g.put(string(cluster), width)
	return len(cluster)
}

func (g *Grid) mistake(format string, args ...any) {
	g.Mistakes = append(g.Mistakes, fmt.Sprintf(format, args...))
}

func (g *Grid) line() *row {
	for g.top+g.y >= len(g.rows) {
		g.rows = append(g.rows, row{})
	}
	return &g.rows[g.top+g.y]
}

// feed goes to the next row; below the last one, the first goes to the
// scrollback.
func (g *Grid) feed() {
	g.pending = false
	if g.y++; g.y == g.height {
		g.y--
		g.top++
	}
	g.line()
}

func (g *Grid) put(text string, width int) {
	if width == 0 {
		return
	}
	if g.pending || g.x+width > g.width {
		if g.noWrap {
			g.x, g.pending = g.width-width, false
		} else {
			g.line().wrapped = true
			g.feed()
			g.x = 0
		}
	}
	l := g.line()
	for len(l.cells) < g.x+width {
		l.cells = append(l.cells, " ")
	}
	l.cells[g.x] = text
	for i := 1; i < width; i++ {
		l.cells[g.x+i] = ""
	}
	if g.x += width; g.x >= g.width {
		g.x, g.pending = g.width-1, true
	}
}

// escape takes one sequence, and returns 0 if it is not whole.
func (g *Grid) escape(data string) int {
	if len(data) < 2 {
		return 0
	}
	const beginLink = "\x1b]8;"
	if data == beginLink[:min(len(data), len(beginLink))] { // not whole
		return 0
	}
	if link, ok := strings.CutPrefix(data, beginLink); ok {
		return g.hyperlink(data, link)
	}
	if data[1] != '[' {
		g.mistake("escape %q", data[:2])
		return 2
	}
	end := strings.IndexFunc(data[2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
	if end < 0 {
		return 0
	}
	g.control(data[2:2+end], data[2+end])
	return end + 3
}

// hyperlink takes the beginning or the end of a link (OSC 8).
func (g *Grid) hyperlink(data, link string) int {
	end := strings.Index(link, "\x1b\\")
	if end < 0 {
		return 0
	}
	_, to, ok := strings.Cut(link[:end], ";")
	if !ok || strings.IndexFunc(to, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		g.mistake("link %q", link[:end])
	}
	return len(data) - len(link) + end + len("\x1b\\")
}

func (g *Grid) control(parameters string, final byte) {
	n, _ := strconv.Atoi(parameters) // 0 if there is none
	count := max(n, 1)
	switch {
	case final == 'm': // looks
	case final == 'A':
		g.y, g.pending = max(g.y-count, 0), false
	case final == 'B':
		g.y, g.pending = min(g.y+count, g.height-1), false
		g.line()
	case final == 'G':
		g.x, g.pending = min(count, g.width)-1, false
	case final == 'K' && n == 2:
		*g.line() = row{}
	case final == 'J' && n == 0:
		if g.x == 0 && g.y == 0 {
			g.mistake("the whole screen is erased: tmux keeps it in its history")
		}
		l := g.line()
		l.cells, l.wrapped = l.cells[:min(g.x, len(l.cells))], false
		g.rows = g.rows[:g.top+g.y+1]
	case final == 'h' || final == 'l':
		g.mode(parameters, final == 'h')
	default:
		g.mistake("sequence %q", "\x1b["+parameters+string(final))
	}
}

func (g *Grid) mode(name string, on bool) {
	switch name {
	case "?7":
		g.noWrap = !on
	case "?25", "?2026":
	default:
		g.mistake("mode %s", name)
	}
}

// Resize changes the terminal's size. It reflows the rows, and the cursor stays with its
// text.
func (g *Grid) Resize(width, height int) {
	at := g.top + g.y
	var rows []row
	cursor, cursorX := 0, g.x
	for i := 0; i < len(g.rows); {
		var joined []string
		offset := -1 // of the cursor, in the joined row
		for {
			if i == at {
				offset = len(joined) + g.x
			}
			joined = append(joined, g.rows[i].cells...)
			i++
			if !g.rows[i-1].wrapped || i == len(g.rows) {
				break
			}
		}
		split, starts := splitAt(joined, width)
		if offset >= 0 {
			n := 0
			for n+1 < len(starts) && starts[n+1] <= offset {
				n++
			}
			cursor, cursorX = len(rows)+n, min(offset-starts[n], width-1)
		}
		rows = append(rows, split...)
	}
	for len(rows) > cursor+1 && len(rows) > height && len(rows[len(rows)-1].cells) == 0 {
		rows = rows[:len(rows)-1]
	}
	g.rows, g.width, g.height, g.pending = rows, width, height, false
	g.top = max(len(rows)-height, 0)
	if cursor < g.top {
		g.top = cursor
		g.rows = g.rows[:min(len(rows), g.top+height)]
	}
	g.x, g.y = cursorX, cursor-g.top
}

// splitAt wraps a row that may be too wide, and returns where each part starts.
func splitAt(cells []string, width int) (rows []row, starts []int) {
	for start := 0; ; {
		starts = append(starts, start)
		if len(cells)-start <= width {
			return append(rows, row{cells: cells[start:]}), starts
		}
		end := start + width
		if cells[end] == "" { // a wide character is not cut in two
			end--
		}
		rows = append(rows, row{cells: cells[start:end:end], wrapped: true})
		start = end
	}
}

// Cursor returns the cell that the cursor is in, counted from the beginning of
// the scrollback.
func (g *Grid) Cursor() (x, y int) { return g.x, g.top + g.y }

// Rows returns the scrollback and the screen: rows that the terminal has
// wrapped are one row.
func (g *Grid) Rows() []string {
	var out []string
	var b strings.Builder
	for _, r := range g.rows {
		b.WriteString(strings.Join(r.cells, ""))
		if r.wrapped {
			continue
		}
		out = append(out, strings.TrimRight(b.String(), " "))
		b.Reset()
	}
	if b.Len() > 0 {
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	return out
}
