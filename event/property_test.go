package event

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// fold folds the events on a copy of the state, in which nothing of s changes.
func fold(t *rapid.T, s State, events []Event) (State, []Event) {
	t.Helper()
	after := &session{tb: t, state: s.Clone()}
	after.add(events...)
	return after.state, after.events
}

func refold(t *rapid.T, events []Event) State {
	t.Helper()
	s := State{}
	for _, e := range events {
		var err error
		if s, err = Fold(s, e); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestEndingsEndEveryTurn: C1, C2 from any state, for any cause.
func TestEndingsEndEveryTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawSession(t, func(s *session) {
			for _, c := range causes() {
				checkEndings(t, s, c)
			}
		})
	})
}

func checkEndings(t *rapid.T, s *session, c *Cause) {
	t.Helper()
	turn := s.state.Running()
	endings := Endings(s.state, c)
	if turn == nil {
		if len(endings) > 0 {
			t.Fatalf("%d endings without a turn", len(endings))
		}
		return
	}
	after, folded := fold(t, s.state, endings)
	l, err := audit(slices.Concat(s.events, folded))
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	if err := l.nothingOf(turn.ID); err != nil || after.Running() != nil {
		t.Fatalf("%v: the turn goes on, or %v", c, err)
	}
	for n, e := range folded {
		if e.Terminal() != (n == len(folded)-1) {
			t.Fatalf("%v: event %d of %d is a %s", c, n+1, len(folded), e.Kind())
		}
		checkForced(t, s, e, c)
	}
	checkTerminal(t, s, after.Turn(turn.ID).Cause, c)
	checkHeld(t, s, turn, after, c)
}

// checkHeld: waiting inputs are held, except behind a turn that makes room for them. An interrupt
// always holds the inputs that it covers, and never later inputs (C10, C19).
func checkHeld(t *rapid.T, s *session, turn *Turn, after State, c *Cause) {
	t.Helper()
	came, asked := map[string]uint64{}, uint64(0)
	for _, e := range s.events {
		switch d := e.Data.(type) {
		case InputAccepted:
			came[d.Input] = e.Seq
		case InterruptRequested:
			if e.Turn != "" && e.Item == "" && d.Reason != Replaced {
				asked = e.Seq // also of an earlier turn whose end left the input waiting
			}
		}
	}
	c = honest(s.state, c)
	goes := c.Outcome == Completed || c.Reason == Replaced || c.Reason == Interrupted && turn.Interrupt != nil
	before := map[string]bool{}
	for _, i := range s.state.Waiting {
		before[i.ID] = i.Held
	}
	for _, i := range after.Waiting {
		if want := before[i.ID] || !goes || came[i.ID] < asked; i.Held != want {
			t.Fatalf("%v: input %q: held is %v", c, i.ID, i.Held)
		}
	}
}

// An interrupt covers the input that came before it even if the turn ended without an input.held
// event for it. settle never writes such a log.
func TestInputOfAnEarlierInterruptIsHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &session{tb: t}
		s.add(
			Event{Data: SessionOpened{}},
			Event{Turn: turn1, Data: TurnStarted{}},
			Event{Data: InputAccepted{Input: "x1"}},
			Event{
				Turn: turn1,
				Data: InterruptRequested{},
			},
			Event{Turn: turn1, Data: TurnCompleted{}},
			Event{Turn: "t000002", Data: TurnStarted{}},
		)
		for _, c := range causes() {
			checkEndings(t, s, c)
			checkClosings(t, s, c)
		}
	})
}

// checkForced: a forced ending keeps the earlier text, to the byte, and is honest about effects
// (C4, C5).
func checkForced(t *rapid.T, s *session, e Event, c *Cause) {
	t.Helper()
	d, ok := e.Data.(ItemEnded)
	if !ok {
		return
	}
	said := saidSoFar(s.events, e.Turn, e.Item)
	if d.Text != said.text || d.Arguments != said.arguments || d.Output != said.output {
		t.Fatalf("the ending of %q says %+v, the events said %+v", e.Item, d.Content, said)
	}
	want := Effects("")
	switch {
	case said.started:
		want = EffectsUnknown
	case d.Type == ToolCall:
		want = EffectsNone
	}
	if d.Status != ItemAborted || d.Effects != want || d.Cause == nil || d.Cause.Outcome == Completed {
		t.Fatalf("%v: the ending of %q is %+v", c, e.Item, d)
	}
}

type utterance struct {
	text, arguments, output string
	started                 bool
}

// saidSoFar adds up the deltas of an item.
func saidSoFar(events []Event, turn, item string) utterance {
	var sum utterance
	for _, e := range events {
		if e.Turn != turn || e.Item != item {
			continue
		}
		switch d := e.Data.(type) {
		case ItemDelta:
			switch d.Stream {
			case Text:
				sum.text += d.Text
			case Arguments:
				sum.arguments += d.Text
			case Output:
				sum.output += d.Text
			}
		case CallReady:
			sum.arguments = d.Arguments
		case CallStarted:
			sum.started = true
		}
	}
	return sum
}

// checkTerminal: the turn ended as asked, unless it was to complete with
// something open.
func checkTerminal(t *rapid.T, s *session, got, asked *Cause) {
	t.Helper()
	turn := s.state.Running().ID
	before, _ := audit(s.events)
	delete(before.open, "turn "+turn)
	if open := before.nothingOf(turn); asked.Outcome == Completed && open != nil {
		if got.Outcome != Failed || got.Failure.Name != NameInternal {
			t.Fatalf("completed with something open (%v): %+v", open, got)
		}
		return
	}
	if got.Outcome != asked.Outcome || got.Reason != asked.Reason || got.Limit != asked.Limit {
		t.Fatalf("the turn ended with %+v, not %+v", got, asked)
	}
}

// TestClosingsEndEverySession: C2 for entities of the session.
func TestClosingsEndEverySession(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawSession(t, func(s *session) {
			for _, c := range causes() {
				checkClosings(t, s, c)
			}
		})
	})
}

func checkClosings(t *rapid.T, s *session, c *Cause) {
	t.Helper()
	if !s.state.Open {
		return
	}
	after, folded := fold(t, s.state, Closings(s.state, c))
	l, err := audit(slices.Concat(s.events, folded))
	if err != nil || len(l.open) > 0 {
		t.Fatalf("%v: %v, open: %v", c, err, l.open)
	}
	held := map[string]int{}
	for _, e := range folded {
		if d, ok := e.Data.(InputHeld); ok {
			held[d.Input]++
		}
	}
	for _, i := range after.Waiting {
		if !i.Held || held[i.ID] > 1 { // C19
			t.Fatalf("%v: input %q is held %d times: %v", c, i.ID, held[i.ID], i.Held)
		}
	}
	fold(t, after, []Event{{Data: SessionClosed{}}, {Data: SessionOpened{}}})
	fold(t, after, []Event{{Data: SessionRecovered{}}, {Data: SessionOpened{}}})
	if again := Closings(after, c); len(again) > 0 {
		t.Fatalf("%v: closed twice: %+v", c, again)
	}
}

func TestAttemptEndings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawSession(t, func(s *session) {
			for _, c := range causes()[1:] {
				checkAttemptEndings(t, s, c)
			}
		})
	})
}

func checkAttemptEndings(t *rapid.T, s *session, c *Cause) {
	t.Helper()
	events := AttemptEndings(s.state, c, AttemptEnded{ResponseID: "r1", Usage: Usage{Input: 7}})
	turn := s.state.Running()
	if turn == nil || turn.Attempt() == nil {
		if len(events) > 0 {
			t.Fatalf("%d endings without an attempt", len(events))
		}
		return
	}
	id := turn.Attempt().ID
	after, folded := fold(t, s.state, events)
	if _, err := audit(slices.Concat(s.events, folded)); err != nil {
		t.Fatal(err)
	}
	for _, e := range folded {
		checkForced(t, s, e, c)
		if d, ok := e.Data.(ItemEnded); ok && d.Effects == EffectsUnknown {
			t.Fatalf("the started call %q was ended", e.Item)
		}
	}
	end, ok := folded[len(folded)-1].Data.(AttemptEnded)
	if !ok || (end.Outcome == Failed) != (c.Outcome == Failed) || end.ResponseID != "r1" || end.Usage.Input != 7 {
		t.Fatalf("the attempt's end is %+v", end)
	}
	checkPrefix(t, turn, after.Running(), id, end)
}

// checkPrefix: a failed attempt keeps the items up to its last started call, without unfinished
// ones; an aborted attempt keeps all items.
func checkPrefix(t *rapid.T, before, after *Turn, attempt string, end AttemptEnded) {
	t.Helper()
	last := -1
	for n, i := range before.Items {
		if i.Attempt == attempt && i.Started {
			last = n
		}
	}
	var want []string
	for n, i := range before.Items {
		was, unfinished := after.Item(i.ID), i.Status == ItemOpen && !i.Ready
		if i.Attempt != attempt {
			if was.Status != i.Status || was.Discarded != i.Discarded {
				t.Fatalf("item %q of another attempt changed", i.ID)
			}
			continue
		}
		if end.Outcome == Failed && (n > last || unfinished) {
			want = append(want, i.ID)
			if was.Status == ItemOpen {
				t.Fatalf("the discarded item %q is open", i.ID)
			}
		} else if i.Ready && was.Status != i.Status {
			t.Fatalf("the kept call %q was %s and is %s", i.ID, i.Status, was.Status)
		}
		if was.Discarded && was.Started || was.Discarded != slices.Contains(end.Discarded, i.ID) {
			t.Fatalf("item %q: discarded %v, started %v", i.ID, was.Discarded, was.Started)
		}
	}
	if !slices.Equal(want, end.Discarded) {
		t.Fatalf("discarded %v, want %v", end.Discarded, want)
	}
}

// TestCallEndings: one call can end alone, and its turn goes on.
func TestCallEndings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawSession(t, func(s *session) {
			turn := s.state.Running()
			if turn == nil {
				return
			}
			for _, i := range turn.Items {
				events := CallEndings(s.state, i.ID, Abort(TimedOut, "turn"))
				if (len(events) > 0) != (i.Status == ItemOpen) {
					t.Fatalf("%d endings of item %q, which is %s", len(events), i.ID, i.Status)
				}
				after, folded := fold(t, s.state, events)
				for _, e := range folded {
					checkForced(t, s, e, Abort(TimedOut, "turn"))
				}
				if after.Running() == nil || after.Running().Item(i.ID).Status == ItemOpen {
					t.Fatalf("item %q is open, or its turn is not", i.ID)
				}
			}
		})
	})
}

// TestCloneStays: neither does a fold of the original change the clone, nor a
// fold of the clone the original.
func TestCloneStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var clones []State
		s := drawSession(t, func(s *session) {
			clones = append(clones, s.state.Clone())
			fold(t, s.state, Closings(s.state, Abort(Crashed, "host")))
		})
		if diff := stateDiff(refold(t, s.events), s.state); diff != "" {
			t.Fatalf("a fold of the clone changed the original (-want +got):\n%s", diff)
		}
		for _, c := range clones {
			if diff := stateDiff(refold(t, s.events[:c.Seq]), c); diff != "" {
				t.Fatalf("the clone after event %d changed (-want +got):\n%s", c.Seq, diff)
			}
		}
	})
}

// TestRoundTripFoldsToTheSame: nothing of the state is in memory only.
func TestRoundTripFoldsToTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSession(t, nil)
		s.add(Closings(s.state, forced(t))...)
		read := make([]Event, len(s.events))
		for n, e := range s.events {
			line, err := e.AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(line, &read[n]); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		if diff := stateDiff(s.state, refold(t, read)); diff != "" {
			t.Fatalf("read back, the state differs (-written +read):\n%s", diff)
		}
	})
}

// TestFoldHoldsAgainstAnything: from events in any order, Fold accepts only events that keep the
// contract, and does not change the state for others. Endings and Closings end every resulting
// state.
func TestFoldHoldsAgainstAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &session{tb: t}
		s.add(Event{Data: SessionOpened{}})
		for range rapid.IntRange(1, 80).Draw(t, "events") {
			e := next(s.state, drawAnything(t))
			before := s.state.Clone()
			after, err := Fold(s.state, e)
			if err != nil {
				if diff := stateDiff(before, after); diff != "" {
					t.Fatalf("a refused %s changed the state:\n%s", e.Kind(), diff)
				}
				continue
			}
			s.state, s.events = after, append(s.events, e)
			if _, err := audit(s.events); err != nil {
				t.Fatalf("accepted: %v%s", err, tail(s.events))
			}
		}
		for _, c := range causes() {
			checkEndings(t, s, c)
			checkClosings(t, s, c)
		}
	})
}

// drawAnything draws an event of any kind with ids from a small pool.
func drawAnything(t *rapid.T) Event {
	pick := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
	e := Event{Turn: turn1, Attempt: attempt1, Item: pick("item", item1, item2, "")}
	if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		e.Turn, e.Attempt = pick("turn", "t000002", ""), pick("attempt", "a000002", "")
	}
	id := pick("id", "x1", "x2", "")
	status := Status(pick("status", "completed", "failed", "aborted", "open"))
	effects := Effects(pick("effects", "", "none", "partial", "unknown"))
	typ := ItemType(pick("type", "tool_call", "tool_call", "message"))
	inputs := rapid.SampledFrom([][]string{nil, {"x1"}, {"x1", "x2"}, {"x1", "x1"}}).Draw(t, "inputs")
	e.Data = rapid.SampledFrom([]Data{
		SessionOpened{},
		SessionRecovered{},
		SessionClosed{},
		InputAccepted{Input: id},
		InputHeld{Input: id},
		InputDropped{Input: id},
		InterruptRequested{},
		TurnStarted{Inputs: inputs},
		TurnStarted{Inputs: inputs},
		TurnCompleted{},
		TurnAborted{},
		TurnFailed{},
		AttemptStarted{Inputs: inputs},
		AttemptStarted{},
		AttemptEnded{Outcome: Failed, Discarded: []string{e.Item}},
		AttemptEnded{Outcome: Completed},
		ItemStarted{Type: typ},
		ItemStarted{Type: typ},
		ItemDelta{Stream: Stream(pick("stream", "text", "arguments", "output")), Text: text(t)},
		ItemEnded{Status: status, Effects: effects, Cause: Abort(Interrupted, ""), Content: Content{Type: typ}},
		CallReady{},
		CallReady{},
		CallStarted{},
		CallStarted{},
		ApprovalRequested{Approval: id},
		ApprovalEnded{Approval: id, Verdict: Verdict(pick("verdict", "approved", "denied"))},
		JobStarted{Job: id},
		JobEnded{Job: id},
		ChildStarted{Child: id},
		ChildEnded{Child: id},
		HookStarted{Hook: id, Event: HookEvent(pick("hook", "PreToolUse", "UserPromptSubmit", "Stop")), Input: "x1"},
		HookEnded{Hook: id, Outcome: Outcome(pick("outcome", "completed", "failed"))},
		Unknown{Name: "moon.phase"},
		nil,
	}).Draw(t, "data")
	return e
}
