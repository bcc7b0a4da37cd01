package event

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// C18: the log shows whether the model knows of a child's end: a note has reported it, once.
func TestModelLearnsOfChildEndOnce(t *testing.T) {
	s := newSession(t).turn()
	s.add(Event{Data: ChildStarted{Child: "c000001", Session: "s2"}})
	note := func(item string) []Event {
		return []Event{
			{Turn: s.state.Running().ID, Item: item, Data: ItemStarted{Type: Note}},
			{
				Turn: s.state.Running().ID,
				Item: item,
				Data: ItemEnded{Status: ItemCompleted, Content: Content{Type: Note, Text: "news", Child: "c000001"}},
			},
		}
	}
	news := func(want ...string) {
		t.Helper()
		var got []string
		for _, c := range s.state.UnreportedChildren() {
			got = append(got, c.Child)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("news (-want +got):\n%s", diff)
		}
	}
	refused := func(events []Event) {
		t.Helper()
		state := s.state.Clone()
		var err error
		for _, e := range events {
			e.V, e.Session, e.Seq = Version, state.Session, state.Seq+1
			if state, err = Fold(state, e); err != nil {
				break
			}
		}
		if !errors.As(err, new(*OrderError)) {
			t.Errorf("a note that tells nothing new: %v", err)
		}
	}
	news()
	refused(note("i000001"))
	spent := Summary{Steps: 2, Usage: Usage{Input: 7}}
	s.add(Event{Data: ChildEnded{Child: "c000001", Outcome: Completed, Answer: "done", Spent: &spent}})
	news("c000001")
	if got := s.state.Spent(); got != spent {
		t.Errorf("spent %+v, want %+v", got, spent)
	}
	undo := s.state.Undo(note("i000001"))
	before := s.state.Seq
	s.add(note("i000001")...)
	news()
	refused(note("i000002"))
	s.state = undo()
	s.events = s.events[:len(s.events)-2]
	if s.state.Seq != before {
		t.Fatalf("taken back to %d, want %d", s.state.Seq, before)
	}
	news("c000001")
}

// The end of a foreground child is no news: its call says it.
func TestForegroundChildEndsAreNotNoted(t *testing.T) {
	s := newSession(t)
	s.attempt().ready(item1)
	s.add(inItem(item1, CallStarted{}))
	s.add(Event{Turn: "t000001", Item: item1, Data: ChildStarted{Child: "c000001", Session: "s2"}})
	s.add(Event{Turn: "t000001", Item: item1, Data: ChildEnded{Child: "c000001", Outcome: Completed}})
	if got := s.state.UnreportedChildren(); len(got) > 0 {
		t.Errorf("news of %v", got[0].Child)
	}
}
