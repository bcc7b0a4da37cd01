package tui

import (
	"context"
	"strings"
)

// blocked reports whether nothing can be drawn now.
func (f *Face) blocked() bool { return f.writer.busy || f.outside != nil }

// yield gives the terminal back as it was, with what was still to be shown.
func (f *Face) yield() {
	_ = f.screen.Leave(f.commits) // it is memory
	f.commits = nil
	f.writer.last(f.frames.Bytes())
	f.frames.Reset()
	f.Terminal.Restore()
}

// regain takes the terminal over again, and reports whether that went well.
func (f *Face) regain() bool {
	if err := f.Terminal.Take(); err != nil {
		f.code, f.done = 1, true
		return false
	}
	f.screen.Resize(f.Terminal.Size())
	f.dirty = true
	return true
}

// editOutside has the person edit the text in a program of their own. The session
// goes on meanwhile.
func (f *Face) editOutside() {
	if f.Edit == nil {
		f.say("set VISUAL or EDITOR to the editor that you want")
		return
	}
	ctx, cancel := context.WithCancel(f.ctx)
	f.yield()
	f.outside = cancel
	text, images := f.editor.text(), imagesOf(f.editor.parts)
	go f.guarded(func() { // ends with the program, which ends with ctx
		edited, err := f.Edit(ctx, text)
		cancel()
		f.send(func() {
			f.outside = nil
			switch {
			case !f.regain():
			case err != nil:
				f.say("%v", err)
			default:
				f.editor.parts = withImages(strings.TrimRight(edited, "\n"), images, partsOf)
				f.editor.at = len(f.editor.parts)
			}
		})
	})
}
