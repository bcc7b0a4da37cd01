package appserver

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/pending"
	"github.com/settle-agent/settle/internal/frontend/compat/codex"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// loadedThread is a loaded thread: its session is open, and follow sends its events. Requests about
// it run one at a time, in its lane.
type loadedThread struct {
	s         *Server
	opened    *assemble.Opened
	policy    *assemble.Policy
	ephemeral bool
	done      chan struct{} // closed when follow has ended
	// subscribed reports that the client wants to hear of the thread.
	subscribed atomic.Bool

	order      sync.Mutex  // held while an event is translated, and while an answer with a place among the notifications is sent
	translator *translator // has the events that were sent; guarded by order
	asker      *asker.Asker
	servers    *serverStates
	submitting sync.Mutex                         // held from when an input is sent until its request is in starts
	starts     pending.Requests[*sender]          // turn/start and turn/steer, by input
	interrupts pending.Requests[*jsonrpc.Request] // turn/interrupt, by turn

	// fetching gives up the input that is being expanded, if there is one. It belongs to
	// the lane.
	fetching context.CancelCauseFunc

	mu     sync.Mutex // guards the fields below
	rights codex.Rights
	status threadStatus
}

// sender is a request that sent an input, and the function that answers it with the turn that takes
// the input.
type sender struct {
	*jsonrpc.Request
	answer func(turn object) any
}

func (l *loadedThread) id() string { return l.opened.ID() }

// follow sends the session's events to the client until the session is closed.
func (l *loadedThread) follow(cursor uint64) {
	defer close(l.done)
	for e, err := range l.opened.Events(l.s.Life, cursor) {
		if err != nil {
			break
		}
		if err := l.tell(e); err != nil { // a defect; no further notification would be right
			l.s.Tell(err)
			break
		}
		if e.Terminal() {
			l.idle()
		}
	}
	l.finish()
}

// tell sends the translation of an event.
func (l *loadedThread) tell(e event.Event) error {
	l.order.Lock()
	defer l.order.Unlock()
	t := l.translator
	t.window = l.opened.Model().Window
	notes, err := t.step(e)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.status = t.status
	l.mu.Unlock()
	l.answer(e, t)
	if e.Kind() == event.KindApprovalEnded {
		l.asker.Take(e)
	}
	for _, n := range notes {
		if l.subscribed.Load() {
			l.s.notify(n)
		}
	}
	if e.Kind() == event.KindApprovalRequested {
		l.asker.Take(e)
	}
	return nil
}

// answer answers the requests that the event concerns, before its notifications.
func (l *loadedThread) answer(e event.Event, t *translator) {
	l.submitting.Lock()
	moves := l.starts.Step(e)
	l.submitting.Unlock()
	for _, m := range moves {
		switch m.How {
		case pending.Taken:
			l.replyTurn(m.Entry, t.turn(m.Turn, notLoaded))
		case pending.Held:
			l.refuse(
				m.Entry, "the input is held, since the turn before it ended (%s); it will run with the next one",
				m.Cause.Reason,
			)
		case pending.Dropped:
			l.refuse(m.Entry, "the input was dropped")
		}
	}
	if _, started := e.Data.(event.TurnStarted); started {
		for _, early := range l.interrupts.Open() { // of a turn that was still to start
			if early.Key == "" {
				early.Rekey(e.Turn)
			}
		}
	}
	if e.Terminal() { // C10
		for _, entry := range l.interrupts.AnswerAll(e.Turn) {
			entry.Request.Reply(object{})
		}
	}
}

// replyTurn answers who sent an input with the turn that works on it.
func (l *loadedThread) replyTurn(e *pending.Entry[*sender], turn object) {
	if e.Answer() {
		e.Request.Reply(e.Request.answer(turn))
	}
}

func (l *loadedThread) refuse(e *pending.Entry[*sender], format string, a ...any) {
	if e.Answer() {
		e.Request.Fail(invalid(format, a...))
	}
}

// awaitEnd leaves the answer to an interrupt to the end of its turn. It answers at once if
// there was no turn, or if the client has received the turn's end.
func (l *loadedThread) awaitEnd(e *pending.Entry[*jsonrpc.Request], turn string) {
	l.order.Lock()
	defer l.order.Unlock()
	if turn != "" {
		e.Rekey(turn)
		if t := l.translator.state().Turn(turn); t == nil || t.Cause == nil {
			return
		}
	}
	if e.Answer() {
		e.Request.Reply(object{})
	}
}

// idle closes a thread without subscribers, between its turns.
func (l *loadedThread) idle() {
	if l.subscribed.Load() {
		return
	}
	l.s.Lane(l.id(), func() {
		if !l.subscribed.Load() && l.running() == nil {
			l.s.unload(l)
		}
	})
}

// finish answers the remaining requests: the session is closed.
func (l *loadedThread) finish() {
	for _, e := range l.starts.Close() {
		e.Request.Fail(invalid("thread %s was closed before the turn began; the input is kept", l.id()))
	}
	for _, e := range l.interrupts.Close() {
		e.Request.Reply(object{})
	}
	l.asker.Close()
	l.s.notify(statusChanged(l.id(), threadStatus{kind: "notLoaded"}))
	l.s.notify(note{"thread/closed", object{"threadId": l.id()}})
}

// running returns the turn that runs, as it stands, or nil.
func (l *loadedThread) running() *event.Turn {
	var out *event.Turn
	l.opened.View(func(state event.State) {
		if t := state.Running(); t != nil {
			c := *t
			out = &c
		}
	})
	return out
}

// submit sends an input. The sender is answered when a turn takes it.
func (l *loadedThread) submit(
	ctx context.Context, r *sender, clientID, text string, o ...settle.InputOption,
) (*pending.Entry[*sender], error) {
	if clientID != "" {
		known := false
		l.opened.View(func(state event.State) { known = state.Accepted(clientID) })
		if !known { // Codex runs an input whose id it has seen; settle also does, without the id
			o = append(o, settle.WithID(clientID))
		}
	}
	o = append(o, settle.From(l.s.Client()))
	l.submitting.Lock()
	defer l.submitting.Unlock()
	t, err := l.opened.Submit(ctx, text, o...)
	if err != nil {
		return nil, err
	}
	entry := l.starts.Add(t.Input(), r)
	if entry == nil {
		return nil, invalid("thread %s is closed; the input is kept", l.id())
	}
	return entry, nil
}

// steer sends an input that joins the turn. The sender is answered at once if
// that turn still runs then; else, when another one takes the input.
func (l *loadedThread) steer(
	ctx context.Context, t *event.Turn, r *sender, clientID, text string, o ...settle.InputOption,
) error {
	entry, err := l.submit(ctx, r, clientID, text, append(o, settle.WithMode(event.Steer))...)
	if err != nil {
		return err
	}
	if now := l.running(); now != nil && now.ID == t.ID && now.Interrupt == nil {
		l.replyTurn(entry, view{l.opened.Spec.Dir, t}.turnOf(notLoaded))
	}
	return nil
}

// interrupt asks for the end of the turn, or of one that is still to start, which
// has no name. The request is answered when the turn has ended.
func (l *loadedThread) interrupt(r *jsonrpc.Request, turn string) {
	entry := l.interrupts.Add(turn, r)
	if entry == nil { // the thread is closed
		r.Reply(object{})
		return
	}
	l.s.Go(func() { // ends with the turn
		outcome, err := l.opened.Interrupt(l.s.Life, settle.Interruption{By: l.s.Client()})
		if err != nil && !errors.Is(err, settle.ErrClosed) {
			l.s.Tell(err)
		}
		l.awaitEnd(entry, cmp.Or(outcome.Turn, turn))
	})
}

// jobs are the processes that run on.
func (l *loadedThread) jobs() []*event.Job {
	var out []*event.Job
	l.opened.View(func(state event.State) {
		for _, j := range state.Jobs {
			if j.Ended == nil {
				c := *j
				out = append(out, &c)
			}
		}
	})
	return slices.Clip(out)
}
