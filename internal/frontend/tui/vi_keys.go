package tui

import (
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// toggleVi turns the keys of vi on or off.
func (u *UI) toggleVi(string) {
	u.input.vi = vi{on: !u.input.vi.on}
	if u.input.vi.on {
		u.showHint("vi keys are on; vi = true in [terminal.keys] of the configuration keeps them")
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
			return u.act(keymap.Down)
		case "k":
			return u.act(keymap.Up)
		}
	}
	return v.key(&u.input.editor, k)
}
