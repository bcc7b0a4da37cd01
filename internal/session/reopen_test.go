package session_test

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/run"
	"github.com/settle-agent/settle/tool"
)

// flaky is a file on a disk that fails for a while.
type flaky struct {
	journal.File
	broken *atomic.Bool
}

func (f flaky) WriteAt(p []byte, off int64) (int, error) {
	if f.broken.Load() {
		return 0, syscall.EIO
	}
	return f.File.WriteAt(p, off)
}

// A disk that fails for a while ends no session: the next input is refused or accepted,
// depending on the disk at that time.
func TestTheNextInputWritesTheLogAgain(t *testing.T) {
	var broken atomic.Bool
	log, _, err := journal.Open(t.Context(), journal.Options{
		Dir: t.TempDir(), Session: "s", Wrap: func(f journal.File) journal.File { return flaky{f, &broken} },
	})
	if err != nil {
		t.Fatal(err)
	}
	none, err := tool.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(session.Config{
		Log: log, Opened: event.SessionOpened{Dir: "/work"},
		Turn: turn.Config{
			Requests: turn.Requests{
				Model: model.Config{Provider: script.New(script.Text("done")), ProviderName: "script", Name: "m"},
			},
			Execution: turn.Execution{Tools: none, Dir: "/work"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	for range 2 {
		failed := (*journal.FailedError)(nil)
		if _, err := s.Submit(t.Context(), run.Input{Text: "lost?", By: "user"}); !errors.As(err, &failed) {
			t.Fatalf("got %v", err)
		}
	}
	broken.Store(false)
	r, err := s.Submit(t.Context(), run.Input{Text: "go", By: "user"})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range log.Events(t.Context(), r.Seq) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Terminal() {
			if e.Volatile || e.Kind() != event.KindTurnCompleted {
				t.Errorf("the turn ended with %s, volatile: %v: %+v", e.Kind(), e.Volatile, e.Data)
			}
			break
		}
	}
	log.View(func(state event.State) {
		if len(state.Turns) != 1 || len(state.Turns[0].Inputs) != 1 || len(state.Waiting) != 0 {
			t.Errorf("%d turns, %d inputs wait", len(state.Turns), len(state.Waiting))
		}
	})
	if err := s.Close(t.Context(), "", "test"); err != nil {
		t.Error(err)
	}
}
