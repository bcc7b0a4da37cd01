package transcript

import (
	"cmp"

	"github.com/settle-agent/settle/event"
)

// ExplainRequest is the message of an answer that denies a call until the model has explained
// its effects. If the model makes the call again, settle asks again.
const ExplainRequest = "Do not make this call yet. First explain in a few sentences what it would do: what it " +
	"would change, delete, send or download, and whether that could be undone. Then make the same call again, " +
	"and I will decide."

// Denial returns how a call was denied, for people: "denied", and why. how is empty for a call
// that was not denied. The output of the call is addressed to the model.
func Denial(i *event.Item) (how, why string) {
	a := i.Denial
	switch {
	case a == nil || i.Status != event.ItemFailed:
		return "", ""
	case a.Ended.Policy != "":
		why = i.Content().Output
	case a.Ended.Message == ExplainRequest:
		why = "The model explains the effects first."
	case a.Ended.Message != "":
		why = "Message to the model: " + a.Ended.Message
	}
	return event.Denied.Past(), why
}

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
