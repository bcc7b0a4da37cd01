package session_test

import (
	"context"
	"strings"
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

// dear answers with 100 tokens in and 100 out, for 30 cents.
func dear(text string) script.Step {
	return script.Turn(script.Usage(model.Usage{Input: 100, Output: 100}), script.Text(text))
}

func cents() *model.Price { return &model.Price{Input: 1000, Output: 2000} }

// limited opens a session with limits.
func limited(t *testing.T, d *disk, state event.State, m *script.Model, c turn.Config, tools ...tool.Tool) *bench {
	t.Helper()
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	c.Model.Provider, c.Model.ProviderName, c.Model.Name, c.Tools, c.Dir = m, "script", "m", set, "/work"
	s, err := session.Open(
		session.Config{Log: journal.New(d, state), Opened: event.SessionOpened{Dir: "/work"}, Turn: c},
	)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, Session: s, disk: d}
}

func (b *bench) close() {
	b.t.Helper()
	if err := b.Close(context.Background(), "", "test"); err != nil {
		b.t.Error(err)
	}
}

// run submits an input and returns the cause of its turn's end.
func (b *bench) run(text string) *event.Cause {
	b.t.Helper()
	b.submit(text, "")
	time.Sleep(time.Minute)
	s := b.state()
	return s.Turns[len(s.Turns)-1].Cause
}

// notes returns the notes that the model received.
func (b *bench) notes() (list []string) {
	for _, t := range b.state().Turns {
		for _, i := range t.Items {
			if i.Type() == event.Note {
				list = append(list, i.Content().Text)
			}
		}
	}
	return list
}

func atLimit(t *testing.T, c *event.Cause, limit event.Limit, words string) {
	t.Helper()
	if c == nil || c.Reason != event.LimitReached || c.Limit != limit || !strings.Contains(c.Error(), words) {
		t.Errorf("it ended with %v, want the limit %s: %s", c, limit, words)
	}
}

// The limits of a session hold over its turns and over the processes that open it.
func TestSessionLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits run.SessionLimits
		limit  event.Limit
		words  string
	}{
		"cost":   {run.SessionLimits{Cost: 1}, event.LimitSessionCost, "the session used $1.2 of $1"},
		"tokens": {run.SessionLimits{Tokens: 750}, event.LimitSessionTokens, "the session used 800 of 750 tokens"},
		"steps":  {run.SessionLimits{Steps: 4}, event.LimitSessionSteps, "the session used 4 of 4 steps"},
	} {
		bubble(t, name, func(t *testing.T) {
			m := script.New().Otherwise(dear("yes"))
			config := turn.Config{
				Bounds:   turn.Bounds{Limits: run.Limits{Session: c.limits}},
				Requests: turn.Requests{Model: model.Config{Price: cents()}},
			}
			b := limited(t, &disk{}, event.State{Session: "s"}, m, config)
			for range 2 {
				if cause := b.run("go"); cause.Outcome != event.Completed {
					t.Errorf("got %v", cause)
				}
			}
			b.close()
			d, state := b.disk.reopen(t) // as another process does
			b = limited(t, d, state, m, config)
			for range 2 { // at 80 percent, the model is warned
				if cause := b.run("go"); cause.Outcome != event.Completed {
					t.Errorf("got %v", cause)
				}
			}
			atLimit(t, b.run("go"), c.limit, c.words)
			atLimit(t, b.run("go"), c.limit, c.words)
			b.close()
			if n := len(m.Requests()); n != 4 {
				t.Errorf("%d requests", n)
			}
			if notes := b.notes(); c.limit == event.LimitSessionCost &&
				(len(notes) != 1 || !strings.HasPrefix(notes[0], "The session has used $0.9 of $1; it is ended at the limit.")) {
				t.Errorf("notes: %q", notes)
			}
			d, state = b.disk.reopen(t)
			b = limited(t, d, state, m, turn.Config{}) // without limits, the session continues
			if cause := b.run("go"); cause.Outcome != event.Completed {
				t.Errorf("got %v", cause)
			}
			b.close()
		})
	}
}

// The time limit does not count the time from the death of a host until the next one opens the session.
func TestSessionTimeWithoutHost(t *testing.T) {
	bubble(t, "time", func(t *testing.T) {
		d := &disk{}
		log := journal.New(d, event.State{Session: "s"})
		for _, e := range []event.Event{
			{By: "host", Data: event.SessionOpened{Dir: "/work", PID: 7}},
			{By: "user", Data: event.InputAccepted{Input: "n1", Text: "go"}},
			{Turn: "t1", Data: event.TurnStarted{Inputs: []string{"n1"}}},
			{Turn: "t1", Attempt: "a1", Data: event.AttemptStarted{Step: 1, N: 1}},
		} {
			time.Sleep(time.Second)
			if err := log.Update(func(event.State) []event.Event { return []event.Event{e} }); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(t.Context()); err != nil { // as a crash leaves it: without session.closed
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		again, state := d.reopen(t)
		config := turn.Config{
			Bounds: turn.Bounds{Limits: run.Limits{Session: run.SessionLimits{Time: 25 * time.Second}}},
		}
		b := limited(t, again, state, slow("1"), config)
		if cause := b.run("go"); cause.Outcome != event.Completed {
			t.Errorf("got %v", cause)
		}
		b.close()
	})
}

// The time limit counts the session's turns, not the time between them.
func TestSessionTime(t *testing.T) {
	bubble(t, "time", func(t *testing.T) {
		config := turn.Config{
			Bounds: turn.Bounds{Limits: run.Limits{Session: run.SessionLimits{Time: 25 * time.Second}}},
		}
		b := limited(t, &disk{}, event.State{Session: "s"}, slow("1", "2", "3", "4"), config)
		for range 2 {
			if cause := b.run("go"); cause.Outcome != event.Completed {
				t.Errorf("got %v", cause)
			}
		}
		atLimit(t, b.run("go"), event.LimitSessionTime, "the session's turns ran for 25 seconds")
		atLimit(t, b.run("go"), event.LimitSessionTime, "the session used 25 seconds of 25 seconds")
		if s := b.state(); len(s.Turns[2].Attempts) != 1 || len(s.Turns[3].Attempts) != 0 {
			t.Errorf("%d and %d attempts", len(s.Turns[2].Attempts), len(s.Turns[3].Attempts))
		}
		b.close()
	})
}

// nested starts a session below the call's turn, as child agents do.
type nested struct {
	tool.Tool
	run func(ctx context.Context)
}

func (n nested) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	n.run(ctx)
	return n.Tool.Run(ctx, c)
}

// Child agents share the rest of the limits of their parent's turn and session, and end at
// these limits with their parent.
func TestChildrenShareLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits        run.Limits
		child, parent event.Limit
		words         string
	}{
		"of the session": {
			run.Limits{Session: run.SessionLimits{Cost: 1.5}},
			event.LimitSessionCost, event.LimitSessionCost,
			"the parent agent's session, with its child agents, used $1.5 of $1.5",
		},
		"of the turn": {
			run.Limits{Tokens: 1000},
			event.LimitTokens, event.LimitTokens,
			"the parent agent's turn, with its child agents, used 1000 of 1000 tokens",
		},
	} {
		bubble(t, name, func(t *testing.T) {
			var of *event.Cause
			asked := 0
			child := nested{call("task", 0), func(ctx context.Context) {
				time.Sleep(time.Second) // the request with this call is counted
				m := script.New().
					Otherwise(script.Turn(script.Usage(model.Usage{Input: 100, Output: 100}), script.Call("look", `{}`)))
				limits := run.Limits{Repeats: -1, Session: c.limits.Session}
				b := limited(
					t,
					&disk{},
					event.State{Session: "c"},
					m,
					turn.Config{
						Bounds:   turn.Bounds{Limits: limits, Meter: turn.MeterOf(ctx)},
						Requests: turn.Requests{Model: model.Config{Price: cents()}},
					},
					call("look", 0),
				)
				of, asked = b.run("help"), len(m.Requests())
				b.close()
			}}
			m := script.New(
				script.Turn(script.Usage(model.Usage{Input: 100, Output: 100}), script.Call("task", `{}`)),
				dear("done"),
			)
			b := limited(
				t,
				&disk{},
				event.State{Session: "s"},
				m,
				turn.Config{
					Bounds:   turn.Bounds{Limits: c.limits},
					Requests: turn.Requests{Model: model.Config{Price: cents()}},
				},
				child,
			)
			b.submit("go", "")
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			s := b.state()
			atLimit(t, of, c.child, c.words)
			atLimit(t, s.Turns[0].Cause, c.parent, strings.TrimPrefix(c.words, "the parent agent's "))
			if asked != 4 || len(m.Requests()) != 1 { // 30 cents and 200 tokens each
				t.Errorf("the child asked %d times, the parent %d", asked, len(m.Requests()))
			}
			b.close()
		})
	}
}

// An unknown cost is not zero.
func TestUnknownCost(t *testing.T) {
	bubble(t, "now and before", func(t *testing.T) {
		m := script.New().Otherwise(dear("yes"))
		limits := run.Limits{Session: run.SessionLimits{Cost: 1}}
		b := limited(t, &disk{}, event.State{Session: "s"}, m, turn.Config{Bounds: turn.Bounds{Limits: limits}})
		atLimit(t, b.run("go"), event.LimitSessionCost, "the price of m is not known")
		b.close()
		d, state := b.disk.reopen(t)
		b = limited(t, d, state, m, turn.Config{})
		b.run("go") // at an unknown price
		b.close()
		d, state = b.disk.reopen(t)
		b = limited(
			t,
			d,
			state,
			m,
			turn.Config{
				Bounds:   turn.Bounds{Limits: limits},
				Requests: turn.Requests{Model: model.Config{Price: cents()}},
			},
		)
		atLimit(t, b.run("go"), event.LimitSessionCost, "what 1 earlier requests of the session cost is not known")
		b.close()
	})
}
