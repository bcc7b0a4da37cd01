package tui

import (
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// search is a look for an earlier prompt.
type search struct {
	words, found string
	nth          int // how many matches were skipped
}

// searchKey looks for an earlier prompt.
func (u *UI) searchKey(k terminal.Key) {
	s := u.input.search
	name := k.Name
	if u.Keys.Action(keymap.Prompt, name) == keymap.SearchPrompts {
		name = "ctrl+r"
	}
	switch name {
	case "esc", "ctrl+g", "ctrl+c":
		u.input.search = nil
		return
	case "enter", "tab", "right", "end":
		u.input.search = nil
		if parts, ok := u.input.history.find(s.found, u.input.editor.parts); ok {
			u.input.editor.put(parts)
		}
		return
	case "ctrl+r":
		s.nth++
	case "backspace":
		parts := partsOf(s.words)
		s.words, s.nth = joinParts(parts[:max(len(parts)-1, 0)]), 0
	default:
		if k.Text == "" {
			return
		}
		s.words, s.nth = s.words+k.Text, 0
	}
	found, ok := u.input.history.search(s.words, s.nth)
	if !ok && s.nth > 0 {
		s.nth--
		return
	}
	s.found = found
}
