package tui

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model/script"
)

// Ctrl-V puts the image of the clipboard where the cursor was, and it is sent with the
// prompt. If it cannot be read, the reason is shown and the text stays.
func TestPasteImage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan error)
		paste := func(ctx context.Context) (event.Image, error) {
			select {
			case err := <-answers:
				return event.Image{MediaType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n"), Name: "pasted"}, err
			case <-ctx.Done():
				return event.Image{}, context.Cause(ctx)
			}
		}
		p, code := newPerson(t, Options{PasteImage: paste}, script.Turn(script.Text("I see.")))
		p.types("what is \x16?")
		p.sees("what is [image: …]?")
		answers <- errors.New("cannot paste an image: the clipboard is empty")
		p.types("")
		p.sees("what is ?", "the clipboard is empty")
		p.types("\x7f\x16?")
		answers <- nil
		p.types("")
		p.sees("what is [image: pasted]?")
		p.types("\r")
		p.sees("▌ what is [image: pasted]?", "[image 1: image/png, 8 bytes]", "I see.")
		p.types("\x16")
		p.types("\x15\x04") // quits while the clipboard is read
		p.left(code, 0)
	})
}

func TestPasteImageWithoutClipboardShowsHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(t, Options{})
		p.types("\x16")
		p.sees("paste the path of a file")
		p.types("\x04")
		p.left(code, 0)
	})
}
