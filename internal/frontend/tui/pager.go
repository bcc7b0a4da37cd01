package tui

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// pager shows a long text on the alternate screen, which leaves the terminal's rows
// unchanged. It lays out only the visible parts.
type pager struct {
	title string
	sheet sheet

	laid      map[int][]terminal.Line // the parts that were looked at last, at the width
	width     int
	height    int   // of the shown rows
	top       place // of the first row that is shown
	below     place // of the first row below the shown ones
	ended     bool  // no row is below the shown ones
	entered   bool
	atEnd     bool
	searching bool
	words     string
	hit       *place // of the words, until another key than n and N
	missed    bool   // no row has the words
}

// place is a row of a part of a sheet.
type place struct{ part, row int }

// maxLaid is the number of parts whose layout is kept.
const maxLaid = 256

const (
	enterPager = "\x1b[?1049h"
	leavePager = "\x1b[?1049l"
)

func (u *UI) openPager(name string, parts ...func(width int) []terminal.Line) {
	u.overlay.pager = &pager{title: name, sheet: parts, atEnd: name == "Transcript"}
	u.overlay.pager.resize(u.display.screen)
}

// resize keeps the first visible part.
func (p *pager) resize(screen *terminal.Screen) {
	width, height := screen.Size()
	p.height = max(height-1, 1)
	if p.width != width {
		p.width, p.laid = width, map[int][]terminal.Line{}
	}
}

func (p *pager) part(n int) []terminal.Line {
	rows, ok := p.laid[n]
	if !ok {
		if len(p.laid) >= maxLaid {
			clear(p.laid)
		}
		rows = p.sheet[n](p.width)
		p.laid[n] = rows
	}
	return rows
}

// next returns the place of the row after one, and whether there is any.
func (p *pager) next(at place) (place, bool) {
	if at.row+1 < len(p.part(at.part)) {
		return place{at.part, at.row + 1}, true
	}
	for n := at.part + 1; n < len(p.sheet); n++ {
		if len(p.part(n)) > 0 {
			return place{n, 0}, true
		}
	}
	return at, false
}

// previous returns the place of the row before one, and whether there is any.
func (p *pager) previous(at place) (place, bool) {
	if at.row > 0 {
		return place{at.part, min(at.row, len(p.part(at.part))) - 1}, true
	}
	for n := at.part - 1; n >= 0; n-- {
		if rows := len(p.part(n)); rows > 0 {
			return place{n, rows - 1}, true
		}
	}
	return at, false
}

// move scrolls down by rows, or up if rows is negative.
func (p *pager) move(rows int) {
	step := p.next
	if rows < 0 {
		step, rows = p.previous, -rows
	}
	for more := len(p.sheet) > 0; more && rows > 0; rows-- {
		p.top, more = step(p.top)
	}
}

// end goes to where the last row is the last one on the screen.
func (p *pager) end() {
	if last := len(p.sheet) - 1; last >= 0 {
		p.top = place{last, len(p.part(last))} // behind the last row
		p.move(-p.height)
	}
}

// rows returns the visible rows.
func (p *pager) rows() (rows []terminal.Line) {
	at, more := p.top, len(p.sheet) > 0
	if more && at.row >= len(p.part(at.part)) { // the part has fewer rows after a layout, or none
		at.row = max(len(p.part(at.part))-1, 0)
		if p.top = at; len(p.part(at.part)) == 0 {
			at, more = p.next(at)
			p.top = at
		}
	}
	for ; more && len(rows) < p.height; at, more = p.next(at) {
		rows = append(rows, p.part(at.part)[at.row])
	}
	p.below, p.ended = at, !more
	return rows
}

// where returns how much of the text is above the end of the shown rows, in percent. All parts
// of the sheet count the same, since only the visible ones are laid out.
func (p *pager) where() int {
	if p.ended || len(p.sheet) == 0 {
		return 100
	}
	within := float64(p.below.row) / float64(max(len(p.part(p.below.part)), 1))
	return min(int((float64(p.below.part)+within)/float64(len(p.sheet))*100), 99)
}

// draw writes the whole screen: a pager is drawn when a key is pressed.
func (p *pager) draw(out *bytes.Buffer, screen *terminal.Screen, palette terminal.Palette) {
	p.resize(screen)
	rows := p.rows()
	if p.atEnd || len(rows) < p.height { // no empty rows after the end
		p.end()
		p.atEnd, rows = false, p.rows()
	}
	if !p.entered {
		out.WriteString(enterPager)
		p.entered = true
	}
	out.WriteString("\x1b[?2026h\x1b[?25l\x1b[?7l")
	for n := range p.height {
		fmt.Fprintf(out, "\x1b[%d;1H\x1b[2K", n+1)
		if n < len(rows) {
			out.Write(palette.Append(nil, terminal.Clip(rows[n], p.width)))
		}
	}
	where := ""
	for _, keys := range []string{"↑↓ PgUp PgDn g G  / searches  ", "/ searches  ", ""} {
		where = fmt.Sprintf("%s  %d %%  %sq closes", p.title, p.where(), keys)
		if terminal.TextWidth(where) <= p.width {
			break
		}
	}
	switch {
	case p.searching:
		where = "/" + p.words
	case p.missed:
		where = fmt.Sprintf("%s  no row has %q", p.title, p.words)
	}
	fmt.Fprintf(out, "\x1b[%d;1H\x1b[2K", p.height+1)
	out.Write(
		palette.Append(nil, terminal.Clip(terminal.Plain(where, terminal.Style{Attr: terminal.Reverse}), p.width)),
	)
	out.WriteString("\x1b[?7h\x1b[?2026l")
}

// pagerKey moves in the pager, or closes it.
func (u *UI) pagerKey(k terminal.Key) {
	p := u.overlay.pager
	page := p.height
	p.missed = false
	if p.searching {
		p.searchKey(k)
		return
	}
	if !strings.HasSuffix(strings.ToLower(k.Name), "n") {
		p.hit = nil
	}
	name := k.Name
	if u.Keys.Action(keymap.Prompt, name) == keymap.Transcript {
		name = "q"
	}
	switch name {
	case "q", "esc", "ctrl+c":
		u.overlay.pager = nil
		u.display.frames.WriteString(leavePager)
	case "up", "k":
		p.move(-1)
	case "down", "j", "enter":
		p.move(1)
	case "pgup", "b", "ctrl+u":
		p.move(1 - page)
	case "pgdown", "space", "f", "ctrl+d":
		p.move(page - 1)
	case "home", "g":
		p.top = place{}
	case "end", "G", "shift+g":
		p.atEnd = true
	case "/":
		p.searching, p.words = true, ""
	case "n":
		p.find(1)
	case "N", "shift+n":
		p.find(-1)
	}
}

func (p *pager) searchKey(k terminal.Key) {
	switch {
	case k.Name == "enter":
		p.searching = false
		p.find(1)
	case k.Name == "esc" || k.Name == "ctrl+c":
		p.searching, p.words = false, ""
	case k.Name == "backspace":
		parts := partsOf(p.words)
		p.words = joinParts(parts[:max(len(parts)-1, 0)])
	default:
		p.words += k.Text
	}
}

// find goes to the next row with the words, or the one before. After the last row, it continues with the
// first one.
func (p *pager) find(step int) {
	words := strings.ToLower(p.words)
	if words == "" || len(p.sheet) == 0 {
		return
	}
	last := len(p.sheet) - 1
	move, outside := p.next, place{0, -1} // outside is before the first row, or behind the last one
	if step < 0 {
		move, outside = p.previous, place{last, len(p.part(last))}
	}
	from := p.top
	if p.hit != nil {
		from = *p.hit
	}
	for _, from := range []place{from, outside} {
		for at, more := move(from); more; at, more = move(at) {
			if strings.Contains(strings.ToLower(p.part(at.part)[at.row].Text()), words) {
				p.top, p.hit = at, &at
				return
			}
		}
	}
	p.missed = true
}
