package turn_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// worker calls a tool in every response until it has made enough calls. It counts tokens as
// settle does, and refuses requests that exceed its window.
type worker struct {
	window, calls int
	text          string              // the text of each response besides its call
	digest        func(n int) []any   // its summary; nil for a good one
	usage         func(input int) int // the input usage that it reports

	requests []model.Request
	made     int // calls
	digests  int
}

func length(r model.Request) int {
	n := len(r.System)
	for _, i := range r.Input {
		n += len(i.Text) + len(i.Arguments) + 24
	}
	return n / 3
}

func (w *worker) Stream(_ context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		w.requests = append(w.requests, r)
		input := length(r)
		if w.window > 0 && input > w.window {
			err := model.NewError(model.ErrContext, "prompt is too long: %d tokens > %d maximum", input, w.window)
			err.Status = 400
			yield(model.Chunk{}, err)
			return
		}
		if w.usage != nil {
			input = w.usage(input)
		}
		say := func(text string) bool {
			return yield(model.Chunk{Kind: model.ItemStart, Role: model.Assistant, Index: 0}, nil) &&
				yield(model.Chunk{Kind: model.Delta, Role: model.Assistant, Text: text}, nil) &&
				yield(model.Chunk{Kind: model.ItemEnd, Role: model.Assistant}, nil)
		}
		stop := model.StopEndTurn
		switch {
		case !yield(model.Chunk{Kind: model.Start, ID: "r"}, nil):
			return
		case r.NoCalls:
			w.digests++
			if w.digest == nil {
				if !say(fmt.Sprintf("## Goal\nsummary %d\n", w.digests)) {
					return
				}
				break
			}
			for _, x := range w.digest(w.digests) {
				switch x := x.(type) {
				case string:
					if !say(x) {
						return
					}
				case error:
					yield(model.Chunk{}, x)
					return
				case model.StopReason:
					stop = x
				}
			}
		case w.made < w.calls:
			w.made++
			stop = model.StopToolUse
			if !say(w.text+fmt.Sprintf("step %d", w.made)) ||
				!yield(model.Chunk{Kind: model.ItemStart, Role: model.Call, Index: 1, CallID: fmt.Sprintf("c%d", w.made), Name: "big"}, nil) ||
				!yield(model.Chunk{Kind: model.Delta, Role: model.Call, Index: 1, Text: fmt.Sprintf(`{"command":"make %d"}`, w.made)}, nil) ||
				!yield(model.Chunk{Kind: model.ItemEnd, Role: model.Call, Index: 1, CallID: fmt.Sprintf("c%d", w.made), Name: "big"}, nil) {
				return
			}
		default:
			if !say("done") {
				return
			}
		}
		yield(model.Chunk{Kind: model.End, Stop: stop, Usage: &model.Usage{Input: int64(input), Output: 100}}, nil)
	}
}

const workerWindow = 40_000

// newWorkBench is a bench with the worker and a tool whose output has the given size in bytes.
func newWorkBench(t *testing.T, w *worker, window, bytes int) *bench {
	t.Helper()
	b := newBenchOn(t, journal.NewMemory("s"), script.New(), fn{"big", func(_ context.Context, c tool.Call) (tool.Result, error) {
		return tool.Result{Output: strings.Repeat("0123456789abcde\n", bytes/16) + string(c.Args), ExitCode: new(0)}, nil
	}})
	b.config.Model = model.Config{Provider: w, ProviderName: "worker", Name: "m", Traits: model.Traits{Window: window, MaxOutput: 4000}}
	b.config.Compaction = turn.CompactionAuto
	return b
}

func (b *bench) compactions() (out []event.HistoryChanged) {
	for _, t := range b.state().Turns {
		for _, c := range t.Changes {
			if c.Change == event.ChangeCompacted {
				out = append(out, c.HistoryChanged)
			}
		}
	}
	return out
}

// check checks the log and the requests against the contract.
func (b *bench) check(w *worker) {
	b.t.Helper()
	events := b.events()
	if err := contract.Check(events); err != nil {
		b.t.Error(err)
	}
	var sent []contract.Request
	n := 0
	for _, e := range events {
		if _, ok := e.Data.(event.AttemptStarted); ok && n < len(w.requests) {
			r := contract.Request{Attempt: e.Attempt + e.Turn, Basis: w.requests[n].System}
			for _, i := range w.requests[n].Input {
				r.Items = append(r.Items, fmt.Sprintf("%+v", i))
			}
			sent = append(sent, r)
			n++
		}
	}
	for k := range events { // ids of attempts are unique within a turn
		if events[k].Attempt != "" {
			events[k].Attempt += events[k].Turn
		}
	}
	if err := contract.CheckRequests(events, sent); err != nil {
		b.t.Error(err)
	}
	for n, r := range w.requests {
		called := map[string]bool{}
		for _, i := range r.Input {
			switch {
			case i.Role == model.Call:
				called[i.CallID] = true
			case i.Role == model.Output && !called[i.CallID]:
				b.t.Errorf("request %d has the output of %s without its call", n, i.CallID)
			case i.Role == model.Output:
				delete(called, i.CallID)
			}
		}
		if len(called) > 0 {
			b.t.Errorf("request %d has calls without outputs: %v", n, called)
		}
	}
}

func texts(r model.Request) string {
	var b strings.Builder
	for _, i := range r.Input {
		b.WriteString(i.Text + "\n")
	}
	return b.String()
}

func TestCompactionKeepsTurnGoing(t *testing.T) {
	for _, mode := range []turn.Compaction{turn.CompactionMechanical, turn.CompactionAuto} {
		t.Run(string(mode), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := &worker{window: workerWindow, calls: 60}
				b := newWorkBench(t, w, workerWindow, 9_000)
				b.config.Compaction = mode
				if c := b.run(t.Context()); c.Outcome != event.Completed {
					t.Fatalf("the turn ended with %v", c)
				}
				list := b.compactions()
				if len(list) < 3 {
					t.Fatalf("60 steps of 3,000 tokens in a window of 40,000 took %d compactions", len(list))
				}
				if (mode == turn.CompactionAuto) != (w.digests == len(list)) {
					t.Errorf("%d summaries for %d compactions", w.digests, len(list))
				}
				for n, c := range list {
					if c.Trigger != event.TriggerFull || c.From == nil || c.Tokens >= c.Before || (c.Summary != "") != (mode == turn.CompactionAuto) {
						t.Errorf("compaction %d: %+v", n, c)
					}
				}
				last := texts(w.requests[len(w.requests)-1])
				for _, part := range []string{"go\n", "exit 0: make 5", "step 60"} {
					if !strings.Contains(last, part) {
						t.Errorf("the last request lacks %q:\n%.3000s", part, last)
					}
				}
				if mode == turn.CompactionAuto && !strings.Contains(last, fmt.Sprintf("summary %d", w.digests)) {
					t.Error("the last request lacks the last summary")
				}
				b.check(w)
				if c := b.run(t.Context()); c.Outcome != event.Completed { // the conversation continues
					t.Error(c)
				}
				b.check(w)
			})
		})
	}
}

// The digest and the recent history replace the history without a summary.
func TestSummaryThatCannotBeUsed(t *testing.T) {
	refused := model.NewError(model.ErrInvalid, "tool_choice is not supported")
	refused.Status = 400
	down := model.NewError(model.ErrServer, "down")
	down.Status = 500
	for name, tc := range map[string]struct {
		digest   []any
		attempts int
	}{
		"empty":     {nil, 2},
		"oversized": {[]any{strings.Repeat("word ", 20_000)}, 2},
		"cut":       {[]any{"## Goal", model.StopMaxTokens}, 2},
		"refused":   {[]any{refused}, 1},
		"down":      {[]any{down}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := &worker{window: workerWindow, calls: 14, digest: func(int) []any { return tc.digest }}
				b := newWorkBench(t, w, workerWindow, 9_000)
				if c := b.run(t.Context()); c.Outcome != event.Completed {
					t.Fatalf("the turn ended with %v", c)
				}
				if list := b.compactions(); len(list) != 1 || list[0].Summary != "" || list[0].Digest == "" {
					t.Errorf("the compactions: %+v", list)
				}
				if w.digests != tc.attempts {
					t.Errorf("it was asked %d times, want %d", w.digests, tc.attempts)
				}
				b.check(w)
			})
		})
	}
}

// A provider that always reports a full window ends the turn with a limit, without a loop.
func TestAlwaysFull(t *testing.T) {
	for _, bytes := range []int{90, 9_000, 60_000} {
		inBubble(t, func(t *testing.T) {
			w := &worker{calls: 1000, usage: func(int) int { return workerWindow }}
			b := newWorkBench(t, w, workerWindow, bytes)
			c := b.run(t.Context())
			if c.Reason != event.LimitReached || c.Limit != event.LimitContext || !strings.Contains(c.Message, "the instructions and the tools take") {
				t.Fatalf("%d bytes: the turn ended with %v", bytes, c)
			}
			if len(w.requests) > 12 {
				t.Errorf("%d bytes: it took %d requests", bytes, len(w.requests))
			}
			b.check(w)
		})
	}
}

// A history of ten windows is compacted in pieces, and the session continues.
func TestTenWindows(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := &worker{calls: 140}
		b := newWorkBench(t, w, 0, 9_000) // the window is not known, and large
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Fatalf("the turn ended with %v", c)
		}
		if n := length(w.requests[len(w.requests)-1]); n < 10*workerWindow {
			t.Fatalf("the history has %d tokens", n)
		}
		small := &worker{window: workerWindow}
		b.config.Model.Provider, b.config.Model.Traits.Window = small, workerWindow
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Fatalf("the next turn ended with %v", c)
		}
		list := b.compactions()
		if len(list) < 8 || list[len(list)-1].Piece || !list[0].Piece {
			t.Errorf("%d compactions, the last a piece: %v", len(list), list[len(list)-1].Piece)
		}
		for _, r := range small.requests {
			if n := length(r); n > workerWindow {
				t.Errorf("a request has %d tokens", n)
			}
		}
		if err := contract.Check(b.events()); err != nil {
			t.Error(err)
		}
	})
}

// The window is unknown until the provider refuses a request.
func TestOverflowIsCompacted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := &worker{window: workerWindow, calls: 30}
		b := newWorkBench(t, w, 0, 9_000)
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Fatalf("the turn ended with %v", c)
		}
		if list := b.compactions(); len(list) == 0 || list[0].Trigger != event.TriggerOverflow {
			t.Errorf("the compactions: %+v", list)
		}
		b.check(w)
	})
}

// C9, C13: the turn ends at once, and nothing is compacted.
func TestInterruptedSummary(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		w := &worker{window: workerWindow, calls: 14, digest: func(int) []any {
			cancel(event.Abort(event.Interrupted, "user"))
			return []any{"## Goal"}
		}}
		b := newWorkBench(t, w, workerWindow, 9_000)
		if c := b.run(ctx); c.Reason != event.Interrupted {
			t.Fatalf("the turn ended with %v", c)
		}
		if list := b.compactions(); len(list) != 0 {
			t.Errorf("it was compacted: %+v", list)
		}
		w.digest = nil
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Errorf("the next turn: %v", c)
		}
		if len(b.compactions()) == 0 {
			t.Error("the next turn did not compact")
		}
		b.check(w)
	})
}

// The compaction is a turn of its own without inputs.
func TestCompactionOnRequest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := &worker{window: workerWindow, calls: 8}
		b := newWorkBench(t, w, workerWindow, 9_000)
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Fatalf("the turn ended with %v", c)
		}
		compact := func() {
			t.Helper()
			var id string
			if err := b.log.Update(func(s event.State) []event.Event {
				id = s.NextTurn()
				return []event.Event{{Turn: id, By: "user", Data: event.TurnStarted{Purpose: event.Compaction}}}
			}); err != nil {
				t.Fatal(err)
			}
			if c, err := turn.Run(t.Context(), &b.config, id); err != nil || c.Outcome != event.Completed {
				t.Fatal(c, err)
			}
		}
		compact()
		if list := b.compactions(); len(list) != 1 || list[0].Trigger != event.TriggerRequest || list[0].Summary == "" || !strings.Contains(list[0].Digest, "] go\n") {
			t.Fatalf("the compactions: %+v", list)
		}
		compact() // nothing is left to compact
		if n := len(b.compactions()); n > 2 {
			t.Errorf("%d compactions", n)
		}
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Error(c)
		}
		b.check(w)
	})
}
