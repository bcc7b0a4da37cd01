package tui

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/image"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// enter sends the editor's text.
func (u *UI) enter(mode event.Mode) {
	text := u.input.editor.text()
	if strings.HasSuffix(text, "\\") { // for terminals that have no other way to type a line's end
		u.input.editor.key(keymap.DeleteLeft, terminal.Key{})
		u.input.editor.key(keymap.Newline, terminal.Key{})
		return
	}
	if u.exit.leaving || strings.TrimSpace(text) == "" && !u.view.lost {
		return
	}
	if name, argument, isCommand := commandOf(text); isCommand {
		if !isOwn(name) && !isForeign(name) && u.busy() {
			return
		}
		if u.command(name, argument) {
			u.input.history.add(u.masked(text))
			u.input.editor.clear()
			u.input.vi.begin()
		}
		return
	}
	if u.view.lost {
		u.reclaim()
		return
	}
	if u.busy() {
		return
	}
	parts := slices.Clone(u.input.editor.parts)
	u.input.editor.clear()
	u.input.vi.begin()
	u.submit(parts, mode)
}

// optionsOf returns the text and the options of an input: a text after an exclamation mark is a
// command to run.
func optionsOf(text string) (sent string, options []settle.InputOption) {
	options = []settle.InputOption{settle.From(user)}
	if command, ok := strings.CutPrefix(text, "!"); ok && strings.TrimSpace(command) != "" {
		return strings.TrimSpace(command), append(options, settle.AsCommand())
	}
	return text, options
}

func (u *UI) masked(text string) string {
	if u.Mask == nil {
		return text
	}
	return u.Mask(text)
}

// submit sends a prompt and adds it to the history.
func (u *UI) submit(parts []part, mode event.Mode) {
	u.input.history.add(u.masked(joinParts(parts)))
	u.deliver(parts, mode)
}

// deliver sends an input, with the images and PDFs that it names. One that is not accepted
// comes back into the editor.
func (u *UI) deliver(parts []part, mode event.Mode) { u.deliverIf(nil, parts, mode, parts) }

// deliverIf sends an input if ready, which can be nil, returns no error. If it is not accepted,
// typed comes back into the editor: also while an earlier input is prepared, which it would overtake.
func (u *UI) deliverIf(ready func(context.Context) error, parts []part, mode event.Mode, typed []part) {
	later := func() { // once the key that sent it is handled
		go u.guarded(func() { u.send(func() { u.giveBack(typed) }) }) // ends with the loop
	}
	if u.busy() {
		later()
		return
	}
	u.interrupts.pending, u.interrupts.sentAt = u.interrupts.pending || u.display.shown.turn == "", time.Now()
	out := &outgoing{u.view.conversation, ready, parts, mode, typed}
	if name := firstFile(joinParts(parts)); name != "" {
		u.readFiles(name, out)
		return
	}
	if !u.enqueue(func(ctx context.Context) error {
		err := out.send(ctx, image.Attached{})
		if err != nil {
			u.send(func() { u.giveBack(typed) })
		}
		return err
	}) {
		later()
	}
}

// giveBack puts an unaccepted input into the editor, unless the person has typed since.
func (u *UI) giveBack(typed []part) {
	if u.input.editor.empty() {
		u.input.editor.parts, u.input.editor.at, u.display.dirty = typed, len(typed), true
	}
}

// outgoing is an input on its way to the session.
type outgoing struct {
	conversation Conversation
	ready        func(context.Context) error // has to return nil before the input is sent; nil for none
	parts        []part
	mode         event.Mode
	typed        []part // the typed text of the input
}

// send submits the input with the files that it names.
func (o *outgoing) send(ctx context.Context, files image.Attached) error {
	if o.ready != nil {
		if err := o.ready(ctx); err != nil {
			return err
		}
	}
	text, options := optionsOf(joinParts(o.parts))
	options = append(options, settle.WithImages(append(imagesOf(o.parts), files.Images...)...),
		settle.WithDocuments(files.Documents...), settle.WithMode(o.mode))
	_, err := o.conversation.Submit(ctx, text, options...)
	return err
}

// withdraw takes the last input that waits back into the editor.
func (u *UI) withdraw() {
	if waiting := u.state().Waiting; len(waiting) > 0 && u.input.editor.empty() {
		u.takeBack(waiting[len(waiting)-1].ID, u.edit)
	}
}

// takeBack withdraws an input that waits, and does something with it then.
func (u *UI) takeBack(id string, then func(*event.Input)) {
	waiting := u.state().Waiting
	n := slices.IndexFunc(waiting, func(in event.Input) bool { return in.ID == id })
	if n < 0 {
		u.showHint("it does not wait any more")
		return
	}
	in, c := waiting[n], u.view.conversation
	u.enqueue(func(context.Context) error {
		dropped, err := c.Drop(in.ID, user)
		if err == nil {
			u.send(func() {
				if u.display.dirty = true; dropped {
					then(&in)
				} else {
					u.showHint("it does not wait any more")
				}
			})
		}
		return err
	})
}

// edit puts an input into the editor, before the text that is already there.
func (u *UI) edit(in *event.Input) {
	typed := partsOfInput(in)
	if !u.input.editor.empty() {
		typed = append(append(typed, part{text: "\n"}), u.input.editor.parts...)
	}
	u.input.editor.parts, u.input.editor.at = typed, len(typed)
}

const heldWords = "held; goes with the next input"

// waitsFor describes the event that an input waits for.
func waitsFor(in *event.Input) string {
	switch {
	case in.Held:
		return heldWords
	case in.Mode == event.Steer:
		return "joins the next request"
	}
	return "waits for the end"
}
