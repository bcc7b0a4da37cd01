package tui

import (
	"bytes"
	"fmt"
	"time"

	"github.com/settle-agent/settle/internal/terminal"
)

// display holds the frames on their way to the terminal, and the last frame that the person
// has seen.
type display struct {
	screen *terminal.Screen
	frames bytes.Buffer // output of screen for the next write
	writer *writer
	rows   []terminal.Line // committed, for the next frame

	status statusCommand
	auto   autoTheme

	welcomed bool // the first rows were committed

	hint    string // shown in the status row until the next key
	dirty   bool   // a new frame is due
	drawnAt time.Time

	// shown describes the last frame that the terminal accepted: a key refers to it.
	shown moment
	// approvalSince is when the approval in shown appeared, and approvalEnded when one disappeared last.
	approvalSince, approvalEnded time.Time
}

// draw shows a frame, unless the terminal is still busy with the last one: then
// the next one follows as soon as it is not.
func (u *UI) draw(now time.Time) {
	if u.blocked() || u.exit.done {
		u.display.dirty = true
		return
	}
	u.display.dirty, u.display.drawnAt = false, now
	u.notify()
	u.runStatusCommand()
	drawn := u.display.shown
	if u.overlay.pager != nil {
		u.overlay.pager.draw(&u.display.frames, u.display.screen, u.Palette)
	} else {
		u.refill()
		frame := u.frame(now)
		if err := u.display.screen.Draw(u.display.rows, frame); err != nil {
			return // it is memory
		}
		u.display.rows, u.display.dirty = nil, !u.view.printout.filled()
		drawn = u.moment()
	}
	if u.display.frames.Len() == 0 {
		u.note(drawn)
		return
	}
	frame := u.display.frames.Bytes()
	if len(frame) > maxFrame { // it is the writer's now
		u.display.frames = bytes.Buffer{}
	} else {
		frame = bytes.Clone(frame)
		u.display.frames.Reset()
	}
	u.display.writer.write(frame, func() { u.note(drawn) })
}

// moment is the session, turn and approval in a frame, to which pressed keys refer.
type moment struct{ session, turn, approval string }

func (u *UI) moment() moment {
	m := moment{session: u.view.conversation.ID()}
	if t := u.state().Running(); t != nil {
		m.turn = t.ID
	}
	if a, _ := u.pendingApproval(); a != nil {
		m.approval, _ = u.menuOf(a)
	}
	return m
}

// note records the moment of the frame that the terminal has accepted.
func (u *UI) note(m moment) {
	if m.approval != u.display.shown.approval || m.session != u.display.shown.session {
		u.display.approvalSince = time.Now()
		if u.display.shown.approval != "" {
			u.display.approvalEnded = u.display.approvalSince
		}
	}
	u.display.shown, u.interrupts.pending = m, u.interrupts.pending && m.turn == ""
}

// blocked reports whether nothing can be drawn now.
func (u *UI) blocked() bool { return u.display.writer.busy || u.endEditor != nil }

func (u *UI) resized() {
	u.display.screen.Resize(u.Terminal.Size())
	u.display.dirty = true
	u.draw(time.Now())
}

// showHint shows a hint in the status until the next key.
func (u *UI) showHint(format string, args ...any) {
	u.display.hint, u.display.dirty = fmt.Sprintf(format, args...), true
}

// commit has an entry shown for good.
func (u *UI) commit(e entry) {
	width, _ := u.display.screen.Size()
	u.display.rows = append(u.display.rows, u.view.printout.rows(e, width)...)
	u.display.dirty = true
}

// commitFinished commits the entries that are due, and the question that waits.
func (u *UI) commitFinished() {
	a, _ := u.pendingApproval()
	u.view.printout.ask(a, u.state().Host.Dir)
	for _, e := range u.view.printout.finished() {
		u.commit(e)
	}
}

// yield restores the terminal after writing the pending rows.
func (u *UI) yield() {
	_ = u.display.screen.Leave(u.display.rows) // it is memory
	u.display.rows = nil
	u.display.writer.last(u.display.frames.Bytes())
	u.display.frames.Reset()
	u.Terminal.Restore()
}

// regain sets raw mode again, and reports success.
func (u *UI) regain() bool {
	if err := u.Terminal.Take(); err != nil {
		u.exit.code, u.exit.done = 1, true
		return false
	}
	u.display.screen.Resize(u.Terminal.Size())
	u.display.dirty = true
	return true
}
