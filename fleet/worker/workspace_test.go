package worker

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/engine"
	"github.com/settle-agent/settle/fleet/fleettest"
)

// fakeWorkspaces implements [Workspaces], and records the calls.
type fakeWorkspaces struct {
	place fleet.Place
	fails error
	hangs bool

	begun chan struct{} // closed when Prepare was called
	mu    sync.Mutex
	turns []string // that checkpoints were taken after
}

func (s *fakeWorkspaces) Prepare(ctx context.Context, _ fleet.Attempt) (fleet.Place, error) {
	if s.begun != nil {
		close(s.begun)
	}
	if s.hangs {
		<-ctx.Done()
		return fleet.Place{}, ctx.Err()
	}
	return s.place, s.fails
}

func (s *fakeWorkspaces) Checkpoint(
	_ context.Context, _ fleet.Attempt, at fleet.Place, turn string,
) (fleet.Checkpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns, turn)
	return fleet.Checkpoint{Base: at.Base, Commit: "c-" + turn, Turn: turn}, nil
}

// inside has sessions work where their attempt says.
func inside(
	config func(context.Context, fleet.Attempt) (settle.SessionConfig, error),
) func(context.Context, fleet.Attempt) (settle.SessionConfig, error) {
	return func(ctx context.Context, a fleet.Attempt) (settle.SessionConfig, error) {
		c, err := config(ctx, a)
		c.WorkDir = a.Task.Dir
		return c, err
	}
}

// TestWorkspace: the session works in the workspace, and the result names what was
// stored after the turn.
func TestWorkspace(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	s := &fakeWorkspaces{
		place: fleet.Place{Dir: t.TempDir(), Base: "b", Instance: "i", Note: "lost, but nobody has seen it"},
	}
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work", Repo: "/r"})
	start(
		t,
		Config{
			ID:         "w",
			Engine:     p.Engine,
			Logs:       p.Logs,
			Session:    inside(sessions(t, fleettest.Model{Calls: 1}, &r)),
			Workspaces: s,
			Slots:      1,
		},
	)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	u := p.Await(ctx, t)[0]
	if c := u.Result.Checkpoint; u.Result.Outcome != event.Completed || c == nil || c.Commit != "c-"+u.Result.Turn ||
		len(s.turns) != 1 {
		t.Errorf("%+v, %+v, %v", u.Result, c, s.turns)
	}
	for _, e := range p.Events(t, "s") {
		switch d := e.Data.(type) {
		case event.SessionOpened:
			if d.Dir != s.place.Dir {
				t.Errorf("it works in %s", d.Dir)
			}
		case event.InputAccepted:
			if d.Text != "work" {
				t.Errorf("%q", d.Text)
			}
		}
	}
}

// crashed submits a task, and has its worker die in the first turn.
func crashed(t *testing.T, p *fleettest.Place, r *fleettest.Record, s *fakeWorkspaces) {
	t.Helper()
	logs := &dyingLogs{Logs: p.Logs, at: 12, dead: make(chan struct{})}
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work", Repo: "/r"})
	stop := start(t, Config{
		ID: "first", Engine: silentEngine{p.Engine, logs.dead}, Logs: logs, Session: inside(sessions(t, fleettest.Model{Calls: 2}, r)), Workspaces: s, Slots: 1,
	})
	select {
	case <-logs.dead:
	case <-time.After(patience):
		t.Fatal("it does not die")
	}
	stop()
}

// TestWorkspaceIsLost: the model is told with the input that goes on.
func TestWorkspaceIsLost(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	s := &fakeWorkspaces{place: fleet.Place{Dir: t.TempDir(), Base: "b", Instance: "i"}}
	crashed(t, p, &r, s)
	s.place.Note = "Everything is lost."
	start(
		t,
		Config{
			ID:         "second",
			Engine:     p.Engine,
			Logs:       p.Logs,
			Session:    inside(sessions(t, fleettest.Model{Calls: 2}, &r)),
			Workspaces: s,
			Slots:      1,
		},
	)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if u := p.Await(ctx, t)[0]; u.Result.Outcome != event.Completed {
		t.Errorf("%+v", u.Result)
	}
	last := ""
	for _, e := range p.Events(t, "s") {
		if d, ok := e.Data.(event.InputAccepted); ok {
			last = d.Text
		}
	}
	if !strings.HasPrefix(last, "[Everything is lost.]\n\n") || !strings.Contains(last, "another worker took over") {
		t.Errorf("%q", last)
	}
}

// TestWorkspaceFails: the task has failed, and what a dead worker left in its log is
// settled all the same.
func TestWorkspaceFails(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	s := &fakeWorkspaces{place: fleet.Place{Dir: t.TempDir(), Base: "b", Instance: "i"}}
	crashed(t, p, &r, s)
	s.fails = errors.New("the server is gone")
	start(
		t,
		Config{
			ID:         "second",
			Engine:     p.Engine,
			Logs:       p.Logs,
			Session:    inside(sessions(t, fleettest.Model{Calls: 2}, &r)),
			Workspaces: s,
			Slots:      1,
		},
	)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	u := p.Await(ctx, t)[0]
	if u.Result.Outcome != event.Failed || !strings.Contains(u.Result.Message, "cannot begin: the server is gone") ||
		u.Result.Turns != 1 {
		t.Errorf("%+v", u.Result)
	}
	p.Events(t, "s") // nothing is open
}

// TestLostBeforeItWasStored: a checkpoint of a workspace that does not have what the turn
// made is not said to be one.
func TestLostBeforeItWasStored(t *testing.T) {
	for _, c := range []struct {
		place fleet.Place
		ran   bool
		says  string
	}{
		{place: fleet.Place{}},
		{place: fleet.Place{Note: "lost", Turn: "t1"}, says: "was lost before"},
		{place: fleet.Place{Note: "lost"}, says: "was lost before"},
		{place: fleet.Place{Note: "lost", Turn: "t2"}},
		{place: fleet.Place{Note: "lost"}, ran: true},
	} {
		var s fakeWorkspaces
		r := newRun(t.Context(), &Worker{config: Config{Workspaces: &s}, logger: slog.New(slog.DiscardHandler)}, fleet.Attempt{})
		r.startedTurn = c.ran
		result, err := r.keep(t.Context(), &c.place, progress{turn: "t2"}, &fleet.Result{}, nil)
		r.end(nil)
		if err != nil || result.Checkpoint == nil || !strings.Contains(result.Checkpoint.Error, c.says) ||
			(c.says == "") != (len(s.turns) == 1) ||
			(c.says == "") != (result.Checkpoint.Commit != "") {
			t.Errorf("%+v: %+v, %v, %v", c, result.Checkpoint, s.turns, err)
		}
	}
}

// TestCancelWhileCloning: the end of the task does not wait for the clone.
func TestCancelWhileCloning(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	s := &fakeWorkspaces{hangs: true, begun: make(chan struct{})}
	task := p.Submit(t, fleet.Task{Session: "s", Prompt: "work", Repo: "/r"})[0]
	start(
		t,
		Config{
			ID:         "w",
			Engine:     p.Engine,
			Logs:       p.Logs,
			Session:    sessions(t, fleettest.Model{}, &r),
			Workspaces: s,
			Slots:      1,
		},
	)
	select {
	case <-s.begun:
	case <-time.After(patience):
		t.Fatal("it does not begin")
	}
	if ok, err := p.Engine.Cancel(t.Context(), task.ID(), "somebody"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if u := p.Await(ctx, t)[0]; u.Result.Outcome != event.Aborted || u.Result.Reason != event.Interrupted ||
		!strings.Contains(u.Result.Message, "somebody") {
		t.Errorf("%+v", u.Result)
	}
}

// slowWorkspaces are fakeWorkspaces whose checkpoints take longer than the heartbeat timeout of a turn.
type slowWorkspaces struct {
	fakeWorkspaces
	begun chan struct{}
	takes time.Duration
}

func (s *slowWorkspaces) Checkpoint(
	ctx context.Context, a fleet.Attempt, at fleet.Place, turn string,
) (fleet.Checkpoint, error) {
	close(s.begun)
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
	}
	return s.fakeWorkspaces.Checkpoint(ctx, a, at, turn)
}

// TestShutdownKeepsTheHeartbeats until the last checkpoint is stored.
func TestShutdownKeepsTheHeartbeats(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	s := &slowWorkspaces{
		fakeWorkspaces: fakeWorkspaces{place: fleet.Place{Dir: t.TempDir(), Base: "b", Instance: "i"}},
		begun:          make(chan struct{}),
		takes:          engine.DefaultSilence + time.Second,
	}
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work", Repo: "/r"})
	stop := start(
		t,
		Config{
			ID:         "w",
			Engine:     p.Engine,
			Logs:       p.Logs,
			Session:    inside(sessions(t, fleettest.Model{}, &r)),
			Workspaces: s,
			Slots:      2,
		},
	)
	select {
	case <-s.begun:
	case <-time.After(patience):
		t.Fatal("it does not begin")
	}
	stop()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if u := p.Await(ctx, t)[0]; u.Result.Outcome != event.Completed || u.Attempt != 1 || u.Result.Checkpoint == nil {
		t.Errorf("%+v, %+v", u, u.Result)
	}
}
