package event

import (
	"fmt"
	"strings"
)

// auditor checks C1, C2 and C3 without State: it only counts starts and ends.
type auditor struct {
	open map[string]string // thing to its turn, "" for one of the session
	seen map[string]bool
}

func newAuditor() *auditor {
	return &auditor{open: map[string]string{}, seen: map[string]bool{}}
}

func (l *auditor) add(e Event) error {
	switch d := e.Data.(type) {
	case Unknown:
		return nil
	case TurnStarted:
		for thing := range l.open {
			if strings.HasPrefix(thing, "turn ") {
				return fmt.Errorf("C3: %s is open", thing)
			}
		}
		return l.begin("turn "+e.Turn, e.Turn)
	case SessionClosed, SessionRecovered:
		if len(l.open) > 0 {
			return fmt.Errorf("C2: the session ends with %v open", l.open)
		}
	default:
		if _, open := l.open["turn "+e.Turn]; e.Turn != "" && !open {
			return fmt.Errorf("C1: a %s of turn %q, which is not open", d.Kind(), e.Turn)
		}
	}
	return l.within(e)
}

func (l *auditor) within(e Event) error {
	switch d := e.Data.(type) {
	case AttemptStarted:
		return l.begin("attempt "+e.Attempt, e.Turn)
	case AttemptEnded:
		return l.end("attempt " + e.Attempt)
	case ItemStarted:
		return l.begin("item "+e.Turn+e.Item, e.Turn)
	case CallStarted:
		return l.begin("call "+e.Turn+e.Item, e.Turn)
	case ItemEnded:
		if _, started := l.open["call "+e.Turn+e.Item]; started {
			if err := l.end("call " + e.Turn + e.Item); err != nil {
				return err
			}
		}
		return l.end("item " + e.Turn + e.Item)
	case ApprovalRequested:
		return l.begin("approval "+e.Turn+d.Approval, e.Turn)
	case ApprovalEnded:
		return l.end("approval " + e.Turn + d.Approval)
	case JobStarted:
		return l.begin("job "+d.Job, "")
	case JobEnded:
		return l.end("job " + d.Job)
	case ChildStarted:
		return l.begin("child "+d.Child, e.Turn)
	case ChildEnded:
		return l.end("child " + d.Child)
	case HookStarted:
		return l.begin("hook "+d.Hook, e.Turn)
	case HookEnded:
		return l.end("hook " + d.Hook)
	}
	if !e.Terminal() {
		return nil
	}
	if err := l.end("turn " + e.Turn); err != nil {
		return err
	}
	return l.nothingOf(e.Turn)
}

func (l *auditor) begin(thing, turn string) error {
	if l.seen[thing] {
		return fmt.Errorf("%s starts twice", thing)
	}
	l.seen[thing], l.open[thing] = true, turn
	return nil
}

func (l *auditor) end(thing string) error {
	if _, ok := l.open[thing]; !ok {
		return fmt.Errorf("C2: %s ends without being open", thing)
	}
	delete(l.open, thing)
	return nil
}

// nothingOf fails if something of the turn is open.
func (l *auditor) nothingOf(turn string) error {
	for thing, of := range l.open {
		if turn != "" && of == turn {
			return fmt.Errorf("C2: turn %q ended with %s open", turn, thing)
		}
	}
	return nil
}

// audit puts the events in a new auditor.
func audit(events []Event) (*auditor, error) {
	l := newAuditor()
	for _, e := range events {
		if err := l.add(e); err != nil {
			return l, fmt.Errorf("event %d (%s): %w", e.Seq, e.Kind(), err)
		}
	}
	return l, nil
}
