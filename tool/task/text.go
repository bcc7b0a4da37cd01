package task

import (
	"fmt"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
)

// maxAnswer bounds a child's answer in bytes, as its parent's model receives it.
const maxAnswer = 32 << 10

// Clip returns the text, or both ends of a long text.
func Clip(text string) string {
	return bound.Ends(text, maxAnswer/2, maxAnswer/2, "[%d bytes left out; the child's session has them]")
}

// Report describes a child's end and its answer to a model.
func Report(started event.ChildStarted, ended event.ChildEnded) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s %s", name(started), how(ended))
	if ended.ElapsedMS > 0 {
		fmt.Fprintf(&b, " after %s", span(time.Duration(ended.ElapsedMS)*time.Millisecond))
	}
	fmt.Fprintf(&b, "; session %s%s", started.Session, left(started, ended))
	switch {
	case ended.Answer == "":
		b.WriteString(". It said nothing.]")
	case ended.Outcome == event.Completed:
		fmt.Fprintf(&b, ". Its answer:]\n%s", ended.Answer)
	default:
		fmt.Fprintf(&b, ". The last that it said:]\n%s", ended.Answer)
	}
	return b.String()
}

// name describes the child.
func name(started event.ChildStarted) string {
	if started.Title == "" {
		return "Child agent " + started.Child
	}
	return fmt.Sprintf("Child agent %s (%s)", started.Child, started.Title)
}

// place describes the directory of a child with a worktree.
func place(started event.ChildStarted) string {
	if started.Worktree == nil {
		return ""
	}
	return " in the git worktree " + started.Worktree.Dir
}

// left describes the end of a child's worktree.
func left(started event.ChildStarted, ended event.ChildEnded) string {
	w := started.Worktree
	switch {
	case w == nil:
		return ""
	case ended.Worktree == nil:
		return fmt.Sprintf("; its git worktree %s is kept if anything in it has changed", w.Path)
	case !ended.Worktree.Kept:
		return "; nothing in its git worktree has changed, which is removed"
	}
	return fmt.Sprintf("; its git worktree %s is kept, with the branch %s that began at %.12s: %s", w.Path, w.Branch,
		w.Base, ended.Worktree.Why)
}

// how continues the words "the child …".
func how(ended event.ChildEnded) string {
	if ended.Outcome == event.Completed {
		return "completed"
	}
	if ended.Cause == nil {
		return string(ended.Outcome)
	}
	if ended.Outcome == event.Aborted {
		return "did not finish: " + ended.Cause.Error()
	}
	return ended.Cause.Error()
}

// span formats a duration for people.
func span(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
