package tui

import (
	"fmt"
	"strings"

	"github.com/settle-agent/settle/internal/terminal"
)

func (u *UI) help(string) {
	var b strings.Builder
	b.WriteString("# Keys\n\n| Key | What it does |\n|---|---|\n")
	for _, k := range keyHelp() {
		fmt.Fprintf(&b, "| %s | %s |\n", k[0], k[1])
	}
	b.WriteString("\n# Commands\n\n| Command | What it does |\n|---|---|\n")
	for _, s := range u.commands() {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.TrimSpace("/"+s.name+" "+s.argument), s.help)
	}
	u.openPager("Help", markdownRows(u, b.String()))
}

// keyHelp is a table; docs/reference/terminal.md has the same.
func keyHelp() [][2]string {
	return [][2]string{
		{"Enter", "send; while a turn runs, queue the input behind it"},
		{"Tab", "while a turn runs: send to it, with its next request"},
		{
			"@",
			"offer files: ↑ ↓ select, Tab or Enter takes one, Esc closes the list; / offers commands in the same way. Images are sent with the prompt, also images whose path is pasted",
		},
		{"?", "with an empty editor: show keys and commands"},
		{"! at the start", "run a command; the model sees it with your next prompt"},
		{"Shift-Enter, Alt-Enter, Ctrl-J", "begin a new line; Enter after a backslash does the same"},
		{"Shift-Tab", "change what may run without asking: ask, accept edits, read-only"},
		{
			"Esc",
			"interrupt the turn; twice while nothing runs and the editor is empty: go back to before an earlier input",
		},
		{"Ctrl-C", "clear the editor; else interrupt; else, twice, quit"},
		{"Ctrl-D", "quit, if the editor is empty"},
		{"↑ ↓", "move between lines; beyond them, earlier prompts"},
		{"Ctrl-R", "search earlier prompts; again for an older one"},
		{"Alt-↑", "take the last input that waits back into the editor"},
		{"Ctrl-T", "show the whole transcript"},
		{"Ctrl-A, Ctrl-E, Alt-B, Alt-F", "move to the line's start or end, by words"},
		{"Ctrl-W, Ctrl-U, Ctrl-K, Ctrl-Y", "cut a word, to the line's start, to its end; paste what was cut"},
		{
			"vi keys (/vi)",
			"in normal mode: h j k l w b e 0 ^ $ gg G f t ; , with counts; d c y x s r p J ~ u Ctrl-R; i a I A o O; / searches earlier prompts",
		},
		{"Ctrl-G", "edit the text in $VISUAL or $EDITOR"},
		{"Ctrl-L", "redraw the screen"},
		{"Ctrl-Z", "suspend settle"},
		{
			"↑ ↓ Enter, 1 to 9, y s n i e Tab",
			"answer a question: once (y), for the session (s), no (n), no and say what to do instead (i), have it explained (e), edit the command (Tab); letters with Alt while there is text in the editor",
		},
	}
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
