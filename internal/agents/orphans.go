package agents

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/tool/task"
)

// Orphans ends the child agents whose host died before it could record their ends.
type Orphans struct {
	// DataDir is the data directory that has the children's logs.
	DataDir string
	// Worktrees removes the worktrees of the children; nil leaves the worktrees alone.
	Worktrees task.Worktrees
	Redact    *redact.Redactor
}

// End completes a child's ending with the answer and usage from the child's own log.
func (o Orphans) End(child event.Child, end event.ChildEnded) event.ChildEnded {
	if state, err := lastState(o.DataDir, child.Session, 0); err == nil {
		spent := state.Spent()
		end.Spent, end.Answer = &spent, o.Redact.String(task.Clip(lastText(state)))
		end.ElapsedMS = max(state.Updated.Sub(child.At).Milliseconds(), 1)
	} else if missing := (*journal.MissingError)(nil); errors.As(err, &missing) {
		end.Spent = &event.Summary{} // its session was never opened
	}
	end.Worktree = o.leave(child)
	return end
}

// maxDepth bounds how deep lastState follows the children of children.
const maxDepth = 16

// lastState returns the state of a session when its host died, with the endings that
// recovery writes, or when the session was closed. It ignores later events: a session
// that a person opens again is no child any more.
func lastState(dir, id string, depth int) (event.State, error) {
	var state event.State
	for e, err := range journal.Read(context.Background(), dir, id, 0) {
		if err == nil {
			state, err = event.Fold(state, e)
		}
		if err != nil && state.Seq == 0 {
			return state, err
		}
		if err != nil {
			break // the log is damaged: use the events before the damage
		}
		if !state.Open {
			return state, nil
		}
	}
	for _, e := range event.Closings(state, event.Abort(event.Crashed, "host")) {
		e.Session, e.Seq, e.At = state.Session, state.Seq+1, state.Updated
		if end, ok := e.Data.(event.ChildEnded); ok && depth < maxDepth {
			if child := state.Child(end.Child); child != nil {
				if below, err := lastState(dir, child.Session, depth+1); err == nil {
					spent := below.Spent()
					end.Spent = &spent
					e.Data = end
				}
			}
		}
		next, err := event.Fold(state, e)
		if err != nil {
			return state, err
		}
		state = next
	}
	return state, nil
}

const (
	// unlockTimeout bounds the wait for the processes of a child whose host died. They
	// hold the lock of the child's log until the supervisor has ended them.
	unlockTimeout = 3 * time.Second
	unlockDelay   = 20 * time.Millisecond
)

// leave removes the worktree of a child that does not run, or leaves it to the user.
// It returns nil if there is no worktree, or if processes still use it.
func (o Orphans) leave(child event.Child) *event.WorktreeLeft {
	if child.Worktree == nil || o.Worktrees == nil {
		return nil
	}
	for began := time.Now(); ; time.Sleep(unlockDelay) {
		if free, err := journal.Free(o.DataDir, child.Session); free || errors.Is(err, fs.ErrNotExist) {
			break
		}
		if time.Since(began) > unlockTimeout { // the next host of the session tries again
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	left := o.Worktrees.Leave(ctx, child.Session, *child.Worktree)
	return &left
}

// LeaveWorktrees removes the worktrees of children that have ended, if settle was
// killed before it could remove them, or leaves them to the user.
func (o Orphans) LeaveWorktrees(log *journal.Log) {
	var list []event.Child
	log.View(func(state event.State) {
		for _, child := range state.Children {
			if child.StartSeq > state.Imported && child.Ended != nil && child.Worktree != nil &&
				child.Ended.Worktree == nil {
				list = append(list, *child)
			}
		}
	})
	for _, child := range list {
		if o.Worktrees != nil && o.Worktrees.Held(child.Session, *child.Worktree) {
			o.leave(child)
		}
	}
}
