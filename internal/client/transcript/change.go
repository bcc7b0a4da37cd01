package transcript

import (
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
)

// Thing is the kind of the changed object.
type Thing string

// The things.
const (
	Session  Thing = "session"
	Input    Thing = "input"
	Turn     Thing = "turn"
	Attempt  Thing = "attempt"
	Item     Thing = "item"
	Approval Thing = "approval"
	Job      Thing = "job"
	Child    Thing = "child"
)

// What is the kind of change.
type What string

// The kinds of changes. Everything starts and ends once. Only items grow, and only calls are ready
// and run. Each item whose attempt has ended is committed or discarded, once.
const (
	Started What = "started"
	// Grew: Text of the Stream was added to the item.
	Grew What = "grew"
	// Ready: the arguments of a call are complete.
	Ready What = "ready"
	// Running: a call begins to have effects.
	Running What = "running"
	// Updated: an input is held, an end of a turn or a call is requested, or the history of
	// a turn changes. The event has the details. For a session, it is any other event.
	Updated What = "updated"
	// Ended: for an input, that a turn takes it, or, without a Turn, that it was
	// dropped; for a session, that its host has released it.
	Ended What = "ended"
	// Committed: no later attempt can replace the item.
	Committed What = "committed"
	// Discarded: a later attempt replaces the item; remove its text.
	Discarded What = "discarded"
)

// Change is one thing that started, grew, was updated or ended.
//
// Its pointers refer to the session at the time of the change; the next change alters them.
type Change struct {
	Thing Thing
	What  What
	// Event is the event that made the change. A held change has its own event, and not the event
	// that released it.
	Event event.Event
	// State is the session after the last event. It must not be changed.
	State *event.State

	// Turn is nil outside turns. Attempt and Item are nil if the event belongs to none. The other
	// fields are set for changes of their Thing.
	Turn     *event.Turn
	Attempt  *event.Attempt
	Item     *event.Item
	Input    *event.Input
	Approval *event.Approval
	Job      *event.Job
	Child    *event.Child

	// Stream and Text are the added output of an item that grew.
	Stream event.Stream
	Text   string
}

// Notice returns a notice for people if the change added one to a running call; else "".
func (c Change) Notice() string {
	d, _ := c.Event.Data.(event.ItemDelta)
	return NoticeOf(d)
}

// NoticeOf returns the text of a notice without its brackets and line ends; "" if the delta is
// ordinary output.
func NoticeOf(d event.ItemDelta) string {
	if !d.Notice {
		return ""
	}
	return strings.Trim(d.Text, "[]\n")
}

// Call returns the item as a tool call.
func (c Change) Call() toolview.Call { return CallOf(c.Item, c.State.Host.Dir) }

// CallOf returns an item as a tool call in the session's directory. For an item that is not a tool
// call, it returns a call without a tool.
func CallOf(i *event.Item, dir string) toolview.Call {
	if i == nil || i.Type() != event.ToolCall {
		return toolview.New("", "", dir)
	}
	content := i.Content()
	return toolview.New(content.Name, content.RanWith(), dir)
}
