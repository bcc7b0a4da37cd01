package event

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// orderCase is a log and an event that cannot follow it.
type orderCase struct {
	name  string
	setup func(*session)
	event Event
	want  string
}

func checkOrder(t *testing.T, cases []orderCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSession(t)
			if c.setup != nil {
				c.setup(s)
			}
			before := s.state.Clone()
			after, err := Fold(s.state, next(s.state, c.event))
			var order *OrderError
			if !errors.As(err, &order) {
				t.Fatalf("accepted (error %v)", err)
			}
			if order.Seq != before.Seq+1 || order.Kind != c.event.Kind() || !strings.Contains(order.What, c.want) {
				t.Errorf("got %v, want it to say %q", order, c.want)
			}
			if diff := stateDiff(before, after); diff != "" {
				t.Errorf("a refused event changed the state (-before +after):\n%s", diff)
			}
			s.add(Closings(after, Abort(Interrupted, "user"))...)
			s.add(Event{Data: SessionRecovered{}})
		})
	}
}

func TestFoldRefusesSequence(t *testing.T) {
	base := newSession(t).state
	for name, change := range map[string]func(*Event){
		"a gap":             func(e *Event) { e.Seq = 3 },
		"a repetition":      func(e *Event) { e.Seq = 1 },
		"no number":         func(e *Event) { e.Seq = 0 },
		"another session":   func(e *Event) { e.Session = "s2" },
		"no session":        func(e *Event) { e.Session = "" },
		"gap, unknown kind": func(e *Event) { e.Seq, e.Data = 3, Unknown{Name: "moon.phase"} },
	} {
		t.Run(name, func(t *testing.T) {
			e := next(base, Event{Data: InputAccepted{Input: "n000001"}})
			change(&e)
			after, err := Fold(base, e)
			var order *OrderError
			if !errors.As(err, &order) {
				t.Fatalf("accepted (error %v)", err)
			}
			if diff := stateDiff(base, after); diff != "" {
				t.Errorf("the state changed:\n%s", diff)
			}
		})
	}
	t.Run("a session that was named before its first event", func(t *testing.T) {
		if _, err := Fold(State{Session: "s2"}, next(State{}, Event{Data: SessionOpened{}})); err == nil {
			t.Error("accepted an event of another session")
		}
	})
}

func TestFoldRefusesSession(t *testing.T) {
	closed := func(s *session) { s.add(Event{Data: SessionClosed{}}) }
	running := func(s *session) { s.turn() }
	job := func(s *session) { s.add(Event{Data: JobStarted{Job: "j000001"}}) }
	child := func(s *session) { s.add(Event{Data: ChildStarted{Child: "c000001"}}) }
	checkOrder(t, []orderCase{
		{"nothing", nil, Event{}, "says nothing"},
		{"open twice", nil, Event{Data: SessionOpened{}}, "already open"},
		{"close twice", closed, Event{Data: SessionClosed{}}, "not open"},
		{"input after the close", closed, Event{Data: InputAccepted{Input: "n000001"}}, "not open"},
		{"turn after the close", closed, inTurn(TurnStarted{}), "not open"},
		{"job after the close", closed, Event{Data: JobStarted{Job: "j000001"}}, "not open"},
		{"close over a turn", running, Event{Data: SessionClosed{}}, "a turn is running"},
		{"close over a job", job, Event{Data: SessionClosed{}}, "a job is running"},       // C2
		{"close over a child", child, Event{Data: SessionClosed{}}, "a child is running"}, // C2
		{"recover over a turn", running, Event{Data: SessionRecovered{}}, "a turn is running"},
		{"recover over a job", job, Event{Data: SessionRecovered{}}, "a job is running"},
		{"recover over a child", child, Event{Data: SessionRecovered{}}, "a child is running"},
	})
	t.Run("before the opening", func(t *testing.T) {
		for _, d := range []Data{SessionClosed{}, InputAccepted{Input: "n000001"}, JobStarted{Job: "j000001"}} {
			if _, err := Fold(State{}, next(State{}, Event{Data: d})); err == nil {
				t.Errorf("accepted a %s", d.Kind())
			}
		}
	})
}

func TestFoldRefusesInputsAndInterrupts(t *testing.T) {
	accept := func(s *session) {
		s.add(Event{Data: InputAccepted{Input: "n1"}}, Event{Data: InputAccepted{Input: "n2"}})
	}
	dropped := func(s *session) { accept(s); s.add(Event{Data: InputDropped{Input: "n1"}}) }
	taken := func(s *session) { accept(s); s.add(inTurn(TurnStarted{Inputs: []string{"n1"}})) }
	checkOrder(t, []orderCase{
		{"input without id", nil, Event{Data: InputAccepted{}}, "no id"},
		{"input twice", accept, Event{Data: InputAccepted{Input: "n1"}}, "accepted before"},
		{"input again after its drop", dropped, Event{Data: InputAccepted{Input: "n1"}}, "accepted before"},
		{"input again after its turn", taken, Event{Data: InputAccepted{Input: "n1"}}, "accepted before"},
		{"hold without input", accept, Event{Data: InputHeld{Input: "n3"}}, "does not wait"},
		{"hold after its drop", dropped, Event{Data: InputHeld{Input: "n1"}}, "does not wait"},
		{"drop without input", accept, Event{Data: InputDropped{Input: "n3"}}, "does not wait"},
		{"drop twice", dropped, Event{Data: InputDropped{Input: "n1"}}, "does not wait"},
		{"drop after its turn began", taken, Event{Data: InputDropped{Input: "n1"}}, "does not wait"},
		{"turn with unknown input", accept, inTurn(TurnStarted{Inputs: []string{"n2", "n3"}}), "does not wait"},
		{"turn with an input twice", accept, inTurn(TurnStarted{Inputs: []string{"n2", "n2"}}), "does not wait"},
		{"attempt with taken input", taken, inAttempt(AttemptStarted{Inputs: []string{"n2", "n1"}}), "does not wait"},
		{"interrupt of no turn", nil, inTurn(InterruptRequested{Reason: Interrupted}), "is not running"},
		{"interrupt of another turn", taken, Event{Turn: "t000002", Data: InterruptRequested{}}, "is not running"},
	})
}

func TestFoldRefusesTurns(t *testing.T) {
	running := func(s *session) { s.turn() }
	ended := func(s *session) { s.turn().add(inTurn(TurnCompleted{})) }
	attempt := func(s *session) { s.attempt() }
	approval := func(s *session) {
		s.attempt().ready(item1)
		s.add(inItem(item1, ApprovalRequested{Approval: "p000001"}))
	}
	note := func(s *session) { s.turn().add(Event{Turn: turn1, Item: item1, Data: ItemStarted{Type: Note}}) }
	child := func(s *session) { s.turn().add(inTurn(ChildStarted{Child: "c000001"})) }
	checkOrder(t, []orderCase{
		{"without id", nil, Event{Data: TurnStarted{}}, "not a new turn's id"},
		{"with the id of one before", ended, inTurn(TurnStarted{}), "not a new turn's id"},
		{"over a running one", running, Event{Turn: "t000002", Data: TurnStarted{}}, "is running"}, // C3
		{"ending without start", nil, inTurn(TurnCompleted{}), "is not running"},
		{"ending of another", running, Event{Turn: "t000002", Data: TurnCompleted{}}, "is not running"},
		{"ending of none", running, Event{Data: TurnCompleted{}}, "is not running"},
		{"second ending", ended, inTurn(TurnCompleted{}), "is not running"}, // C1
		{"another second ending", ended, inTurn(TurnAborted{Reason: Interrupted}), "is not running"},
		{"failure after the end", ended, inTurn(TurnFailed{}), "is not running"},
		{"attempt after the end", ended, inAttempt(AttemptStarted{}), "is not running"},
		{"item after the end", ended, Event{Turn: turn1, Item: item1, Data: ItemStarted{Type: Note}}, "is not running"},
		{"child after the end", ended, inTurn(ChildStarted{Child: "c000001"}), "is not running"},
		{"job after the end", ended, inTurn(JobStarted{Job: "j000001"}), "is not running"},
		{"interrupt after the end", ended, inTurn(InterruptRequested{}), "is not running"},
		{"end over an attempt", attempt, inTurn(TurnAborted{}), "attempt \"a000001\" is running"}, // C2
		{"end over an item", note, inTurn(TurnFailed{}), "item \"i000001\" is open"},              // C2
		{"end over an approval's call", approval, inTurn(TurnAborted{}), "attempt"},
		{"end over a child", child, inTurn(TurnCompleted{}), "child \"c000001\" is running"}, // C2, C18
	})
}

func TestFoldRefusesAttempts(t *testing.T) {
	running := func(s *session) { s.attempt() }
	ended := func(s *session) { s.attempt().add(inAttempt(AttemptEnded{Outcome: Completed})) }
	open := func(s *session) { s.attempt().item(item1, Message, "a") }
	call := func(s *session) { s.attempt().item(item1, ToolCall, "{") }
	ready := func(s *session) { s.attempt().ready(item1) }
	started := func(s *session) { s.attempt().started(item1) }
	finished := func(s *session) { started(s); s.add(inItem(item1, callEnded(ItemCompleted))) }
	earlier := func(s *session) {
		s.attempt().message(item1, "a")
		s.add(
			inAttempt(AttemptEnded{Outcome: Completed}),
			Event{Turn: turn1, Attempt: "a000002", Data: AttemptStarted{}},
		)
	}
	discard := func(id string) Event {
		return inAttempt(AttemptEnded{Outcome: Failed, Discarded: []string{id}})
	}
	discardLater := discard(item1)
	discardLater.Attempt = "a000002"
	checkOrder(t, []orderCase{
		{"without turn", nil, inAttempt(AttemptStarted{}), "is not running"},
		{"without id", func(s *session) { s.turn() }, inTurn(AttemptStarted{}), "not a new attempt's id"},
		{
			"over a call that runs", func(s *session) { started(s); s.add(inAttempt(AttemptEnded{Outcome: Completed})) },
			Event{Turn: turn1, Attempt: "a000002", Data: AttemptStarted{}},
			"item \"i000001\" is open",
		},
		{"with an old id", ended, inAttempt(AttemptStarted{}), "not a new attempt's id"},
		{"two at once", running, Event{Turn: turn1, Attempt: "a000002", Data: AttemptStarted{}}, "is running"},
		{
			"ending without start",
			func(s *session) { s.turn() },
			inAttempt(AttemptEnded{Outcome: Completed}),
			"is not running",
		},
		{"second ending", ended, inAttempt(AttemptEnded{Outcome: Failed}), "is not running"},
		{"ending without outcome", running, inAttempt(AttemptEnded{}), "outcome"},
		{"end over a message", open, inAttempt(AttemptEnded{Outcome: Completed}), "item \"i000001\" is open"},
		{"end over an unfinished call", call, inAttempt(AttemptEnded{Outcome: Aborted}), "item \"i000001\" is open"},
		{"discards nothing known", ended, discard("i000009"), "is not running"},
		{"discards an unknown item", running, discard("i000009"), "cannot be discarded"},
		{"discards another attempt's", earlier, discardLater, "cannot be discarded"},
		{"discards a call that could start", ready, discard(item1), "cannot be discarded"}, // C5
		{"discards a started call", started, discard(item1), "cannot be discarded"},        // C5
		{"discards a finished call", finished, discard(item1), "cannot be discarded"},      // C5
	})
}

func TestFoldRefusesItems(t *testing.T) {
	open := func(s *session) { s.attempt().item(item1, Message, "a") }
	ended := func(s *session) { s.attempt().message(item1, "a") }
	text := ItemDelta{Stream: Text, Text: "b"}
	completed := ItemEnded{Status: ItemCompleted, Content: Content{Type: Message}}
	elsewhere := inItem(item1, text)
	elsewhere.Attempt = "a000002"
	checkOrder(t, []orderCase{
		{"without turn", nil, inItem(item1, ItemStarted{Type: Message}), "is not running"},
		{"without attempt", func(s *session) { s.turn() }, inItem(item1, ItemStarted{Type: Message}), "is not running"},
		{"without id", open, inAttempt(ItemStarted{Type: Message}), "not a new item's id"},
		{"twice", open, inItem(item1, ItemStarted{Type: Message}), "not a new item's id"},
		{"again", ended, inItem(item1, ItemStarted{Type: Message}), "not a new item's id"},
		{"delta without start", open, inItem(item2, text), "did not start"},
		{"delta after the end", ended, inItem(item1, text), "has ended"},
		{"delta of another attempt", open, elsewhere, "belongs to attempt"},
		{"delta of no turn", open, Event{Item: item1, Data: text}, "is not running"},
		{"arguments of a message", open, inItem(item1, ItemDelta{Stream: Arguments}), "takes no arguments"},
		{"output of a message", open, inItem(item1, ItemDelta{Stream: Output}), "takes no output"},
		{"unknown stream", open, inItem(item1, ItemDelta{Stream: "smell"}), "takes no smell"},
		{"ending without start", open, inItem(item2, completed), "did not start"},
		{"second ending", ended, inItem(item1, completed), "has ended"}, // C2
		{
			"ending of another type",
			open,
			inItem(item1, ItemEnded{Status: ItemCompleted, Content: Content{Type: Reasoning}}),
			"not a reasoning",
		},
		{
			"ending without status",
			open,
			inItem(item1, ItemEnded{Content: Content{Type: Message}}),
			"not an ended item's status",
		},
		{
			"ending that stays open",
			open,
			inItem(item1, ItemEnded{Status: ItemOpen, Content: Content{Type: Message}}),
			"not an ended item's status",
		},
		{
			"abort without cause",
			open,
			inItem(item1, ItemEnded{Status: ItemAborted, Content: Content{Type: Message}}),
			"without a cause",
		},
		{"message with effects", open, inItem(item1, aborted(Message, EffectsNone)), "effects"},
		{"message that is called", open, inItem(item1, CallReady{}), "not a call"},
		{"message that starts", open, inItem(item1, CallStarted{}), "not a call"},
	})
}

func TestFoldRefusesCalls(t *testing.T) {
	call := func(s *session) { s.attempt().item(item1, ToolCall, "{") }
	ready := func(s *session) { s.attempt().ready(item1) }
	started := func(s *session) { s.attempt().started(item1) }
	ended := func(s *session) { started(s); s.add(inItem(item1, callEnded(ItemCompleted))) }
	child := func(s *session) { started(s); s.add(inItem(item1, ChildStarted{Child: "c000001"})) }
	succeeded := aborted(ToolCall, EffectsUnknown)
	succeeded.Status = ItemCompleted
	checkOrder(t, []orderCase{
		{"ready twice", ready, inItem(item1, CallReady{}), "waits for its arguments"},
		{"arguments after ready", ready, inItem(item1, ItemDelta{Stream: Arguments}), "takes no arguments"},
		{"text of a call", call, inItem(item1, ItemDelta{Stream: Text}), "takes no text"},
		{"output before the start", ready, inItem(item1, ItemDelta{Stream: Output}), "takes no output"},
		{"start before ready", call, inItem(item1, CallStarted{}), "ready to start"},        // never a truncated call
		{"start twice", started, inItem(item1, CallStarted{}), "ready to start"},            // C5
		{"start after its end", ended, inItem(item1, CallStarted{}), "has ended"},           // C5
		{"complete before the start", ready, inItem(item1, callEnded(ItemCompleted)), ""},   // C5
		{"no effects but started", started, inItem(item1, aborted(ToolCall, "none")), ""},   // C5
		{"effects unsaid", started, inItem(item1, aborted(ToolCall, "")), "effects"},        // C5
		{"effects but not started", ready, inItem(item1, aborted(ToolCall, "partial")), ""}, // C5
		{"effects of a success", started, inItem(item1, succeeded), "effects"},
		{"end over a child", child, inItem(item1, callEnded(ItemCompleted)), "is running"}, // C18
		{"child of no call", ready, inItem(item1, ChildStarted{Child: "c000001"}), "not a call that runs"},
		{"child of an ended call", ended, inItem(item1, ChildStarted{Child: "c000001"}), "not a call that runs"},
		{"child of an unknown call", ready, inItem("i000009", ChildStarted{Child: "c000001"}), "not a call that runs"},
	})
}

func TestFoldRefusesApprovals(t *testing.T) {
	asked := func(s *session) {
		s.attempt().ready(item1)
		s.add(inItem(item1, ApprovalRequested{Approval: "p000001"}))
	}
	answered := func(v Verdict) func(*session) {
		return func(s *session) { asked(s); s.add(inItem(item1, ApprovalEnded{Approval: "p000001", Verdict: v})) }
	}
	call := func(s *session) { s.attempt().item(item1, ToolCall, "{") }
	started := func(s *session) { s.attempt().started(item1) }
	checkOrder(t, []orderCase{
		{"of no call", call, inItem(item2, ApprovalRequested{Approval: "p000001"}), "ready to start"},
		{"of an unfinished call", call, inItem(item1, ApprovalRequested{Approval: "p000001"}), "ready to start"},
		{"of a started call", started, inItem(item1, ApprovalRequested{Approval: "p000001"}), "ready to start"},
		{
			"a form of a call that has not started",
			func(s *session) { s.attempt().ready(item1) },
			inItem(item1, ApprovalRequested{Approval: "p000001", Form: &Form{}}),
			"has not started",
		},
		{"without id", asked, inItem(item1, ApprovalRequested{}), "not a new approval's id"},
		{"twice", asked, inItem(item1, ApprovalRequested{Approval: "p000001"}), "not a new approval's id"},
		{"answer without request", asked, inItem(item1, ApprovalEnded{Approval: "p000002"}), "does not wait"},
		{
			"second answer",
			answered(Denied),
			inItem(item1, ApprovalEnded{Approval: "p000001", Verdict: Approved}),
			"does not wait",
		}, // C16
		{
			"start before the answer",
			asked,
			inItem(item1, CallStarted{}),
			"was not given",
		}, // C16
		{"start after a no", answered(Denied), inItem(item1, CallStarted{}), "was not given"},
		{"start after the expiry", answered(Expired), inItem(item1, CallStarted{}), "was not given"}, // C16
		{"start after an abort", answered(ApprovalAborted), inItem(item1, CallStarted{}), "was not given"},
		{"end of its call first", asked, inItem(item1, aborted(ToolCall, EffectsNone)), "waits"},
	})
}

// A call has its own denial, not the denial of a call of its child.
func TestFoldKeepsDenial(t *testing.T) {
	for _, tt := range []struct {
		verdict Verdict
		child   string
		want    bool
	}{{Denied, "", true}, {Denied, "c000001", false}, {Approved, "", false}} {
		s := newSession(t)
		s.attempt().ready(item1)
		if tt.child != "" {
			s.add(inItem(item1, CallStarted{}), inItem(item1, ChildStarted{Child: tt.child}))
		}
		s.add(inItem(item1, ApprovalRequested{Approval: "p000001", Child: tt.child}))
		s.add(inItem(item1, ApprovalEnded{Approval: "p000001", Verdict: tt.verdict}))
		if d := s.state.Turns[0].Item(item1).Denial; (d != nil) != tt.want {
			t.Errorf("%+v: the denial is %+v", tt, d)
		}
	}
}

func TestFoldRefusesJobsAndChildren(t *testing.T) {
	job := func(s *session) { s.add(Event{Data: JobStarted{Job: "j000001"}}) }
	jobEnded := func(s *session) { job(s); s.add(Event{Data: JobEnded{Job: "j000001", How: JobExited}}) }
	child := func(s *session) { s.add(Event{Data: ChildStarted{Child: "c000001"}}) }
	childEnded := func(s *session) { child(s); s.add(Event{Data: ChildEnded{Child: "c000001", Outcome: Completed}}) }
	checkOrder(t, []orderCase{
		{"job without id", nil, Event{Data: JobStarted{}}, "not a new job's id"},
		{"job twice", job, Event{Data: JobStarted{Job: "j000001"}}, "not a new job's id"},
		{"job again", jobEnded, Event{Data: JobStarted{Job: "j000001"}}, "not a new job's id"},
		{"job's ending without start", nil, Event{Data: JobEnded{Job: "j000001"}}, "is not running"},
		{"job's second ending", jobEnded, Event{Data: JobEnded{Job: "j000001"}}, "is not running"},
		{"child without id", nil, Event{Data: ChildStarted{}}, "not a new child's id"},
		{"child twice", child, Event{Data: ChildStarted{Child: "c000001"}}, "not a new child's id"},
		{"child's ending without start", nil, Event{Data: ChildEnded{Child: "c000001"}}, "is not running"},
		{"child's second ending", childEnded, Event{Data: ChildEnded{Child: "c000001"}}, "is not running"}, // C18
	})
}

// TestFoldKeeps: the state has the data that frontends, history and recovery read.
func TestFoldKeeps(t *testing.T) {
	s := newSession(t)
	s.add(Event{By: "web", Data: InputAccepted{Input: "mine", Text: "also", Mode: Steer}})
	s.turn()
	s.add(Event{Turn: turn1, Attempt: attempt1, Data: AttemptStarted{Step: 1, N: 1, Inputs: []string{"mine"}}})
	s.message(item1, "hello")
	s.started(item2, "out", "put")
	s.add(inItem(item2, JobStarted{Job: "j000001", PID: 7}))

	st := s.state
	turn := st.Running()
	if turn == nil || turn.ID != turn1 || turn.By != "" || len(turn.Inputs) != 1 || turn.Inputs[0].By != "user" {
		t.Fatalf("the running turn is %+v", turn)
	}
	if in := turn.Attempt().Inputs; len(in) != 1 || in[0].ID != "mine" || in[0].By != "web" || len(st.Waiting) != 0 {
		t.Errorf("steered inputs are %+v, waiting %+v", in, st.Waiting)
	}
	call := turn.Item(item2)
	want := Content{Type: ToolCall, Name: "shell", CallID: "call_" + item2, Arguments: `{"a":1}`, Output: "output"}
	if diff := cmp.Diff(want, call.Content()); diff != "" || !call.Ready || !call.Started || call.Status != ItemOpen {
		t.Errorf("the call is %+v, its content (-want +got):\n%s", call, diff)
	}
	if j := st.Jobs[0]; j.Turn != turn1 || j.Call != item2 || j.PID != 7 || j.Ended != nil {
		t.Errorf("the job is %+v", j)
	}
	if turn.Answer() != "hello" {
		t.Errorf("the answer is %q", turn.Answer())
	}
	ids := []string{
		st.NextTurn(), st.NextAttempt(), st.NextItem(0), st.NextItem(1), st.NextApproval(), st.NextJob(), st.NextChild(), st.NextInput(),
	}
	if diff := cmp.Diff([]string{"t000002", "a000002", "i000003", "i000004", "p000001", "j000002", "c000001", "n000003"}, ids); diff != "" {
		t.Errorf("the next ids (-want +got):\n%s", diff)
	}
}

func TestNextInputPassesOverClientsIDs(t *testing.T) {
	s := newSession(t)
	for _, id := range []string{"n000002", "n000003", "x"} {
		s.add(Event{Data: InputAccepted{Input: id}})
	}
	for range 4 {
		s.add(Event{Data: InputAccepted{Input: s.state.NextInput()}})
	}
}

func TestFirstInterruptCounts(t *testing.T) {
	s := newSession(t).attempt()
	s.ready(item1)
	s.add(
		inItem(item1, InterruptRequested{Reason: Parent}),
		Event{By: "web", Data: InterruptRequested{Reason: Shutdown}},
	)
	if got := s.state.Running().Interrupt; got != nil {
		t.Fatalf("an interrupt of one call, or of none, is the turn's: %+v", got)
	}
	s.add(inTurn(InterruptRequested{Reason: Interrupted}), inTurn(InterruptRequested{Reason: Shutdown}))
	if got := s.state.Running().Interrupt; got == nil || got.Reason != Interrupted {
		t.Errorf("got %+v", got)
	}
}

// TestSessionGoesOn: a closed or recovered session can be opened again, and its waiting inputs
// still wait.
func TestSessionGoesOn(t *testing.T) {
	for _, end := range []Data{SessionClosed{}, SessionRecovered{}} {
		s := newSession(t)
		s.add(Event{Data: InputAccepted{Input: "n1"}}, Event{Data: end})
		if s.state.Open || len(Closings(s.state, Abort(Crashed, "host"))) != 0 {
			t.Errorf("after %s the session is open", end.Kind())
		}
		s.add(Event{Data: SessionOpened{PID: 2}})
		waits := slices.ContainsFunc(s.state.Waiting, func(i Input) bool { return i.ID == "n1" })
		if !waits || !s.state.Open || s.state.Host.PID != 2 {
			t.Errorf("after %s and an opening the state is %+v", end.Kind(), s.state)
		}
	}
}

func TestRecoveryOfALogThatLostItsHead(t *testing.T) {
	s := &session{tb: t}
	s.add(Event{Data: SessionRecovered{CutBytes: 9}})
	if s.state.Open {
		t.Error("the session is open before it is opened")
	}
	if s.add(Event{Data: SessionOpened{PID: 2}}); !s.state.Open || s.state.Host.PID != 2 || len(s.state.Turns) != 0 {
		t.Errorf("the state is %+v", s.state)
	}
}

func TestUnknownKindsFoldToNothing(t *testing.T) {
	s := newSession(t).attempt()
	before := s.state.Clone()
	s.add(Event{Turn: "t000009", Item: item1, Data: Unknown{Name: "moon.phase"}})
	before.Seq, before.Updated = s.state.Seq, s.state.Updated
	if diff := stateDiff(before, s.state); diff != "" {
		t.Errorf("an unknown kind changed the state:\n%s", diff)
	}
}
