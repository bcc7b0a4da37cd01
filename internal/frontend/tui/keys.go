package tui

import (
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/image"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// take handles a key, a paste or a focus change.
func (u *UI) take(e terminal.Event) {
	if focus, ok := e.(terminal.Focus); ok {
		u.focused(bool(focus))
		return
	}
	if background, ok := e.(terminal.Background); ok {
		u.backgroundReported(background)
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
	do := u.Keys.Action(keymap.Prompt, k.Name)
	if do != keymap.Cancel && !u.exit.quitDeadline.IsZero() {
		u.exit.quitDeadline, u.display.hint = time.Time{}, ""
	}
	if u.completionKey(k) {
		return
	}
	u.input.completion = nil
	if u.viKey(k) {
		return
	}
	if do == keymap.Help && k.Text != "" && !u.input.editor.empty() {
		do = ""
	}
	if !u.act(do) {
		u.input.editor.key(do, k)
		if k.Text != "" || do == keymap.DeleteLeft {
			u.complete()
		}
	}
}

// act executes an action, and reports whether it did: the caller executes the editor's own actions.
func (u *UI) act(do string) bool {
	running := u.state().Running() != nil
	switch do {
	case keymap.Send:
		u.enter(event.Queue)
	case keymap.SendNow:
		mode := event.Queue
		if running {
			mode = event.Steer
		}
		u.enter(mode)
	case keymap.Steer, keymap.Queue:
		if running {
			u.enter(map[string]event.Mode{keymap.Steer: event.Steer, keymap.Queue: event.Queue}[do])
		}
	case keymap.Interrupt:
		u.esc()
	case keymap.Cancel:
		u.ctrlC()
	case keymap.Quit:
		if u.input.editor.empty() {
			u.leave(event.Shutdown, user)
			return true
		}
		u.input.editor.key(keymap.DeleteRight, terminal.Key{})
	case keymap.Up:
		if !u.input.editor.up() {
			u.recall(1)
		}
	case keymap.Down:
		if !u.input.editor.down() {
			u.recall(-1)
		}
	case keymap.SearchPrompts:
		u.input.search = &search{}
	default:
		return u.show(do)
	}
	return true
}

// show executes an action beside the prompt, and reports whether it is such an action.
func (u *UI) show(do string) bool {
	switch do {
	case keymap.NextPermission:
		u.nextMode()
	case keymap.Suspend:
		u.suspend()
	case keymap.ExternalEditor:
		u.editOutside()
	case keymap.PasteImage:
		u.pasteImage()
	case keymap.Redraw:
		u.display.screen.Resize(u.Terminal.Size()) // forces a full redraw
	case keymap.Transcript:
		u.openTranscript("")
	case keymap.Withdraw:
		u.withdraw()
	case keymap.Help:
		u.help("")
	case keymap.Plan:
		u.showTodos("")
	case keymap.Model:
		u.model("")
	case keymap.Effort:
		u.effort("")
	case keymap.LessEffort:
		u.stepEffort(-1)
	case keymap.MoreEffort:
		u.stepEffort(1)
	case keymap.Copy:
		u.copyAnswer("")
	default:
		return false
	}
	return true
}

// pasted puts a paste where it belongs.
func (u *UI) pasted(text string) {
	if u.overlay.menu != nil {
		line, _, _ := strings.Cut(text, "\n")
		u.overlay.menu.words += line
		u.overlay.menu.narrow()
		return
	}
	u.typeAnswer()
	u.input.search, u.input.completion = nil, nil
	path, ok := imagePath(text, u.state().Host.Dir)
	if !ok || u.typing() != nil {
		u.input.editor.paste(text)
		return
	}
	if isPDF(path) { // it is attached when the prompt is sent
		u.input.editor.paste(mentionOf(path))
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
	if parts, ok := u.input.history.step(n, u.input.editor.parts); ok {
		u.input.editor.put(parts)
	}
}
