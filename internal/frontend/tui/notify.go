package tui

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// notice has the person called whose window has not the focus: for a question, and for
// the end of a turn. What happens within one frame calls once, and a question that was answered
// elsewhere until then, or a person who has come back, not at all.
func (f *Face) notice(c transcript.Change) {
	if !f.away || f.outside != nil { // the program that has the terminal hears of the focus
		return
	}
	switch {
	case c.Thing == transcript.Approval && c.What == transcript.Started:
		f.calls = "settle asks: " + c.Approval.Title
	case c.Thing == transcript.Turn && c.What == transcript.Ended:
		f.calls = endNotice(c.Turn)
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

func (f *Face) focused(now bool) {
	if f.away = !now; now {
		f.calls = ""
	}
}

// call writes the notification before the frame that shows what it is about.
func (f *Face) call() {
	if f.calls != "" {
		f.frames.Write(f.Notify.Append(nil, f.Through, "settle", f.calls))
		f.calls = ""
	}
}
