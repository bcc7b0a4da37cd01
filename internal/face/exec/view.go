package exec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
)

// View shows a turn as lines of JSON.
type View struct {
	write func(add func([]byte) []byte)

	thread  string // id of the session, once it was shown
	dir     string
	attempt string // that runs
	items   map[string]*item
	shown   int // items that have an id in lines
	held    []held
	// notices wait for the thread to be shown.
	notices []string
	last    []byte // how the turn ended
}

// held is the end of an item of an attempt that runs: if the attempt fails, the
// item may be said anew by the next one (C13).
type held struct {
	item string
	n    int
	line func(id string) any
}

// NewView returns a view that writes what it shows.
func NewView(write func(add func([]byte) []byte)) *View {
	return &View{write: write, items: map[string]*item{}}
}

// Show shows an event of the session.
func (v *View) Show(e event.Event) {
	switch d := e.Data.(type) {
	case event.SessionRecovered:
		v.notice("the session was left by a process that was killed; what it had open is ended now")
	case event.SessionOpened:
		v.opened(e.Session, d)
	case event.TurnStarted:
		v.print(threadEvent{Type: "turn.started"})
	case event.AttemptStarted:
		v.attempt = e.Attempt
	case event.ItemStarted:
		v.items[e.Item] = &item{n: len(v.items), name: d.Name}
	case event.ItemDelta:
		v.delta(e.Item, d)
	case event.CallReady:
		if i := v.items[e.Item]; i != nil {
			i.ready, i.args = true, d.Arguments
		}
	case event.CallStarted:
		v.callStarted(e.Item)
	case event.ItemEnded:
		v.itemEnded(e, d)
	case event.AttemptEnded:
		v.attemptEnded(d)
	case event.TurnCompleted, event.TurnAborted, event.TurnFailed:
		v.ended(e)
	}
}

// Fail says why there will be no terminal event.
func (v *View) Fail(message string) {
	v.complete(message)
	v.last = Refusal(message)
}

// Last returns the terminal event: clients go on as soon as they have it, with
// the same session too.
func (v *View) Last() []byte { return v.last }

func (v *View) print(e threadEvent) {
	v.write(func(b []byte) []byte { return appendLine(b, e) })
}

func (v *View) opened(session string, d event.SessionOpened) {
	v.thread, v.dir = session, d.Dir
	v.print(threadEvent{Type: "thread.started", ThreadID: session})
	for _, notice := range v.notices {
		v.notice(notice)
	}
	v.notices = nil
}

// notice shows what a person should know and what ends nothing.
func (v *View) notice(message string) {
	if v.thread == "" {
		v.notices = append(v.notices, message)
		return
	}
	v.print(threadEvent{Type: "item.completed", Item: errorItem{head{v.nextID(), "error"}, message}})
}

func (v *View) nextID() string {
	v.shown++
	return fmt.Sprintf("item_%d", v.shown-1)
}

// callStarted shows a call that runs, and what was said before it: that will
// not be said anew.
func (v *View) callStarted(id string) {
	i := v.items[id]
	if i == nil {
		return
	}
	v.release(func(h held) bool { return h.n < i.n })
	i.started, i.id = true, v.nextID()
	v.print(threadEvent{Type: "item.started", Item: i.begun(v.dir)})
}

// leastUpdate is by how many bytes the output of a command must at least have
// grown to be shown anew. It is shown whole each time, so it must also have
// grown by a quarter: all updates together are at most five times the output.
const leastUpdate = 256

func (v *View) delta(id string, d event.ItemDelta) {
	i := v.items[id]
	if i == nil || d.Stream != event.Output {
		return
	}
	i.output = append(i.output, d.Text...)
	if i.started && i.name == "shell" && (i.updated == 0 || len(i.output) >= i.updated+max(i.updated/4, leastUpdate)) {
		i.updated = len(i.output)
		v.print(threadEvent{Type: "item.updated", Item: i.progress()})
	}
}

func (v *View) itemEnded(e event.Event, d event.ItemEnded) {
	i := v.items[e.Item]
	if i == nil {
		return
	}
	h := held{item: e.Item, n: i.n}
	switch {
	case d.Type == event.ToolCall && i.started:
		v.print(threadEvent{Type: "item.completed", Item: i.over(d, v.dir)})
		i.started, i.output = false, nil
		return
	case d.Type == event.ToolCall && i.ready && d.Status == event.ItemFailed: // it was refused
		h.line = func(id string) any {
			i.id = id
			return i.over(d, v.dir)
		}
	case d.Type == event.Message && d.Text != "":
		h.line = func(id string) any { return textItem{head{id, "agent_message"}, d.Text} }
	case d.Type == event.Reasoning && d.Text != "":
		h.line = func(id string) any { return textItem{head{id, "reasoning"}, d.Text} }
	default:
		return
	}
	v.held = append(v.held, h)
	if v.attempt != e.Attempt { // it is over, and the item is sure to stay
		v.release(func(h held) bool { return h.item == e.Item })
	}
}

// release shows the held items that are wanted, in their order.
func (v *View) release(want func(held) bool) {
	slices.SortStableFunc(v.held, func(a, b held) int { return a.n - b.n })
	rest := v.held[:0]
	for _, h := range v.held {
		if !want(h) {
			rest = append(rest, h)
			continue
		}
		v.print(threadEvent{Type: "item.completed", Item: h.line(v.nextID())})
	}
	v.held = rest
}

func (v *View) attemptEnded(d event.AttemptEnded) {
	if d.RetryIn != nil {
		v.held = slices.DeleteFunc(v.held, func(h held) bool { return slices.Contains(d.Discarded, h.item) })
	}
	v.attempt = ""
	v.release(func(held) bool { return true })
	if d.RetryIn != nil && d.Failure != nil {
		v.notice(reconnecting(d.Failure))
	}
}

// reconnecting says that a failed request is made again, in words that clients
// know.
func reconnecting(f *event.Failure) string {
	count := fmt.Sprint(f.Attempt)
	if f.RetryLimit > 0 {
		count += fmt.Sprintf("/%d", f.RetryLimit)
	}
	return fmt.Sprintf("Reconnecting... %s (%s)", count, f.Error())
}

func (v *View) ended(e event.Event) {
	v.release(func(held) bool { return true })
	switch d := e.Data.(type) {
	case event.TurnCompleted:
		v.complete("")
		v.last = appendLine(nil, threadEvent{Type: "turn.completed", Usage: usageOf(d.Usage)})
	case event.TurnAborted:
		why := Aborted(e.By, d)
		v.complete(why)
		v.last = appendLine(nil, threadEvent{Type: "turn.failed", Error: &threadError{why}})
	case event.TurnFailed:
		why := "failed"
		if d.Failure != nil {
			why = d.Failure.Error()
		}
		v.complete(why)
		v.last = Refusal(why)
	}
}

// complete shows the end of what is shown as running. The log has an end for
// each item (C2), so this is for a log that could not be read to its end.
func (v *View) complete(why string) {
	for _, i := range v.items {
		if i.started {
			i.started = false
			v.print(threadEvent{Type: "item.completed", Item: i.over(event.ItemEnded{
				Status: event.ItemAborted, Content: event.Content{Output: strings.TrimSpace(string(i.output) + "\n" + why)},
			}, v.dir)})
		}
	}
}

// Aborted says why a turn was ended. A signal is how a client of this protocol
// interrupts.
func Aborted(by string, d event.TurnAborted) string {
	if d.Reason == event.Shutdown && strings.HasPrefix(by, "signal:") {
		return string(event.Interrupted)
	}
	return (&event.Cause{Outcome: event.Aborted, Reason: d.Reason, Limit: d.Limit, By: by, Message: d.Message}).Error()
}
