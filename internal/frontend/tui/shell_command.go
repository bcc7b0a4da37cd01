package tui

import (
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/terminal"
)

// enteredEntry is a command that a person entered: it takes the place of the
// input.
func enteredEntry(i *event.Item, content event.Content, call toolview.Call, all string) entry {
	mark, style, how := outcome(i, content, false)
	body := outputRows(content.Output, maxEntered, all)
	return entry{group: ofInput, gap: true, rows: func(width int) []terminal.Line {
		head := terminal.Line{
			{Text: strings.TrimPrefix(enteredTitle(call), commandMark), Style: bold()},
			{Text: "  " + mark, Style: style},
			{Text: strings.TrimPrefix(how, " "), Style: faint()},
		}
		rows := terminal.Wrap(
			head,
			width,
			terminal.Indent{
				First: terminal.Plain(commandMark, style.With(terminal.Bold)),
				Rest:  spaces(len(commandMark)),
			},
		)
		return append(rows, body(width)...)
	}}
}

const (
	// commandMark stands before a command that a person enters.
	commandMark = "! "
	// maxEntered is the number of rows of a command's output that stay on the screen.
	maxEntered = 30
)

// isEntered reports whether a person entered the call. The approval of a held call begins it without a
// request of the model, too.
func isEntered(t *event.Turn, i *event.Item) bool {
	in := t.InputOf(i)
	return i.Attempt == "" && (in == nil || in.HeldCall == nil)
}

// enteredTitle is the title of a command that a person entered.
func enteredTitle(call toolview.Call) string {
	command := call.Command
	if call.Kind != toolview.Command {
		command = title(call)
	}
	return commandMark + strings.TrimSpace(command)
}

// onlyCommands reports whether the turn only ran commands that a person entered, and
// completed.
func onlyCommands(t *event.Turn) bool {
	return len(t.Attempts) == 0 && len(t.Items) > 0 && t.Cause.Outcome == event.Completed
}
