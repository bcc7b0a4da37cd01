package transcript

import (
	"fmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal"
)

// RecoveryText describes what the opening of a session found and ended. s is the session
// afterwards; nil if it is not known.
func RecoveryText(d event.SessionRecovered, s *event.State) string {
	words := "the process that last used this session was killed"
	if d.PID == 0 {
		words = "the session's log was damaged"
	}
	if d.Ended > 0 {
		words += "; " + endedText(d, s)
	}
	if len(d.Swept) > 0 {
		words += fmt.Sprintf("; processes %v were still running and have been ended", d.Swept)
	}
	if d.Kept != "" {
		words += fmt.Sprintf("; the damaged end of its log (%d bytes) was saved to %s", d.CutBytes, d.Kept)
	}
	return words
}

// Typed returns the text of an input as a person types it.
func Typed(in *event.Input) string {
	if in.Command {
		return "!" + in.Text
	}
	return in.Text
}

// ResumedWords are an input with which settle has the model continue work that was cut.
func ResumedWords(in *event.Input) string { return "settle has the model continue: " + in.Text }

// endedText describes the entities that a recovery ended: a turn with its calls, or a number of
// items.
func endedText(d event.SessionRecovered, s *event.State) string {
	crashed := func(c *event.Cause) bool { return c != nil && c.Reason == event.Crashed }
	if s == nil || len(s.Turns) == 0 || !crashed(s.Turns[len(s.Turns)-1].Cause) {
		if d.Ended == 1 {
			return "1 item was still open and has been ended"
		}
		return fmt.Sprintf("%d items were still open and have been ended", d.Ended)
	}
	calls := 0
	for _, i := range s.Turns[len(s.Turns)-1].Items {
		if i.Type() == event.ToolCall && crashed(i.Cause) {
			calls++
		}
	}
	if calls == 0 {
		return "its turn was still running and has been ended"
	}
	return "its turn and " + terminal.Count(calls, "call") + " were still running and have been ended"
}

// AfterWords are the words of a cause with the time that the work took: "interrupted after 3 s".
func AfterWords(c *event.Cause, elapsed string) string {
	if !c.HasEndTime() {
		return c.Error() + " while it ran"
	}
	return c.Error() + " after " + elapsed
}
