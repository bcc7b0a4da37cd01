package event

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// HookEvent is the occasion of a hook, by the name that Claude Code and Codex use.
type HookEvent string

// The occasions.
const (
	HookSessionStart HookEvent = "SessionStart"      // the first turn after the session was opened, and after a compaction
	HookSessionEnd   HookEvent = "SessionEnd"        // the session closes
	HookPrompt       HookEvent = "UserPromptSubmit"  // before a model receives an input
	HookBefore       HookEvent = "PreToolUse"        // before a call
	HookAfter        HookEvent = "PostToolUse"       // after a call that ran
	HookPermission   HookEvent = "PermissionRequest" // before a call's approval is requested
	HookNotification HookEvent = "Notification"      // an approval is requested
	HookStop         HookEvent = "Stop"              // the model calls no further tool
	HookChildStop    HookEvent = "SubagentStop"      // the model of a child agent calls no further tool
	HookCompact      HookEvent = "PreCompact"        // before the history is compacted
)

// HookReview is the occasion of settle's own hook: with the permission [Review], a model decides
// before a person is asked about a call. Its Command names the model, and it never denies.
const HookReview HookEvent = "Review"

// HookEvents returns all occasions, in the order of a session.
func HookEvents() []HookEvent {
	return []HookEvent{
		HookSessionStart,
		HookPrompt,
		HookBefore,
		HookPermission,
		HookNotification,
		HookAfter,
		HookStop,
		HookChildStop,
		HookCompact,
		HookSessionEnd,
	}
}

// IsBlocking reports whether the hook can refuse: a blocking hook that fails
// denies.
func (e HookEvent) IsBlocking() bool {
	return e == HookPrompt || e == HookBefore || e == HookPermission
}

// HookStarted: a configured command is about to run for an occasion. The event has the
// turn and item of the occasion; a hook without them belongs to the session.
type HookStarted struct {
	Hook  string    `json:"hook"` // id
	Event HookEvent `json:"event"`
	// Command is the command line, and Source the file that configures it.
	Command string `json:"command"`
	Source  string `json:"source,omitempty"`
	// Input is the input that the hook examines.
	Input string `json:"input,omitempty"`
	// TimeoutMS is the hook's timeout in milliseconds.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
}

// HookEnded: no process of the hook runs.
type HookEnded struct {
	Hook    string  `json:"hook"`
	Outcome Outcome `json:"outcome"`         // completed, aborted, or failed: it broke the protocol of hooks
	Cause   *Cause  `json:"cause,omitempty"` // if aborted
	// Decision is allow, ask or deny; empty if the hook made none. A blocking hook
	// that failed denies. Reason is the reason of the decision, or of the failure.
	Decision Permission `json:"decision,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	// Arguments replace the arguments of the call.
	Arguments string `json:"arguments,omitempty"`
	// Context is for the model, Message for people.
	Context string `json:"context,omitempty"`
	Message string `json:"message,omitempty"`
	// Stop reports that the hook ends the turn.
	Stop     bool  `json:"stop,omitempty"`
	ExitCode *int  `json:"exit_code,omitempty"`
	Elapsed  int64 `json:"elapsed_ms,omitempty"`
	// Output is the beginning of the hook's output, unless the hook suppressed it.
	Output    string    `json:"output,omitempty"`
	Survivors []Process `json:"survivors,omitempty"`
	// Usage and Cost, in US dollars, are of the request of a review; nil if none was answered, or
	// if the price is unknown.
	Usage *Usage   `json:"usage,omitempty"`
	Cost  *float64 `json:"cost_usd,omitempty"`
}

// Spent is the consumption of a review; ok is false for other hooks.
func (d HookEnded) Spent() (end AttemptEnded, ok bool) {
	if d.Usage == nil {
		return end, false
	}
	return AttemptEnded{Usage: *d.Usage, Cost: d.Cost}, true
}

// Hook is a hook that runs or has run.
type Hook struct {
	HookStarted
	Turn, Item string     // empty for a hook of the session
	Ended      *HookEnded // nil while it runs
}

// ModelRequest is a request of a turn to a model, with its usage: an attempt, or a review.
type ModelRequest struct {
	ID              string // of the attempt or the hook
	At              time.Time
	Provider, Model string
	MaxTokens       int           // as in [AttemptStarted]; 0 for a review
	Spent           *AttemptEnded // nil while the request runs
}

// FullName returns "provider/model".
func (r ModelRequest) FullName() string { return strings.Trim(r.Provider+"/"+r.Model, "/") }

// ModelRequests returns the turn's requests: its attempts, then its reviews that used tokens.
func (t *Turn) ModelRequests() (out []ModelRequest) {
	for _, a := range t.Attempts {
		out = append(out, ModelRequest{
			ID: a.ID, At: a.StartedAt, Provider: a.Start.Provider, Model: a.Start.Model, MaxTokens: a.Start.MaxTokens,
			Spent: a.End,
		})
	}
	for _, h := range t.Hooks {
		if h.Ended == nil {
			continue
		}
		spent, ok := h.Ended.Spent()
		if !ok {
			continue
		}
		r := ModelRequest{ID: h.Hook, At: t.StartedAt, Spent: &spent}
		r.Provider, r.Model, _ = strings.Cut(h.Command, "/") // see HookReview
		// A review begins soon after its call.
		if i := t.Item(h.Item); i != nil {
			r.At = i.BegunAt
		}
		out = append(out, r)
	}
	return out
}

// mayRefuse reports whether the hook has refused its occasion, or still can.
func (h *Hook) mayRefuse() bool {
	return h.Event.IsBlocking() && (h.Ended == nil || h.Ended.Outcome != Completed || h.Ended.Decision == Deny)
}

// Hook returns the turn's hook with the id, or nil.
func (t *Turn) Hook(id string) *Hook { return findHook(t.Hooks, id) }

func findHook(list []*Hook, id string) *Hook {
	for _, h := range slices.Backward(list) {
		if h.Hook == id {
			return h
		}
	}
	return nil
}

// hooksOf returns the list of the turn's hooks, or of the session's if turn is "".
func (s *State) hooksOf(turn string) *[]*Hook {
	if turn == "" {
		return &s.Hooks
	}
	return &s.running().Hooks
}

func (s *State) hookStarted(e *Event, d HookStarted) string {
	if d.Hook == "" || !isNew(d.Hook, s.lastHook) {
		return fmt.Sprintf("%q is not a new hook's id", d.Hook)
	}
	if e.Item != "" && (e.Turn == "" || s.running().Item(e.Item) == nil) {
		return fmt.Sprintf("item %q did not start", e.Item)
	}
	if d.Event == HookBefore && e.Item != "" && s.running().Item(e.Item).Started {
		return fmt.Sprintf("call %q has started", e.Item)
	}
	s.count.hooks++
	s.lastHook = d.Hook
	list := s.hooksOf(e.Turn)
	*list = append(*list, &Hook{HookStarted: d, Turn: e.Turn, Item: e.Item})
	if d.Event == HookPrompt {
		s.changeInput(d.Input, func(i *Input) {
			if i.hooks.turn != e.Turn {
				i.hooks = inputHooks{turn: e.Turn}
			}
			i.hooks.refusing++
		})
	}
	return ""
}

func (s *State) hookEnded(e *Event, d HookEnded) string {
	h := findHook(*s.hooksOf(e.Turn), d.Hook)
	if h == nil || h.Ended != nil {
		return fmt.Sprintf("hook %q is not running", d.Hook)
	}
	if d.Outcome != Completed && d.Outcome != Failed && (d.Outcome != Aborted || d.Cause == nil) {
		return fmt.Sprintf("%q is not an ending of hook %q", d.Outcome, d.Hook)
	}
	h.Ended = &d
	switch {
	case h.Event != HookPrompt:
	case !h.mayRefuse():
		s.changeInput(h.Input, func(i *Input) { i.hooks.refusing-- })
	case d.Outcome != Aborted: // an aborted hook runs again
		s.changeInput(h.Input, func(i *Input) { i.Refused = true })
	}
	return ""
}

// inputHooks counts the answers of a turn's hooks about an input.
type inputHooks struct {
	turn     string
	refusing int // hooks that run, and hooks that refused the input
}

// Kept reports whether a hook refused the input, so that no model receives it.
func (i Input) Kept() bool { return i.Refused || i.hooks.refusing > 0 }

// HooksAnswered reports whether hooks examined the input, and all have answered.
func (i Input) HooksAnswered() bool { return i.Refused || i.hooks.turn != "" && i.hooks.refusing == 0 }

// changeInput changes the newest copy of the input with the id. It copies shared slices.
func (s *State) changeInput(id string, change func(*Input)) {
	is := func(i Input) bool { return i.ID == id }
	if n := slices.IndexFunc(s.Waiting, is); n >= 0 {
		change(&s.Waiting[n])
		return
	}
	for at, t := range slices.Backward(s.Turns) {
		n := slices.IndexFunc(t.Inputs, is)
		if n < 0 {
			continue
		}
		inputs := slices.Clone(t.Inputs)
		change(&inputs[n])
		if t.Cause != nil {
			ended := *t
			t, s.Turns = &ended, slices.Clone(s.Turns)
			s.Turns[at] = t
		}
		t.Inputs = inputs
		return
	}
}

// hookEndings returns the endings of the running hooks that meant selects.
func hookEndings(list []*Hook, c *Cause, meant func(*Hook) bool) []Event {
	var out []Event
	for _, h := range list {
		if h.Ended != nil || !meant(h) {
			continue
		}
		out = append(
			out, Event{Turn: h.Turn, Item: h.Item, By: c.By, Data: HookEnded{Hook: h.Hook, Outcome: Aborted, Cause: c}},
		)
	}
	return out
}

// Hook returns the hook with the id of the running turn, or of the session if turn is
// ""; nil if there is none.
func (s State) Hook(turn, id string) *Hook {
	if turn == "" {
		return findHook(s.Hooks, id)
	}
	if t := s.running(); t != nil && t.ID == turn {
		return t.Hook(id)
	}
	return nil
}
