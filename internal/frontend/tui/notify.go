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

// prepareNotification has the person called whose window has not the focus: for a question, and for
// the end of a turn. What happens within one frame calls once, and a question that was answered
// elsewhere until then, or a person who has come back, not at all.
func (u *UI) prepareNotification(c transcript.Change) {
	if !u.attention.unfocused || u.endEditor != nil { // the program that has the terminal hears of the focus
		return
	}
	switch {
	case c.Thing == transcript.Approval && c.What == transcript.Started:
		u.attention.notification = "settle asks: " + c.Approval.Title
	case c.Thing == transcript.Turn && c.What == transcript.Ended:
		u.attention.notification = endNotice(c.Turn)
	}
}

// endNotice says how a turn ended.
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

// notify writes the notification before the frame that shows what it is about.
func (u *UI) notify() {
	if u.attention.notification != "" {
		u.display.frames.Write(u.Notify.Append(nil, u.Through, "settle", u.attention.notification))
		u.attention.notification = ""
	}
}
