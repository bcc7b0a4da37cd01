package tui

import (
	"fmt"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

const ofWelcome group = "welcome"

// tips are shown one at a start, in turns.
func tips(keys keymap.Map) []string {
	return []string{
		"@ and a few letters insert the path of a file",
		keys.Label(keymap.NextPermission, "/permissions") + " changes what runs without a question",
		keys.Label(keymap.Queue, keys.Label(keymap.Send, "")) + " queues an input while a turn runs, " +
			keys.Label(keymap.Steer, keys.Label(keymap.SendNow, "")) + " adds it to the turn",
		"! runs a command of your own, outside the sandbox; the model sees its output",
		keys.Label(keymap.Interrupt, "Ctrl-C") + " interrupts the turn; /rewind goes back to before an earlier input",
		keys.Label(keymap.Transcript, "/transcript") + " shows the whole transcript, with everything that is folded",
		"settle resume opens the last session of a directory again",
	}
}

// tip returns the tip of the nth start.
func tip(keys keymap.Map, n int) string {
	all := tips(keys)
	return all[n%len(all)]
}

// welcome returns the first rows, six where they have room: the model, the rights, and where to find
// more. If settle uses configuration of other agents, the first row also names the help. The row about
// that configuration takes the row of the tip if it needs two.
func (u *UI) welcome() entry {
	const indent = 14
	model, place, tip := u.view.conversation.Model(), u.placeIn(u.state()), tip(u.Keys, len(u.input.history.texts))
	permission, commands := event.PermissionWords(u.view.conversation.Mode(), u.state().Host.Confinement)
	if commands != "" {
		permission += " · " + commands
	}
	help := u.Keys.Label(keymap.Help, "/help") + " for shortcuts"
	version := terminal.Plain(terminal.OneLine("settle "+u.Version), bold())
	imported := ""
	if u.Imported != nil && hostOf(u.view.conversation) == "" {
		imported = u.Imported()
	}
	return entry{group: ofWelcome, rows: func(width int) (rows []terminal.Line) {
		about := func(name, value string) {
			first := terminal.Plain(fmt.Sprintf("  %-12s", name), faint())
			in := terminal.Indent{First: first, Rest: spaces(indent)}
			text := terminal.Plain(terminal.OneLine(value), terminal.Style{})
			rows = append(rows, terminal.Wrap(text, width, in)...)
		}
		first := version
		if imported != "" {
			first = append(slices.Clone(version), terminal.Span{Text: " · " + help, Style: faint()})
		}
		rows = append(rows, terminal.Clip(first, width))
		about("model", model)
		about("directory", place)
		about("permission", permission)
		before := len(rows)
		if imported != "" {
			text, more := imported, " (/status)"
			if room := width - indent; terminal.TextWidth(text) > room || terminal.TextWidth(text+more) <= room {
				text += more // it needs no row of its own
			}
			about("imported", text)
		}
		if len(rows) <= before+1 {
			about("tip", tip)
		}
		if imported == "" {
			rows = append(rows, terminal.Clip(terminal.Plain("  "+help, faint()), width))
		}
		return rows
	}}
}
