package tui

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// help shows the commands, which most people look for, and then the keys.
func (u *UI) help(string) {
	var b strings.Builder
	b.WriteString("# Commands\n\n| Command | What it does |\n|---|---|\n")
	for _, s := range u.commands() {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.TrimSpace("/"+s.name+" "+s.argument), s.help)
	}
	b.WriteString("\nOther agents' names for these work too, such as /clear for /new and /exit for /quit.\n")
	b.WriteString("\n# Keys\n\n| Key | What it does |\n|---|---|\n")
	for _, a := range keymap.Actions() {
		if keys := u.Keys.Labels(a.Name); keys != "" {
			fmt.Fprintf(&b, "| %s | %s |\n", keys, a.About)
		}
	}
	for _, k := range fixedKeys() {
		fmt.Fprintf(&b, "| %s | %s |\n", k[0], k[1])
	}
	u.openPager("Help", markdownRows(u, b.String()))
}

// fixedKeys returns the keys that do not belong to actions, with their effects;
// docs/reference/terminal.md has the same.
func fixedKeys() [][2]string {
	return [][2]string{
		{"@", "offer files: ↑ ↓ select, Tab or Enter takes one, Esc closes the list; / offers commands in the " +
			"same way. Images are sent with the prompt, also images whose path is pasted, and pasted images (Ctrl-V)"},
		{"! at the start", "run a command of your own, outside the sandbox; the model sees it with your next prompt"},
		{"\\ before the end of the text", "sending begins a new line instead"},
		{"vi keys (/vi)", "in normal mode: h j k l w b e 0 ^ $ gg G f t ; , with counts; d c y x s r p J ~ u " +
			"Ctrl-R; i a I A o O; / searches earlier prompts"},
		{"↑ ↓ Enter, 1 to 9", "answer a question; letters need Alt while there is text in the editor"},
	}
}

// showKeys shows the keys in force, also of actions that have none.
func (u *UI) showKeys(string) {
	var b strings.Builder
	b.WriteString("# Keys: " + u.Keys.String() + "\n\n| Action | Keys | |\n|---|---|---|\n")
	for _, a := range keymap.Actions() {
		keys, from := cmp.Or(u.Keys.Labels(a.Name), "no key"), ""
		if u.Keys.Own(a.Name) {
			from = " (yours)"
		}
		fmt.Fprintf(&b, "| %s | %s%s | %s |\n", a.Name, keys, from, a.About)
	}
	b.WriteString("\nChange them in `[terminal.keys]` of your configuration: a preset (" +
		strings.Join(keymap.Presets(), ", ") + "), and for single actions a list of keys.\n")
	u.openPager("Keys", markdownRows(u, b.String()))
}

func markdownRows(u *UI, text string) func(int) []terminal.Line {
	return func(width int) []terminal.Line {
		var out []terminal.Line
		for n, b := range blocksOf(text) {
			if b.First && n > 0 {
				out = append(out, nil)
			}
			out = append(out, u.view.printout.renderer.Rows(b, width)...)
		}
		return out
	}
}

// lines shows lines in the pager.
func (u *UI) lines(name string, lines []string) {
	u.openPager(name, func(width int) (rows []terminal.Line) {
		for _, line := range lines {
			rows = append(
				rows, terminal.Wrap(terminal.Plain(line, terminal.Style{}), width, terminal.Indent{Rest: spaces(4)})...,
			)
		}
		return rows
	})
}
