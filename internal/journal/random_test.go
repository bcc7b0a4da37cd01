package journal

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/settle-agent/settle/event"
)

// slow is a Store that takes its time and fails at some append.
type slow struct {
	memory
	delay  time.Duration
	failAt int   // the append that fails first, from 1; 0 is none
	err    error // with which

	lock    sync.Mutex
	appends int
}

func (s *slow) Append(batch []event.Event, sync Sync) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	<-time.After(s.delay)
	s.appends++
	if space := (*SpaceError)(nil); s.failAt > 0 && s.appends >= s.failAt &&
		(sync != Last || !errors.As(s.err, &space)) {
		return s.err
	}
	return s.memory.Append(batch, sync)
}

// has reports whether the event is stored.
func (s *slow) has(seq uint64) bool { _, ok := s.at(seq - 1); return ok }

// plan is the sequence of actions of a random run.
type plan struct {
	delay  time.Duration
	failAt int
	err    error
	steps  []action
}

// action is one step; the meaning of the numbers depends on kind.
type action struct {
	kind string
	n    int
	wait time.Duration
}

func drawPlan(t *rapid.T) plan {
	p := plan{
		delay:  time.Duration(rapid.IntRange(0, 3).Draw(t, "delay")) * time.Millisecond,
		failAt: rapid.SampledFrom([]int{0, 0, 0, 1, 2, 5, 9}).Draw(t, "fail at"),
		err: rapid.SampledFrom([]error{
			errors.New("input/output error"), &SpaceError{Err: errors.New("no space left on device")},
		}).Draw(t, "error"),
	}
	p.steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) action {
		return action{
			kind: rapid.SampledFrom([]string{"flood", "flood", "flood", "end", "view", "input", "subscribe", "leave", "wait"}).
				Draw(t, "kind"),
			n:    rapid.IntRange(0, 40).Draw(t, "n"),
			wait: time.Duration(rapid.IntRange(0, 5).Draw(t, "wait")) * time.Millisecond,
		}
	}), 1, 40).Draw(t, "steps")
	return p
}

// subscriber records the events that it receives, and errors in them.
type subscriber struct {
	from  uint64
	lag   time.Duration
	stop  context.CancelFunc
	seen  []event.Event
	wrong error
	left  bool
	done  chan struct{}
}

func (s *subscriber) run(ctx context.Context, l *Log, store *slow) {
	defer close(s.done)
	for e, err := range l.Events(ctx, s.from) {
		switch {
		case err != nil:
			s.wrong = err
		case !e.Volatile && !store.has(e.Seq):
			s.wrong = fmt.Errorf("event %d was shown before it was stored", e.Seq) // C4
		case e.Seq != s.from+uint64(len(s.seen))+1:
			s.wrong = fmt.Errorf("event %d follows %d others after %d", e.Seq, len(s.seen), s.from) // C17
		}
		s.seen = append(s.seen, e)
		select {
		case <-time.After(s.lag):
		case <-ctx.Done():
		}
	}
}

// run plays the plan and returns the first error.
func (p plan) run(t *testing.T) error {
	store := &slow{delay: p.delay, failAt: p.failAt, err: p.err}
	l := New(store, event.State{Session: "s1"})
	var subscribers []*subscriber
	subscribe := func(from uint64, lag time.Duration) {
		ctx, stop := context.WithCancel(t.Context())
		s := &subscriber{from: from, lag: lag, stop: stop, done: make(chan struct{})}
		subscribers = append(subscribers, s)
		go s.run(ctx, l, store) // ends with stop, or the log
	}
	subscribe(0, 0)
	var failed error
	note := func(err error) {
		if typed := (*FailedError)(nil); err != nil && !errors.As(err, &typed) {
			failed = errors.Join(failed, err)
		}
	}
	text := strings.Builder{}
	for _, a := range p.steps {
		switch a.kind {
		case "flood":
			for i := range a.n {
				note(l.Update(func(s event.State) []event.Event { return flood(s, i, &text) }))
			}
		case "end":
			note(l.Update(endings(event.Abort(event.Interrupted, "user"))))
		case "input":
			note(l.Update(func(s event.State) []event.Event {
				if !s.Open {
					return nil
				}
				return []event.Event{{Data: event.InputAccepted{Input: s.NextInput()}}}
			}))
		case "view":
			l.View(func(s event.State) { subscribe(s.Seq, a.wait) })
		case "subscribe":
			subscribe(uint64(a.n), a.wait)
		case "leave":
			s := subscribers[a.n%len(subscribers)]
			s.stop()
			s.left = true
		case "wait":
			<-time.After(a.wait)
		}
	}
	note(l.Close(t.Context()))
	for _, s := range subscribers {
		<-s.done
		s.stop()
		failed = errors.Join(failed, s.wrong)
	}
	return errors.Join(failed, p.check(t, l, store, subscribers, text.String()))
}

// flood returns a delta, or the events that must precede one.
func flood(s event.State, i int, text *strings.Builder) []event.Event {
	turn := s.Running()
	switch {
	case !s.Open:
		return []event.Event{opened()}
	case turn == nil && len(s.Waiting) == 0:
		return []event.Event{{Data: event.InputAccepted{Input: s.NextInput()}}}
	case turn == nil:
		return []event.Event{{Turn: s.NextTurn(), Data: event.TurnStarted{Inputs: []string{s.Waiting[0].ID}}}}
	case turn.Attempt() == nil:
		return []event.Event{{Turn: turn.ID, Attempt: s.NextAttempt(), Data: event.AttemptStarted{Step: 1, N: 1}}}
	case len(turn.Items) < 2:
		e := event.Event{Turn: turn.ID, Attempt: turn.Attempt().ID, Item: s.NextItem(0)}
		e.Data = event.ItemStarted{Type: []event.ItemType{event.Reasoning, event.Message}[len(turn.Items)]}
		return []event.Event{e}
	}
	word := fmt.Sprint(i, " ")
	text.WriteString(word)
	e := event.Event{Turn: turn.ID, Attempt: turn.Attempt().ID, Item: turn.Items[i/7%2].ID}
	e.Data = event.ItemDelta{Stream: event.Text, Text: word}
	return []event.Event{e}
}

// check compares the received, stored and folded events.
func (p plan) check(t *testing.T, l *Log, store *slow, subscribers []*subscriber, text string) error {
	all := collect(t, l.Events(t.Context(), 0))
	var state event.State
	said := strings.Builder{}
	for i, e := range all {
		var err error
		if state, err = event.Fold(state, e); err != nil {
			return err
		}
		if d, ok := e.Data.(event.ItemDelta); ok {
			said.WriteString(d.Text)
		}
		if !e.Volatile && !cmp.Equal(e, store.all()[i]) {
			return fmt.Errorf("event %d was shown as %+v and stored as %+v", e.Seq, e, store.all()[i])
		}
		if e.Volatile && p.failAt == 0 {
			return fmt.Errorf("event %d is volatile", e.Seq)
		}
	}
	if said.String() != text {
		return fmt.Errorf("the deltas say %q, not %q", said.String(), text)
	}
	var wrong error
	l.View(func(s event.State) {
		s.Session = state.Session // of an empty log
		if !reflect.DeepEqual(s, state) {
			wrong = fmt.Errorf("the state is\n%+v\nand the events fold to\n%+v", s, state)
		}
	})
	for i, s := range subscribers {
		want := all[min(int(s.from), len(all)):]
		if s.left {
			want = want[:min(len(s.seen), len(want))]
		}
		if d := cmp.Diff(want, s.seen); len(want)+len(s.seen) > 0 && d != "" {
			wrong = errors.Join(wrong, fmt.Errorf("subscriber %d, after %d (-want +got):\n%s", i, s.from, d))
		}
	}
	return wrong
}

func TestRandomRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		var err error
		synctest.Test(t, func(t *testing.T) { err = p.run(t) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}
