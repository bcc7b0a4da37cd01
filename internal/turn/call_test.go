package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// Some servers number call ids in each response from one, and repeat the ids of a failed
// attempt.
func TestAnIDIsUsedAgainInALaterResponse(t *testing.T) {
	reset := script.Fail(model.NewError(model.ErrConnection, "reset"))
	cases := map[string][]script.Step{
		"next step": {
			script.CallID("call_0", "a", `{}`),
			script.CallID("call_0", "a", `{"n":2}`),
			script.Text("ok"),
		},
		"after a kept call": {
			script.Turn(script.CallID("call_0", "a", `{}`), script.Delay(time.Second), reset),
			script.CallID("call_0", "a", `{"n":2}`),
			script.Text("ok"),
		},
		"after a lost call": {
			script.Turn(script.CallID("call_0", "slow", `{}`), reset),
			script.CallID("call_0", "a", `{}`),
			script.CallID("call_1", "a", `{"n":2}`),
			script.Text("ok"),
		},
		"after a denied call": {
			script.CallID("call_0", "slow", `{}`),
			script.CallID("call_0", "a", `{}`),
			script.CallID("call_1", "a", `{"n":2}`),
			script.Text("ok"),
		},
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBench(t, script.New(steps...), says("a", "A", 0), says("slow", "S", 0))
				b.config.Approver = approver(func(ctx context.Context, x approval.Call) error {
					if x.Tool.Name != "slow" {
						return nil
					}
					select {
					case <-ctx.Done():
						return context.Cause(ctx)
					case <-time.After(time.Minute):
						return &approval.DeniedError{Message: "no"}
					}
				})
				if c := b.run(t.Context()); c.Outcome != event.Completed {
					t.Fatal(c)
				}
				if n := b.last().Summary.Calls; n != 2 {
					t.Errorf("%d calls ran, want 2:\n%s", n, b.items())
				}
			})
		})
	}
}

// The tool returns Aborted although the call was not cancelled.
func TestToolReturnsAbortedByItself(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		quits := fn{"a", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Output: "half", Aborted: true}, nil
		}}
		b := newBench(t, script.New(script.Call("a", `{}`), script.Text("ok")), quits)
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Fatal(c)
		}
		b.want("tool_call failed: half", "message completed: ok")
	})
}

// An approver that ignores its context delays neither the turn nor the call. titled is a tool
// whose title is requested just before the call begins.
type titled struct {
	fn
	title func()
}

func (x titled) Title(json.RawMessage) string {
	x.title()
	return "title"
}

// C5: a call that is cancelled before its start is written does not begin.
func TestCancelledAsItBegins(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ran := false
		calls := &turn.Calls{}
		x := titled{
			fn{"a", func(context.Context, tool.Call) (tool.Result, error) {
				ran = true
				return tool.Result{Output: "A"}, nil
			}},
			func() { calls.Cancel("i000001", event.Abort(event.Interrupted, "user")) },
		}
		b := newBench(t, script.New(script.Call("a", `{}`), script.Text("ok")), x)
		b.config.Calls = calls
		b.run(t.Context())
		b.want("tool_call aborted none", "message completed: ok")
		if ran {
			t.Error("it ran")
		}
	})
}

// The output of a tool that ends within the margin is kept.
func TestACallReportsWithinItsMargin(t *testing.T) {
	for after, want := range map[time.Duration]string{
		400 * time.Millisecond: "tool_call aborted partial: all that it did",
		500 * time.Millisecond: "tool_call aborted unknown",
	} {
		inBubble(t, func(t *testing.T) {
			slow := fn{"a", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				<-ctx.Done()
				<-time.After(after)
				return tool.Result{Aborted: true, Output: "all that it did"}, nil
			}}
			b := newBench(t, script.New(script.Call("a", `{}`), script.Text("ok")), slow)
			b.config.Calls = &turn.Calls{}
			time.AfterFunc(
				time.Second,
				func() { b.config.Calls.Cancel("i000001", event.Abort(event.Interrupted, "user")) },
			)
			b.run(t.Context())
			b.want(want, "message completed: ok")
		})
	}
}

func TestApproverIgnoringContextDelaysNothing(t *testing.T) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	setUp := func(t *testing.T) *bench {
		t.Helper()
		b := newBench(t, script.New(script.Call("a", `{}`), script.Text("ok")), says("a", "A", 0))
		b.config.Calls = &turn.Calls{}
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		b.config.Approver = approver(func(context.Context, approval.Call) error { <-release; return nil })
		return b
	}
	t.Run("turn", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			b := setUp(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			begin := time.Now()
			time.AfterFunc(time.Second, func() { cancel(event.Abort(event.Interrupted, "user")) })
			if c := b.run(ctx); c.Reason != event.Interrupted {
				t.Error(c)
			}
			if took := b.last().EndedAt.Sub(begin) - time.Second; took > 500*time.Millisecond { // C9
				t.Errorf("ended %v after the interrupt", took)
			}
			b.want("tool_call aborted none")
		})
	})
	t.Run("call", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			b := setUp(t)
			time.AfterFunc(
				time.Second,
				func() { b.config.Calls.Cancel("i000001", event.Abort(event.Interrupted, "user")) },
			)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if c := b.run(ctx); c.Outcome != event.Completed {
				t.Error(c)
			}
			b.want("tool_call aborted none", "message completed: ok")
		})
	})
}

// Also if the progress arrives in one piece.
func TestProgressIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		loud := fn{"a", func(_ context.Context, c tool.Call) (tool.Result, error) {
			for range 3 {
				c.Progress(strings.Repeat("é", 300<<10))
			}
			return tool.Result{Output: "A"}, nil
		}}
		b := newBench(t, script.New(script.Call("a", `{}`), script.Text("ok")), loud)
		b.run(t.Context())
		said := 0
		for _, e := range b.events() {
			if d, ok := e.Data.(event.ItemDelta); ok && d.Stream == event.Output {
				said += len(d.Text)
				if strings.ContainsRune(d.Text, '\uFFFD') {
					t.Error("a character was cut")
				}
			}
		}
		if said == 0 || said > 256<<10 {
			t.Errorf("%d bytes of output are in the log", said)
		}
	})
}

// 1,400 pieces of 200 characters, as a server's progress arrives: from a goroutine that is not
// the tool's.
func TestProgressInManyPiecesIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		chatty := fn{"a", func(_ context.Context, c tool.Call) (tool.Result, error) {
			var server sync.WaitGroup
			server.Go(func() {
				for range 1400 {
					c.Progress(strings.Repeat("x", 199) + "\n")
				}
			})
			server.Wait()
			return tool.Result{Output: "A"}, nil
		}}
		b := newBench(t, script.New(script.Call("a", `{}`), script.Text("ok")), chatty)
		b.run(t.Context())
		b.want("tool_call completed: A", "message completed: ok")
		shown := 0
		for _, e := range b.events() {
			if d, ok := e.Data.(event.ItemDelta); ok && d.Stream == event.Output {
				shown += len(d.Text)
			}
		}
		if shown < 256<<10-200 || shown > 256<<10 {
			t.Errorf("%d bytes of output are in the log", shown)
		}
	})
}

// A notice for people is separate from the call's output, masked as diagnostics and bounded;
// the model does not receive it.
func TestNotice(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		calls := fn{"a", func(_ context.Context, c tool.Call) (tool.Result, error) {
			c.Progress("before")
			c.Notice("the line\nwas cut; api_key=abcdefghijklmnop1234")
			c.Progress("after")
			for range 200 {
				c.Notice("again")
			}
			return tool.Result{Output: "A"}, nil
		}}
		b := newBench(t, script.New(script.Call("a", `{}`), script.Text("ok")), calls)
		b.run(t.Context())
		var notices []string
		output := ""
		for _, e := range b.events() {
			switch d := e.Data.(type) {
			case event.ItemDelta:
				if d.Notice {
					notices = append(notices, d.Text)
				} else if d.Stream == event.Output {
					output += d.Text
				}
			case event.ItemEnded:
				if d.Type == event.ToolCall && d.Output != "A" {
					t.Errorf("the model is told %q", d.Output)
				}
			}
		}
		if output != "beforeafter" || len(notices) != 100 {
			t.Errorf("output %q, and %d notices", output, len(notices))
		}
		if first := notices[0]; !strings.HasPrefix(first, "\n[the line was cut; ") ||
			!strings.HasSuffix(first, "]\n") ||
			strings.Contains(first, "abcdefgh") {
			t.Errorf("got %q", first)
		}
	})
}

// The first cause counts, for any schedule of the goroutines.
func TestTheJournalFailsAfterTheInterrupt(t *testing.T) {
	for range 50 {
		inBubble(t, func(t *testing.T) {
			store := &breakable{}
			b := newBenchOn(
				t,
				journal.New(store, event.State{Session: "s"}),
				script.New(script.Turn(script.Text("x"), script.Stall())),
			)
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() {
				store.broken.Store(true)
				_ = b.log.Update(func(s event.State) []event.Event {
					cancel(event.Abort(event.Interrupted, "user"))
					return []event.Event{{Data: event.InputAccepted{Input: s.NextInput(), Text: "lost"}}}
				})
			})
			cause, err := turn.Run(ctx, &b.config, b.start())
			if !errors.Is(err, errFull) || cause.Reason != event.Interrupted {
				t.Errorf("cause %v, err %v", cause, err)
			}
			if c := b.last().Cause; c == nil || c.Reason != event.Interrupted {
				t.Errorf("the log says %v", c)
			}
		})
	}
}

// Sending the same request again would not help.
func TestARefusalWithinACallIsNoTruncation(t *testing.T) {
	for _, stop := range []model.StopReason{model.StopRefusal, model.StopFilter} {
		inBubble(t, func(t *testing.T) {
			m := script.New(script.Turn(script.Unfinished("a", `{"x`), script.Stop(stop)))
			b := newBench(t, m, says("a", "A", 0))
			c := b.run(t.Context())
			if n := len(m.Requests()); n != 1 || c.Failure == nil || c.Failure.Kind != string(model.ErrPolicy) {
				t.Errorf("%s: %d requests, %v", stop, n, c)
			}
			b.want("tool_call aborted none")
		})
	}
}

// A provider that always pauses its response does not keep a turn running (C9).
func TestPausesAreBounded(t *testing.T) {
	for pauses, want := range map[int]event.Outcome{20: event.Completed, 21: event.Failed} {
		inBubble(t, func(t *testing.T) {
			steps := slices.Repeat([]script.Step{script.Turn(script.Text("…"), script.Stop(model.StopPause))}, pauses)
			b := newBench(t, script.New(append(steps, script.Text("done"))...), says("a", "A", 0))
			if c := b.run(t.Context()); c.Outcome != want {
				t.Errorf("after %d pauses: %v, want %s", pauses, c, want)
			}
		})
	}
}

var errFull = errors.New("no space left on device")

// breakable is a store that works until the test breaks it.
type breakable struct{ broken atomic.Bool }

func (s *breakable) Append([]event.Event, journal.Sync) error {
	if s.broken.Load() {
		return errFull
	}
	return nil
}

func (s *breakable) Read(context.Context, uint64) iter.Seq2[event.Event, error] {
	return func(func(event.Event, error) bool) {}
}

func (s *breakable) Close() error { return nil }
