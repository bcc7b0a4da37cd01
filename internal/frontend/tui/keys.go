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
)

// search is a look for an earlier prompt.
type search struct {
	words, found string
	nth          int // how many matches were skipped
}

// take does what a key or a paste means.
func (f *Face) take(e terminal.Event) {
	if focus, ok := e.(terminal.Focus); ok {
		f.focused(bool(focus))
		return
	}
	f.dirty = true
	if f.armed.IsZero() {
		f.hint = ""
	}
	switch e := e.(type) {
	case terminal.Paste:
		if f.pager == nil {
			f.pasted(e.Text)
		}
	case terminal.Key:
		switch {
		case f.pager != nil:
			f.pagerKey(e)
		case f.menu != nil:
			f.menuKey(e)
		case f.search != nil:
			f.searchKey(e)
		case f.answerKey(e):
		default:
			f.key(e)
		}
	}
	if f.vi.normal {
		f.vi.clamp(&f.editor)
	}
}

// key is one of the editor's, or one that does something.
func (f *Face) key(k terminal.Key) {
	if k.Name != "ctrl+c" && !f.armed.IsZero() {
		f.armed, f.hint = time.Time{}, ""
	}
	if f.completionKey(k) {
		return
	}
	f.completion = nil
	if f.viKey(k) {
		return
	}
	switch k.Name {
	case "enter":
		f.enter(event.Queue)
	case "tab":
		if f.state().Running() != nil {
			f.enter(event.Steer)
		}
	case "shift+tab":
		f.nextMode()
	case "esc":
		f.esc()
	case "ctrl+c":
		f.ctrlC()
	case "ctrl+d":
		if f.editor.empty() {
			f.leave(event.Shutdown, user)
			return
		}
		f.editor.key(terminal.Key{Name: "delete"})
	case "ctrl+z":
		f.suspend()
	case "ctrl+g":
		f.editOutside()
	case "ctrl+l":
		f.screen.Resize(f.Terminal.Size()) // draws everything anew
	case "ctrl+r":
		f.search = &search{}
	case "ctrl+t":
		f.openPager("Transcript", transcriptSheet(f.out.renderer, f.state())...)
	case "alt+up":
		f.withdraw()
	case "up":
		if !f.editor.up() {
			f.recall(1)
		}
	case "down":
		if !f.editor.down() {
			f.recall(-1)
		}
	default:
		f.editor.key(k)
		if k.Text != "" || k.Name == "backspace" || k.Name == "ctrl+h" {
			f.complete()
		}
	}
}

// pasted puts a paste where it belongs.
func (f *Face) pasted(text string) {
	if f.menu != nil {
		line, _, _ := strings.Cut(text, "\n")
		f.menu.words += line
		f.menu.narrow()
		return
	}
	f.search, f.completion = nil, nil
	path, ok := imagePath(text, f.state().Host.Dir)
	if !ok {
		f.editor.paste(text)
		return
	}
	place := &event.Image{}
	f.editor.insert(part{text: text, folded: true, image: place})
	go f.guarded(func() { // ends with the read of a file
		read := folded(text) // which it stays, if it is no image
		if picture, err := image.Read(path); err == nil {
			read = []part{pictured(picture)}
		}
		f.send(func() {
			f.dirty = true
			f.editor.replace(place, read)
		})
	})
}

// answerKey answers the question on the screen, and reports whether the key did.
// With text in the editor, letters are text, and answers need Alt.
func (f *Face) answerKey(k terminal.Key) bool {
	a, _ := f.asked()
	if a == nil || a.Approval != f.shown.approval || time.Since(f.since) < askDelay {
		return false
	}
	name, alt := strings.CutPrefix(k.Name, "alt+")
	filling := f.fill() != nil
	if filling && k.Name == "enter" {
		f.fillIn()
		return true
	}
	if !alt && (filling || !f.editor.empty()) {
		return false
	}
	verdict, ok := map[string]event.Verdict{"y": event.Approved, "s": event.ApprovedSession, "n": event.Denied}[name]
	switch {
	case !ok || a.Form != nil && verdict == event.ApprovedSession || filling && verdict == event.Approved:
		return false
	case a.Form != nil && verdict == event.Approved:
		f.begin(a)
	default:
		f.form = nil
		f.answer(settle.Answer{Approval: a.Approval, Verdict: verdict, By: user})
	}
	return true
}

// do does something that may wait, after what was asked for before it.
func (f *Face) do(what func(context.Context) error) {
	job := func() {
		ctx, cancel := context.WithTimeout(f.ctx, actTimeout)
		defer cancel()
		if err := what(ctx); err != nil {
			f.send(func() { f.say("%v", err) })
		}
	}
	select {
	case f.work <- job:
	default:
		f.say("the session is busy; nothing was done")
	}
}

// enter sends what is in the editor.
func (f *Face) enter(mode event.Mode) {
	text := f.editor.text()
	if strings.HasSuffix(text, "\\") && mode == event.Queue { // for terminals that have no other way to type a line's end
		f.editor.key(terminal.Key{Name: "backspace"})
		f.editor.key(terminal.Key{Name: "ctrl+j"})
		return
	}
	if f.leaving || strings.TrimSpace(text) == "" && !f.gone {
		return
	}
	if name, argument, isCommand := commandOf(text); isCommand {
		if !isOwn(name) && f.busy() {
			return
		}
		if f.command(name, argument) {
			f.past.add(f.masked(text))
			f.editor.clear()
			f.vi.begin()
		}
		return
	}
	if f.gone {
		f.reclaim()
		return
	}
	if f.busy() {
		return
	}
	parts := slices.Clone(f.editor.parts)
	f.editor.clear()
	f.vi.begin()
	f.submit(parts, mode)
}

// optionsOf are how a text is sent: after an exclamation mark, it is a command to
// run.
func optionsOf(text string) (sent string, options []settle.InputOption) {
	options = []settle.InputOption{settle.From(user)}
	if command, ok := strings.CutPrefix(text, "!"); ok && strings.TrimSpace(command) != "" {
		return strings.TrimSpace(command), append(options, settle.AsCommand())
	}
	return text, options
}

func (f *Face) masked(text string) string {
	if f.Mask == nil {
		return text
	}
	return f.Mask(text)
}

// submit sends what was typed, and remembers it.
func (f *Face) submit(parts []part, mode event.Mode) {
	f.past.add(f.masked(joinParts(parts)))
	f.deliver(parts, mode)
}

// deliver sends an input, with the images that it names. One that is not accepted
// comes back into the editor.
func (f *Face) deliver(parts []part, mode event.Mode) {
	f.hasty, f.sentAt = f.hasty || f.shown.turn == "", time.Now()
	c, dir := f.conversation, f.state().Host.Dir
	f.do(func(ctx context.Context) error {
		text, options := optionsOf(joinParts(parts))
		if images := append(imagesOf(parts), namedImages(dir, text)...); len(images) > 0 {
			options = append(options, settle.WithImages(images...))
		}
		_, err := c.Submit(ctx, text, append(options, settle.WithMode(mode))...)
		if err != nil {
			f.send(func() {
				if f.editor.empty() {
					f.editor.parts, f.editor.at = parts, len(parts)
				}
			})
		}
		return err
	})
}

// interrupt ends the turn that is on the screen, and no other: a key that comes
// late must not end the next one.
func (f *Face) interrupt() {
	t := f.target()
	if t == nil || f.interrupting == t.ID {
		return
	}
	f.interrupting = t.ID
	c, input := f.conversation, firstInput(t)
	go f.guarded(func() { // ends with the turn, which ends in time (C9)
		_, err := c.Interrupt(f.ctx, settle.Interruption{By: user, Input: input})
		if err != nil && f.ctx.Err() == nil {
			f.send(func() { f.say("cannot interrupt: %v", err) })
		}
	})
}

// firstInput names the turn for an interrupt; a compaction has none.
func firstInput(t *event.Turn) string {
	if len(t.Inputs) == 0 {
		return ""
	}
	return t.Inputs[0].ID
}

// ctrlC clears the editor, else interrupts, else quits at the second time.
func (f *Face) ctrlC() {
	now := time.Now()
	switch {
	case f.leaving:
		f.leave(event.Shutdown, user)
	case !f.editor.empty():
		f.editor.clear()
	case f.fetching != nil && !f.fetching.givenUp:
		f.fetching.giveUp(f.ctx, f.conversation)
		f.interrupt()
	case f.target() != nil && f.interrupting != f.target().ID:
		f.interrupt()
	case !f.armed.IsZero() && now.Before(f.armed):
		f.armed = time.Time{}
		f.leave(event.Shutdown, user)
	default:
		f.say("Ctrl-C again quits")
		f.armed = now.Add(quitDelay)
	}
}

// suspend gives the terminal back until the process is continued.
func (f *Face) suspend() {
	if f.Suspend == nil {
		return
	}
	f.yield()
	f.Suspend()
	f.regain()
}

// recall steps through earlier prompts.
func (f *Face) recall(n int) {
	if text, ok := f.past.step(n, f.editor.text()); ok {
		f.editor.set(text)
	}
}

// withdraw takes the last input that waits back into the editor.
func (f *Face) withdraw() {
	if waiting := f.state().Waiting; len(waiting) > 0 && f.editor.empty() {
		f.takeBack(waiting[len(waiting)-1].ID, f.edit)
	}
}

// edit puts an input into the editor. What was typed meanwhile stays after it.
func (f *Face) edit(in *event.Input) {
	typed := partsOfInput(in)
	if !f.editor.empty() {
		typed = append(append(typed, part{text: "\n"}), f.editor.parts...)
	}
	f.editor.parts, f.editor.at = typed, len(typed)
}

// esc interrupts; where there is nothing to interrupt, twice goes back to before an
// earlier input.
func (f *Face) esc() {
	now := time.Now()
	if f.fetching != nil {
		f.fetching.giveUp(f.ctx, f.conversation)
	}
	switch {
	case f.interruptible():
		f.interrupt()
	case !f.editor.empty() || now.Sub(f.sentAt) < quitDelay: // it is for the turn that is about to start
	case now.Before(f.backUntil):
		f.backUntil = time.Time{}
		f.pickInput()
	default:
		f.backUntil = now.Add(quitDelay)
		f.say("Esc again goes back to before an earlier input")
	}
}

// searchKey looks for an earlier prompt.
func (f *Face) searchKey(k terminal.Key) {
	s := f.search
	switch k.Name {
	case "esc", "ctrl+g", "ctrl+c":
		f.search = nil
		return
	case "enter", "tab", "right", "end":
		f.search = nil
		if s.found != "" {
			f.editor.set(s.found)
		}
		return
	case "ctrl+r":
		s.nth++
	case "backspace":
		parts := partsOf(s.words)
		s.words, s.nth = joinParts(parts[:max(len(parts)-1, 0)]), 0
	default:
		if k.Text == "" {
			return
		}
		s.words, s.nth = s.words+k.Text, 0
	}
	found, ok := f.past.search(s.words, s.nth)
	if !ok && s.nth > 0 {
		s.nth--
		return
	}
	s.found = found
}

func joinParts(parts []part) string {
	e := editor{parts: slices.Clone(parts)}
	return e.text()
}
