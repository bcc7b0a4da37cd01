package settle

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agents"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/family"
)

// Session is an open session.
type Session struct {
	host    *Host
	id      string
	value   any
	toolbox Toolbox
	redact  *redact.Redactor
	actor   *session.Session
	logger  *slog.Logger
	origin  *origin // nil if the session is no child
	judge   Judge   // of its calls and its children's; nil if all calls may run
	// askApprover requests approval of a child's call, in the session's own name or on behalf
	// of its parent; nil if no one can approve calls.
	askApprover    func(context.Context, session.ChildApproval) error
	agents         *agents.Spawner              // of its child agents; nil if it may have none
	awaitsChildren bool                         // turns continue until the child agents have ended
	model          atomic.Pointer[model.Config] // of the next turns
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// Value returns the Value of the session's [SessionConfig].
func (s *Session) Value() any { return s.value }

// Submit sends an input. Without an error, the input is durable, and settle runs it or shows
// it as held. ctx bounds the call, not the turn. See [WithExpansion] for inputs whose text is
// replaced.
func (s *Session) Submit(ctx context.Context, text string, options ...InputOption) (*Turn, error) {
	r, err := s.actor.Submit(ctx, NewInput(text, options...))
	if err != nil {
		return nil, err
	}
	return &Turn{session: s, input: r.Input, seq: r.Seq}, nil
}

// runTimeout bounds how long Run waits for the end of a turn that it has interrupted. The turn
// also bounds its end by itself (C9).
const runTimeout = 10 * time.Second

// Run sends an input and waits for the end of its turn, with the error of [Turn.Wait]. If ctx
// ends first, Run interrupts the turn and returns its outcome after the turn has ended; the
// error then includes the cause of ctx.
func (s *Session) Run(ctx context.Context, text string, options ...InputOption) (Outcome, error) {
	turn, err := s.Submit(ctx, text, options...)
	if err != nil {
		return Outcome{}, err
	}
	o, err := turn.Wait(ctx)
	if o.Cause != nil || ctx.Err() == nil {
		return o, err
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), runTimeout)
	defer cancel()
	o, err = s.Interrupt(ending, Interruption{By: runContext, Input: turn.Input()})
	if o.Completed() {
		return o, nil
	}
	if o.Cause != nil {
		err = o.Cause
	}
	return o, errors.Join(context.Cause(ctx), err)
}

// runContext is the sender of the interrupt when the context of Run ends.
const runContext = "context"

// Reattach takes over the commands of an earlier host that still run on another machine, and
// returns their outcomes. Call it once, when the session has been opened.
func (s *Session) Reattach(ctx context.Context) []Reattached {
	if s.toolbox.Reattach == nil {
		return nil
	}
	return s.toolbox.Reattach(ctx)
}

// CancelCall ends a single call, by the id of its item, and reports whether the call was
// running. The turn continues with the call's output so far.
func (s *Session) CancelCall(item, by string) bool { return s.actor.Cancel(item, by) }

// Drop removes a waiting input, and reports whether it did.
func (s *Session) Drop(input, by string) (bool, error) { return s.actor.Drop(input, by) }

// Events yields the session's events after the cursor, 0 for all, in order as they arrive,
// until ctx ends or the session is closed. A slow reader delays nothing.
func (s *Session) Events(ctx context.Context, cursor uint64) iter.Seq2[event.Event, error] {
	return s.actor.Log().Events(ctx, cursor)
}

// State returns a copy of the session's state.
func (s *Session) State() (state event.State) {
	s.actor.Log().View(func(st event.State) { state = st.Clone() })
	return state
}

// View calls f with the session's state, without copying it. f must not block, or change or
// keep the state.
func (s *Session) View(f func(event.State)) { s.actor.Log().View(f) }

// SetModel sets the model of the session's next turns. A running turn keeps its model. The
// tools stay the same.
func (s *Session) SetModel(ctx context.Context, m model.Config) error {
	if m.Provider == nil || m.Name == "" {
		return errors.New("cannot change the model without a provider and a name")
	}
	m = s.host.limited(s.id, m)
	s.redact.Add(m.Secrets...) // C15
	if err := s.actor.SetModel(ctx, m); err != nil {
		return err
	}
	s.model.Store(&m)
	return nil
}

// SetTools replaces the tools that instead names in the session's next turns. A running turn
// keeps its tools. The next request begins with a prefix change (C21).
func (s *Session) SetTools(ctx context.Context, instead []string, tools ...tool.Tool) error {
	return s.actor.SetTools(ctx, instead, tools)
}

// ToolNames returns settle's names of the tools that the model receives in the session's next turns.
func (s *Session) ToolNames(ctx context.Context) ([]string, error) {
	set, err := s.actor.Tools(ctx)
	if err != nil {
		return nil, err
	}
	m := s.Model()
	view := family.New(family.Family(m.Family), family.Offer(m.Offer), set)
	var names []string
	for _, spec := range view.Specs() {
		names = append(names, view.Name(spec.Name))
	}
	return names, nil
}

// Model returns the model of the session's next turns.
func (s *Session) Model() model.Config { return *s.model.Load() }

// Close ends everything in the session and releases its log. If ctx ends first, the error names the
// work that still runs, and the session continues to end.
func (s *Session) Close(ctx context.Context) error {
	return s.CloseFor(ctx, event.Shutdown, "host")
}

// CloseFor is Close with the reason and the client that the turn's ending states.
func (s *Session) CloseFor(ctx context.Context, reason event.Reason, by string) error {
	s.host.markClosing(s)
	err := s.actor.Close(ctx, reason, by)
	select {
	case <-s.actor.Done():
		s.host.forgetSession(s)
	case <-ctx.Done(): // the next call of Host.Session removes the slot
	}
	return err
}

// CloseIdle closes the session if nothing in it runs or waits to run and nothing has happened
// in it since the given time, and reports whether it did. The session can be opened again.
func (s *Session) CloseIdle(ctx context.Context, since time.Time) (bool, error) {
	closed, err := s.actor.CloseIdle(ctx, since)
	if closed {
		s.host.forgetSession(s)
	}
	return closed, err
}

// Closed reports whether the session is closed, also because another process took it over. The
// session can be opened again.
func (s *Session) Closed() bool {
	select {
	case <-s.actor.Done():
		return true
	default:
		return false
	}
}

func (s *Session) outcome(id string, cause *event.Cause) Outcome {
	o := Outcome{Turn: id, Cause: cause}
	s.actor.Log().View(func(state event.State) {
		if t := state.Turn(id); t != nil {
			o.Answer, o.Summary, o.Denied = t.Answer(), t.Summary, denials(t)
		}
	})
	return o
}

func denials(t *event.Turn) (out []Denial) {
	for _, a := range t.Approvals {
		if a.Ended != nil && a.Ended.Verdict == event.Denied {
			out = append(out, Denial{
				Item: a.Call, Tool: a.Tool, Title: a.Title, Policy: a.Ended.Policy, By: a.EndedBy,
				Message: a.Ended.Message,
			})
		}
	}
	return out
}
