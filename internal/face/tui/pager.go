package tui

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/printable"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/markdown"
)

// pager shows something long on the alternate screen, which leaves the rows of
// the terminal as they are.
type pager struct {
	title string
	rows  func(width int) []terminal.Line

	laid      []terminal.Line // at the width
	width     int
	top       int
	entered   bool
	atEnd     bool
	searching bool
	words     string
}

const (
	enterPager = "\x1b[?1049h"
	leavePager = "\x1b[?1049l"
)

func (f *Face) openPager(name string, rows func(width int) []terminal.Line) {
	f.pager = &pager{title: name, rows: rows, atEnd: name == "Transcript"}
}

func (p *pager) height(screen *terminal.Screen) int {
	_, height := screen.Size()
	return max(height-1, 1)
}

// draw writes the whole screen: a pager is drawn when a key is pressed.
func (p *pager) draw(out *bytes.Buffer, screen *terminal.Screen, palette terminal.Palette) {
	width, _ := screen.Size()
	height := p.height(screen)
	if p.width != width {
		p.laid, p.width = p.rows(width), width
	}
	last := max(len(p.laid)-height, 0)
	if p.atEnd {
		p.top, p.atEnd = last, false
	}
	p.top = min(max(p.top, 0), last)
	if !p.entered {
		out.WriteString(enterPager)
		p.entered = true
	}
	out.WriteString("\x1b[?2026h\x1b[?25l\x1b[?7l")
	for n := range height {
		fmt.Fprintf(out, "\x1b[%d;1H\x1b[2K", n+1)
		if p.top+n < len(p.laid) {
			out.Write(palette.Append(nil, terminal.Clip(p.laid[p.top+n], width)))
		}
	}
	where := fmt.Sprintf("%s  %d-%d of %d  ↑↓ PgUp PgDn g G  / searches  q closes", p.title, min(p.top+1, len(p.laid)), min(p.top+height, len(p.laid)), len(p.laid))
	if p.searching {
		where = "/" + p.words
	}
	fmt.Fprintf(out, "\x1b[%d;1H\x1b[2K", height+1)
	out.Write(palette.Append(nil, terminal.Clip(terminal.Plain(where, terminal.Style{Attr: terminal.Reverse}), width)))
	out.WriteString("\x1b[?7h\x1b[?2026l")
}

// pagerKey moves in the pager, or closes it.
func (f *Face) pagerKey(k terminal.Key) {
	p := f.pager
	page := p.height(f.screen)
	if p.searching {
		p.searchKey(k)
		return
	}
	switch k.Name {
	case "q", "esc", "ctrl+c", "ctrl+t":
		f.pager = nil
		f.frames.WriteString(leavePager)
	case "up", "k":
		p.top--
	case "down", "j", "enter":
		p.top++
	case "pgup", "b", "ctrl+u":
		p.top -= page - 1
	case "pgdown", "space", "f", "ctrl+d":
		p.top += page - 1
	case "home", "g":
		p.top = 0
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

// find goes to the next row with the words, or the one before.
func (p *pager) find(step int) {
	words := strings.ToLower(p.words)
	if words == "" {
		return
	}
	for n := p.top + step; n >= 0 && n < len(p.laid); n += step {
		if strings.Contains(strings.ToLower(p.laid[n].Text()), words) {
			p.top = n
			return
		}
	}
}

// transcriptRows are all of a session, with what the screen folds: thoughts,
// whole commands and outputs, and whole changes.
func transcriptRows(r *markdown.Renderer, s event.State) func(int) []terminal.Line {
	s = s.Clone()
	return func(width int) (rows []terminal.Line) {
		for _, t := range s.Turns {
			for e := range transcript.Entries(t) {
				if e.Input != nil && e.Input.Command {
					continue
				}
				if len(rows) > 0 {
					rows = append(rows, nil)
				}
				if e.Input != nil {
					rows = append(rows, inputEntry(e.Input).rows(width)...)
				} else {
					rows = append(rows, wholeItem(r, e.Item, s.Host.Dir, width)...)
				}
			}
			if t.Cause != nil && !onlyCommands(t) {
				rows = append(append(rows, nil), endEntry(t).rows(width)...)
			}
		}
		if len(rows) == 0 {
			rows = append(rows, terminal.Plain("Nothing has been said yet.", faint()))
		}
		return rows
	}
}

func wholeItem(r *markdown.Renderer, i *event.Item, dir string, width int) (rows []terminal.Line) {
	content := i.Content()
	switch i.Type() {
	case event.Message:
		for n, b := range blocksOf(content.Text) {
			if b.First && n > 0 {
				rows = append(rows, nil)
			}
			rows = append(rows, r.Rows(b, width)...)
		}
		return rows
	case event.ToolCall:
		return wholeCall(i, content, dir, width)
	}
	return paragraph("✻ ", content.Text, faint(), faint())(width)
}

func wholeCall(i *event.Item, content event.Content, dir string, width int) (rows []terminal.Line) {
	call := toolview.New(content.Name, content.Arguments, dir)
	mark, style, how := outcome(i, content)
	if i.Status == event.ItemOpen {
		mark, style, how = "●", lively(), "  running"
	}
	name := printable.Line(title(call))
	switch {
	case i.Attempt == "":
		name = enteredTitle(call)
	case call.Kind == toolview.Command:
		name = "$ " + strings.TrimSpace(call.Command)
	}
	rows = paragraph(mark+" ", name+how, style, bold())(width)
	if call.Kind == toolview.Edit {
		rows = append(rows, changeRows(call.Changes(content.Detail), dir, width, 1<<20)...)
		if i.Status == event.ItemCompleted {
			return rows
		}
	}
	if strings.TrimSpace(content.Output) == "" {
		return rows
	}
	indent := terminal.Indent{First: terminal.Plain("  │ ", faint()), Rest: terminal.Plain("  │ ", faint())}
	for line := range strings.SplitSeq(strings.TrimRight(content.Output, "\n"), "\n") {
		rows = append(rows, terminal.Break(terminal.Plain(strings.TrimRight(line, "\r"), terminal.Style{}), width, indent)...)
	}
	return rows
}
