package event

import (
	"encoding/json"
	"slices"

	"pgregory.net/rapid"
)

// move is one thing that could happen next.
type move func(*rapid.T) []Event

func one(e Event) move { return func(*rapid.T) []Event { return []Event{e} } }

// with is a move whose data is drawn.
func with(e Event, draw func(*rapid.T) Data) move {
	return func(t *rapid.T) []Event { e.Data = draw(t); return []Event{e} }
}

// drawSession draws a session by drawing one event after another from the events that the state
// allows, and calls each after every event.
func drawSession(t *rapid.T, each func(*session)) *session {
	s := &session{tb: t}
	for range rapid.IntRange(1, 60).Draw(t, "events") {
		list := moves(s.state)
		s.add(rapid.SampledFrom(list).Draw(t, "move")(t)...)
		if each != nil {
			each(s)
		}
	}
	return s
}

func text(t *rapid.T) string { return rapid.StringN(0, 8, -1).Draw(t, "text") }

func detail(t *rapid.T) json.RawMessage {
	return rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{"a":[1,"<"]}`)}).Draw(t, "detail")
}

// causes are all ways in which a turn is ended.
func causes() []*Cause {
	list := []*Cause{Complete(), Fail(&Failure{Name: NamePanic, Message: "boom"}), Fail(nil)}
	for _, r := range []Reason{Interrupted, Replaced, Shutdown, Crashed, Parent} {
		list = append(list, Abort(r, "user"))
	}
	for _, l := range []Limit{LimitSteps, LimitTime, LimitTokens, LimitCost, LimitRepeats, LimitContext, LimitSessionSteps, LimitSessionTime, LimitSessionTokens, LimitSessionCost} {
		list = append(list, AbortLimit(l, "too much"))
	}
	return list
}

func forced(t *rapid.T) *Cause { return rapid.SampledFrom(causes()[1:]).Draw(t, "cause") }

// moves returns the possible next events, by the order in docs/reference/events.md.
func moves(s State) []move {
	if !s.Open {
		return []move{one(Event{By: "host", Data: SessionOpened{Dir: "/work"}})}
	}
	list := sessionMoves(s)
	if t := s.Running(); t != nil {
		return append(list, turnMoves(s, t)...)
	}
	start := func(t *rapid.T) []Event {
		var ids []string
		for _, i := range s.Waiting[:rapid.IntRange(0, len(s.Waiting)).Draw(t, "taken")] {
			ids = append(ids, i.ID)
		}
		return []Event{{Turn: s.NextTurn(), By: "user", Data: TurnStarted{Inputs: ids, Model: "m"}}}
	}
	list = append(list, start, start, start, func(t *rapid.T) []Event {
		c := forced(t)
		return append(Closings(s, c), Event{Data: SessionClosed{Reason: c.Reason}})
	})
	return list
}

func sessionMoves(s State) []move {
	list := []move{
		with(Event{By: "web"}, func(t *rapid.T) Data {
			id := rapid.SampledFrom([]string{s.NextInput(), "n000007", "mine"}).Draw(t, "input")
			if s.Accepted(id) {
				id = s.NextInput()
			}
			return InputAccepted{Input: id, Text: text(t), Mode: Queue}
		}),
		one(Event{By: "web", Data: InterruptRequested{Reason: Interrupted}}),
		one(Event{Turn: s.NextTurn(), Data: Unknown{Name: "moon.phase", Raw: json.RawMessage(`{"full":true}`)}}),
		one(Event{Data: JobStarted{Job: s.NextJob(), PID: 9, Command: "server"}}),
		one(Event{Data: ChildStarted{Child: s.NextChild(), Session: "s9"}}),
	}
	for _, i := range s.Waiting {
		list = append(list,
			one(Event{Data: InputHeld{Input: i.ID, Reason: Interrupted}}), one(Event{Data: InputDropped{Input: i.ID}}))
	}
	for _, j := range s.Jobs {
		if j.Ended == nil {
			list = append(list, one(Event{By: "user", Data: JobEnded{Job: j.Job, How: JobExited, ExitCode: new(1)}}))
		}
	}
	for _, c := range s.Children {
		if c.Ended == nil {
			list = append(list, childMoves(s, c)...)
		}
	}
	list = append(list, one(Event{Data: HookStarted{Hook: s.NextHook(0), Event: HookSessionEnd, Command: "x"}}))
	return append(list, hookMoves(s.Hooks)...)
}

// hookMoves end the hooks that run.
func hookMoves(hooks []*Hook) []move {
	var list []move
	for _, h := range hooks {
		if h.Ended != nil {
			continue
		}
		list = append(list, with(Event{Turn: h.Turn, Item: h.Item}, func(t *rapid.T) Data {
			said := rapid.SampledFrom([]HookEnded{{Outcome: Completed}, {Outcome: Completed}, {Outcome: Completed, Decision: Deny}, {Outcome: Failed, Decision: Deny}}).
				Draw(t, "said")
			said.Hook = h.Hook
			return said
		}))
	}
	return list
}

// gates are hooks that are asked about the turn's inputs.
func gates(s State, t *Turn) []move {
	var list []move
	for _, i := range slices.Concat(t.Inputs, s.Waiting) {
		list = append(
			list, one(Event{Turn: t.ID, Data: HookStarted{Hook: s.NextHook(0), Event: HookPrompt, Input: i.ID}}),
		)
	}
	return list
}

// childMoves returns the possible next events of a running child.
func childMoves(s State, c *Child) []move {
	var list []move
	if c.Background() {
		list = append(
			list, one(Event{Data: ApprovalRequested{Approval: s.NextApproval(), Tool: "shell", Child: c.Child}}),
		)
	}
	a := c.waits()
	if a == nil {
		return append(
			list, one(Event{Turn: c.Turn, Item: c.Item, Data: ChildEnded{Child: c.Child, Outcome: Completed}}),
		)
	}
	return append(list, func(t *rapid.T) []Event {
		v := rapid.SampledFrom([]Verdict{Approved, ApprovedSession, Denied, ApprovalAborted}).Draw(t, "verdict")
		return []Event{{By: "user", Data: ApprovalEnded{Approval: a.Approval, Verdict: v}}}
	})
}

func turnMoves(s State, t *Turn) []move {
	list := []move{
		one(Event{Turn: t.ID, By: "user", Data: InterruptRequested{Reason: Interrupted}}),
		one(Event{Turn: t.ID, By: "user", Data: InterruptRequested{Reason: Replaced}}),
		one(Event{Turn: t.ID, Item: s.NextItem(0), Data: ItemStarted{Type: Note}}),
		one(Event{Turn: t.ID, Data: ChildStarted{Child: s.NextChild(), Session: "s9"}}),
		func(t *rapid.T) []Event { return Endings(s, forced(t)) },
	}
	list = append(append(list, gates(s, t)...), hookMoves(t.Hooks)...)
	open := s.openInTurn(t) != ""
	if !open {
		list = append(list, func(*rapid.T) []Event { return Endings(s, Complete()) })
	}
	a := t.Attempt()
	switch {
	case a == nil && hasOpenItem(t):
	case a == nil:
		var steer []string
		for _, i := range s.Waiting {
			steer = append(steer, i.ID)
		}
		start := AttemptStarted{Step: 1, N: 1, Inputs: steer}
		list = append(list, repeat(6, one(Event{Turn: t.ID, Attempt: s.NextAttempt(), Data: start}))...)
	default:
		list = append(list, attemptMoves(s, t, a)...)
	}
	for _, i := range t.Items {
		if i.Status == ItemOpen {
			list = append(list, repeat(2, itemMoves(s, t, i)...)...)
		}
	}
	return list
}

func repeat(n int, list ...move) []move {
	var out []move
	for range n {
		out = append(out, list...)
	}
	return out
}

func hasOpenItem(t *Turn) bool {
	return slices.ContainsFunc(t.Items, func(i *Item) bool { return i.Status == ItemOpen })
}

func attemptMoves(s State, t *Turn, a *Attempt) []move {
	in := Event{Turn: t.ID, Attempt: a.ID}
	item := in
	item.Item = s.NextItem(0)
	started := func(typ ItemType) move {
		return with(item, func(t *rapid.T) Data { return ItemStarted{Type: typ, Name: text(t)} })
	}
	list := []move{
		started(Message), started(Reasoning), started(ToolCall), started(ToolCall), started(ToolCall),
		func(t *rapid.T) []Event {
			return AttemptEndings(s, forced(t), AttemptEnded{ResponseID: text(t), Usage: Usage{Input: 3}})
		},
	}
	for _, i := range t.Items {
		if i.Attempt == a.ID && i.Status == ItemOpen && !i.Ready {
			return list
		}
	}
	return append(list, with(in, func(*rapid.T) Data {
		return AttemptEnded{Outcome: Completed, StopReason: "end_turn", Usage: Usage{Input: 10, Output: 5}}
	}))
}

func itemMoves(s State, t *Turn, i *Item) []move {
	in := Event{Turn: i.Turn, Attempt: i.Attempt, Item: i.ID}
	delta := func(stream Stream) move {
		return with(in, func(t *rapid.T) Data { return ItemDelta{Stream: stream, Text: text(t)} })
	}
	ended := func(status Status) move {
		return with(in, func(t *rapid.T) Data { return ItemEnded{Status: status, Content: drawContent(t, i)} })
	}
	switch {
	case i.Type() != ToolCall:
		return []move{delta(Text), ended(ItemCompleted)}
	case !i.Ready:
		return []move{delta(Arguments), with(in, func(t *rapid.T) Data {
			return CallReady{Name: "shell", CallID: "call_1", Arguments: string(i.args)}
		})}
	case s.openInCall(t, i) != "":
		return callMoves(t, i, in)
	case !i.Started:
		request := ApprovalRequested{Approval: s.NextApproval(), Tool: "shell"}
		list := []move{
			ended(ItemFailed), with(in, func(t *rapid.T) Data { request.Detail = detail(t); return request }),
			one(at(in, HookStarted{Hook: s.NextHook(0), Event: HookBefore, Command: "x"})),
		}
		if denied(t, i) {
			return list
		}
		return append(list, repeat(3, one(at(in, CallStarted{Title: "ls"})))...)
	}
	return []move{
		delta(Output), ended(ItemCompleted), ended(ItemFailed),
		one(at(in, JobStarted{Job: s.NextJob()})), one(at(in, ChildStarted{Child: s.NextChild(), Session: "s9"})),
		with(in, func(t *rapid.T) Data {
			return ApprovalRequested{
				Approval: s.NextApproval(),
				Tool:     "shell",
				Form:     &Form{Server: "db", Message: text(t)},
			}
		}),
	}
}

func at(e Event, d Data) Event { e.Data = d; return e }

// callMoves returns the possible next events of a call that waits for an approval or a child.
func callMoves(t *Turn, i *Item, in Event) []move {
	var list []move
	for _, a := range t.Approvals {
		if a.Call == i.ID && a.Ended == nil {
			list = append(list, with(in, func(t *rapid.T) Data {
				v := rapid.SampledFrom([]Verdict{Approved, ApprovedSession, Denied, ApprovalAborted}).Draw(t, "verdict")
				return ApprovalEnded{Approval: a.Approval, Verdict: v}
			}))
		}
	}
	if i.Started {
		list = append(list, with(in, func(t *rapid.T) Data { return ItemDelta{Stream: Output, Text: text(t)} }))
	}
	return list
}

func denied(t *Turn, i *Item) bool {
	for _, a := range t.Approvals {
		if a.Call == i.ID && !a.granted() {
			return true
		}
	}
	return slices.ContainsFunc(t.Hooks, func(h *Hook) bool { return h.Item == i.ID && h.mayRefuse() })
}

func drawContent(t *rapid.T, i *Item) Content {
	c := i.Content()
	c.Detail, c.Model = detail(t), text(t)
	if rapid.Bool().Draw(t, "seal") {
		c.Signature = &ProviderSignature{Format: "encrypted", Data: text(t)}
	}
	return c
}
