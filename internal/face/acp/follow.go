package acp

import (
	"fmt"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/book"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// follower says what a session's events mean to the client.
type follower struct {
	ses *session

	mu      sync.Mutex // guards what follows; events come one by one, output also with a timer
	log     *transcript.Transcript
	gone    error            // the client does not read any more
	calls   map[string]*call // that are open, by item
	asker   *asker.Asker
	heard   map[string]bool // inputs that a replay has told, and that wait
	titled  bool
	notes   []string    // that were not told yet
	flusher *time.Timer // runs while output waits to be shown
}

// newFollower returns one that goes on from the state.
func newFollower(ses *session, state event.State) *follower {
	f := &follower{
		ses: ses, log: transcript.New(state, transcript.Live), titled: len(state.Turns) > 0, notes: ses.notes,
		calls: map[string]*call{}, heard: map[string]bool{},
	}
	f.asker = asker.New(ses.server.life, asker.Options{Session: ses.opened, Ask: f.ask, By: ses.server.clientName})
	return f
}

// follow reads the session's events until it is closed.
func (f *follower) follow() {
	ses := f.ses
	defer close(ses.followed)
	defer f.close()
	var err error
	for e, problem := range ses.opened.Events(ses.server.life, f.log.State().Seq) {
		if err = problem; err != nil {
			break
		}
		if err = f.take(e); err != nil {
			break
		}
	}
	for _, p := range ses.prompts.Open() {
		if err == nil {
			ses.drop(p, event.Abort(event.Shutdown, ""))
		} else {
			ses.fail(p, fmt.Errorf("cannot follow the session any more: %w", err))
		}
	}
}

// close ends what still waits for the client.
func (f *follower) close() {
	f.asker.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flusher != nil {
		f.flusher.Stop()
		f.flusher = nil
	}
}

// replay tells the session from its beginning, as far as it was followed.
func (f *follower) replay() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	state := f.log.State()
	for _, in := range state.Waiting {
		f.heard[in.ID] = true
	}
	return f.ses.replay(state)
}

// send sends an update, unless the client is gone. The caller holds mu.
func (f *follower) send(update any) {
	if f.gone == nil {
		f.gone = f.ses.send(update)
	}
}

// take says what one event means. Its error is that the client is gone, or that
// the event cannot follow.
func (f *follower) take(e event.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	changes, err := f.log.Take(e)
	if err != nil {
		return err
	}
	moves := f.ses.prompts.Step(e)
	for _, c := range changes {
		switch c.Thing {
		case transcript.Input:
			f.inputChanged(c)
		case transcript.Turn:
			if c.What == transcript.Started {
				f.turnStarted(c)
			} else if c.What == transcript.Ended && c.Turn.Cause.Reason == event.LimitReached {
				f.notice("warning", "The turn was stopped: "+c.Turn.Cause.Error()+".")
			}
		case transcript.Attempt:
			if c.What == transcript.Ended {
				f.attemptEnded(c.Attempt.End)
			}
		case transcript.Item:
			f.itemChanged(c)
		case transcript.Approval:
			f.asker.Take(e)
		}
	}
	for _, m := range moves {
		f.promptMoved(m)
	}
	return f.gone
}

// inputChanged shows an input that this client did not send on this connection,
// such as one that a crash left waiting, when a turn takes it.
func (f *follower) inputChanged(c transcript.Change) {
	if c.What != transcript.Ended {
		return
	}
	heard := f.heard[c.Input.ID]
	delete(f.heard, c.Input.ID)
	if c.Turn != nil && !heard && f.ses.prompts.Find(c.Input.ID) == nil {
		f.send(chunk{Update: userChunk, Content: said(c.Input.Text), MessageID: c.Input.ID})
	}
}

func (f *follower) promptMoved(m book.Move[*prompt]) {
	switch m.How {
	case book.Held:
		f.held(m)
	case book.Dropped:
		f.ses.drop(m.Entry, m.Cause)
	case book.Ended:
		f.turnEnded(m)
	}
}

// held takes back a prompt that will not run by itself: the protocol cannot
// show it (C19). Where settle is being shut down, it stays in the log.
func (f *follower) held(m book.Move[*prompt]) {
	if m.Cause.Reason != event.Shutdown {
		// Where it is not dropped, a turn has taken it meanwhile, which will end.
		if _, err := f.ses.opened.Drop(m.Key, f.ses.server.clientName()); err == nil {
			return
		} // the log is closed, or has failed
	}
	f.ses.drop(m.Entry, event.Abort(m.Cause.Reason, ""))
}

func (f *follower) turnStarted(c transcript.Change) {
	for _, note := range f.notes {
		f.notice("warning", note)
	}
	f.notes = nil
	if f.titled {
		return
	}
	title := catalogue.Title(*c.State)
	f.titled = title != ""
	f.send(object{"sessionUpdate": "session_info_update", "title": title, "updatedAt": c.Event.At.Format(time.RFC3339)})
}

// attemptEnded says what a model request took, and that it will be made again.
func (f *follower) attemptEnded(d *event.AttemptEnded) {
	if window := f.ses.window(); window > 0 && d.Usage.Input > 0 {
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
	if f.ses.can.Session.Notices != nil {
		f.send(object{"sessionUpdate": "notice", "severity": severity, "title": text})
		return
	}
	f.send(chunk{Update: thoughtChunk, Content: said("[settle] " + text + "\n")})
}

// turnEnded answers a prompt that the turn took.
func (f *follower) turnEnded(m book.Move[*prompt]) {
	reason := stopReason(m.Cause)
	if m.Cancelled() {
		reason = "cancelled" // the protocol wants no other answer, also where the turn was faster
	} else if m.Cause.Outcome == event.Failed {
		f.ses.fail(m.Entry, turnError(m.Turn, m.Cause))
		return
	}
	f.ses.answer(m.Entry, object{
		"stopReason": reason, "usage": usageOf(f.log.State().Turn(m.Turn).Summary.Usage),
		"_meta": object{"settle": withTurn(ending(m.Cause), m.Turn)},
	})
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

// turnError is the answer to a prompt whose turn failed: an error, which clients
// show.
func turnError(turn string, c *event.Cause) error {
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
