package settle_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// callChecker is an observer that checks its calls against the log.
type callChecker struct {
	t       *testing.T
	mu      sync.Mutex             // guards the fields below
	open    map[string]event.Event // started entities, by turn and id
	seen    int                    // ended entities
	outputs []event.Event          // first ones
}

// parent is the key of the id of the enclosing entity.
type parent struct{}

func (l *callChecker) start(ctx context.Context, e event.Event, in string) (context.Context, func(event.Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := fmt.Sprint(e.Turn, " ", e.Attempt, " ", e.Item)
	if _, twice := l.open[id]; twice || e.Seq == 0 || e.At.IsZero() {
		l.t.Errorf("%s starts twice, or without being in the log: %+v", id, e)
	}
	l.open[id] = e
	if got, _ := ctx.Value(parent{}).(string); got != in {
		l.t.Errorf("%s starts within %q, want %q", id, got, in)
	}
	return context.WithValue(ctx, parent{}, id), func(end event.Event) {
		l.mu.Lock()
		defer l.mu.Unlock()
		started, isOpen := l.open[id]
		if !isOpen || end.Seq <= started.Seq || end.Turn != e.Turn || end.Attempt != e.Attempt || end.Item != e.Item {
			l.t.Errorf("%s ends twice, or as something else: %+v", id, end)
		}
		delete(l.open, id)
		l.seen++
		if e.Attempt == "" && len(l.open) > 0 {
			l.t.Errorf("the turn ends with these open: %v", l.open)
		}
	}
}

// output checks that an open attempt has its first output.
func (l *callChecker) output(ctx context.Context, started, first event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := fmt.Sprint(started.Turn, " ", started.Attempt, " ")
	if e, isOpen := l.open[id]; !isOpen || e.Seq != started.Seq || first.Attempt != started.Attempt ||
		first.Seq <= started.Seq {
		l.t.Errorf("output of an attempt that is not open: %+v, %+v", started, first)
	}
	if got, _ := ctx.Value(parent{}).(string); got != id {
		l.t.Errorf("output within %q, want %q", got, id)
	}
	l.outputs = append(l.outputs, first)
}

func (l *callChecker) observer() settle.Observer {
	return settle.Observer{
		Turn: func(ctx context.Context, e event.Event) (context.Context, func(event.Event)) {
			return l.start(ctx, e, "")
		},
		Attempt: func(ctx context.Context, e event.Event) (context.Context, func(event.Event)) {
			return l.start(ctx, e, e.Turn+"  ")
		},
		Output: func(ctx context.Context, started, first event.Event) { l.output(ctx, started, first) },
		Call: func(ctx context.Context, tool string, e event.Event) (context.Context, func(event.Event)) {
			if tool == "" {
				l.t.Error("a call has no tool")
			}
			return l.start(ctx, e, e.Turn+"  ")
		},
	}
}

// check compares the calls with the events of a closed session.
func (l *callChecker) check(events []event.Event) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	want, recovered := 0, false
	for _, e := range events {
		switch e.Data.(type) {
		case event.TurnStarted, event.AttemptStarted, event.CallStarted:
			want++
		case event.SessionRecovered:
			recovered = true // another host saw some of it
		}
	}
	if len(l.open) > 0 || l.seen != want && !recovered {
		l.t.Errorf("observed the ends of %d of %d; open: %v", l.seen, want, l.open)
	}
	l.seen = 0
}

// The contexts of providers and tools have the observer's values.
func TestObserversReachProvidersAndTools(t *testing.T) {
	l := &callChecker{t: t, open: map[string]event.Event{}}
	var inTool, inProvider any
	act, err := tool.New("act", "Acts.", func(ctx context.Context, _ struct{}) (string, error) {
		inTool = ctx.Value(parent{})
		return "acted", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	host, err := settle.Open(t.Context(), settle.Config{Observer: l.observer()})
	if err != nil {
		t.Fatal(err)
	}
	m := script.New(script.Call("act", "{}"), script.Text("done"))
	s, err := host.Session(t.Context(), "s", settle.SessionConfig{
		Model: model.Config{
			Provider: peeking{m, func(ctx context.Context) { inProvider = ctx.Value(parent{}) }},
			Name:     "m",
		},
		Tools: []tool.Tool{act}, Permission: settle.Allow,
	})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.Submit(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := host.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if inTool != "t000001 a000001 i000001" || inProvider != "t000001 a000002 " {
		t.Errorf("the tool saw %v, the provider %v", inTool, inProvider)
	}
	if l.seen != 4 || len(l.open) > 0 {
		t.Errorf("%d ended, %v are open", l.seen, l.open)
	}
	var first []event.Kind // of the call, and of the text; once for each
	for _, e := range l.outputs {
		first = append(first, e.Kind())
	}
	if want := []event.Kind{"item.started", "item.delta"}; !slices.Equal(first, want) {
		t.Errorf("the first outputs are %v, want %v", first, want)
	}
}

// peeking shows the contexts of a provider's requests.
type peeking struct {
	*script.Model
	peek func(context.Context)
}

// Stream implements [model.Provider].
func (p peeking) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	p.peek(ctx)
	return p.Model.Stream(ctx, r)
}

// An observer that panics or blocks does not keep a turn from ending.
func TestObserversThatMisbehave(t *testing.T) {
	hook := func(context.Context, event.Event) (context.Context, func(event.Event)) {
		return context.Background(), func(event.Event) { panic("in the end") }
	}
	for name, o := range map[string]settle.Observer{
		"other contexts, and panics in ends": {Turn: hook, Attempt: hook},
		"panics at the output":               {Output: func(context.Context, event.Event, event.Event) { panic("at the output") }},
		"panics":                             {Turn: func(context.Context, event.Event) (context.Context, func(event.Event)) { panic("at the start") }},
		"nothing": {
			Turn:    func(context.Context, event.Event) (context.Context, func(event.Event)) { return nil, nil },
			Attempt: func(context.Context, event.Event) (context.Context, func(event.Event)) { return nil, nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host, err := settle.Open(t.Context(), settle.Config{Observer: o})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = host.Close(context.Background()) }()
				s, err := host.Session(
					t.Context(),
					"s",
					settle.SessionConfig{
						Model: model.Config{
							Provider: script.New(script.Turn(script.Text("well"), script.Stall())),
							Name:     "m",
						},
					},
				)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Submit(t.Context(), "go"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				begin := time.Now()
				o, err := s.Interrupt(t.Context(), settle.Interruption{By: "user"})
				if err != nil || o.Cause.Reason != event.Interrupted || time.Since(begin) > time.Second { // C9
					t.Errorf("%+v, %v, after %v", o.Cause, err, time.Since(begin))
				}
			})
		})
	}
}
