package tui

import (
	"context"
	"errors"
	"time"

	"github.com/settle-agent/settle/internal/session"
)

// errBusy refuses a request while too many wait.
var errBusy = errors.New("the session is busy; nothing was done")

// readFiles reads the files that an input names after "@", and then sends it. The text of a PDF can take
// many seconds: until the input is sent, Esc and Ctrl-C take it back (C10), further inputs are
// refused, and other requests, such as answers, do not wait.
func (u *UI) readFiles(name string, out *outgoing) {
	ctx, cancel := context.WithCancel(u.ctx)
	one := &fetch{text: joinParts(out.typed), file: name}
	ended := func(why error) { // in the loop; why is nil if it was accepted
		cancel()
		if u.display.dirty, u.interrupts.sentAt = true, time.Now(); u.view.fetch == one {
			u.view.fetch = nil
		}
		if why != nil {
			u.giveBack(out.typed)
			u.showHint("%v", why)
		}
	}
	sent := false
	one.takeBack = func() bool {
		if sent || one.givenUp {
			return false
		}
		one.givenUp = true
		back := "it is in the editor again"
		if !u.input.editor.empty() {
			back = "↑ brings it back"
		}
		ended(errors.New("not sent; " + back))
		return true
	}
	u.view.fetch = one
	dir, text, documents := u.state().Host.Dir, joinParts(out.parts), u.documents
	if documents == nil {
		documents = session.ReadDocuments
	}
	go u.guarded(func() { // ends when the files are read, or soon after ctx
		files, err := named(dir, text)
		if err == nil {
			files.Documents, err = documents(ctx, files.Documents)
		}
		u.send(func() {
			switch {
			case one.givenUp:
				return
			case err != nil:
				ended(err)
				return
			}
			if sent = u.enqueue(func(ctx context.Context) error {
				err := out.send(ctx, files)
				u.send(func() { ended(err) })
				return nil
			}); !sent {
				ended(errBusy)
			}
		})
	})
}
