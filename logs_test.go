package settle_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// shelf has logs that outlive their hosts. Opening a log fences earlier holders.
type shelf struct {
	mu     sync.Mutex
	events map[string][]event.Event
	epochs map[string]int
}

func newShelf() *shelf { return &shelf{events: map[string][]event.Event{}, epochs: map[string]int{}} }

func (s *shelf) OpenLog(_ context.Context, id string) (settle.Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epochs[id]++
	return &shelved{shelf: s, id: id, epoch: s.epochs[id]}, nil
}

func (s *shelf) all(id string) []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events[id])
}

// shelved is one log of a shelf.
type shelved struct {
	shelf *shelf
	id    string
	epoch int
}

var errFenced = errors.New("somebody else has the session")

func (l *shelved) Append(events []event.Event, d settle.Durability) error {
	l.shelf.mu.Lock()
	defer l.shelf.mu.Unlock()
	if d != settle.Durably && d != settle.Lazily {
		return errors.New("how?")
	}
	if l.epoch != l.shelf.epochs[l.id] {
		return errFenced
	}
	l.shelf.events[l.id] = append(l.shelf.events[l.id], events...)
	return nil
}

func (l *shelved) Read(_ context.Context, cursor uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, e := range l.shelf.all(l.id)[cursor:] {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (l *shelved) Close() error { return nil }

// shelfSession opens a session whose log is on the shelf, in a host of its own.
func shelfSession(t *testing.T, s *shelf, c settle.SessionConfig) (*settle.Session, error) {
	t.Helper()
	host, err := settle.Open(t.Context(), settle.Config{Logs: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close(context.Background()) }) // a fenced one cannot say that it is closed
	if c.Model.Provider == nil {
		c.Model.Provider = script.New().Otherwise(script.Text("done"))
	}
	c.Model.Name, c.Model.ProviderName = "m", "script"
	return host.Session(t.Context(), "s1", c)
}

// The next host records the endings that the last one could not. The last host cannot append
// any more, and its turn ends.
func TestALogIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		slow := model.Config{
			Provider: script.New(
				script.Turn(
					script.Text("one "),
					script.Delay(time.Minute),
					script.Text("two "),
					script.Delay(time.Minute),
					script.Text("three"),
				),
			),
		}
		first, err := shelfSession(t, s, settle.SessionConfig{Model: slow})
		if err != nil {
			t.Fatal(err)
		}
		turn, err := first.Submit(t.Context(), "go", settle.WithID("n1"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		second, err := shelfSession(t, s, settle.SessionConfig{MustExist: true})
		if err != nil {
			t.Fatal(err)
		}
		if o, err := second.Run(t.Context(), "go on"); err != nil || o.Answer != "done" {
			t.Errorf("%+v, %v", o, err)
		}
		if o, err := turn.Wait(t.Context()); err == nil || o.Completed() {
			t.Errorf("the turn of the host that was fenced: %+v, %v", o, err)
		}
		if err := second.Close(t.Context()); err != nil {
			t.Error(err)
		}
		events := s.all("s1")
		if err := contract.Check(events); err != nil {
			t.Error(err)
		}
		state := event.State{}
		for _, e := range events {
			if state, err = event.Fold(state, e); err != nil {
				t.Fatal(err)
			}
		}
		if len(state.Turns) != 2 || state.Turns[0].Cause.Reason != event.Crashed || state.Open {
			t.Errorf("%+v", state.Turns)
		}
	})
}

func TestALogThatMustExist(t *testing.T) {
	_, err := shelfSession(t, newShelf(), settle.SessionConfig{MustExist: true})
	if missing := (*settle.MissingError)(nil); !errors.As(err, &missing) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// Epoch implements [settle.EpochLog].
func (l *shelved) Epoch() uint64 { return uint64(l.epoch) }

// Other machines receive the log's epoch, which grows even if the earlier session wrote
// nothing.
func TestLogsNumberTheirOpenings(t *testing.T) {
	var epochs []uint64
	c := settle.SessionConfig{Toolbox: func(info settle.SessionInfo) (settle.Toolbox, error) {
		epochs = append(epochs, info.Epoch)
		return settle.Toolbox{}, errors.New("no tools")
	}}
	s := newShelf()
	for range 2 {
		if _, err := shelfSession(t, s, c); err == nil {
			t.Fatal("it opened without tools")
		}
	}
	if !slices.Equal(epochs, []uint64{1, 2}) {
		t.Errorf("the epochs are %v", epochs)
	}
}
