package mcp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/scope"
)

// outcomeIdle reports that nothing was running.
const outcomeIdle = "idle"

// target is a turn to end, identified by an input that it takes: later inputs belong to other turns
// (C10).
type target struct {
	session *assemble.Opened
	input   string
}

// targetIn returns the turn that runs in a session, or is about to. Inputs that wait behind a turn
// are held with its end.
func targetIn(s *assemble.Opened) (t target, running bool) {
	t.session = s
	s.View(func(st event.State) {
		if turn := st.Running(); turn != nil && len(turn.Inputs) > 0 {
			t.input = turn.Inputs[0].ID
			return
		}
		for _, i := range st.Waiting {
			if !i.Held {
				t.input = i.ID
				return
			}
		}
	})
	return t, t.input != ""
}

// interrupt is the tool. It is answered when the turn has ended, or at once if
// nothing runs.
func (f *Frontend) interrupt(
	ctx context.Context, req *sdk.CallToolRequest, in interruptInput,
) (*sdk.CallToolResult, *interruptResult, error) {
	c := f.client(req.Session)
	targets, err := f.targets(ctx, c, in.Session)
	if err != nil {
		return nil, nil, err
	}
	admit(ctx)
	out := &interruptResult{Outcome: outcomeIdle, Message: "nothing was running", Turns: f.end(ctx, targets, c.name())}
	if len(out.Turns) > 0 {
		first := out.Turns[0]
		out.Outcome, out.AbortReason, out.Message = string(first.Outcome), first.AbortReason, first.Message
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: out.Message}}}, out, context.Cause(ctx)
}

// targets returns the turns that an interrupt means: the turn of a session, or all turns that the
// client waits for.
func (f *Frontend) targets(ctx context.Context, c *client, session string) ([]target, error) {
	var all []target
	if session == "" {
		for _, e := range c.tasks.Open() {
			t, running := targetIn(e.Request.opened)
			if running &&
				!slices.ContainsFunc(
					all,
					func(known target) bool { return known.input == t.input && known.session.ID() == t.session.ID() },
				) {
				all = append(all, t)
			}
		}
		return all, nil
	}
	s := f.Sessions.Get(session)
	if s == nil {
		_, err := f.shelf.WorkDir(ctx, session) // a session that is not open here does not run here
		return nil, unknown(session, err)
	}
	if t, running := targetIn(s); running {
		all = append(all, t)
	}
	return all, nil
}

// end ends turns and returns how each ended. All requests that wait for the same turn are answered.
func (f *Frontend) end(ctx context.Context, targets []target, by string) []turnEnd {
	var wg sync.WaitGroup
	var mu sync.Mutex
	all := []turnEnd{}
	for _, t := range targets {
		wg.Go(
			scope.Shield(
				scope.Log(f.Logger, nil, "ending a turn panicked", "session", t.session.ID()),
				func() { // ends with the turn, or with ctx
					o, err := t.end(ctx, by)
					if err != nil {
						f.Logger.Warn("cannot interrupt", "session", t.session.ID(), "error", err)
						return
					}
					if o.Cause == nil {
						return // it was held, or dropped, before it began
					}
					mu.Lock()
					defer mu.Unlock()
					all = append(all, turnEnd{t.session.ID(), o.Turn, o.Cause.Outcome, o.Cause.Reason, o.Cause.Error()})
				},
			),
		)
	}
	wg.Wait()
	slices.SortFunc(all, func(a, b turnEnd) int { return cmp.Compare(a.Session, b.Session) })
	return all
}

// end ends the turn, and returns its outcome. If its session is being closed, the close ends the
// turn.
func (t target) end(ctx context.Context, by string) (settle.Outcome, error) {
	o, err := t.session.Interrupt(ctx, settle.Interruption{By: by, Input: t.input})
	if err == nil || !errors.Is(err, settle.ErrClosed) {
		return o, err
	}
	closed := settle.Outcome{}
	t.session.View(func(st event.State) {
		for _, turn := range slices.Backward(st.Turns) {
			if turn.Cause != nil &&
				slices.ContainsFunc(turn.Inputs, func(i event.Input) bool { return i.ID == t.input }) {
				closed = settle.Outcome{Turn: turn.ID, Cause: turn.Cause}
				return
			}
		}
	})
	if closed.Cause == nil {
		return closed, errors.Join(errors.New("the session was closed"), err)
	}
	return closed, nil
}
