package turn_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// late is a store whose first write of text takes a while.
type late struct {
	delay time.Duration
	once  bool
}

func (s *late) Append(batch []event.Event, _ journal.Sync) error {
	for _, e := range batch {
		if e.Kind() == event.KindItemDelta && !s.once {
			s.once = true
			time.Sleep(s.delay)
		}
	}
	return nil
}

func (s *late) Read(context.Context, uint64) iter.Seq2[event.Event, error] {
	return func(func(event.Event, error) bool) {}
}

func (s *late) Close() error { return nil }

// C12: data that the provider sent in time counts, even if it is read late.
func TestSlowDiskIsNoStall(t *testing.T) {
	flood := strings.Repeat("x", 900<<10) // so that the end of its item waits for the disk
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			log := journal.New(&late{delay: 50 * time.Second}, event.State{Session: "s"})
			m := script.New(script.Turn(script.Text("a", flood), script.Text("b", "c")))
			b := newBenchOn(t, log, m)
			b.config.Model.Timeouts = model.Timeouts{Stall: 10 * time.Second}
			if c := b.run(t.Context()); c.Outcome != event.Completed || len(m.Requests()) != 1 {
				t.Errorf("%v after %d requests", c, len(m.Requests()))
			}
		})
	}
}

// Which chunks are progress, and which only keep the connection alive (C12).
func TestProgress(t *testing.T) {
	pings := func(n int) script.Step {
		return script.Repeat(n, script.Turn(script.Delay(time.Minute), script.Ping()))
	}
	thought := script.Turn(
		script.Chunk(model.Chunk{Kind: model.ItemStart, Role: model.Reasoning, Index: 7}),
		script.Chunk(model.Chunk{Kind: model.Delta, Index: 7, Text: "hm"}),
	)
	cases := map[string]struct {
		step  script.Step
		after time.Duration
	}{
		"pings before the first progress": {script.Turn(script.Headers(), pings(60)), 15 * time.Minute},
		"pings within a thought":          {script.Turn(thought, pings(60)), 15 * time.Minute},
		"pings within text":               {script.Turn(script.Unfinished("a", `{"x":`), pings(60)), 3 * time.Minute},
		"pings after a whole message":     {script.Turn(script.Text("x"), pings(60)), 15 * time.Minute},
		"a thought that moves on": {
			script.Turn(
				thought,
				pings(10),
				script.Chunk(model.Chunk{Kind: model.Delta, Index: 7, Text: "!"}),
				pings(60),
			),
			25 * time.Minute,
		},
		"empty deltas": {
			script.Turn(
				script.Unfinished("a", "{"),
				script.Repeat(
					60, script.Turn(script.Delay(time.Minute), script.Chunk(model.Chunk{Kind: model.Delta, Index: 0})),
				),
			),
			3 * time.Minute,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, script.New(tc.step, script.Text("ok")), says("a", "A", 0))
				if c := b.run(t.Context()); c.Outcome != event.Completed {
					t.Fatal(c)
				}
				first := b.last().Attempts[0]
				if f := first.End.Failure; f == nil || f.Kind != string(model.ErrStalled) {
					t.Fatalf("ended with %+v", first.End)
				}
				if took := first.EndedAt.Sub(first.StartedAt); took != tc.after {
					t.Errorf("cut after %v, want %v", took, tc.after)
				}
			})
		})
	}
}

// The usage of a failed or cut attempt counts as well.
func TestUsageOfWhatWasCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		use := func(in, out int64) script.Step { return script.Usage(model.Usage{Input: in, Output: out}) }
		b := newBench(t, script.New(
			script.Turn(
				use(100, 1),
				script.Text("x"),
				use(100, 20),
				script.Fail(model.NewError(model.ErrConnection, "reset")),
			),
			script.Turn(use(1000, 5), script.Text("y"), script.Stall()),
		))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(event.Abort(event.Interrupted, "user")) })
		b.run(ctx)
		if u := b.last().Summary.Usage; u.Input != 1100 || u.Output != 25 {
			t.Errorf("used %+v", u)
		}
	})
}
