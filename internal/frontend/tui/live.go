package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
	"github.com/settle-agent/settle/internal/terminal/markdown"
)

const (
	// maxQueue is the number of shown waiting inputs, and maxCalls the number of shown calls.
	maxQueue = 4
	maxCalls = 6
	// maxOpen is the number of bytes of a growing block that are laid out: if the block is longer,
	// its end.
	maxOpen = 4 << 10
)

// frame returns the live region: growing text, waiting inputs, the status and the editor.
// The editor is last, because terminals that reflow rows treat the rows above the cursor
// most consistently.
func (u *UI) frame(now time.Time) terminal.Frame {
	width, _ := u.display.screen.Size()
	room := u.display.screen.Live()
	editor, x, y := u.editorRows(width, max(min(room/3, 10), 1))
	status := u.status(width, now)
	room -= len(editor) + len(status) + 1
	var queue, ask, live, choices []terminal.Line
	switch {
	case u.overlay.menu != nil:
		choices = u.overlay.menu.rows(width, max(room-4, 1))
	case u.input.completion != nil:
		choices = u.input.completion.rows(width, min(maxShown, room/2))
	}
	room -= len(choices)
	if room > 3 {
		ask = u.askRows(width, max(room-1, 2))
		queue = append(u.queueRows(width), u.fetchRows(width)...)
		room -= len(ask) + len(queue)
	}
	plan := u.planRows(width, min(maxPlan, room-4))
	room -= len(plan)
	ask = append(plan, ask...)
	if room > 0 {
		live = u.liveRows(width, min(room, max(u.display.screen.Live()/3, 3)), now)
	}
	rows := append(live, ask...)
	rows = append(append(append(append(rows, queue...), choices...), nil), status...)
	y += len(rows)
	frame := terminal.Frame{Rows: append(rows, editor...), X: x, Y: y}
	if m := u.overlay.menu; m != nil && m.sample != nil && len(m.list.choices) > 0 {
		_, palette := m.sample(m.list.selected())
		frame.Palette = &palette
	}
	return frame
}

// liveRows returns at most room rows: the end of the growing text, held text, and running
// calls. Held text without room is committed.
func (u *UI) liveRows(width, room int, now time.Time) []terminal.Line {
	calls := u.callRows(width, now)
	if len(calls) > 0 && u.view.printout.gapBeforeCalls() {
		calls = append([]terminal.Line{nil}, calls...)
	}
	calls = calls[:min(len(calls), room)]
	room -= len(calls)
	for len(u.view.printout.textRows(width, room)) > room {
		e, ok := u.view.printout.spill()
		if !ok {
			break
		}
		u.commit(e)
	}
	text := u.view.printout.textRows(width, everyRow)
	return append(text[max(len(text)-room, 0):], calls...)
}

// gapBeforeCalls reports whether something else than a call is above them.
func (p *printout) gapBeforeCalls() bool {
	return p.shown > 0 && p.last != ofCall || slices.ContainsFunc(
		p.pieces, func(x *piece) bool { return x.kind != event.ToolCall },
	)
}

// callRows are the calls that have not been committed.
func (u *UI) callRows(width int, now time.Time) (calls []terminal.Line) {
	running, pieces := 0, u.view.printout.pieces
	for n := 0; n < len(pieces); n++ {
		if row, looks := lookRows(pieces[n:], width); looks > 0 {
			if running++; running <= maxCalls {
				calls = append(calls, row)
			}
			n += looks - 1
			continue
		}
		p := pieces[n]
		if p.kind != event.ToolCall || p.done && len(p.entries) == 0 || u.asks(p.item) {
			continue
		}
		if running++; running <= maxCalls {
			calls = append(calls, p.callRow(width, now))
		}
		if running == 1 && p.runs && !p.done {
			for _, line := range terminal.LastLines(p.tail, 3) {
				calls = append(calls, terminal.Clip(terminal.Plain("  │ "+line, faint()), width))
			}
		}
	}
	for _, c := range u.state().Children {
		if c.Background() && c.Ended == nil { // since when, not for how long: nothing draws while all is idle
			calls = append(
				calls,
				terminal.Clip(
					terminal.Plain(
						fmt.Sprintf(
							"  agent %s works since %s: %s", c.Child, c.At.Local().Format(time.TimeOnly),
							terminal.Text(c.Title),
						),
						faint(),
					),
					width,
				),
			)
		}
	}
	if running > maxCalls {
		calls = append(calls, terminal.Plain(fmt.Sprintf("  and %d more calls", running-maxCalls), faint()))
	}
	return calls
}

// everyRow is the limit of textRows for callers that need all rows.
const everyRow = 1 << 30

// textRows returns the rows of held text and the end of the growing text. It stops soon
// after limit rows.
func (p *printout) textRows(width, limit int) (rows []terminal.Line) {
	last, shown := p.last, p.shown > 0
	add := func(e entry, more []terminal.Line) {
		if len(more) == 0 {
			return
		}
		if shown && (e.gap || e.group != last) {
			rows = append(rows, nil)
		}
		rows, last, shown = append(rows, more...), e.group, true
	}
	for _, one := range p.pieces {
		if one.kind != event.ToolCall {
			for _, e := range one.entries {
				if len(rows) > limit {
					return rows
				}
				add(e, e.rows(width))
			}
		}
		switch {
		case one.done:
		case one.kind == event.Message:
			b := one.text.Open()
			add(entry{group: ofMessage, gap: b.First}, openRows(p.renderer, b, width))
		case one.kind == event.Reasoning:
			add(entry{group: ofThought}, []terminal.Line{thinkingRow(one, width)})
		}
	}
	return rows
}

// openRows are the rows of a block that still grows.
func openRows(r *markdown.Renderer, b markdown.Block, width int) []terminal.Line {
	if strings.TrimSpace(b.Text) == "" {
		return nil
	}
	if len(b.Text) > maxOpen {
		text := strings.ToValidUTF8(b.Text[len(b.Text)-maxOpen:], "")
		return paragraph("", text, terminal.Style{}, terminal.Style{})(width)
	}
	return r.Rows(b, width)
}

func thinkingRow(p *piece, width int) terminal.Line {
	lines := terminal.LastLines(p.tail, 1)
	words := "✻ thinking"
	if len(lines) > 0 {
		words += ": " + lines[0]
	}
	return terminal.Clip(terminal.Plain(words, faint()), width)
}

// callRow is a call that has not been committed: it is being written, waits,
// runs, or has ended before one that began earlier.
func (p *piece) callRow(width int, now time.Time) terminal.Line {
	if p.done { // the rows below the first one follow when the call is committed
		return p.entries[0].rows(width)[0]
	}
	mark, style, how := "○", faint(), ""
	if p.runs {
		mark, style = "●", accent()
		if elapsed := now.Sub(p.began); elapsed >= time.Second {
			how = span(elapsed.Truncate(time.Second))
		}
	}
	line := terminal.Line{{Text: mark + " ", Style: style}, {Text: p.title}}
	if how == "" {
		return terminal.Clip(line, width)
	}
	return append(terminal.Clip(line, max(width-len(how)-2, 4)), terminal.Span{Text: "  " + how, Style: faint()})
}

// queueRows are the inputs that wait.
func (u *UI) queueRows(width int) (rows []terminal.Line) {
	waiting := u.state().Waiting
	for n, in := range waiting {
		if n == maxQueue {
			rows = append(rows, terminal.Plain(fmt.Sprintf("  and %d more", len(waiting)-n), faint()))
			break
		}
		words := terminal.OneLine(transcript.Typed(&in))
		row := terminal.Line{{Text: "↳ " + waitsFor(&in) + ": ", Style: faint()}, {Text: words}}
		rows = append(rows, terminal.Clip(row, width))
	}
	if len(rows) > 0 {
		help := u.Keys.Label(keymap.Withdraw, "/queue") + " takes the last one back into the editor, /queue shows all"
		rows = append(rows, terminal.Wrap(terminal.Plain(help, faint()), width, twoSpaces())...)
	}
	return rows
}

func (u *UI) editorRows(width, height int) (rows []terminal.Line, x, y int) {
	if u.overlay.menu != nil {
		row, x := u.overlay.menu.line(width)
		return []terminal.Line{row}, x, 0
	}
	if u.input.search == nil {
		return u.input.editor.frame(width, height)
	}
	head := "search: " + u.input.search.words
	found := terminal.Line{{Text: head}, {Text: "  " + terminal.OneLine(u.input.search.found), Style: faint()}}
	return []terminal.Line{terminal.Clip(found, width)}, min(terminal.TextWidth(head), width-1), 0
}
