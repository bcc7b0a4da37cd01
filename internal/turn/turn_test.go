package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/run"
	"github.com/settle-agent/settle/tool"
)

// bench is one turn in a log in memory, under virtual time.
type bench struct {
	t      *testing.T
	log    *journal.Log
	config turn.Config
	model  *script.Model
}

// inBubble runs f in a bubble of virtual time.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func newBench(t *testing.T, m *script.Model, tools ...tool.Tool) *bench {
	t.Helper()
	return newBenchOn(t, journal.NewMemory("s"), m, tools...)
}

func newBenchOn(t *testing.T, log *journal.Log, m *script.Model, tools ...tool.Tool) *bench {
	t.Helper()
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, log: log, model: m}
	b.config = turn.Config{
		Execution: turn.Execution{Tools: set, Dir: "/work"},
		Requests:  turn.Requests{System: "You are a test.", Model: model.Config{Provider: m, ProviderName: "script", Name: "m"}},
		Log:       b.log,
	}
	b.update(event.SessionOpened{Dir: "/work"})
	t.Cleanup(func() {
		if err := b.log.Close(context.Background()); err != nil && b.log.Err() == nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) update(data event.Data) {
	b.t.Helper()
	if err := b.log.Update(func(event.State) []event.Event { return []event.Event{{Data: data}} }); err != nil {
		b.t.Fatal(err)
	}
}

// start accepts an input and starts its turn.
func (b *bench) start() string {
	b.t.Helper()
	var id string
	if err := b.log.Update(func(s event.State) []event.Event {
		id = s.NextTurn()
		in := s.NextInput()
		return []event.Event{
			{By: "user", Data: event.InputAccepted{Input: in, Text: "go"}},
			{Turn: id, Data: event.TurnStarted{Inputs: []string{in}}},
		}
	}); err != nil {
		b.t.Fatal(err)
	}
	return id
}

// run runs a turn to its end.
func (b *bench) run(ctx context.Context) *event.Cause {
	b.t.Helper()
	cause, err := turn.Run(ctx, &b.config, b.start())
	if err != nil {
		b.t.Errorf("beside the turn: %v", err)
	}
	return cause
}

func (b *bench) state() (state event.State) {
	b.log.View(func(s event.State) { state = s.Clone() })
	return state
}

func (b *bench) last() *event.Turn {
	s := b.state()
	return s.Turns[len(s.Turns)-1]
}

// items returns the turn's items in short: type, status, text or output.
func (b *bench) items() string {
	var out []string
	for _, i := range b.last().Items {
		c := i.Content()
		s := fmt.Sprintf("%s %s", c.Type, i.Status)
		if i.Effects != "" {
			s += " " + string(i.Effects)
		}
		if i.Discarded {
			s += " discarded"
		}
		if text := c.Text + c.Output; text != "" {
			s += ": " + text
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

func (b *bench) want(items ...string) {
	b.t.Helper()
	if got := b.items(); got != strings.Join(items, "\n") {
		b.t.Errorf("items:\n%s\nwant:\n%s", got, strings.Join(items, "\n"))
	}
}

// fn is a tool that is a function.
type fn struct {
	name string
	run  func(ctx context.Context, call tool.Call) (tool.Result, error)
}

func (f fn) Spec() tool.Spec {
	return tool.Spec{Name: f.name, Description: f.name, Schema: json.RawMessage(`{"type":"object"}`)}
}

func (f fn) Run(ctx context.Context, call tool.Call) (tool.Result, error) { return f.run(ctx, call) }

// says is a tool that takes d and returns text, and stops when it is cancelled.
func says(name, text string, d time.Duration) fn {
	return fn{name, func(ctx context.Context, call tool.Call) (tool.Result, error) {
		call.Progress("starting ")
		select {
		case <-time.After(d):
			return tool.Result{Output: text}, nil
		case <-ctx.Done():
			return tool.Result{Aborted: true}, nil
		}
	}}
}

// deaf is a tool that ignores its context until the test's end.
func deaf(t *testing.T, name string) fn {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return fn{name, func(_ context.Context, call tool.Call) (tool.Result, error) {
		call.Progress("hanging")
		<-over
		return tool.Result{Output: "too late"}, nil
	}}
}

func TestATurnCompletes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := script.New(
			script.Turn(script.Reasoning("hm"), script.Text("I ", "look."), script.Call("a", `{"x":`, `1}`), script.Call("b", `{}`)),
			script.Text("Done."),
		)
		b := newBench(t, m, says("a", "A", 3*time.Second), says("b", "B", 2*time.Second))
		begin := time.Now()
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Fatal(c)
		}
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("took %v: the calls did not run side by side", took)
		}
		b.want("reasoning completed: hm", "message completed: I look.", "tool_call completed: A", "tool_call completed: B", "message completed: Done.")
		second := m.Requests()[1].Input
		if n := len(second); n < 4 || second[n-2].Text != "A" || second[n-1].Text != "B" {
			t.Errorf("the second request does not end with the outputs in the order of the calls: %+v", second)
		}
	})
}

// idless is a call without an id.
var idless = script.Turn(
	script.Chunk(model.Chunk{Kind: model.ItemStart, Role: model.Call, Index: 9, Name: "a"}),
	script.Chunk(model.Chunk{Kind: model.Delta, Index: 9, Text: "{}"}),
	script.Chunk(model.Chunk{Kind: model.ItemEnd, Index: 9}),
)

func TestABadCallBecomesItsOwnOutput(t *testing.T) {
	cases := map[string]struct {
		call script.Step
		want string
	}{
		"unknown tool":    {script.Call("nope", `{}`), "nope"},
		"broken JSON":     {script.Call("a", `{"x":`), "JSON"},
		"not an object":   {script.Call("a", `[1]`), "object"},
		"empty id":        {idless, "no id"},
		"trailing rubble": {script.Call("a", `{} {}`), "a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBench(t, script.New(tc.call, script.Text("ok")), says("a", "A", 0))
				if c := b.run(t.Context()); c.Outcome != event.Completed {
					t.Fatal(c)
				}
				i := b.last().Items[0]
				if i.Status != event.ItemFailed || i.Started || !strings.Contains(i.Content().Output, tc.want) {
					t.Errorf("started %v, %s", i.Started, b.items())
				}
			})
		})
	}
}

func TestADuplicateCallIDDoesNotRunTwice(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ran := 0
		count := fn{"a", func(context.Context, tool.Call) (tool.Result, error) { ran++; return tool.Result{Output: "A"}, nil }}
		b := newBench(t, script.New(script.Turn(script.CallID("x", "a", `{}`), script.CallID("x", "a", `{}`)), script.Text("ok")), count)
		if c := b.run(t.Context()); c.Outcome != event.Completed || ran != 1 {
			t.Errorf("%v, ran %d times\n%s", c, ran, b.items())
		}
	})
}

// TestInterrupt interrupts after a second, in every kind of wait.
func TestInterrupt(t *testing.T) {
	cases := map[string]struct {
		model func(t *testing.T) *script.Model
		tools func(t *testing.T) []tool.Tool
		most  time.Duration
		want  []string
	}{
		"before the headers": {
			model: func(*testing.T) *script.Model { return script.New(script.Turn(script.Stall())) },
		},
		"in the middle of text": {
			model: func(*testing.T) *script.Model { return script.New(script.Turn(script.Text("half"), script.Stall())) },
			want:  []string{"message completed: half"},
		},
		"in a stream that cannot be cut": {
			model: func(t *testing.T) *script.Model {
				over := make(chan struct{})
				t.Cleanup(func() { close(over) })
				return script.New(script.Turn(script.Text("half"), script.Deaf(over)))
			},
			want: []string{"message completed: half"},
		},
		"in a call's arguments": {
			model: func(*testing.T) *script.Model {
				return script.New(script.Turn(script.Unfinished("a", `{"x`), script.Stall()))
			},
			tools: func(*testing.T) []tool.Tool { return []tool.Tool{says("a", "A", 0)} },
			want:  []string{"tool_call aborted none"},
		},
		"in a tool": {
			model: func(*testing.T) *script.Model { return script.New(script.Turn(script.Call("a", `{}`))) },
			tools: func(*testing.T) []tool.Tool { return []tool.Tool{says("a", "A", time.Hour)} },
			want:  []string{"tool_call aborted partial: starting "},
		},
		"in a tool that ignores it": {
			model: func(*testing.T) *script.Model {
				return script.New(script.Turn(script.Call("a", `{}`), script.Call("b", `{}`)))
			},
			tools: func(t *testing.T) []tool.Tool { return []tool.Tool{deaf(t, "a"), says("b", "B", 0)} },
			most:  500 * time.Millisecond,
			want:  []string{"tool_call aborted unknown: hanging", "tool_call completed: B"},
		},
		"in a backoff": {
			model: func(*testing.T) *script.Model {
				e := model.NewError(model.ErrOverloaded, "busy")
				e.RetryAfter = time.Minute
				return script.New(script.Fail(e))
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var tools []tool.Tool
				if tc.tools != nil {
					tools = tc.tools(t)
				}
				b := newBench(t, tc.model(t), tools...)
				ctx, cancel := context.WithCancelCause(t.Context())
				begin := time.Now()
				time.AfterFunc(time.Second, func() { cancel(event.Abort(event.Interrupted, "user")) })
				c := b.run(ctx)
				if c.Outcome != event.Aborted || c.Reason != event.Interrupted || c.By != "user" {
					t.Errorf("cause %+v", c)
				}
				turn := b.last()
				if took := turn.EndedAt.Sub(begin) - time.Second; took > tc.most {
					t.Errorf("ended %v after the interrupt, want at most %v", took, tc.most)
				}
				if turn.Cause == nil {
					t.Error("the turn has not ended")
				}
				b.want(tc.want...)
			})
		})
	}
}

func TestAFailedAttemptKeepsItsStartedCalls(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ran := 0
		count := fn{"a", func(context.Context, tool.Call) (tool.Result, error) {
			ran++
			time.Sleep(5 * time.Second) // outlives the attempt
			return tool.Result{Output: "A"}, nil
		}}
		m := script.New(
			script.Turn(script.Text("one"), script.Call("a", `{}`), script.Text("lost"), script.Delay(time.Second), script.Fail(model.NewError(model.ErrConnection, "reset"))),
			script.Text("two"),
		)
		b := newBench(t, m, count)
		if c := b.run(t.Context()); c.Outcome != event.Completed || ran != 1 {
			t.Errorf("%v, ran %d times", c, ran)
		}
		b.want("message completed: one", "tool_call completed: A", "message completed discarded: lost", "message completed: two")
		var roles []string
		for _, i := range m.Requests()[1].Input {
			roles = append(roles, string(i.Role))
		}
		if got := strings.Join(roles, " "); got != "user assistant call output" {
			t.Errorf("the second request holds %s", got)
		}
	})
}

func TestExhaustion(t *testing.T) {
	zero, two := 0, 2
	overload := func(after time.Duration) *model.Error {
		e := model.NewError(model.ErrRateLimit, "slow down")
		e.Status, e.RetryAfter = 429, after
		return e
	}
	cases := map[string]struct {
		err      *model.Error
		retry    run.Retry
		attempts int
		name     string
		duration func(time.Duration) bool
	}{
		"faults":            {model.NewError(model.ErrServer, "boom"), run.Retry{}, 6, event.NameRetryExhausted, between(11*time.Second, 20*time.Second)},
		"no retries":        {model.NewError(model.ErrServer, "boom"), run.Retry{Retries: &zero}, 1, event.NameRetryExhausted, between(0, 0)},
		"two retries":       {overload(-1), run.Retry{Retries: &two}, 3, event.NameRetryExhausted, between(4*time.Second, 12*time.Second)},
		"auth":              {model.NewError(model.ErrAuth, "no"), run.Retry{}, 1, event.NameProvider, between(0, 0)},
		"overload":          {overload(-1), run.Retry{}, 0, event.NameRetryExhausted, between(8*time.Minute, 10*time.Minute+5*time.Second)},
		"asks too much":     {overload(time.Hour), run.Retry{}, 1, event.NameRetryExhausted, between(0, 0)},
		"asks what is left": {overload(4 * time.Minute), run.Retry{}, 3, event.NameRetryExhausted, between(8*time.Minute, 8*time.Minute+10*time.Second)},
		"never ending":      {overload(time.Nanosecond), run.Retry{}, 50, event.NameRetryExhausted, between(0, time.Minute)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBench(t, script.New().Otherwise(script.Fail(tc.err)))
				b.config.Retry = tc.retry
				b.config.Model.Limiter = &model.Limiter{}
				begin := time.Now()
				c := b.run(t.Context())
				if c.Outcome != event.Failed || c.Failure.Name != tc.name {
					t.Errorf("cause %v %+v", c, c.Failure)
				}
				if n := len(b.last().Attempts); tc.attempts > 0 && n != tc.attempts {
					t.Errorf("%d attempts, want %d", n, tc.attempts)
				}
				if took := b.last().EndedAt.Sub(begin); !tc.duration(took) {
					t.Errorf("took %v", took)
				}
				attempts := b.last().Attempts
				for n, a := range attempts {
					if last := n == len(attempts)-1; (a.End.RetryIn == nil) != last || a.End.Failure == nil {
						t.Errorf("attempt %d of %d ended with %+v", n+1, len(attempts), a.End)
					}
				}
			})
		})
	}
}

func between(least, most time.Duration) func(time.Duration) bool {
	return func(d time.Duration) bool { return least <= d && d <= most }
}

func TestStall(t *testing.T) {
	type config struct {
		step    script.Step
		bounds  model.Timeouts
		after   time.Duration // of the first attempt's end
		message string        // time without tokens
	}
	cases := map[string]config{
		"no headers":        {script.Turn(script.Stall()), model.Timeouts{}, 10 * time.Minute, "10 minutes"},
		"silent after text": {script.Turn(script.Text("x"), script.Stall()), model.Timeouts{}, 3 * time.Minute, "3 minutes"},
		"text came late":    {script.Turn(script.Delay(5*time.Minute), script.Text("x"), script.Stall()), model.Timeouts{}, 8 * time.Minute, "3 minutes"},
		"bounded by stall":  {script.Turn(script.Stall()), model.Timeouts{Stall: time.Minute}, time.Minute, "1 minute"},
		"header set too":    {script.Turn(script.Stall()), model.Timeouts{Stall: time.Minute, Header: time.Hour}, time.Hour, "60 minutes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBench(t, script.New(tc.step, script.Text("ok")))
				b.config.Model.Timeouts = tc.bounds
				if c := b.run(t.Context()); c.Outcome != event.Completed {
					t.Fatal(c)
				}
				first := b.last().Attempts[0]
				if f := first.End.Failure; f == nil || f.Kind != string(model.ErrStalled) || !strings.Contains(f.Message, "no tokens received for "+tc.message) {
					t.Errorf("ended with %+v", first.End)
				}
				if took := first.EndedAt.Sub(first.StartedAt); took != tc.after {
					t.Errorf("cut after %v, want %v", took, tc.after)
				}
			})
		})
	}
}

func TestLimits(t *testing.T) {
	again := script.Turn(script.Call("a", `{}`), script.Usage(model.Usage{Input: 20, Output: 5}))
	cases := map[string]struct {
		limits run.Limits
		slow   time.Duration
		want   event.Limit
		calls  int
	}{
		"steps":             {run.Limits{Steps: 2, Repeats: -1}, 0, event.LimitSteps, 2},
		"time":              {run.Limits{Time: 10 * time.Second, Repeats: -1}, 3 * time.Second, event.LimitTime, 4},
		"repeats":           {run.Limits{}, 0, event.LimitRepeats, 10},
		"tokens":            {run.Limits{Tokens: 110, Repeats: -1}, 0, event.LimitTokens, 5},
		"cost":              {run.Limits{Cost: 0.000_2, Repeats: -1}, 0, event.LimitCost, 3},
		"slow is no repeat": {run.Limits{Steps: 20}, 6 * time.Second, event.LimitSteps, 20},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBench(t, script.New().Otherwise(again), says("a", "A", tc.slow))
				b.config.Limits = tc.limits
				b.config.Model.Price = &model.Price{Input: 2, Output: 8} // 80 millionths a response
				c := b.run(t.Context())
				if c.Outcome != event.Aborted || c.Reason != event.LimitReached || c.Limit != tc.want {
					t.Errorf("cause %+v", c)
				}
				if n := b.last().Summary.Calls; n != tc.calls {
					t.Errorf("%d calls, want %d", n, tc.calls)
				}
				notes := 0
				for _, i := range b.last().Items {
					if i.Type() == event.Note {
						notes++
					}
				}
				if (tc.want == event.LimitTokens || tc.want == event.LimitCost || tc.limits.Steps == 20) && !strings.Contains(b.items(), "it is ended at the limit") {
					t.Errorf("the model was told %q", b.items())
				}
				if tc.want == event.LimitRepeats && notes != 2 {
					t.Errorf("the model was told %d times, want 2", notes)
				}
			})
		})
	}
}

// Each call counts by itself: a slow call excuses no other call beside it, and calls of one
// step are not repeats of one another.
func TestRepeatsSideBySide(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		again := script.Turn(script.Call("slow", `{}`), script.Call("a", `{}`), script.Call("a", `{}`))
		b := newBench(t, script.New().Otherwise(again), says("slow", "S", 6*time.Second), says("a", "A", 0))
		b.config.Limits = run.Limits{Repeats: 4}
		if c := b.run(t.Context()); c.Limit != event.LimitRepeats {
			t.Errorf("cause %+v", c)
		}
		if steps := b.last().Summary.Steps; steps != 4 {
			t.Errorf("%d steps, want 4", steps)
		}
	})
}

func TestDefectsBecomeFailures(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		bad := fn{"a", func(context.Context, tool.Call) (tool.Result, error) { panic("oops") }}
		b := newBench(t, script.New(script.Turn(script.Call("a", `{}`)), script.Turn(script.Text("x"), script.Panic("broken"))), bad)
		c := b.run(t.Context())
		if c.Outcome != event.Failed || c.Failure.Name != event.NamePanic || c.Failure.Stack == "" {
			t.Errorf("cause %v", c)
		}
		i := b.last().Items[0]
		if i.Status != event.ItemFailed || !i.Started || !strings.Contains(i.Content().Output, "oops") {
			t.Errorf("%s", b.items())
		}
	})
}

func TestOneCallIsCancelledAlone(t *testing.T) {
	for _, kind := range []string{"obeys", "deaf"} {
		t.Run(kind, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				first := says("a", "A", time.Hour)
				if kind == "deaf" {
					first = deaf(t, "a")
				}
				b := newBench(t, script.New(script.Turn(script.Call("a", `{}`), script.Call("b", `{}`)), script.Text("ok")), first, says("b", "B", 5*time.Second))
				b.config.Calls = &turn.Calls{}
				time.AfterFunc(time.Second, func() {
					if !b.config.Calls.Cancel("i000001", event.Abort(event.Interrupted, "user")) {
						t.Error("the call was not running")
					}
				})
				if c := b.run(t.Context()); c.Outcome != event.Completed {
					t.Fatal(c)
				}
				want := "tool_call aborted partial: starting "
				if kind == "deaf" {
					want = "tool_call aborted unknown: hanging"
				}
				b.want(want, "tool_call completed: B", "message completed: ok")
			})
		})
	}
}

// C2, C18: the calls of a failing turn are cancelled and have stopped before the turn ends.
func TestAFailingTurnCancelsItsCalls(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var cancelled bool
		runs := fn{"a", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			select {
			case <-ctx.Done():
				cancelled = true
			case <-time.After(time.Hour):
			}
			return tool.Result{Aborted: cancelled}, nil
		}}
		refused := script.Fail(model.NewError(model.ErrAuth, "the key was revoked"))
		b := newBench(t, script.New(script.Turn(script.Call("a", `{}`), script.Delay(time.Second), refused)), runs)
		began := time.Now()
		if c := b.run(t.Context()); c.Outcome != event.Failed {
			t.Error(c)
		}
		if took := time.Since(began); !cancelled || took > 2*time.Second {
			t.Errorf("the call was cancelled: %v; the turn took %v", cancelled, took)
		}
		b.want("tool_call aborted partial")
	})
}

func TestTruncation(t *testing.T) {
	for name, step := range map[string]script.Step{
		"nothing":                         script.Turn(script.Headers(), script.Cut()),
		"text":                            script.Turn(script.Text("x"), script.Cut()),
		"within arguments":                script.Turn(script.Unfinished("a", `{"`), script.Cut()),
		"terminal event within arguments": script.Turn(script.Unfinished("a", `{"`)),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBench(t, script.New(step, script.Text("ok")), says("a", "A", 0))
				if c := b.run(t.Context()); c.Outcome != event.Completed {
					t.Fatal(c)
				}
				if f := b.last().Attempts[0].End.Failure; f == nil || f.Kind != string(model.ErrTruncated) {
					t.Errorf("ended with %+v", b.last().Attempts[0].End)
				}
				if n := b.last().Summary.Calls; n != 0 {
					t.Errorf("%d calls ran", n)
				}
			})
		})
	}
}

func TestDenied(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, script.New(script.Turn(script.Call("a", `{}`)), script.Text("ok")), says("a", "A", 0))
		b.config.Approver = approver(func(context.Context, approval.Call) error {
			return &approval.DeniedError{Message: "not today", Policy: "deny"}
		})
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Fatal(c)
		}
		b.want("tool_call failed: not today", "message completed: ok")
		if n := b.last().Summary.Denied; n != 1 {
			t.Errorf("%d denials are counted", n)
		}
	})
}

type approver func(context.Context, approval.Call) error

func (a approver) Approve(ctx context.Context, x approval.Call) (turn.Grant, error) {
	return turn.Grant{}, a(ctx, x)
}

// Nothing more starts, and the turn ends.
func TestJournalFails(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		full := errors.New("no space left on device")
		log := journal.New(&failing{left: 8, err: full}, event.State{Session: "s"})
		ran := false
		b := newBenchOn(t, log, script.New(script.Turn(script.Text("x"), script.Call("a", `{}`))), fn{"a", func(context.Context, tool.Call) (tool.Result, error) {
			ran = true
			return tool.Result{}, nil
		}})
		cause, err := turn.Run(t.Context(), &b.config, b.start())
		if !errors.Is(err, full) || cause.Outcome != event.Failed || cause.Failure.Name != event.NameJournal {
			t.Errorf("cause %v, err %v", cause, err)
		}
		if b.last().Cause == nil {
			t.Error("the turn has not ended")
		}
		if ran {
			t.Error("C5: a call ran whose start was not durable")
		}
	})
}

// failing is a store that accepts a number of events and then fails.
type failing struct {
	left int
	err  error
}

func (f *failing) Append(batch []event.Event, _ journal.Sync) error {
	if f.left -= len(batch); f.left < 0 {
		return f.err
	}
	return nil
}

func (f *failing) Read(context.Context, uint64) iter.Seq2[event.Event, error] {
	return func(func(event.Event, error) bool) {}
}

func (f *failing) Close() error { return nil }

// A response that breaks just after a complete call does not undo the call: it runs once, and
// the next attempt continues with its result.
func TestACallThatWasCompleteIsDone(t *testing.T) {
	for range 50 { // the call races the failure to the log
		inBubble(t, func(t *testing.T) {
			ran := 0
			count := fn{"a", func(context.Context, tool.Call) (tool.Result, error) { ran++; return tool.Result{Output: "A"}, nil }}
			b := newBench(t, script.New(
				script.Turn(script.Call("a", `{}`), script.Fail(model.NewError(model.ErrConnection, "reset"))),
				script.Text("done"),
			), count)
			if c := b.run(t.Context()); c.Outcome != event.Completed || ran != 1 {
				t.Errorf("%v, ran %d times", c, ran)
			}
			b.want("tool_call completed: A", "message completed: done")
		})
	}
}

func TestAHugeOutputIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		huge := fn{"a", func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Result{Output: c.Session + strings.Repeat("ä", 2<<20) + "end"}, nil
		}}
		b := newBench(t, script.New(script.Turn(script.Call("a", `{}`)), script.Text("ok")), huge)
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Fatal(c)
		}
		out := b.last().Items[0].Content().Output
		if len(out) > 600<<10 || !strings.HasPrefix(out, "sä") || !strings.HasSuffix(out, "äend") || !strings.Contains(out, "bytes left out") {
			t.Errorf("%d bytes: %.20q", len(out), out)
		}
	})
}
