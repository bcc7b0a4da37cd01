package tui

import "github.com/settle-agent/settle/internal/terminal"

// toggleVi turns the keys of vi on or off.
func (u *UI) toggleVi(string) {
	u.input.vi = vi{on: !u.input.vi.on}
	if u.input.vi.on {
		u.showHint("vi keys are on; terminal.keys = \"vi\" in the configuration keeps them")
		return
	}
	u.showHint("vi keys are off")
}

// viKey handles a key in vi mode, and reports whether it is finished with the key. Esc
// changes to normal mode and also interrupts: during a turn, one Esc is enough.
func (u *UI) viKey(k terminal.Key) bool {
	v := &u.input.vi
	switch {
	case !v.on:
		return false
	case k.Name == "esc" && !v.normal:
		v.leave(&u.input.editor)
		return !u.interruptible()
	case k.Name == "esc" && v.pending() != "":
		v.reset()
		return !u.interruptible()
	case !v.normal:
		return false
	}
	if v.pending() == "" {
		switch k.Text {
		case "/":
			u.input.search = &search{}
			return true
		case "j":
			return u.viArrow(terminal.Key{Name: "down"})
		case "k":
			return u.viArrow(terminal.Key{Name: "up"})
		}
	}
	return v.key(&u.input.editor, k)
}

// viArrow moves between lines, and beyond them to earlier prompts.
func (u *UI) viArrow(k terminal.Key) bool {
	u.key(k)
	return true
}
