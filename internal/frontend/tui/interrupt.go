package tui

import (
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

// interrupts decides which turn Esc and Ctrl-C end.
type interrupts struct {
	// pending reports that an input was sent while no turn was on the screen, and that
	// none has appeared since: an interrupt refers to the turn of that input.
	pending bool
	// keyMoment is the frame that was on the screen when a lone escape byte arrived. Only time
	// shows whether the byte is the Esc key; nil if no byte waits.
	keyMoment *moment
	turn      string    // turn that was interrupted last
	sentAt    time.Time // when an input was sent last
	backUntil time.Time // a second Esc until then opens the list of earlier inputs
}

// target is the turn that an interrupt means, nil for none.
func (u *UI) target() *event.Turn {
	seen := u.display.shown
	if u.interrupts.keyMoment != nil {
		seen = *u.interrupts.keyMoment
	}
	switch {
	case u.view.lost: // no host ends it
	case u.interrupts.pending:
		return u.state().Running()
	case seen.session == u.view.conversation.ID():
		return u.state().Turn(seen.turn)
	}
	return nil
}

// interrupt ends the turn that is on the screen, and no other: a key that comes
// late must not end the next one.
func (u *UI) interrupt() {
	t := u.target()
	if t == nil || u.interrupts.turn == t.ID {
		return
	}
	u.interrupts.turn = t.ID
	c, input := u.view.conversation, firstInput(t)
	go u.guarded(func() { // ends with the turn, which ends in time (C9)
		_, err := c.Interrupt(u.ctx, settle.Interruption{By: user, Input: input})
		if err != nil && u.ctx.Err() == nil {
			u.send(func() { u.showHint("cannot interrupt: %v", err) })
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

// esc takes back the input whose files are read, else interrupts the turn. If no turn runs, a second
// Esc opens the list of earlier inputs.
func (u *UI) esc() {
	now := time.Now()
	if u.view.fetch != nil && u.view.fetch.giveUp(u.ctx, u.view.conversation) {
		return
	}
	switch {
	case u.view.lost:
		u.hintAfterLoss()
	case u.interruptible():
		u.interrupt()
	case !u.input.editor.empty() || now.Sub(u.interrupts.sentAt) < quitDelay: // it is for the turn that is about to start
	case now.Before(u.interrupts.backUntil):
		u.interrupts.backUntil = time.Time{}
		u.pickInput()
	default:
		u.interrupts.backUntil = now.Add(quitDelay)
		u.showHint("Esc again goes back to before an earlier input")
	}
}

// interruptible reports whether Esc has something to interrupt.
func (u *UI) interruptible() bool {
	return u.display.shown.turn != "" || u.target() != nil || u.state().Running() != nil || u.view.fetch != nil
}
