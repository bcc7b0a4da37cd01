package pending_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/pending"
)

func keys[R any](entries []*pending.Entry[R]) (out []string) {
	for _, e := range entries {
		out = append(out, e.Key)
	}
	return out
}

// A request is answered once, even if several goroutines answer it.
func TestAnsweredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b pending.Requests[int]
		const requests = 100
		for n := range requests {
			b.Add(fmt.Sprint(n%10), n)
		}
		var answered atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for _, e := range b.Open() {
					if e.Answer() {
						answered.Add(1)
					}
				}
			})
			wg.Go(func() { answered.Add(int64(len(b.AnswerAll("3")))) })
			wg.Go(func() { answered.Add(int64(len(b.Close()))) })
		}
		b.Drain(t.Context())
		wg.Wait()
		if n := answered.Load(); n != requests || b.Len() != 0 {
			t.Errorf("%d requests were answered, %d are open", n, b.Len())
		}
		if b.Add("late", 1) != nil {
			t.Error("a closed book takes more")
		}
	})
}

func TestOrderAndKeys(t *testing.T) {
	var b pending.Requests[string]
	one, fresh := b.AddOnce("a", "one", 2)
	if one == nil || !fresh {
		t.Fatal("there is no room for the first")
	}
	if e, fresh := b.AddOnce("a", "again", 2); e != one || fresh {
		t.Error("a key is there twice")
	}
	b.Add("b", "two")
	if e, fresh := b.AddOnce("c", "three", 2); e != nil || !fresh {
		t.Error("there is room for more than was said")
	}
	if b.Find("b").Request != "two" || b.Find("c") != nil {
		t.Error("what is found is not what was added")
	}
	if !one.Cancel() || one.Cancel() || !one.Cancelled() || b.Find("b").Cancelled() {
		t.Error("cancelled: not once, or not the one")
	}
	one.Rekey("b")
	if diff := cmp.Diff([]string{"b", "b"}, keys(b.Open())); diff != "" {
		t.Error(diff)
	}
	b.AddAhead("a", "four")
	if diff := cmp.Diff([]string{"a", "b", "b"}, keys(b.Open())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"b", "b"}, keys(b.AnswerAll("b"))); diff != "" || one.Answer() {
		t.Error(diff)
	}
}

// Drain waits for the last answer, and no longer than it may.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b pending.Requests[int]
		e := b.Add("x", 1)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		b.Drain(ctx)
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
		time.AfterFunc(time.Minute, func() { e.Answer() })
		b.Drain(t.Context())
		if took := time.Since(began); took != time.Second+time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// C19: the senders of an input learn its outcome.
func TestStep(t *testing.T) {
	var b pending.Requests[string]
	for _, input := range []string{"n1", "n2", "n3", "n4"} {
		b.Add(input, "request "+input)
	}
	failure := &event.Failure{Name: "X"}
	for _, tt := range []struct {
		turn string
		data event.Data
		want []string
	}{
		{"", event.InputAccepted{Input: "n1"}, nil},
		{"t1", event.TurnStarted{Inputs: []string{"n1", "other"}}, []string{"n1 taken t1 <nil>"}},
		{"t1", event.AttemptStarted{Inputs: []string{"n2"}}, []string{"n2 taken t1 <nil>"}},
		{"", event.InputHeld{Input: "n3", Reason: event.Interrupted}, []string{"n3 held  interrupted"}},
		{"", event.InputDropped{Input: "n3"}, []string{"n3 dropped  interrupted"}},
		{"t1", event.TurnAborted{Reason: event.Interrupted}, []string{"n1 ended t1 interrupted", "n2 ended t1 interrupted"}},
		{"t2", event.TurnStarted{Inputs: []string{"n3"}}, nil},
		{"t2", event.TurnFailed{Failure: failure}, nil},
		{"t3", event.TurnStarted{Inputs: []string{"n4"}}, []string{"n4 taken t3 <nil>"}},
		{"t3", event.TurnCompleted{}, []string{"n4 ended t3 completed"}},
	} {
		var got []string
		for _, m := range b.Step(event.Event{Turn: tt.turn, By: "x", Data: tt.data}) {
			cause := "<nil>"
			if m.Cause != nil {
				cause = m.Cause.Error()
			}
			got = append(got, fmt.Sprintf("%s %s %s %s", m.Key, m.How, m.Turn, cause))
			if m.How != pending.Taken && m.How != pending.Held {
				m.Answer()
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.data, diff)
		}
	}
	if diff := cmp.Diff([]string(nil), keys(b.Open())); diff != "" {
		t.Error(diff)
	}
}
