package appserver

import (
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool/plan"
)

// object is a message of the protocol, or a part of one, with the fields that settle supports.
// Fields that Codex sends as null are nil; fields that Codex leaves out are absent.
type object = map[string]any

// note is a notification.
type note struct {
	Method string
	Params any
}

// delta is text that is added to an item. It has no map, since clients receive many deltas.
type delta struct {
	ThreadID     string `json:"threadId"`
	TurnID       string `json:"turnId"`
	ItemID       string `json:"itemId"`
	Delta        string `json:"delta"`
	SummaryIndex *int   `json:"summaryIndex,omitempty"`
}

// threadStatus is the state of a thread.
type threadStatus struct {
	kind  string // notLoaded, idle, systemError or active
	waits bool   // for an approval; only if active
}

func (s threadStatus) object() object {
	if s.kind != "active" {
		return object{"type": s.kind}
	}
	flags := []string{}
	if s.waits {
		flags = append(flags, "waitingOnApproval")
	}
	return object{"type": s.kind, "activeFlags": flags}
}

// planOf is a plan, whose steps are pending, inProgress or completed.
func planOf(in plan.Arguments) object {
	steps := []object{}
	for _, s := range in.Plan {
		status := string(s.Status)
		if s.Status == plan.InProgress {
			status = inProgress
		}
		steps = append(steps, object{"step": s.Step, "status": status})
	}
	return object{"explanation": ptr(in.Explanation), "plan": steps}
}

func statusChanged(thread string, s threadStatus) note {
	return note{"thread/status/changed", object{"threadId": thread, "status": s.object()}}
}

func tokensOf(u event.Usage) object {
	return object{
		"totalTokens":           u.Input + u.Output,
		"inputTokens":           u.Input,
		"cachedInputTokens":     u.CacheRead,
		"cacheWriteInputTokens": u.CacheWrite,
		"outputTokens":          u.Output,
		"reasoningOutputTokens": u.Reasoning,
	}
}

// ptr returns a pointer to a value that is there, or nil for the zero value.
func ptr[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func seconds(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	s := t.Unix()
	return &s
}

// milliseconds is the time between two moments; nil where one of them is still to
// come.
func milliseconds(from, to time.Time, c *event.Cause) *int64 {
	if from.IsZero() || to.IsZero() || !c.HasEndTime() {
		return nil
	}
	ms := to.Sub(from).Milliseconds()
	return &ms
}
