package exec

import (
	"context"
	"fmt"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// View shows a turn as lines of JSON.
type View struct {
	write func(add func([]byte) []byte)

	thread  string           // id of the session, once it was shown
	running map[string]*item // calls that were shown
	plan    *planItem        // of the turn; nil before there is one
	shown   int              // items that have an id in lines
	notices []string         // that wait for the thread to be shown
	last    []byte           // how the turn ended
}

// NewView returns a view that writes with write.
func NewView(write func(add func([]byte) []byte)) *View {
	return &View{write: write, running: map[string]*item{}}
}

// Follow implements [oneturn.View].
func (v *View) Follow(ctx context.Context, session *settle.Session, cursor uint64) func() error {
	return oneturn.Changes(ctx, session, cursor, transcript.Final, v.Show)
}

// Finish implements [oneturn.View]. The answer is one of the items.
func (v *View) Finish(string) {}

// Show shows a change of the session, of the mode [transcript.Final].
func (v *View) Show(c transcript.Change) {
	switch {
	case c.Thing == transcript.Item:
		v.itemChanged(c)
	case c.Thing == transcript.Turn && c.What == transcript.Started:
		v.print(threadEvent{Type: "turn.started"})
	case c.Thing == transcript.Turn && c.What == transcript.Ended:
		v.turnEnded(c.Turn)
	case c.Thing == transcript.Attempt && c.What == transcript.Ended:
		if end := c.Attempt.End; end.RetryIn != nil && end.Failure != nil {
			v.notice(reconnecting(end.Failure))
		}
	case c.Thing == transcript.Session && c.What == transcript.Started:
		v.opened(c.Event.Session)
	case c.Event.Kind() == event.KindSessionRecovered:
		v.notice("the session was left by a process that was killed; what it had open is ended now")
	}
}

// Fail records the reason why there will be no terminal event.
func (v *View) Fail(message string) {
	v.complete(message)
	v.last = Refusal(message)
}

// Last returns the terminal event: a client that has it can at once continue the same
// session.
func (v *View) Last() []byte { return v.last }

func (v *View) print(e threadEvent) {
	v.write(func(b []byte) []byte { return appendLine(b, e) })
}

func (v *View) completed(item any) { v.print(threadEvent{Type: "item.completed", Item: item}) }

func (v *View) opened(session string) {
	v.thread = session
	v.print(threadEvent{Type: "thread.started", ThreadID: session})
	for _, notice := range v.notices {
		v.notice(notice)
	}
	v.notices = nil
}

// notice shows a message for a person that ends nothing.
func (v *View) notice(message string) {
	if v.thread == "" {
		v.notices = append(v.notices, message)
		return
	}
	v.completed(errorItem{v.head("error"), message})
}

// head returns the head of the next item.
func (v *View) head(kind string) head {
	v.shown++
	return head{fmt.Sprintf("item_%d", v.shown-1), kind}
}

func (v *View) itemChanged(c transcript.Change) {
	if toolview.KindOf(c.Item.Content().Name) == toolview.Plan && c.Item.Status != event.ItemFailed {
		v.planChanged(c)
		return
	}
	switch c.What {
	case transcript.Running:
		i := v.newItem(c)
		v.running[c.Item.ID] = i
		v.print(threadEvent{Type: "item.started", Item: i.startedLine()})
	case transcript.Grew:
		if text := c.Notice(); text != "" {
			v.notice(text)
		} else if i := v.running[c.Item.ID]; i != nil && c.Stream == event.Output {
			v.grew(i, c)
		}
	case transcript.Ended:
		v.itemEnded(c)
	}
}

// planChanged shows the plan that a call has set.
func (v *View) planChanged(c transcript.Change) {
	if c.What != transcript.Ended || c.Item.Status != event.ItemCompleted {
		return
	}
	what := "item.updated"
	if v.plan == nil {
		what, v.plan = "item.started", &planItem{head: v.head("todo_list")}
	}
	v.plan = planItemOf(v.plan.ID, c.Call().Plan)
	v.print(threadEvent{Type: what, Item: v.plan})
}

func (v *View) newItem(c transcript.Change) *item {
	return &item{id: v.head("").ID, view: c.Call(), arguments: c.Item.Content().RanWith()}
}

// minUpdate is the minimum growth of a command's output, in bytes, for another update. An
// update repeats the whole output, so the output must also have grown by a quarter: all
// updates together are at most five times the output.
const minUpdate = 256

func (v *View) grew(i *item, c transcript.Change) {
	i.output = append(i.output, c.Text...)
	if i.view.Tool == "shell" && (i.updated == 0 || len(i.output) >= i.updated+max(i.updated/4, minUpdate)) {
		i.updated = len(i.output)
		v.print(threadEvent{Type: "item.updated", Item: i.progress()})
	}
}

func (v *View) itemEnded(c transcript.Change) {
	content, running := c.Item.Content(), v.running[c.Item.ID]
	switch {
	case running != nil:
		delete(v.running, c.Item.ID)
		v.completed(running.ended(c.Item.Status, content, c.Item.Cause))
	case content.Type == event.ToolCall && c.Item.Ready && c.Item.Status == event.ItemFailed: // it was refused
		v.completed(v.newItem(c).ended(c.Item.Status, content, c.Item.Cause))
	case content.Type == event.Message && content.Text != "":
		v.completed(textItem{v.head("agent_message"), content.Text})
	case content.Type == event.Reasoning && content.Text != "":
		v.completed(textItem{v.head("reasoning"), content.Text})
	}
}

// reconnecting reports that a failed request is made again, in words that clients
// know.
func reconnecting(f *event.Failure) string {
	count := fmt.Sprint(f.Attempt)
	if f.RetryLimit > 0 {
		count += fmt.Sprintf("/%d", f.RetryLimit)
	}
	return fmt.Sprintf("Reconnecting... %s (%s)", count, f.Error())
}

func (v *View) turnEnded(t *event.Turn) {
	v.planEnded()
	why := "failed"
	switch t.Cause.Outcome {
	case event.Completed:
		v.last = appendLine(nil, threadEvent{Type: "turn.completed", Usage: usageOf(t.Summary.Usage)})
		return
	case event.Aborted:
		why = abortReason(t.Cause)
		v.last = appendLine(nil, threadEvent{Type: "turn.failed", Error: &threadError{why}})
	default:
		if t.Cause.Failure != nil {
			why = t.Cause.Failure.Error()
		}
		v.last = Refusal(why)
	}
	v.complete(why)
}

// complete ends the items that are shown as running. The log has an end for each item
// (C2), so this is for a log that could not be read to its end.
func (v *View) complete(why string) {
	v.planEnded()
	for _, i := range v.running {
		v.completed(
			i.ended(event.ItemAborted, event.Content{Output: strings.TrimSpace(string(i.output) + "\n" + why)}, nil),
		)
	}
	clear(v.running)
}

// planEnded leaves the plan as it is: the turn has ended.
func (v *View) planEnded() {
	if v.plan != nil {
		v.completed(v.plan)
		v.plan = nil
	}
}

// abortReason returns the reason why a turn was ended. Clients of this protocol interrupt by a
// signal.
func abortReason(c *event.Cause) string {
	if c.Reason == event.Shutdown && strings.HasPrefix(c.By, "signal:") {
		return string(event.Interrupted)
	}
	return c.Error()
}
