package agents

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool/task"
)

// describe fills in the current activity of a child's session, for check_task.
func describe(s event.State, out *task.Status) {
	out.Progress = s.Updated
	for _, t := range s.Turns {
		for _, a := range t.Attempts {
			if a.End != nil && a.End.Outcome == event.Completed && a.Start.Purpose == "" {
				out.Steps++
			}
		}
		for _, i := range t.Items {
			if i.Started {
				out.Calls++
			}
		}
	}
	t := s.Running()
	if t == nil {
		out.Doing, out.DoingSince = "idle", s.Updated
		return
	}
	out.Doing, out.DoingSince = "waiting for the model", t.StartedAt
	if a := t.Attempt(); a != nil {
		out.DoingSince = a.StartedAt
	}
	for _, i := range t.Items {
		if i.Status != event.ItemOpen {
			continue
		}
		switch out.DoingSince = i.BegunAt; {
		case i.Type() == event.ToolCall && i.Started:
			out.Doing, out.DoingSince = "running "+i.Content().Name, i.StartedAt
		case i.Type() == event.ToolCall:
			out.Doing = "calling " + i.Content().Name
		default:
			out.Doing = "writing"
		}
	}
	for _, a := range t.Approvals {
		if a.Ended == nil {
			out.Doing, out.DoingSince = "waiting for approval of "+a.Tool, a.At
		}
	}
}
