package terminal

import (
	"io"
	"strconv"
)

// Reflow is the treatment of rows that are wider than the terminal's new width.
type Reflow string

// Kinds of reflow. None of them changes rows that fit.
const (
	// ReflowAll wraps every row, and the cursor goes along: most terminals.
	ReflowAll Reflow = "all"
	// ReflowOthers does not reflow the row of the cursor: xterm.js. It also moves the cursor when
	// rows below it reflow, so that the rows below should be short.
	ReflowOthers Reflow = "others"
	// ReflowNone cuts rows off: xterm, the Linux console, GNU screen.
	ReflowNone Reflow = "none"
)

// ReflowOf returns the reflow of the terminal that the environment describes.
func ReflowOf(getenv func(string) string) Reflow {
	switch name := getenv("TERM"); {
	case getenv("TMUX") != "":
		return ReflowAll
	case getenv("STY") != "", getenv("XTERM_VERSION") != "", name == "linux", name == "vt100", name == "vt220":
		return ReflowNone
	case getenv("TERM_PROGRAM") == "vscode":
		return ReflowOthers
	}
	return ReflowAll
}

// Frame is the live region: its rows, and the cell that the cursor is in.
type Frame struct {
	Rows []Line
	X, Y int
	// Palette is the palette of the frame, not of the committed rows; nil for the screen's.
	Palette *Palette
}

// Screen draws on a terminal. It is not safe for concurrent use.
type Screen struct {
	out     io.Writer
	palette Palette
	reflow  Reflow

	width, height int

	// The drawn state: the rows, their width, and the cell of the cursor.
	drawn      []drawnRow
	drawnWidth int
	x, y       int
	moved      bool // the terminal was resized since

	buf []byte
}

type drawnRow struct {
	text  string
	cells []cell
}

// NewScreen returns a screen that begins where the cursor is, which is at the
// beginning of an empty row.
func NewScreen(out io.Writer, palette Palette, reflow Reflow, width, height int) *Screen {
	return &Screen{out: out, palette: palette, reflow: reflow, width: max(width, 2), height: max(height, 3)}
}

// Size returns the columns and rows of the terminal.
func (s *Screen) Size() (width, height int) { return s.width, s.height }

// Live returns how many rows a live region may have: it is always shorter than
// the screen.
func (s *Screen) Live() int { return s.height - 1 }

// Resize notes the terminal's new size. The next Draw finds the live region
// again.
func (s *Screen) Resize(width, height int) {
	s.width, s.height = max(width, 2), max(height, 3)
	s.moved = true
}

// Palette changes which styles are shown from now on.
func (s *Screen) Palette(p Palette) { s.palette = p }

const (
	beginFrame = "\x1b[?2026h\x1b[?25l" // synchronised output, if supported
	endFrame   = "\x1b[?25h\x1b[?2026l"
	wrapOff    = "\x1b[?7l"
	wrapOn     = "\x1b[?7h"
	eraseRow   = "\x1b[2K"
	eraseBelow = "\x1b[J"
)

// Draw commits rows, which are no wider than the screen, and shows a frame below
// them, in one write. Rows of the frame that do not fit are clipped; if there
// are too many, the first ones are left out.
func (s *Screen) Draw(committed []Line, f Frame) error {
	next := s.fit(&f)
	if len(committed) == 0 && !s.moved && len(s.drawn) > 0 {
		s.change(next, f)
	} else {
		s.renew(committed, next, f)
	}
	s.drawn, s.drawnWidth, s.x, s.y, s.moved = next, s.width, f.X, f.Y, false
	return s.flush()
}

// fit makes a frame that is shorter than the screen, and has two rows at least.
func (s *Screen) fit(f *Frame) []drawnRow {
	rows := f.Rows
	for len(rows) < 2 {
		rows = append(rows[:len(rows):len(rows)], nil)
	}
	if excess := len(rows) - s.Live(); excess > 0 {
		rows = rows[excess:]
		f.Y -= excess
	}
	f.Y = min(max(f.Y, 0), len(rows)-1)
	f.X = min(max(f.X, 0), s.width-1)
	palette := s.palette
	if f.Palette != nil {
		palette = *f.Palette
	}
	next := make([]drawnRow, len(rows))
	for i, row := range rows {
		row = trimSpaces(Clip(row, s.width))
		next[i] = drawnRow{string(palette.Append(nil, row)), cells(row)}
	}
	return next
}

// change draws the rows that are others than before.
func (s *Screen) change(next []drawnRow, f Frame) {
	at, begun := s.y, false
	move := func(to int) {
		if !begun {
			s.add(beginFrame + wrapOff)
			begun = true
		}
		for ; at < to && to >= len(s.drawn); at++ { // below the drawn rows: the terminal may scroll
			if at < len(s.drawn)-1 {
				s.vertical(len(s.drawn) - 1 - at)
				at = len(s.drawn) - 1
			}
			s.add("\r\n")
		}
		s.vertical(to - at)
		at = to
	}
	for i, row := range next {
		if i < len(s.drawn) && s.drawn[i].text == row.text {
			continue
		}
		move(i)
		s.add("\r" + eraseRow + row.text)
	}
	if len(next) < len(s.drawn) {
		move(len(next))
		s.add("\r" + eraseBelow)
	}
	if !begun && f.X == s.x && f.Y == s.y {
		return
	}
	s.vertical(f.Y - at)
	s.column(f.X)
	if begun {
		s.add(wrapOn + endFrame)
	}
}

// renew draws everything: the committed rows where the live region began, and
// the live region below them. Erasing begins in the second row: tmux takes
// erasing all of the screen for a wish to keep it in its history.
func (s *Screen) renew(committed []Line, next []drawnRow, f Frame) {
	s.add(beginFrame)
	s.add("\r")
	s.vertical(-s.above())
	n := 0
	begin := func() {
		switch n {
		case 0:
			s.add(eraseRow)
		case 1:
			s.add("\r\n" + eraseBelow)
		default:
			s.add("\r\n")
		}
		n++
	}
	for _, row := range committed {
		begin()
		s.buf = s.palette.Append(s.buf, row)
	}
	s.add(wrapOff)
	for _, row := range next {
		begin()
		s.add(row.text)
	}
	s.vertical(f.Y - (len(next) - 1))
	s.column(f.X)
	s.add(wrapOn + endFrame)
}

// above returns how many rows the cursor is below the first row of the live
// region.
func (s *Screen) above() int {
	if !s.moved || s.reflow == ReflowNone || s.width >= s.drawnWidth {
		return min(s.y, s.height-1)
	}
	rows := 0
	for _, row := range s.drawn[:min(s.y, len(s.drawn))] {
		rows += wrapped(row.cells, s.width)
	}
	if s.reflow == ReflowAll && s.y < len(s.drawn) {
		rows += s.within(s.drawn[s.y].cells)
	}
	return min(rows, s.height-1)
}

// within returns how many rows the cursor went down as the terminal wrapped the
// row that it is in.
func (s *Screen) within(row []cell) int {
	rows, used, at := 0, 0, 0
	for _, c := range row {
		if at >= s.x {
			break
		}
		if used+c.width > s.width {
			rows, used = rows+1, 0
		}
		used += c.width
		at += c.width
	}
	if used >= s.width && at < s.rowWidth(row) {
		rows++
	}
	return rows
}

func (s *Screen) rowWidth(row []cell) int {
	n := 0
	for _, c := range row {
		n += c.width
	}
	return n
}

// Leave ends the live region: committed rows take its place, and the cursor
// stands at the beginning of the row after them.
func (s *Screen) Leave(committed []Line) error {
	s.renew(committed, []drawnRow{{}, {}}, Frame{})
	s.drawn, s.x, s.y, s.moved = nil, 0, 0, false
	return s.flush()
}

func (s *Screen) vertical(rows int) {
	switch {
	case rows > 0:
		s.add("\x1b[" + strconv.Itoa(rows) + "B")
	case rows < 0:
		s.add("\x1b[" + strconv.Itoa(-rows) + "A")
	}
}

func (s *Screen) column(x int) {
	s.add("\x1b[" + strconv.Itoa(x+1) + "G")
}

func (s *Screen) add(text string) { s.buf = append(s.buf, text...) }

func (s *Screen) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	_, err := s.out.Write(s.buf)
	if s.buf = s.buf[:0]; cap(s.buf) > 1<<16 {
		s.buf = nil
	}
	return err
}
