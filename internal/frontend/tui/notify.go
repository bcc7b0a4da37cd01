package tui

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// attention decides when the person is called.
type attention struct {
	unfocused    bool   // the window does not have the focus
	notification string // goes out with the next frame; empty for none
}

// prepareNotification prepares a notification for a question or the end of a turn, if the
// window is unfocused. Changes within one frame cause one notification. A question answered
// before the frame, or a regained focus, cancels it.
func (u *UI) prepareNotification(c transcript.Change) {
	if !u.attention.unfocused || u.endEditor != nil { // the program that has the terminal hears of the focus
		return
	}
	switch {
	case c.Thing == transcript.Approval && c.What == transcript.Started && asksPerson(c.Approval):
		u.attention.notification = "settle asks: " + c.Approval.Title
	case c.Thing == transcript.Turn && c.What == transcript.Ended:
		u.attention.notification = endNotice(c.Turn)
	}
}

// endNotice describes how a turn ended.
func endNotice(t *event.Turn) string {
	switch t.Cause.Outcome {
	case event.Completed:
		if line := headline(t.Answer()); line != "" {
			return line
		}
		return "the turn has ended"
	case event.Failed:
		return "failed: " + t.Cause.Error()
	}
	return t.Cause.Error()
}

func (u *UI) focused(now bool) {
	if u.attention.unfocused = !now; now {
		u.attention.notification = ""
	}
}

// notify writes the notification before the frame.
func (u *UI) notify() {
	if u.attention.notification != "" {
		u.display.frames.Write(u.Notify.Append(nil, u.Through, "settle", u.attention.notification))
		u.attention.notification = ""
	}
}
