package tui

import (
	"github.com/settle-agent/settle/event"
)

// pasteImage puts the picture of the clipboard into the text.
func (u *UI) pasteImage() {
	switch {
	case u.PasteImage == nil:
		u.showHint("images cannot be pasted here; paste the path of a file")
		return
	case u.overlay.menu != nil || u.typing() != nil:
		return // an answer has no images
	}
	u.input.search, u.input.completion = nil, nil
	place := &event.Image{}
	u.input.editor.insert(part{text: "[image: …]", folded: true, image: place})
	go u.guarded(func() { // ends with the program that reads the clipboard, which ends with ctx
		picture, err := u.PasteImage(u.ctx)
		u.send(func() {
			u.display.dirty = true
			if err != nil {
				u.input.editor.replace(place, nil)
				u.showHint("%v", err)
				return
			}
			u.input.editor.replace(place, []part{imagePart(picture)})
		})
	})
}
