package acp

import (
	"fmt"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// follower says what a session's events mean to the client.
type follower struct {
	one *session

	mu      sync.Mutex // guards what follows; events come one by one, output also with a timer
	gone    error      // the client does not read any more
	texts   map[string]event.InputAccepted
	items   map[string]*item    // that are open
	asked   map[string]question // to the client, by approval
	usage   event.Usage
	titled  bool
	notes   []string    // that were not told yet
	flusher *time.Timer // runs while output waits to be shown
	told    uint64      // up to which event everything was told by replay
	silent  bool        // the event that is taken was told
}

// item is an open item.
type item struct {
	kind event.ItemType
	sent int   // bytes of its text
	call *call // of a tool call
}

func newFollower(one *session, titled bool) *follower {
	return &follower{
		one: one, texts: map[string]event.InputAccepted{}, items: map[string]*item{}, asked: map[string]question{}, titled: titled, notes: one.notes,
	}
}

// follow reads the session's events after the cursor until it is closed.
func (f *follower) follow(cursor uint64) {
	one := f.one
	defer close(one.followed)
	defer f.close()
	var err error
	for e, problem := range one.opened.Events(one.server.life, cursor) {
		if err = problem; err != nil {
			break
		}
		if err = f.take(e); err != nil {
			break
		}
	}
	for _, p := range one.unanswered() {
		if err == nil {
			one.drop(p, event.Abort(event.Shutdown, ""))
		} else {
			one.fail(p, fmt.Errorf("cannot follow the session any more: %w", err))
		}
	}
}

// close ends what still waits for the client.
func (f *follower) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range f.asked {
		q.stop()
	}
	if f.flusher != nil {
		f.flusher.Stop()
		f.flusher = nil
	}
}

// replay tells the session from its beginning. The follower may not have come
// so far yet: what it takes until then was told, and is not told again.
func (f *follower) replay() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	state := f.one.opened.State()
	f.told = state.Seq
	return f.one.replay(state)
}

// send sends an update, unless the client is gone, or has been told by a replay.
// The caller holds mu.
func (f *follower) send(update any) {
	switch update.(type) {
	case chunk, toolCall:
		if f.silent {
			return
		}
	}
	if f.gone == nil {
		f.gone = f.one.send(update)
	}
}

// take says what one event means. Its error is that the client is gone.
func (f *follower) take(e event.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.silent = e.Seq <= f.told
	defer func() { f.silent = false }()
	switch d := e.Data.(type) {
	case event.InputAccepted:
		f.texts[d.Input] = d
	case event.InputHeld:
		f.held(d)
	case event.InputDropped:
		if p := f.one.prompt(d.Input); p != nil {
			f.one.drop(p, event.Abort(event.Interrupted, e.By))
		}
		delete(f.texts, d.Input)
	case event.TurnStarted:
		f.begin(e)
		f.taken(e.Turn, d.Inputs)
	case event.AttemptStarted:
		f.taken(e.Turn, d.Inputs)
	case event.AttemptEnded:
		f.attempted(d)
	case event.ItemStarted, event.ItemDelta, event.CallReady, event.CallStarted, event.ItemEnded:
		f.item(e)
	case event.ApprovalRequested:
		f.ask(e, d)
	case event.ApprovalEnded:
		f.answered(d.Approval)
	case event.TurnCompleted:
		f.ended(e, event.Complete(), d.Summary)
	case event.TurnAborted:
		f.ended(e, &event.Cause{Outcome: event.Aborted, Reason: d.Reason, Limit: d.Limit, By: e.By, Message: d.Message}, d.Summary)
	case event.TurnFailed:
		f.ended(e, event.Fail(d.Failure), d.Summary)
	}
	return f.gone
}

// held takes back a prompt that will not run by itself: the protocol cannot
// show it (C19). Where settle is being shut down, it stays in the log.
func (f *follower) held(d event.InputHeld) {
	p := f.one.prompt(d.Input)
	if p == nil {
		return
	}
	if d.Reason != event.Shutdown {
		// Where it is not dropped, a turn has taken it meanwhile, which will end.
		if _, err := f.one.opened.Drop(d.Input, f.one.server.clientName()); err == nil {
			return
		} // the log is closed, or has failed
	}
	f.one.drop(p, event.Abort(d.Reason, ""))
}

// begin begins a turn.
func (f *follower) begin(e event.Event) {
	for _, note := range f.notes {
		f.notice("warning", note)
	}
	f.notes = nil
	if f.titled {
		return
	}
	var title string
	f.one.opened.View(func(s event.State) { title = catalogue.Title(s) })
	f.titled = title != ""
	f.send(object{"sessionUpdate": "session_info_update", "title": title, "updatedAt": e.At.Format(time.RFC3339)})
}

// taken notes which turn runs the inputs. One that this client did not send on
// this connection, such as one that a crash left waiting, is shown.
func (f *follower) taken(turn string, inputs []string) {
	for _, id := range inputs {
		if p := f.one.prompt(id); p != nil {
			p.turn = turn
		} else if in, ok := f.texts[id]; ok {
			f.send(chunk{Update: userChunk, Content: said(in.Text), MessageID: id})
		}
		delete(f.texts, id)
	}
}

// attempted says what a model request took, and that it will be made again.
func (f *follower) attempted(d event.AttemptEnded) {
	f.usage = f.usage.Add(d.Usage)
	if window := f.one.window(); window > 0 && d.Usage.Input > 0 {
		f.send(object{"sessionUpdate": "usage_update", "used": d.Usage.Input + d.Usage.Output, "size": window})
	}
	if d.Failure == nil || d.RetryIn == nil {
		return
	}
	wait := (time.Duration(*d.RetryIn) * time.Millisecond).Round(100 * time.Millisecond)
	f.notice("warning", fmt.Sprintf("The model's response failed: %s; asking again in %v", d.Failure.Message, wait))
}

// notice tells the person something that the model did not say.
func (f *follower) notice(severity, text string) {
	if f.one.can.Session.Notices != nil {
		f.send(object{"sessionUpdate": "notice", "severity": severity, "title": text})
		return
	}
	f.send(chunk{Update: thoughtChunk, Content: said("[settle] " + text + "\n")})
}

// ended answers the prompts that the turn took.
func (f *follower) ended(e event.Event, c *event.Cause, took event.Summary) {
	if c.Reason == event.LimitReached {
		f.notice("warning", "The turn was stopped: "+c.Error()+".")
	}
	for _, p := range f.one.unanswered() {
		if p.turn != e.Turn {
			continue
		}
		reason := stopReason(c)
		if f.one.unwanted(p) {
			reason = "cancelled" // the protocol wants no other answer, also where the turn was faster
		} else if c.Outcome == event.Failed {
			f.one.fail(p, failed(e.Turn, c))
			continue
		}
		f.one.answer(p, object{
			"stopReason": reason, "usage": usageOf(took.Usage),
			"_meta": object{"settle": withTurn(ending(c), e.Turn)},
		})
	}
}

func withTurn(o object, turn string) object {
	o["turn"] = turn
	return o
}

// stopReason says how a turn ended that did not fail, in the protocol's words.
// Those for refusals and answers that were cut are not used: such turns fail,
// and an error says more.
func stopReason(c *event.Cause) string {
	switch {
	case c.Outcome == event.Completed:
		return "end_turn"
	case c.Reason == event.LimitReached:
		return "max_turn_requests"
	default:
		return "cancelled"
	}
}

// failed is the answer to a prompt whose turn failed: an error, which clients
// show.
func failed(turn string, c *event.Cause) error {
	e := jsonrpc.Errorf(jsonrpc.CodeInternal, "The turn %s", c.Error())
	if raw, err := encode(object{"turn": turn, "error": c.Failure}); err == nil {
		e.Data = raw
	}
	return e
}

// usageOf is what a turn took, as the protocol's draft has it.
func usageOf(u event.Usage) object {
	return object{
		"totalTokens": u.Input + u.Output, "inputTokens": u.Input, "outputTokens": u.Output,
		"thoughtTokens": u.Reasoning, "cachedReadTokens": u.CacheRead, "cachedWriteTokens": u.CacheWrite,
	}
}
