package tui

import (
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/image"
	"github.com/settle-agent/settle/internal/terminal"
)

// take handles a key, a paste or a focus change.
func (u *UI) take(e terminal.Event) {
	if focus, ok := e.(terminal.Focus); ok {
		u.focused(bool(focus))
		return
	}
	u.display.dirty = true
	if u.exit.quitDeadline.IsZero() {
		u.display.hint = ""
	}
	switch e := e.(type) {
	case terminal.Paste:
		if u.overlay.pager == nil {
			u.pasted(e.Text)
		}
	case terminal.Key:
		switch {
		case u.overlay.pager != nil:
			u.pagerKey(e)
		case u.overlay.menu != nil:
			u.menuKey(e)
		case u.input.search != nil:
			u.searchKey(e)
		case u.answerKey(e):
		default:
			u.key(e)
		}
	}
	if u.input.vi.normal {
		u.input.vi.clamp(&u.input.editor)
	}
}

// key is one of the editor's, or one that does something.
func (u *UI) key(k terminal.Key) {
	if k.Name != "ctrl+c" && !u.exit.quitDeadline.IsZero() {
		u.exit.quitDeadline, u.display.hint = time.Time{}, ""
	}
	if u.completionKey(k) {
		return
	}
	u.input.completion = nil
	if u.viKey(k) {
		return
	}
	switch k.Name {
	case "enter":
		u.enter(event.Queue)
	case "tab":
		if u.state().Running() != nil {
			u.enter(event.Steer)
		}
	case "shift+tab":
		u.nextMode()
	case "esc":
		u.esc()
	case "ctrl+c":
		u.ctrlC()
	case "ctrl+d":
		if u.input.editor.empty() {
			u.leave(event.Shutdown, user)
			return
		}
		u.input.editor.key(terminal.Key{Name: "delete"})
	case "ctrl+z":
		u.suspend()
	case "ctrl+g":
		u.editOutside()
	case "ctrl+l":
		u.display.screen.Resize(u.Terminal.Size()) // forces a full redraw
	case "ctrl+r":
		u.input.search = &search{}
	case "ctrl+t":
		u.openPager("Transcript", transcriptSheet(u.view.printout.renderer, u.state())...)
	case "alt+up":
		u.withdraw()
	case "up":
		if !u.input.editor.up() {
			u.recall(1)
		}
	case "down":
		if !u.input.editor.down() {
			u.recall(-1)
		}
	default:
		if k.Text == "?" && u.input.editor.empty() {
			u.help("")
			return
		}
		u.input.editor.key(k)
		if k.Text != "" || k.Name == "backspace" || k.Name == "ctrl+h" {
			u.complete()
		}
	}
}

// pasted puts a paste where it belongs.
func (u *UI) pasted(text string) {
	if u.overlay.menu != nil {
		line, _, _ := strings.Cut(text, "\n")
		u.overlay.menu.words += line
		u.overlay.menu.narrow()
		return
	}
	u.input.search, u.input.completion = nil, nil
	path, ok := imagePath(text, u.state().Host.Dir)
	if !ok || u.typing() != nil {
		u.input.editor.paste(text)
		return
	}
	place := &event.Image{}
	u.input.editor.insert(part{text: text, folded: true, image: place})
	go u.guarded(func() { // ends with the read of a file
		read := foldedParts(text) // which it stays, if it is no image
		if picture, err := image.Read(path); err == nil {
			read = []part{imagePart(picture)}
		}
		u.send(func() {
			u.display.dirty = true
			u.input.editor.replace(place, read)
		})
	})
}

// suspend gives the terminal back until the process is continued.
func (u *UI) suspend() {
	if u.Suspend == nil {
		return
	}
	u.yield()
	u.Suspend()
	u.regain()
}

// recall steps through earlier prompts.
func (u *UI) recall(n int) {
	if text, ok := u.input.history.step(n, u.input.editor.text()); ok {
		u.input.editor.set(text)
	}
}
