package acp

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/pending"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/tool/plan"
)

// follow reads the session's events until it is closed, and sends their translation to
// the client.
func (ses *session) follow() {
	defer close(ses.followed)
	defer ses.stop()
	var err error
	for e, problem := range ses.opened.Events(ses.Life, ses.log.State().Seq) {
		if err = problem; err != nil {
			break
		}
		if err = ses.take(e); err != nil {
			break
		}
	}
	for _, p := range ses.given() {
		if err == nil {
			drop(p, event.Abort(event.Shutdown, ""))
		} else {
			fail(p, fmt.Errorf("cannot follow the session any more: %w", err))
		}
	}
}

// stop ends everything that still waits for the client.
func (ses *session) stop() {
	ses.asker.Close()
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.flusher != nil {
		ses.flusher.Stop()
		ses.flusher = nil
	}
}

// tell sends an update. It waits for a client that reads slowly; an error means
// that it does not read any more.
func (ses *session) tell(update any) error {
	return ses.Notify(ses.Life, "session/update", sessionUpdate{ses.id, update})
}

// send sends an update in order, unless the client is gone. The caller holds mu.
func (ses *session) send(update any) {
	if ses.readErr == nil {
		ses.readErr = ses.tell(update)
	}
}

// take sends the translation of one event. It returns an error if the client has gone, or
// if the event is out of order.
func (ses *session) take(e event.Event) error {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	changes, err := ses.log.Take(e)
	if err != nil {
		return err
	}
	moves := ses.prompts.Step(e)
	for _, c := range changes {
		switch c.Thing {
		case transcript.Input:
			ses.inputChanged(c)
		case transcript.Turn:
			if c.What == transcript.Started {
				ses.turnStarted(c)
			} else if c.What == transcript.Ended && c.Turn.Cause.Reason == event.LimitReached {
				ses.warn("The turn was stopped: " + c.Turn.Cause.Error() + ".")
			}
		case transcript.Attempt:
			if c.What == transcript.Ended {
				ses.attemptEnded(c.Attempt.End)
			}
		case transcript.Item:
			ses.itemChanged(c)
			ses.planAccepted(c)
		case transcript.Approval:
			ses.asker.Take(e)
		}
	}
	for _, m := range moves {
		ses.promptMoved(m)
	}
	return ses.readErr
}

// planAccepted reports the mode that an accepted plan began.
func (ses *session) planAccepted(c transcript.Change) {
	if c.What == transcript.Ended && c.Item.Status == event.ItemCompleted && c.Item.Content().Name == plan.ProposeName {
		ses.send(object{"sessionUpdate": "current_mode_update", "currentModeId": ses.policy.Mode().Name})
	}
}

// inputChanged shows an input that this client did not send on this connection,
// such as one that a crash left waiting, when a turn takes it.
func (ses *session) inputChanged(c transcript.Change) {
	if c.What != transcript.Ended {
		return
	}
	heard := ses.heard[c.Input.ID]
	delete(ses.heard, c.Input.ID)
	if c.Turn != nil && !heard && ses.prompts.Find(c.Input.ID) == nil {
		ses.sendInput(c.Input)
	}
}

func (ses *session) promptMoved(m pending.Move[*prompt]) {
	switch m.How {
	case pending.Held:
		ses.held(m)
	case pending.Dropped:
		drop(m.Entry, m.Cause)
	case pending.Ended:
		ses.turnEnded(m)
	}
}

// held takes back a prompt that will not run by itself: the protocol cannot
// show it (C19). Where settle is being shut down, it stays in the log.
func (ses *session) held(m pending.Move[*prompt]) {
	if m.Cause.Reason != event.Shutdown {
		// If it cannot be dropped, a turn has started with it, and will end.
		if _, err := ses.opened.Drop(m.Key, ses.Client()); err == nil {
			return
		} // the log is closed, or has failed
	}
	drop(m.Entry, event.Abort(m.Cause.Reason, ""))
}

func (ses *session) turnStarted(c transcript.Change) {
	for _, note := range ses.notes[ses.noted:] {
		ses.warn(note)
	}
	ses.noted = len(ses.notes)
	if ses.titled {
		return
	}
	title := catalogue.Title(*c.State)
	ses.titled = title != ""
	ses.send(
		object{"sessionUpdate": "session_info_update", "title": title, "updatedAt": c.Event.At.Format(time.RFC3339)},
	)
}

// attemptEnded reports the usage of a model request, and its retry.
func (ses *session) attemptEnded(d *event.AttemptEnded) {
	if window := ses.opened.Model().Window; window > 0 && d.Usage.Input > 0 {
		ses.send(object{"sessionUpdate": "usage_update", "used": d.Usage.Total(), "size": window})
	}
	if d.Failure == nil || d.RetryIn == nil {
		return
	}
	wait := (time.Duration(*d.RetryIn) * time.Millisecond).Round(100 * time.Millisecond)
	ses.warn(fmt.Sprintf("The model's response failed: %s; asking again in %v", d.Failure.Message, wait))
}

// warn shows the person a message that is not the model's.
func (ses *session) warn(text string) {
	if ses.can.Session.Notices != nil {
		ses.send(object{"sessionUpdate": "notice", "severity": "warning", "title": text})
		return
	}
	ses.send(chunk{Update: thoughtChunk, Content: textPiece("[settle] " + text + "\n")})
}

// turnEnded answers a prompt that the turn took.
func (ses *session) turnEnded(m pending.Move[*prompt]) {
	reason := stopReason(m.Cause)
	if m.Cancelled() {
		reason = "cancelled" // the protocol wants no other answer, also where the turn was faster
	} else if m.Cause.Outcome == event.Failed {
		fail(m.Entry, turnError(m.Turn, m.Cause))
		return
	}
	answer(m.Entry, object{
		"stopReason": reason, "usage": usageOf(ses.log.State().Turn(m.Turn).Summary.Usage),
		"_meta": meta(ending{*m.Cause, m.Turn}),
	})
}

// stopReason returns the protocol's word for the end of a turn that did not fail. The words for
// refusals and truncated answers are not used: such turns fail, and the error has more details.
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
	if raw, err := json.Marshal(object{"turn": turn, "error": c.Failure}); err == nil {
		e.Data = raw
	}
	return e
}

// usageOf returns the token usage of a turn in the form of the protocol's draft.
func usageOf(u event.Usage) object {
	return object{
		"totalTokens": u.Input + u.Output, "inputTokens": u.Input, "outputTokens": u.Output,
		"thoughtTokens": u.Reasoning, "cachedReadTokens": u.CacheRead, "cachedWriteTokens": u.CacheWrite,
	}
}
