package tui

import "github.com/settle-agent/settle/internal/terminal"

// toggleVi turns the keys of vi on or off.
func (f *Face) toggleVi(string) {
	f.vi = vi{on: !f.vi.on}
	if f.vi.on {
		f.say("vi keys are on; terminal.keys = \"vi\" in the configuration keeps them")
		return
	}
	f.say("vi keys are off")
}

// viKey takes a key that vi has a meaning for, and reports whether that was all of it.
// Esc goes to normal mode, and interrupts all the same: nobody waits for a second one
// while a turn runs.
func (f *Face) viKey(k terminal.Key) bool {
	v := &f.vi
	switch {
	case !v.on:
		return false
	case k.Name == "esc" && !v.normal:
		v.leave(&f.editor)
		return !f.interruptible()
	case k.Name == "esc" && v.pending() != "":
		v.reset()
		return !f.interruptible()
	case !v.normal:
		return false
	}
	if v.pending() == "" {
		switch k.Text {
		case "/":
			f.search = &search{}
			return true
		case "j":
			return f.viArrow(terminal.Key{Name: "down"})
		case "k":
			return f.viArrow(terminal.Key{Name: "up"})
		}
	}
	return v.key(&f.editor, k)
}

// viArrow moves between lines, and beyond them to earlier prompts.
func (f *Face) viArrow(k terminal.Key) bool {
	f.key(k)
	return true
}

// interruptible reports whether Esc has something to interrupt.
func (f *Face) interruptible() bool {
	return f.shown.turn != "" || f.target() != nil || f.state().Running() != nil || f.fetching != nil
}
