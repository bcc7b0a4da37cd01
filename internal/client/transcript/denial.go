package transcript

import (
	"cmp"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal"
)

// Denial returns how a call was denied, for people: "denied", and why. how is empty for a call
// that was not denied. The output of the call is addressed to the model.
func Denial(i *event.Item) (how, why string) {
	a := i.Denial
	switch {
	case a == nil || i.Status != event.ItemFailed:
		return "", ""
	case a.Ended.Policy != "":
		why = i.Content().Output
	case a.Ended.Explain:
		why = "The model explains the effects first."
	case a.Ended.Message != "":
		why = "Message to the model: " + a.Ended.Message
	}
	return event.Denied.Past(), why
}

// Unstarted states in one line why a call that has ended did not start; item can be nil, for a call that
// was never begun.
func Unstarted(i *event.Item) string {
	if i == nil {
		return ""
	}
	how, why := Denial(i)
	if how == "" {
		how = Ending(i)
		if why = i.Content().Output; i.Status == event.ItemAborted {
			why = ""
		}
	}
	return terminal.Short(strings.TrimSuffix(how+": "+why, ": "), maxUnstarted)
}

// maxUnstarted bounds the reason why a call did not start, in characters.
const maxUnstarted = 300

// HeldTitle is a held call in one line.
func HeldTitle(h event.HeldCall) string { return cmp.Or(h.Approval.Title, h.Approval.Tool) }

// Ending returns how an item ended, by the table of terms: "completed", "denied",
// "interrupted"; empty for an open item.
func Ending(i *event.Item) string {
	denied, _ := Denial(i)
	switch {
	case denied != "" || i.Status == event.ItemOpen:
		return denied
	case i.Status == event.ItemAborted:
		return event.EndingWords(event.Aborted, cmp.Or(i.Cause, &event.Cause{}).Reason)
	}
	return event.EndingWords(event.Outcome(i.Status), "")
}
