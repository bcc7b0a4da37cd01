package event

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// State is the result of folding the events of a session so far; [Fold] returns it.
//
// As append does with a slice, Fold may reuse the memory of the State that it
// receives: use only its result afterwards. [State.Clone] returns an independent copy.
type State struct {
	// Session is the session's id, and Seq the number of the last event.
	Session string
	Seq     uint64
	// Open reports whether a process holds the session; Host describes the process.
	Open bool
	Host SessionOpened
	// HostSeq is the number of the event with which the host opened the session.
	HostSeq uint64
	// Imported is the number of the last imported event, or 0 (see [SessionOpened]).
	Imported uint64
	// Created and Updated are the times of the first and the last event.
	Created, Updated time.Time
	// Waiting are the accepted inputs that no turn has taken and no client has
	// dropped, in order.
	Waiting []Input
	// Turns are all turns; only the last one can be running.
	Turns []*Turn
	// Jobs and Children are all started jobs and children, including ended ones.
	Jobs     []*Job
	Children []*Child
	// Hooks are the hooks that ran for the session itself; a turn has its own.
	Hooks []*Hook
	// WorktreeLeft is the outcome of the session's own git worktree when its last host closed
	// the session; nil if it had none, or is open.
	WorktreeLeft *WorktreeLeft

	count              counters
	inputs             map[string]struct{}
	lastTurn, lastHook string // greatest ids, see isNew
}

// Input is an accepted input.
type Input struct {
	ID     string
	Text   string
	Images []Image
	// Documents are the attached PDFs.
	Documents []Document
	Mode      Mode
	Schema    json.RawMessage // that the answer must follow
	// Command reports whether Text is a command, which the turn runs.
	Command bool
	// HeldCall is the verdict about a held call that the input gives; else nil.
	HeldCall *HeldVerdict
	By       string
	At       time.Time
	Held     bool // it will not run by itself
	// Stopped is the reason of an interrupt that was requested after the input was
	// accepted, for the turn that the input waits for; empty if there was none, or only
	// a replacement by another input. The input is held when that turn ends.
	Stopped Reason
	// Refused reports whether a hook refused the input: no model sees it.
	Refused bool

	hooks inputHooks
}

// Turn is one turn.
type Turn struct {
	ID        string
	Start     TurnStarted
	By        string
	StartSeq  uint64 // sequence number of its first event: clocks jump, numbers do not
	StartedAt time.Time
	// EndedAt is the time of the turn's end; of a turn whose host died, the time of the last event
	// before that. The same holds for all that was open in the turn.
	EndedAt   time.Time
	Dir       string  // working directory of its host
	Inputs    []Input // taken when it started
	Attempts  []*Attempt
	Items     []*Item // in the order in which they started
	Approvals []*Approval
	Hooks     []*Hook
	Changes   []Epoch
	// Interrupt is the first request to end the turn, if any.
	Interrupt *InterruptRequested
	// Cause is the turn's ending; nil while the turn runs.
	Cause *Cause
	// Summary is set when the turn has ended.
	Summary Summary
	// OutputAt is the time of the last output of the running attempt; zero before its first.
	OutputAt time.Time

	open                  int    // items that have not ended
	lastAttempt, lastItem string // greatest ids, see isNew
}

// Epoch is a prefix change (C21) and its position in its turn.
type Epoch struct {
	HistoryChanged
	Attempts int // number of the turn's attempts that had started
}

// Attempt is one model request and its response.
type Attempt struct {
	ID        string
	Start     AttemptStarted
	StartedAt time.Time
	EndedAt   time.Time
	Inputs    []Input       // inputs that joined here
	End       *AttemptEnded // nil while it runs
}

// Item is one message, reasoning, tool call or note.
type Item struct {
	ID      string
	Turn    string
	Attempt string // empty for a note
	// Attempts is the number of the turn's attempts that had started when the item began.
	Attempts int
	Status   Status
	// Ready reports whether a call's arguments are complete, Started whether the call
	// can have had side effects.
	Ready, Started bool
	// Edited reports whether a person changed the call before it started.
	Edited bool
	// Denial is the approval that ended with the denial of the call; else nil.
	Denial *Approval
	// Discarded reports whether the item left the conversation because a later attempt
	// generated it again.
	Discarded bool
	Effects   Effects
	Cause     *Cause
	// BegunAt is the time at which the item began, StartedAt that at which the call
	// started, EndedAt that at which the item ended.
	BegunAt, StartedAt, EndedAt time.Time

	content         Content
	text, args, out []byte // of an open item, from its deltas
}

// Approval is a call's wait for the answer of a person, a client or a policy.
type Approval struct {
	ApprovalRequested
	Call    string // item
	At      time.Time
	Ended   *ApprovalEnded // nil while it waits
	EndedAt time.Time
	EndedBy string
	// Held reports that this is the question of a held call ([HeldCall.Question]).
	Held bool
}

// Job is a process that the session owns.
type Job struct {
	JobStarted
	Turn, Call string
	StartSeq   uint64
	At         time.Time
	Ended      *JobEnded // nil while it runs
	EndSeq     uint64    // 0 while it runs
	EndedAt    time.Time
}

// Child is a child agent; Turn and Item are empty for one in the background.
type Child struct {
	ChildStarted
	Turn, Item string
	StartSeq   uint64
	At         time.Time
	Ended      *ChildEnded // nil while it runs
	EndSeq     uint64      // 0 while it runs
	EndedAt    time.Time
	// Reported reports whether a note has reported the child's end to the model.
	Reported bool
	// Approvals are the approvals that a background child waits for. The approvals of a
	// foreground child belong to its call.
	Approvals []*Approval
}

// Background reports whether the child belongs to the session, not to a call.
func (c *Child) Background() bool { return c.Turn == "" }

// Unreported reports whether the model has yet to receive the child's result (C18). The result
// of a foreground child is the output of its call.
func (c *Child) Unreported() bool { return c.Background() && c.Ended != nil && !c.Reported }

// Child returns the child with the id, or nil.
func (s State) Child(id string) *Child {
	for _, c := range slices.Backward(s.Children) {
		if c.Child == id {
			return c
		}
	}
	return nil
}

// UnreportedChildren returns the children whose results the model has yet to receive, in the order
// of their start.
func (s State) UnreportedChildren() []*Child {
	var out []*Child
	for _, c := range s.Children {
		if c.Unreported() {
			out = append(out, c)
		}
	}
	return out
}

// Spent is the consumption of the session's ended turns and of all their child agents.
func (s State) Spent() Summary {
	var sum Summary
	for _, t := range s.Turns {
		sum.Join(t.Summary)
	}
	for _, c := range s.Children {
		if c.Ended != nil && c.Ended.Spent != nil {
			sum.Join(*c.Ended.Spent)
		}
	}
	return sum
}

// Content returns the content of the item: the whole content if the item has ended,
// otherwise the content so far.
func (i *Item) Content() Content {
	c := i.content
	if i.Status != ItemOpen {
		return c
	}
	c.Text = string(i.text)
	c.Output = string(i.out)
	if !i.Ready {
		c.Arguments = string(i.args)
	}
	return c
}

// Beyond returns the rest of text after the item's text, and reports whether text
// begins with the item's text. It copies nothing.
func (i *Item) Beyond(text string) (rest string, ok bool) {
	if i.Status != ItemOpen {
		return strings.CutPrefix(text, i.content.Text)
	}
	if n := len(i.text); len(text) >= n && text[:n] == string(i.text) {
		return text[n:], true
	}
	return text, false
}

// Type returns the item's type.
func (i *Item) Type() ItemType { return i.content.Type }

// Running returns the turn that has started and not ended, or nil.
func (s State) Running() *Turn { return s.running() }

func (s *State) running() *Turn {
	if n := len(s.Turns); n > 0 && s.Turns[n-1].Cause == nil {
		return s.Turns[n-1]
	}
	return nil
}

// Turn returns the turn with the id, or nil.
func (s State) Turn(id string) *Turn {
	for _, t := range slices.Backward(s.Turns) {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// Accepted reports whether an input with the id was ever accepted.
func (s State) Accepted(input string) bool {
	_, ok := s.inputs[input]
	return ok
}

// Item returns the turn's item with the id, or nil.
func (t *Turn) Item(id string) *Item {
	for _, i := range slices.Backward(t.Items) {
		if i.ID == id {
			return i
		}
	}
	return nil
}

// openItems returns the items that have not ended, the newest first. It stops at the
// last open item.
func (t *Turn) openItems() iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		left := t.open
		for n := len(t.Items) - 1; n >= 0 && left > 0; n-- {
			if i := t.Items[n]; i.Status == ItemOpen {
				left--
				if !yield(i) {
					return
				}
			}
		}
	}
}

// Busy reports whether an item of the turn has not ended.
func (t *Turn) Busy() bool { return t.open > 0 }

// Attempt returns the attempt that is running, or nil.
func (t *Turn) Attempt() *Attempt {
	if n := len(t.Attempts); n > 0 && t.Attempts[n-1].End == nil {
		return t.Attempts[n-1]
	}
	return nil
}

// Answer returns the text of the last message that the model finished in the
// turn, or "".
func (t *Turn) Answer() string {
	for _, i := range slices.Backward(t.Items) {
		if i.Type() == Message && !i.Discarded && i.Status == ItemCompleted {
			return i.Content().Text
		}
	}
	return ""
}

// Approval returns the turn's approval with the id, or nil.
func (t *Turn) Approval(id string) *Approval { return approvalOf(t.Approvals, id) }

// OpenApprovals returns the open approvals: first of the running turn, then of background
// children.
func (s State) OpenApprovals() (open []*Approval) {
	waiting := func(list []*Approval) {
		for _, a := range list {
			if a.Ended == nil {
				open = append(open, a)
			}
		}
	}
	if t := s.Running(); t != nil {
		waiting(t.Approvals)
	}
	for _, c := range s.Children {
		if c.Ended == nil {
			waiting(c.Approvals)
		}
	}
	return open
}

// Approval returns the child's approval with the id, or nil.
func (c *Child) Approval(id string) *Approval { return approvalOf(c.Approvals, id) }

func approvalOf(list []*Approval, id string) *Approval {
	for _, a := range list {
		if a.Approval == id {
			return a
		}
	}
	return nil
}

// granted reports whether a person, a client or a policy approved.
func (a *Approval) granted() bool {
	return a.Ended != nil && (a.Ended.Verdict == Approved || a.Ended.Verdict == ApprovedSession)
}

// Clone returns a copy that later folds of s do not change. The copy shares the
// content of ended entities.
func (s State) Clone() State {
	s.Waiting = slices.Clone(s.Waiting)
	s.inputs = maps.Clone(s.inputs)
	s.Turns = slices.Clone(s.Turns)
	for i, t := range s.Turns {
		if t.Cause == nil {
			s.Turns[i] = t.clone()
		}
	}
	s.Jobs = cloneEach(s.Jobs)
	s.Children = cloneEach(s.Children)
	for _, c := range s.Children {
		if c.Ended == nil {
			c.Approvals = cloneEach(c.Approvals)
		}
	}
	s.Hooks = cloneEach(s.Hooks)
	return s
}

func (t *Turn) clone() *Turn {
	c := *t
	c.Attempts = cloneEach(t.Attempts)
	c.Approvals = cloneEach(t.Approvals)
	c.Hooks = cloneEach(t.Hooks)
	c.Changes = slices.Clone(t.Changes)
	c.Items = cloneEach(t.Items)
	for _, i := range c.Items {
		i.text, i.args, i.out = slices.Clone(i.text), slices.Clone(i.args), slices.Clone(i.out)
	}
	return &c
}

func cloneEach[T any](list []*T) []*T {
	out := slices.Clone(list)
	for i, p := range out {
		c := *p
		out[i] = &c
	}
	return out
}
