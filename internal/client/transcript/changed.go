package transcript

import (
	"cmp"

	"github.com/settle-agent/settle/event"
)

// Changed states who changed the model's arguments of a call: "you changed it", or "a hook changed
// it"; empty for a call that ran unchanged. [event.Content.RanWith] has the changed arguments.
func Changed(i *event.Item) string {
	switch {
	case i.Content().Effective == "":
		return ""
	case i.Edited:
		return "you changed it"
	}
	return "a hook changed it"
}

// ApprovalArguments returns the arguments of the call that an approval is about. The call need not
// have started: the answer and the hooks before it can have changed the model's arguments.
func ApprovalArguments(t *event.Turn, i *event.Item, a *event.Approval) string {
	arguments := i.Content().RanWith()
	if !i.Started {
		for _, h := range t.Hooks {
			if h.Item == i.ID && h.Ended != nil && h.Ended.Arguments != "" {
				arguments = h.Ended.Arguments
			}
		}
	}
	if a.Ended != nil {
		arguments = cmp.Or(a.Ended.Arguments, arguments)
	}
	return arguments
}
