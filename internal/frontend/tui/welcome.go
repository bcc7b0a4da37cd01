package tui

import (
	"fmt"

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

// welcome returns the first rows, six where they have room: what runs here, and where to find more.
func (u *UI) welcome() entry {
	model, place, tip := u.view.conversation.Model(), u.Place, tip(u.Keys, len(u.input.history.texts))
	mode, commands := event.PermissionWords(u.view.conversation.Mode(), u.state().Host.Confinement)
	help := u.Keys.Label(keymap.Help, "/help")
	version := terminal.OneLine("settle " + u.Version)
	return entry{group: ofWelcome, rows: func(width int) []terminal.Line {
		permission := mode
		if commands != "" {
			permission += " · " + commands
		}
		rows := []terminal.Line{terminal.Clip(terminal.Plain(version, bold()), width)}
		const indent = 14
		for _, about := range []struct {
			name  string
			value terminal.Line
		}{
			{"model", terminal.Plain(terminal.OneLine(model), terminal.Style{})},
			{"directory", terminal.Plain(terminal.OneLine(place), terminal.Style{})},
			{"permission", terminal.Plain(permission, terminal.Style{})},
			{"tip", terminal.Plain(tip, terminal.Style{})},
		} {
			first := terminal.Plain(fmt.Sprintf("  %-12s", about.name), faint())
			in := terminal.Indent{First: first, Rest: spaces(indent)}
			rows = append(rows, terminal.Wrap(about.value, width, in)...)
		}
		return append(rows, terminal.Clip(terminal.Plain("  "+help+" for shortcuts", faint()), width))
	}}
}
