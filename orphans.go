package settle

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/tool/task"
)

// orphan returns what says how a child ended whose host died: its own log has what it
// said and took. nil where there are no such logs.
func (s *Session) orphan(c SessionConfig) func(event.Child, event.ChildEnded) event.ChildEnded {
	dir := s.host.config.DataDir
	if dir == "" || c.Ephemeral {
		return nil
	}
	return func(child event.Child, end event.ChildEnded) event.ChildEnded {
		if state, err := lastOf(dir, child.Session, 0); err == nil {
			spent := state.Spent()
			end.Spent, end.Answer = &spent, s.redact.String(task.Clip(lastWords(state)))
			end.ElapsedMS = max(state.Updated.Sub(child.At).Milliseconds(), 1)
		} else if missing := (*journal.MissingError)(nil); errors.As(err, &missing) {
			end.Spent = &event.Summary{} // it never began
		}
		end.Worktree = s.abandoned(c, child)
		return end
	}
}

// deepest bounds how far down the children of children are followed.
const deepest = 16

// lastOf is the state in which a session's host died, as whoever recovers it finds it,
// or in which it was closed. What a person does with it later is not counted: then
// it is nobody's child.
func lastOf(dir, id string, depth int) (event.State, error) {
	var state event.State
	for e, err := range journal.Read(context.Background(), dir, id, 0) {
		if err == nil {
			state, err = event.Fold(state, e)
		}
		if err != nil && state.Seq == 0 {
			return state, err
		}
		if err != nil {
			break // it is damaged: what comes before it counts
		}
		if !state.Open {
			return state, nil
		}
	}
	for _, e := range event.Closings(state, event.Abort(event.Crashed, "host")) {
		e.Session, e.Seq, e.At = state.Session, state.Seq+1, state.Updated
		if end, ok := e.Data.(event.ChildEnded); ok && depth < deepest {
			if child := state.Child(end.Child); child != nil {
				if below, err := lastOf(dir, child.Session, depth+1); err == nil {
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

// freeTimeout bounds the wait for the processes of a child whose host died, which hold
// its lock until they are ended.
const (
	freeTimeout = 3 * time.Second
	freeDelay   = 20 * time.Millisecond
)

// abandoned leaves the worktree of a child that does not run; nil if there is nothing
// to say of one.
func (s *Session) abandoned(c SessionConfig, child event.Child) *event.WorktreeLeft {
	if child.Worktree == nil || c.Tasks == nil || c.Tasks.Worktrees == nil {
		return nil
	}
	for began := time.Now(); ; time.Sleep(freeDelay) {
		if free, err := journal.Free(s.host.config.DataDir, child.Session); free || errors.Is(err, fs.ErrNotExist) {
			break
		}
		if time.Since(began) > freeTimeout { // whoever opens the session next tries again
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	left := c.Tasks.Worktrees.Leave(ctx, child.Session, *child.Worktree)
	return &left
}

// leaveWorktrees leaves the worktrees of children that ended, where settle was killed
// before it came to that.
func (s *Session) leaveWorktrees(c SessionConfig) {
	var list []event.Child
	s.View(func(state event.State) {
		for _, child := range state.Children {
			if child.Ended != nil && child.Worktree != nil && child.Ended.Worktree == nil {
				list = append(list, *child)
			}
		}
	})
	for _, child := range list {
		if c.Tasks != nil && c.Tasks.Worktrees != nil && c.Tasks.Worktrees.Held(child.Session, *child.Worktree) {
			s.abandoned(c, child)
		}
	}
}
