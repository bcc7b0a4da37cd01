package tui

import (
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/markdown"
	"github.com/settle-agent/settle/tool/ask"
)

// sheet is something long, in parts that are laid out one by one.
type sheet []func(width int) []terminal.Line

// transcriptSheet is a whole session, including the parts that the screen folds: reasoning,
// long commands, outputs and changes.
func transcriptSheet(r *markdown.Renderer, s event.State) (sheet sheet) {
	s = s.Clone()
	gap := func(int) []terminal.Line { return []terminal.Line{nil} }
	add := func(parts ...func(int) []terminal.Line) {
		if len(sheet) > 0 {
			sheet = append(sheet, gap)
		}
		sheet = append(sheet, parts...)
	}
	for _, t := range s.Turns {
		for e := range transcript.Entries(t) {
			switch {
			case e.Input != nil && e.Input.Command:
			case e.Input != nil:
				add(inputEntry(e.Input).rows)
			case e.Item.Type() == event.Message:
				add(messageSheet(r, e.Item.Content().Text)...)
			default:
				add(func(width int) []terminal.Line { return wholeItem(s, t, e.Item, width) })
			}
		}
		if t.Cause != nil && !onlyCommands(t) {
			add(endEntry(t).rows)
		}
	}
	if len(sheet) == 0 {
		add(func(int) []terminal.Line {
			return []terminal.Line{terminal.Plain("This session has no turn yet.", faint())}
		})
	}
	return sheet
}

// messageSheet is a message, in parts of some blocks each.
func messageSheet(r *markdown.Renderer, text string) (sheet sheet) {
	const limit = 64
	first := true
	for blocks := range slices.Chunk(blocksOf(text), limit) {
		begins := first
		first = false
		sheet = append(sheet, func(width int) (rows []terminal.Line) {
			for n, b := range blocks {
				if b.First && !(begins && n == 0) {
					rows = append(rows, nil)
				}
				rows = append(rows, r.Rows(b, width)...)
			}
			return rows
		})
	}
	return sheet
}

func wholeItem(s event.State, t *event.Turn, i *event.Item, width int) []terminal.Line {
	content := i.Content()
	if len(content.Detail) == 0 { // the call has not run: its question has the planned change
		for _, a := range t.Approvals {
			if a.Call == i.ID && a.Child == "" {
				content.Detail = a.Detail
			}
		}
	}
	if i.Type() == event.ToolCall {
		return wholeCall(s, t, i, content, width)
	}
	return paragraph("✻ ", content.Text, faint(), faint())(width)
}

func wholeCall(s event.State, t *event.Turn, i *event.Item, content event.Content, width int) (rows []terminal.Line) {
	dir := s.Host.Dir
	call := toolview.New(content.Name, content.RanWith(), dir)
	mark, style, how := outcome(i, content, s.Holds(t, i))
	if i.Status == event.ItemOpen {
		mark, style, how = "●", accent(), "  running"
		if !i.Started {
			mark, style, how = "○", faint(), "  not started"
		}
	}
	name := title(call)
	switch {
	case isEntered(t, i):
		name = enteredTitle(call)
	case call.Kind == toolview.Command:
		name = "$ " + strings.TrimSpace(call.Command)
	}
	rows = paragraph(mark+" ", name+how+changedBy(i)+approvedBy(t, i), style, bold())(width)
	if call.Kind == toolview.Edit {
		rows = append(rows, changeRows(call.Changes(content.Detail), dir, width, 1<<20, "")...)
		if i.Status == event.ItemCompleted {
			return rows
		}
	}
	if denied, why := transcript.Denial(i); denied != "" {
		content.Output = why
	}
	if replies, known := ask.Replies(content); known && content.Name == ask.Name {
		content.Output = strings.Join(replies, "\n")
	}
	if strings.TrimSpace(content.Output) == "" {
		return rows
	}
	indent := terminal.Indent{First: terminal.Plain("  │ ", faint()), Rest: terminal.Plain("  │ ", faint())}
	for line := range strings.SplitSeq(strings.TrimRight(content.Output, "\n"), "\n") {
		rows = append(
			rows,
			terminal.Break(linked(strings.TrimRight(line, "\r"), terminal.Style{}), width, indent)...)
	}
	return rows
}
