package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/redact"
)

// ChildAgents are the running child agents of a session. A parent waits for its children, and
// a child never waits for its parent, so that no two sessions wait for each other.
type ChildAgents interface {
	// Cancel ends all children with the cause. It does not wait.
	Cancel(cause *event.Cause)
	// Wait returns when all children have ended and their ends are recorded, or when ctx ends.
	Wait(ctx context.Context) error
	// Finish returns when the children's worktrees are removed or kept as well, or when ctx
	// ends.
	Finish(ctx context.Context) error
}

// Children records child agents in their parent's log. A second ending of a child has no
// effect.
type Children struct {
	Log *journal.Log
	// Redact masks secrets in the texts of children; nil masks nothing.
	Redact *redact.Redactor
	// MaxRunning and MaxTotal bound the children of the session.
	MaxRunning, MaxTotal int
}

// ChildCall is the call that starts a child.
type ChildCall struct {
	Item       string
	Background bool
}

// StartedChild is a child whose start is durable.
type StartedChild struct {
	event.ChildStarted
	Turn string // turn of the call
}

// ChildStarted records that a call starts a child, before the child does anything.
func (c Children) ChildStarted(ctx context.Context, call ChildCall, child event.ChildStarted) (StartedChild, error) {
	child.Title, child.Call = c.Redact.String(child.Title), call.Item
	birth := StartedChild{}
	var refused error
	err := update(c.Log, func(s event.State) []event.Event {
		t := s.Running()
		if ctx.Err() != nil || t == nil || t.Interrupt != nil { // nothing starts after the interrupt
			refused = fmt.Errorf("cannot start a child agent: %w", errCallEnded)
			return nil
		}
		if i := t.Item(call.Item); i == nil || i.Status != event.ItemOpen {
			refused = fmt.Errorf("cannot start a child agent: %w", errCallEnded)
			return nil
		}
		if refused = c.checkRoom(s); refused != nil {
			return nil
		}
		child.Child = s.NextChild()
		birth = StartedChild{child, t.ID}
		e := event.Event{Data: child}
		if !call.Background {
			e.Turn, e.Attempt, e.Item = t.ID, t.Item(call.Item).Attempt, call.Item
		}
		return []event.Event{e}
	})
	if err != nil {
		return StartedChild{}, fmt.Errorf("cannot record the child agent: %w", err)
	}
	return birth, refused
}

// checkRoom refuses a child beyond the session's bounds.
func (c Children) checkRoom(s event.State) error {
	running := 0
	for _, child := range s.Children {
		if child.Ended == nil {
			running++
		}
	}
	switch {
	case running >= c.MaxRunning:
		return fmt.Errorf(
			"cannot start a child agent: %d run already, which is the most at once; wait for one to end, or cancel one",
			running,
		)
	case len(s.Children) >= c.MaxTotal:
		return fmt.Errorf(
			"cannot start a child agent: this session has started %d, which is the most; do the work yourself",
			len(s.Children),
		)
	}
	return nil
}

// ChildEnded records how a child ended.
func (c Children) ChildEnded(end event.ChildEnded) error {
	end.Answer = c.Redact.String(end.Answer)
	err := c.Log.Update(func(s event.State) []event.Event {
		child := s.Child(end.Child)
		if child == nil || child.Ended != nil {
			return nil
		}
		var out []event.Event
		for _, a := range child.Approvals { // C16: approvals of an ended child expire
			if a.Ended == nil {
				out = append(out, event.Event{Data: event.ApprovalEnded{Approval: a.Approval, Verdict: event.Expired}})
			}
		}
		return append(out, event.Event{Turn: child.Turn, Item: child.Item, Data: end})
	})
	if err != nil {
		return fmt.Errorf("cannot record the end of child %s: %w", end.Child, err)
	}
	return nil
}

// parentCause returns the cause of children that end because their parent ends.
func parentCause(cause *event.Cause) *event.Cause {
	out := event.Abort(event.Parent, cause.By)
	out.Message = cause.Error()
	return out
}

// endChildren ends all children, because the turn is being aborted (C18, C9).
func (s *Session) endChildren(cause *event.Cause) {
	if s.config.ChildAgents != nil && cause.Outcome == event.Aborted {
		s.config.ChildAgents.Cancel(parentCause(cause))
	}
}

// awaitChildren waits for the children of an aborted turn, within a bound. Children that do
// not end by then end with the session.
func (s *Session) awaitChildren(cause *event.Cause) {
	if s.config.ChildAgents == nil || cause == nil || cause.Outcome != event.Aborted {
		return
	}
	s.endChildren(cause) // also if no client requested the end, such as at a limit
	_ = withTimeout(interruptedTimeout, "", s.config.ChildAgents.Wait)
}

// hasChildren reports whether a child runs.
func hasChildren(state event.State) bool {
	return slices.ContainsFunc(state.Children, func(c *event.Child) bool { return c.Ended == nil })
}
