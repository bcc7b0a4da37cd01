package settle

import (
	"context"
	"iter"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
)

// Session is an open session.
type Session struct {
	host  *Host
	id    string
	box   Toolbox
	actor *session.Session
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// Submit sends an input. Without an error the input is durable: it will be run,
// or held where that can be seen. ctx bounds the call, not the turn.
func (s *Session) Submit(ctx context.Context, text string, options ...InputOption) (*Turn, error) {
	in := session.Input{Text: text, By: "user"}
	for _, o := range options {
		o.apply(&in)
	}
	r, err := s.actor.Submit(ctx, in)
	if err != nil {
		return nil, err
	}
	return &Turn{session: s, input: r.Input, seq: r.Seq}, nil
}

// CancelCall ends a single call, by the id of its item, and reports whether it
// was running. The turn goes on with what the call had put out.
func (s *Session) CancelCall(item, by string) bool { return s.actor.Cancel(item, by) }

// Drop takes back an input that waits, and reports whether it did.
func (s *Session) Drop(input, by string) (bool, error) { return s.actor.Drop(input, by) }

// Events yields the session's events after the cursor, 0 for all, in order and
// as they come, until ctx ends or the session is closed. Reading slowly, or
// not at all, holds nobody up.
func (s *Session) Events(ctx context.Context, cursor uint64) iter.Seq2[event.Event, error] {
	return s.actor.Log().Events(ctx, cursor)
}

// State returns what the session's events amount to, as a copy.
func (s *Session) State() (state event.State) {
	s.actor.Log().View(func(st event.State) { state = st.Clone() })
	return state
}

// Close ends everything of the session and lets go of its log. If ctx ends
// first, it says what still runs, and the session goes on ending.
func (s *Session) Close(ctx context.Context) error {
	return s.host.closeSession(ctx, s, event.Shutdown, "host")
}

func (s *Session) outcome(id string, cause *event.Cause) Outcome {
	o := Outcome{Turn: id, Cause: cause}
	s.actor.Log().View(func(state event.State) {
		if t := state.Turn(id); t != nil {
			o.Answer, o.Summary = t.Answer(), t.Summary
		}
	})
	return o
}
