package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
)

// one returns an update of one event.
func one(e event.Event) func(event.State) []event.Event {
	return func(event.State) []event.Event { return []event.Event{e} }
}

func opened() event.Event { return event.Event{Data: event.SessionOpened{Dir: "/work", PID: 1}} }

// begin opens a session, and in it a turn with an attempt and a message i000001.
func begin(t testing.TB, l *Log) {
	t.Helper()
	for _, e := range []event.Event{
		opened(),
		{By: "user", Data: event.InputAccepted{Input: "n000001", Text: "go"}},
		{Turn: "t000001", Data: event.TurnStarted{Inputs: []string{"n000001"}}},
		{Turn: "t000001", Attempt: "a000001", Data: event.AttemptStarted{Step: 1, N: 1}},
		{Turn: "t000001", Attempt: "a000001", Item: "i000001", Data: event.ItemStarted{Type: event.Message}},
	} {
		if err := l.Update(one(e)); err != nil {
			t.Fatal(err)
		}
	}
}

func delta(text string) event.Event {
	return event.Event{
		Turn: "t000001", Attempt: "a000001", Item: "i000001",
		Data: event.ItemDelta{Stream: event.Text, Text: text},
	}
}

func endings(cause *event.Cause) func(event.State) []event.Event {
	return func(s event.State) []event.Event { return event.Endings(s, cause) }
}

// gate is a Store of which every Append waits for a token, and fails with
// the errors given, in order.
type gate struct {
	memory
	pass chan error
}

func newGate() *gate { return &gate{pass: make(chan error)} }

func (g *gate) Append(batch []event.Event, sync Sync) error {
	if err := <-g.pass; err != nil {
		return err
	}
	return g.memory.Append(batch, sync)
}

// let lets n writes pass.
func (g *gate) let(n int) {
	for range n {
		g.pass <- nil
	}
}

// begin is the function begin with all its writes, however many batches the writer makes of them.
func (g *gate) begin(t testing.TB, l *Log) {
	t.Helper()
	begun := make(chan struct{})
	go g.letAll(begun) // ends when all is written
	begin(t, l)
	synctest.Wait()
	close(begun)
	synctest.Wait()
}

// letAll lets all writes pass until done is closed.
func (g *gate) letAll(done <-chan struct{}) {
	for {
		select {
		case g.pass <- nil:
		case <-done:
			return
		}
	}
}

// collect returns all events of a subscription.
func collect(t testing.TB, events iter.Seq2[event.Event, error]) []event.Event {
	t.Helper()
	var out []event.Event
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// texts returns the texts of the deltas, and the kinds of the other events.
func texts(events []event.Event) []string {
	var out []string
	for _, e := range events {
		s := string(e.Kind())
		if d, ok := e.Data.(event.ItemDelta); ok {
			s = d.Text
		}
		if e.Volatile {
			s += " (volatile)"
		}
		out = append(out, s)
	}
	return out
}

func closeLog(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func diff(t testing.TB, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

func TestUpdateStampsAndPublishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory("s1")
		begin(t, l)
		closeLog(t, l)
		var got []event.Event
		for _, e := range collect(t, l.Events(t.Context(), 3)) {
			got = append(got, event.Event{V: e.V, Session: e.Session, Seq: e.Seq, At: e.At})
		}
		at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // the bubble's beginning
		want := []event.Event{{V: 1, Session: "s1", Seq: 4, At: at}, {V: 1, Session: "s1", Seq: 5, At: at}}
		diff(t, "envelopes", want, got)
	})
}

func TestSlowStreamIsWrittenEventByEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory("s1")
		begin(t, l)
		for i := range 3 {
			if err := l.Update(one(delta(fmt.Sprint(i)))); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		closeLog(t, l)
		diff(t, "deltas", []string{"0", "1", "2"}, texts(collect(t, l.Events(t.Context(), 5))))
	})
}

func TestFloodIsMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := New(g, event.State{Session: "s1"})
		g.begin(t, l)

		var want []string
		for i := range 1000 { // the first is being written, the others arrive meanwhile
			if err := l.Update(one(delta(fmt.Sprint(i, " ")))); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				synctest.Wait()
			}
			want = append(want, fmt.Sprint(i, " "))
		}
		go g.let(2)
		synctest.Wait()
		closeLog(t, l)
		got := texts(collect(t, l.Events(t.Context(), 5)))
		diff(t, "deltas", []string{want[0], strings.Join(want[1:], "")}, got)
		l.View(func(s event.State) {
			diff(t, "text", strings.Join(want, ""), s.Running().Item("i000001").Content().Text)
			diff(t, "seq", uint64(7), s.Seq)
		})
	})
}

// Later text does not change an event that a reader has seen, so that a subscription from its
// number continues without a gap.
func TestSeenEventsDoNotChange(t *testing.T) {
	looks := map[string]func(l *Log, look func(event.State)){
		"view": (*Log).View,
		"update": func(l *Log, look func(event.State)) {
			_ = l.Update(func(s event.State) []event.Event { look(s); return nil })
		},
		"seq": func(l *Log, look func(event.State)) {
			l.Seq()
			l.mu.Lock()
			defer l.mu.Unlock()
			look(l.state)
		},
	}
	for name, look := range looks {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkUnchanged(t, look) })
		})
	}
}

func checkUnchanged(t *testing.T, look func(l *Log, look func(event.State))) {
	t.Helper()
	g := newGate()
	l := New(g, event.State{Session: "s1"})
	go g.let(2)
	begin(t, l)
	update(t, l, delta("a"))
	synctest.Wait()
	update(t, l, delta("b"))
	seq, text := uint64(0), ""
	look(l, func(s event.State) { seq, text = s.Seq, s.Running().Item("i000001").Content().Text })
	update(t, l, delta("c"), delta("d"))
	go g.letAll(l.ended)
	closeLog(t, l)
	for _, s := range texts(collect(t, l.Events(t.Context(), seq))) {
		text += s
	}
	diff(t, "what was seen and what follows", "abcd", text)
}

// A flood onto a disk that does not keep up waits for it.
func TestFloodWaitsForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := New(g, event.State{Session: "s1"}, WithWriteTimeout(time.Hour))
		g.begin(t, l)
		big, done := strings.Repeat("x", maxMerged), make(chan error, 1)
		n := 0
		go func() { // ends when all are written
			var err error
			for ; n < 10*maxQueued/maxMerged && err == nil; n++ {
				err = l.Update(one(delta(big)))
			}
			done <- err
		}()
		synctest.Wait()
		if n*maxMerged > 3*maxQueued {
			t.Fatalf("%d bytes wait for the disk", n*maxMerged)
		}
		go g.letAll(l.ended)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		closeLog(t, l)
	})
}

func TestOnlyTheSameTextIsMerged(t *testing.T) {
	base := event.Event{Turn: "t", Attempt: "a", Item: "i", By: "b"}
	text := func(stream event.Stream, n int) event.ItemDelta {
		return event.ItemDelta{Stream: stream, Text: strings.Repeat("x", n)}
	}
	cases := []struct {
		name   string
		change func(*event.Event)
		data   event.ItemDelta
		want   bool
	}{
		{"the same", func(*event.Event) {}, text(event.Text, 1), true},
		{"as much as goes", func(*event.Event) {}, text(event.Text, maxMerged-1), true},
		{"too much", func(*event.Event) {}, text(event.Text, maxMerged), false},
		{"another stream", func(*event.Event) {}, text(event.Output, 1), false},
		{"another item", func(e *event.Event) { e.Item = "j" }, text(event.Text, 1), false},
		{"another attempt", func(e *event.Event) { e.Attempt = "j" }, text(event.Text, 1), false},
		{"another turn", func(e *event.Event) { e.Turn = "j" }, text(event.Text, 1), false},
		{"another author", func(e *event.Event) { e.By = "j" }, text(event.Text, 1), false},
	}
	for _, c := range cases {
		var b batch
		first := base
		first.Data = text(event.Text, 1)
		b.add(&first)
		next := base
		c.change(&next)
		diff(t, c.name, c.want, b.joins(&next, c.data))
	}
}

// C4: nobody sees an event before it is written.
func TestNothingIsPublishedBeforeItIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := New(g, event.State{Session: "s1"})
		ctx, stop := context.WithCancel(t.Context())
		var seen []uint64
		ended := make(chan struct{})
		go func() { // ends with ctx
			defer close(ended)
			for e := range l.Events(ctx, 0) {
				seen = append(seen, e.Seq)
			}
		}()
		done := make(chan error, 1)
		go func() { done <- l.Update(one(opened())) }()
		synctest.Wait()
		if len(seen) > 0 || len(done) > 0 {
			t.Fatalf("saw %v and %d returns before the write", seen, len(done))
		}
		g.let(1)
		synctest.Wait()
		diff(t, "seen", []uint64{1}, seen)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		stop()
		<-ended
		closeLog(t, l)
	})
}

func accepted(id string) event.Event {
	return event.Event{By: "user", Data: event.InputAccepted{Input: id, Text: "go"}}
}

// An update is atomic: if one of its events is refused, none is in the log, the entities that it
// starts do not exist, and the log continues.
func TestRefusedUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory("s1")
		update(t, l, opened(), accepted("n1"))
		var before, after event.State
		l.View(func(s event.State) { before = s.Clone() })
		err := l.Update(func(event.State) []event.Event {
			return []event.Event{
				accepted("n2"),
				{Turn: "t1", Data: event.TurnStarted{Inputs: []string{"n1"}}},
				{Turn: "t1", Item: "i9", Data: event.ItemDelta{Text: "lost"}},
				opened(),
			}
		})
		var order *event.OrderError
		if !errors.As(err, &order) || order.Seq != 5 {
			t.Fatalf("got %v, want an order error at event 5", err)
		}
		l.View(func(s event.State) { after = s.Clone() })
		if !reflect.DeepEqual(before, after) {
			t.Errorf("the state is\n%+v\nafter a refused update, and was\n%+v", after, before)
		}
		update(t, l, accepted("n2"))
		begun := collectUntil(t, l, 3)
		diff(t, "kept", []string{"session.opened", "input.accepted", "input.accepted"}, texts(begun))
		closeLog(t, l)
	})
}

// A refused update does not change the events that wait for the writer, and joins nothing to them.
func TestRefusedUpdateAfterADelta(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory("s1")
		update(t, l, opened(), accepted("n1"))
		begin := func(event.State) []event.Event {
			return []event.Event{
				{Turn: "t1", Data: event.TurnStarted{Inputs: []string{"n1"}}},
				{Turn: "t1", Attempt: "a1", Data: event.AttemptStarted{}},
				{Turn: "t1", Attempt: "a1", Item: "i1", Data: event.ItemStarted{Type: event.Message}},
			}
		}
		delta := event.Event{
			Turn:    "t1",
			Attempt: "a1",
			Item:    "i1",
			Data:    event.ItemDelta{Stream: event.Text, Text: "said"},
		}
		refused := func(event.State) []event.Event { return []event.Event{delta, delta, opened()} }
		for _, f := range []func(event.State) []event.Event{begin, func(event.State) []event.Event { return []event.Event{delta} }} {
			if err := l.Update(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Update(refused); err == nil {
			t.Fatal("accepted")
		}
		l.View(func(s event.State) { diff(t, "text", "said", s.Running().Item("i1").Content().Text) })
		closeLog(t, l)
	})
}

// collectUntil gathers the events up to number last.
func collectUntil(t testing.TB, l *Log, last uint64) []event.Event {
	t.Helper()
	var out []event.Event
	for e, err := range l.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if out = append(out, e); e.Seq == last {
			break
		}
	}
	return out
}

func TestFailedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := New(g, event.State{Session: "s1"})
		g.begin(t, l)
		broken := errors.New("input/output error")
		go func() { g.pass <- broken }()
		if err := l.Update(one(delta("half an answer"))); err != nil {
			t.Fatal(err)
		}
		<-l.Failed()
		err := l.Update(endings(event.Fail(&event.Failure{Name: event.NameJournal, Message: "disk"})))
		var failed *FailedError
		if !errors.As(err, &failed) || !errors.Is(err, broken) || !errors.Is(l.Err(), broken) {
			t.Fatalf("got %v and %v, want a FailedError", err, l.Err())
		}
		closeLog(t, l)
		diff(t, "published", []string{
			"half an answer (volatile)", "item.ended (volatile)", "attempt.ended (volatile)", "turn.failed (volatile)",
		}, texts(collect(t, l.Events(t.Context(), 5))))
		diff(t, "stored", 5, len(g.all()))
	})
}

// Events that were never stored stay readable while the log lives, regardless of their number.
func TestFailedStoreKeepsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := New(g, event.State{Session: "s1"})
		g.begin(t, l)
		next, stop := iter.Pull2(l.Events(t.Context(), 5))
		defer stop()
		go func() { g.pass <- errors.New("input/output error") }()
		var want []string
		for range 10 {
			want = append(want, strings.Repeat("x", maxTail/2)+" (volatile)")
			_ = l.Update(one(delta(want[0][:maxTail/2])))
			synctest.Wait()
		}
		var got []event.Event
		for range want {
			e, err, _ := next()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		closeLog(t, l)
		diff(t, "seen", want, texts(got))
		diff(t, "seen later", want, texts(collect(t, l.Events(t.Context(), 5))))
	})
}

func TestFailureWakesDurableUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := New(g, event.State{Session: "s1"})
		go func() { g.pass <- errors.New("input/output error") }()
		var failed *FailedError
		if err := l.Update(one(opened())); !errors.As(err, &failed) {
			t.Fatalf("got %v, want a FailedError", err)
		}
		closeLog(t, l)
	})
}

// C9: a disk that never answers ends the wait.
func TestHangingWriteFailsTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := New(g, event.State{Session: "s1"}, WithWriteTimeout(time.Second))
		var failed *FailedError
		if err := l.Update(one(opened())); !errors.As(err, &failed) {
			t.Fatalf("got %v, want a FailedError", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Close returned %v while the write hung", err)
		}
		diff(t, "published", []string{"session.opened (volatile)"}, texts(collectUntil(t, l, 1)))
		g.let(1) // the disk comes back
		closeLog(t, l)
	})
}

// Without space, endings are still written, and only the numbers of deltas, so that the stored log
// has no gap.
func TestTightStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := New(g, event.State{Session: "s1"})
		g.begin(t, l)
		go func() {
			g.pass <- &SpaceError{Err: errors.New("no space left on device")}
			g.let(2)
		}()
		if err := l.Update(one(delta("text"))); err != nil {
			t.Fatal(err)
		}
		<-l.Failed()
		synctest.Wait()
		var failed *FailedError
		if err := l.Update(endings(event.Abort(event.Shutdown, "host"))); !errors.As(err, &failed) {
			t.Fatalf("got %v, want a FailedError", err)
		}
		closeLog(t, l)
		published := collect(t, l.Events(t.Context(), 5))
		diff(
			t,
			"published",
			[]string{"text (volatile)", "item.ended", "attempt.ended", "turn.aborted"},
			texts(published),
		)
		diff(t, "stored", []string{" (volatile)", "item.ended", "attempt.ended", "turn.aborted"}, texts(g.all()[5:]))
		if ended := g.all()[6].Data.(event.ItemEnded); ended.Text != "text" {
			t.Fatalf("the ending has text %q", ended.Text)
		}
	})
}

func TestCloseWritesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory("s1")
		begin(t, l)
		if err := l.Update(one(delta("last words"))); err != nil {
			t.Fatal(err)
		}
		closeLog(t, l)
		closeLog(t, l)
		if err := l.Update(one(delta("too late"))); !errors.Is(err, ErrClosed) {
			t.Fatalf("got %v, want ErrClosed", err)
		}
		all := collect(t, l.Events(t.Context(), 0))
		diff(t, "last", "last words", texts(all)[len(all)-1])
	})
}

func TestSubscriptionFromBeyondTheEndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory("s1")
		got := make(chan []event.Event, 1)
		go func() { got <- collect(t, l.Events(t.Context(), 4)) }() // ends with the log
		synctest.Wait()
		begin(t, l)
		closeLog(t, l)
		diff(t, "events", []string{"item.started"}, texts(<-got))
	})
}

// C17: a reader that stops for long continues without a gap, and holds nobody up.
func TestSlowSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory("s1")
		begin(t, l)
		next, stop := iter.Pull2(l.Events(t.Context(), 5))
		defer stop()
		big := strings.Repeat("x", maxTail/4)
		const n = 64
		for i := range n {
			if i == 1 {
				if e, _, _ := next(); e.Seq != 6 {
					t.Fatalf("got event %d", e.Seq)
				}
			}
			if err := l.Update(one(delta(big))); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if l.feed.weight > 2*maxTail {
			t.Fatalf("the feed holds %d bytes", l.feed.weight)
		}
		for want := uint64(7); want <= 5+n; want++ {
			if e, err, ok := next(); err != nil || !ok || e.Seq != want {
				t.Fatalf("got event %d, %v, %v; want %d", e.Seq, err, ok, want)
			}
		}
		closeLog(t, l)
		if _, _, ok := next(); ok {
			t.Fatal("the subscription goes on after the log is closed")
		}
	})
}

func TestIdleFeedKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory("s1")
		ctx, stop := context.WithCancel(t.Context())
		go func() { // ends with ctx
			for range l.Events(ctx, 0) {
				continue
			}
		}()
		begin(t, l)
		synctest.Wait()
		if n := len(l.feed.tail); n != 0 || l.feed.readers != 1 {
			t.Fatalf("an idle feed holds %d events for %d readers", n, l.feed.readers)
		}
		stop()
		synctest.Wait()
		if l.feed.readers != 0 || l.feed.idle != 0 {
			t.Fatalf("%d readers, %d idle are left", l.feed.readers, l.feed.idle)
		}
		closeLog(t, l)
	})
}

// A subscriber that leaves just as an event comes is not counted twice.
func TestLeavingAsAnEventComes(t *testing.T) {
	var f feed
	f.join()
	s := f.next(0, nil)
	f.publish(event.Event{Seq: 1})
	f.abandon(s.wake)
	if f.idle != 0 {
		t.Fatalf("%d subscribers are idle", f.idle)
	}
}

func TestUnreadableStoreEndsTheSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(&forgetful{}, event.State{Session: "s1"})
		begin(t, l)
		closeLog(t, l)
		var errs []error
		for _, err := range l.Events(t.Context(), 0) {
			errs = append(errs, err)
		}
		if len(errs) != 1 || errs[0] == nil {
			t.Fatalf("got %v, want one error", errs)
		}
	})
}

// forgetful is a Store that loses all events.
type forgetful struct{ memory }

func (*forgetful) Append([]event.Event, Sync) error { return nil }

func TestConcurrentUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory("s1")
		begin(t, l)
		const writers, each = 8, 200
		done := make(chan error, writers)
		for range writers {
			go func() { // ends after each updates
				var err error
				for range each {
					err = errors.Join(err, l.Update(one(delta("x"))))
				}
				done <- err
			}()
		}
		var readers []chan []event.Event
		for i := range 4 {
			c := make(chan []event.Event, 1)
			readers = append(readers, c)
			go func() { c <- collect(t, l.Events(t.Context(), uint64(i))) }() // ends with the log
		}
		for range writers {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		closeLog(t, l)
		stored := l.store.(*memory).all()
		length := 0
		for i, e := range stored {
			diff(t, "seq", uint64(i+1), e.Seq)
			if d, ok := e.Data.(event.ItemDelta); ok {
				length += len(d.Text)
			}
		}
		diff(t, "text", writers*each, length)
		for i, c := range readers {
			diff(t, "what a subscriber saw", stored[i:], <-c)
		}
	})
}
