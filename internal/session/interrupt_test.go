package session_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/run"
	"github.com/settle-agent/settle/tool"
)

func (b *bench) send(id, text string, mode event.Mode) session.Receipt {
	b.t.Helper()
	r, err := b.Submit(b.t.Context(), run.Input{ID: id, Text: text, Mode: mode, By: "user"})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// C10: only the turn of the named input ends.
func TestAnInterruptThatNamesAnInputEndsNoOtherTurn(t *testing.T) {
	bubble(t, "its turn is over", func(t *testing.T) {
		b := fresh(t, slow("1", "2"))
		b.send("first", "a", "")
		b.send("second", "b", "")
		time.Sleep(15 * time.Second) // the second turn runs
		o, err := b.Interrupt(t.Context(), session.Request{By: "user", Input: "first"})
		if err != nil || o.Turn != "t000001" || o.Cause == nil || o.Cause.Outcome != event.Completed {
			t.Errorf("%+v, %v", o, err)
		}
		time.Sleep(time.Minute)
		b.want([]string{"a: completed", "b: completed"})
	})
	bubble(t, "it waits behind another turn", func(t *testing.T) {
		b := fresh(t, slow("1", "2"))
		b.send("first", "a", "")
		b.send("second", "b", "")
		time.Sleep(time.Second)
		begin := time.Now()
		o, err := b.Interrupt(t.Context(), session.Request{By: "user", Input: "second"})
		if err != nil || o.Cause != nil || time.Since(begin) != 0 {
			t.Errorf("%+v, %v, after %v", o, err, time.Since(begin))
		}
		time.Sleep(time.Minute)
		b.want([]string{"a: completed"}, "b held")
	})
	bubble(t, "it is still to come while another turn runs", func(t *testing.T) {
		b := fresh(t, slow("1", "2"))
		b.send("first", "a", "")
		time.Sleep(time.Second)
		var wg sync.WaitGroup
		wg.Go(func() {
			if o, err := b.Interrupt(t.Context(), session.Request{By: "user", Input: "second"}); err != nil ||
				o.Cause != nil {
				t.Errorf("%+v, %v", o, err)
			}
		})
		synctest.Wait()
		b.send("second", "b", "")
		wg.Wait()
		time.Sleep(time.Minute)
		b.want([]string{"a: completed"}, "b held")
	})
	bubble(t, "its turn runs", func(t *testing.T) {
		b := fresh(t, slow("1"))
		b.send("first", "a", "")
		time.Sleep(time.Second)
		if o, err := b.Interrupt(t.Context(), session.Request{By: "user", Input: "first"}); err != nil ||
			o.Turn != "t000001" {
			t.Errorf("%+v, %v", o, err)
		}
		b.want([]string{"a: aborted interrupted"})
	})
}

// C10: turn.aborted follows turn.started without an attempt, for any schedule of the
// goroutines.
func TestAnEarlyInterruptLeavesNoRoomForAnAttempt(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			m := script.New().Otherwise(script.Text("1"))
			b := fresh(t, m)
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := b.Interrupt(t.Context(), session.Request{By: "user", Input: "mine"}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			b.send("mine", "a", "")
			wg.Wait()
			if n := len(m.Requests()); n != 0 {
				t.Errorf("%d requests were sent", n)
			}
			b.want([]string{"a: aborted interrupted"})
		})
	}
}

// C19: also if it would replace the turn.
func TestAnInputSentAgainChangesNothing(t *testing.T) {
	bubble(t, "replace", func(t *testing.T) {
		b := fresh(t, slow("1", "2"))
		first := b.send("mine", "a", event.Replace)
		time.Sleep(time.Second)
		if r := b.send("mine", "a", event.Replace); !r.Duplicate || r.Seq > first.Seq {
			t.Errorf("%+v, first %+v: its events begin after it was accepted", r, first)
		}
		time.Sleep(time.Minute)
		b.want([]string{"a: completed"})
	})
}

// hung is a disk whose writes block until the test releases them.
type hung struct {
	disk
	gate chan struct{}
}

func (h *hung) Append(batch []event.Event, sync journal.Sync) error {
	for _, e := range batch {
		if _, ok := e.Data.(event.InputAccepted); ok {
			<-h.gate
		}
	}
	return h.disk.Append(batch, sync)
}

// The context bounds a call even if the disk hangs.
func TestTheContextBoundsACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := tool.NewSet()
		if err != nil {
			t.Fatal(err)
		}
		h := &hung{gate: make(chan struct{})}
		s, err := session.Open(session.Config{
			Log: journal.New(
				h, event.State{Session: "s"},
			), Turn: turn.Config{Requests: turn.Requests{Model: model.Config{Provider: slow("1")}}, Execution: turn.Execution{Tools: set}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, call := range map[string]func(context.Context) error{
			"Submit":    func(ctx context.Context) error { _, err := s.Submit(ctx, run.Input{Text: "a"}); return err },
			"Interrupt": func(ctx context.Context) error { _, err := s.Interrupt(ctx, session.Request{Input: "x"}); return err },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			begin := time.Now()
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(begin))
			}
			cancel()
		}
		close(h.gate)
		if err := s.Close(t.Context(), "", "test"); err != nil {
			t.Error(err)
		}
	})
}

// The log is closed even if BeforeClose fails.
func TestCloseSurvivesBrokenBeforeClose(t *testing.T) {
	for name, closer := range map[string]func(release chan struct{}) error{
		"panics":      func(chan struct{}) error { panic("closer") },
		"never comes": func(release chan struct{}) error { <-release; return nil },
	} {
		bubble(t, name, func(t *testing.T) {
			set, err := tool.NewSet()
			if err != nil {
				t.Fatal(err)
			}
			release := make(chan struct{})
			defer close(release)
			s, err := session.Open(session.Config{
				Log:         journal.NewMemory("s"),
				BeforeClose: func(context.Context) error { return closer(release) },
				Turn: turn.Config{
					Requests:  turn.Requests{Model: model.Config{Provider: slow("1")}},
					Execution: turn.Execution{Tools: set},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := s.Close(ctx, "", "test"); err == nil || ctx.Err() != nil {
				t.Errorf("closing: %v, %v", err, ctx.Err())
			}
			s.Log().View(func(state event.State) {
				if state.Open {
					t.Error("the session is open")
				}
			})
		})
	}
}

// Released jobs, and processes that were not ended, keep the session's git worktree.
func TestCloseKeepsOccupiedWorktree(t *testing.T) {
	for name, tt := range map[string]struct {
		end  event.JobEnded
		left error
		kept bool
	}{
		"ended":     {event.JobEnded{How: event.JobExited}, nil, false},
		"released":  {event.JobEnded{How: event.JobReleased}, nil, true},
		"survivor":  {event.JobEnded{How: event.JobExited, Survivors: []event.Process{{PID: 9, Why: "x"}}}, nil, true},
		"not ended": {event.JobEnded{How: event.JobExited}, errors.New("a job"), true},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := session.Open(session.Config{
				Log: journal.NewMemory("s"), BeforeClose: func(context.Context) error { return tt.left },
				LeaveWorktree: func(context.Context) event.WorktreeLeft { return event.WorktreeLeft{} },
				KeepWorktree: func(_ context.Context, why string) event.WorktreeLeft {
					return event.WorktreeLeft{Kept: true, Why: why}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			tt.end.Job = "j000001"
			if err := s.Log().Update(func(event.State) []event.Event {
				started := event.JobStarted{Job: "j000001", PID: 8, Command: "server"}
				return []event.Event{{Data: started}, {Data: tt.end}}
			}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(t.Context(), "", "test"); (err != nil) != (tt.left != nil) {
				t.Error(err)
			}
			s.Log().View(func(state event.State) {
				if left := state.WorktreeLeft; left == nil || left.Kept != tt.kept || (left.Why != "") != tt.kept {
					t.Errorf("%+v", left)
				}
			})
		})
	}
}
