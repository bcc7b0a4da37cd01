package tui

import (
	"context"
	"strings"
)

// editOutside opens the text in an external editor. The session continues.
func (u *UI) editOutside() {
	if u.Edit == nil {
		u.showHint("set VISUAL or EDITOR to the editor that you want")
		return
	}
	ctx, cancel := context.WithCancel(u.ctx)
	u.yield()
	u.endEditor = cancel
	text, images := u.input.editor.text(), imagesOf(u.input.editor.parts)
	go u.guarded(func() { // ends with the program, which ends with ctx
		edited, err := u.Edit(ctx, text)
		cancel()
		u.send(func() {
			u.endEditor = nil
			switch {
			case !u.regain():
			case err != nil:
				u.showHint("%v", err)
			default:
				u.input.editor.parts = withImages(strings.TrimRight(edited, "\n"), images, partsOf)
				u.input.editor.at = len(u.input.editor.parts)
			}
		})
	})
}
