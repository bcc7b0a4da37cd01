package appserver

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agent"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// live is a thread that is loaded: its session is open, and follow says what
// happens in it. Requests about it come one at a time, in its lane.
type live struct {
	s         *Server
	opened    *agent.Opened
	policy    *agent.Policy
	ephemeral bool
	done      chan struct{} // closed when follow has ended

	order      sync.Mutex  // held while an event is told, and while answers are given that have their place among what is told
	translator *translator // has what was told so far; guarded by order
	asker      *asker.Asker

	mu         sync.Mutex // guards what follows
	rights     rights
	model      string // as PROVIDER/NAME
	provider   string
	effort     string
	window     int
	status     threadStatus
	subscribed bool
	starts     map[string]sender             // turn/start and turn/steer, by input
	interrupts map[string][]*jsonrpc.Request // turn/interrupt, by turn
}

// sender is a request that sent an input, and how it is answered with the turn
// that works on it.
type sender struct {
	*jsonrpc.Request
	answer func(turn) any
}

// started answers turn/start.
func started(t turn) any { return turnStarted{t} }

// steered answers turn/steer.
func steered(t turn) any { return map[string]string{"turnId": t.ID} }

func (l *live) id() string { return l.opened.ID() }

// follow says what happens in the session until it is closed.
func (l *live) follow(ctx context.Context, cursor uint64) {
	defer close(l.done)
	for e, err := range l.opened.Events(ctx, cursor) {
		if err != nil {
			break
		}
		if err := l.tell(ctx, e); err != nil { // a defect; nothing that could be said would be right
			l.s.warn(err.Error())
			break
		}
		if e.Terminal() {
			l.idle()
		}
	}
	l.gone(ctx)
}

// tell says what the event means.
func (l *live) tell(ctx context.Context, e event.Event) error {
	l.order.Lock()
	defer l.order.Unlock()
	t := l.translator
	l.mu.Lock()
	t.window = l.window
	l.mu.Unlock()
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
		if l.isSubscribed() {
			l.s.notify(ctx, n)
		}
	}
	if e.Kind() == event.KindApprovalRequested {
		l.asker.Take(e)
	}
	return nil
}

// isSubscribed reports whether a client wants to hear of the thread.
func (l *live) isSubscribed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.subscribed
}

// subscribe says whether the client wants to hear of the thread, and returns
// whether it did.
func (l *live) subscribe(wanted bool) (did bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	did, l.subscribed = l.subscribed, wanted
	return did
}

// answer answers the requests that the event is about, before what it means is
// said.
func (l *live) answer(e event.Event, t *translator) {
	switch d := e.Data.(type) {
	case event.TurnStarted:
		l.began(d.Inputs, t.turn(e.Turn, notLoaded))
		l.named(e.Turn)
	case event.AttemptStarted:
		if len(d.Inputs) > 0 {
			l.began(d.Inputs, t.turn(e.Turn, notLoaded))
		}
	case event.InputHeld:
		l.refused(d.Input, "the input is held, since the turn before it ended (%s); it will run with the next one", d.Reason)
	case event.InputDropped:
		l.refused(d.Input, "the input was dropped")
	case event.InterruptRequested:
		l.interrupted(e.Turn)
	}
	if e.Terminal() {
		l.interrupted(e.Turn) // those that came too late to be recorded
	}
}

// began answers those who sent the inputs with the turn that works on them.
func (l *live) began(inputs []string, t turn) {
	for _, id := range inputs {
		if r, ok := l.take(id); ok {
			r.Reply(r.answer(t))
		}
	}
}

type turnStarted struct {
	Turn turn `json:"turn"`
}

func (l *live) refused(input, format string, a ...any) {
	if r, ok := l.take(input); ok {
		r.Fail(invalid(format, a...))
	}
}

// take returns the request that sent the input, if it waits.
func (l *live) take(input string) (sender, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.starts[input]
	delete(l.starts, input)
	return r, ok
}

// awaited reports whether somebody waits for a turn to start.
func (l *live) awaited() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.starts) > 0
}

// named has those who want the turn to end that was still to start wait for that.
func (l *live) named(turn string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if early := l.interrupts[""]; len(early) > 0 {
		l.interrupts[turn] = append(l.interrupts[turn], early...)
		delete(l.interrupts, "")
	}
}

// interrupted answers those who want the turn to end.
func (l *live) interrupted(turn string) {
	l.mu.Lock()
	waiting := l.interrupts[turn]
	delete(l.interrupts, turn)
	l.mu.Unlock()
	for _, r := range waiting {
		r.Reply(nothing{})
	}
}

// idle lets go of a thread that nobody wants to hear of any more: between its
// turns.
func (l *live) idle() {
	if l.isSubscribed() {
		return
	}
	l.s.lane(l.id(), func() {
		if !l.isSubscribed() && l.running() == nil {
			l.s.unload(l, "client")
		}
	})
}

// gone answers what is left: the session is closed.
func (l *live) gone(ctx context.Context) {
	l.mu.Lock()
	starts, interrupts := l.starts, l.interrupts
	l.starts, l.interrupts = nil, nil
	l.mu.Unlock()
	for _, r := range starts {
		r.Fail(invalid("thread %s was closed before the turn began; the input is kept", l.id()))
	}
	for _, all := range interrupts {
		for _, r := range all {
			r.Reply(nothing{})
		}
	}
	l.asker.Close()
	l.s.notify(ctx, note{"thread/status/changed", statusNote{l.id(), threadStatus{Type: "notLoaded"}}})
	l.s.notify(ctx, note{"thread/closed", threadIDNote{l.id()}})
}

// running returns the turn that runs, as it stands, or nil.
func (l *live) running() *event.Turn {
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
func (l *live) submit(ctx context.Context, r sender, clientID, text string, o ...settle.InputOption) (input string, err error) {
	if clientID != "" {
		known := false
		l.opened.View(func(state event.State) { known = state.Accepted(clientID) })
		if !known { // Codex runs what has an id that it has seen before; so does this, without the id
			o = append(o, settle.WithID(clientID))
		}
	}
	o = append(o, settle.From(l.s.client()))
	l.mu.Lock() // until the request is known to follow
	defer l.mu.Unlock()
	t, err := l.opened.Submit(ctx, text, o...)
	if err != nil {
		return "", invalid("%v", err)
	}
	if l.starts == nil { // it was closed meanwhile
		return "", invalid("thread %s is closed; the input is kept", l.id())
	}
	l.starts[t.Input()] = r
	return t.Input(), nil
}

// steer sends an input that joins the turn. The sender is answered at once if
// that turn still runs then; else, when another one takes the input.
func (l *live) steer(ctx context.Context, t *event.Turn, r sender, clientID, text string, o ...settle.InputOption) error {
	input, err := l.submit(ctx, r, clientID, text, append(o, settle.WithMode(event.Steer))...)
	if err != nil {
		return err
	}
	if now := l.running(); now != nil && now.ID == t.ID && now.Interrupt == nil {
		l.began([]string{input}, view{l.opened.Spec.Dir, t}.turnOf(notLoaded))
	}
	return nil
}

// interrupt asks for the end of the turn, or of one that is still to start, which
// has no name. The request is answered when that is recorded.
func (l *live) interrupt(r *jsonrpc.Request, turn string) {
	l.mu.Lock()
	if l.interrupts == nil {
		l.mu.Unlock()
		r.Reply(nothing{})
		return
	}
	l.interrupts[turn] = append(l.interrupts[turn], r)
	l.mu.Unlock()
	l.s.work.Go(func() { // ends with the turn; shutDown waits for it
		_, err := l.opened.Interrupt(l.s.ctx, settle.Interruption{By: l.s.client()})
		if err != nil && !errors.Is(err, settle.ErrClosed) {
			l.s.warn(err.Error())
		}
		l.interrupted(turn) // where nothing was recorded, since it was over
	})
}

// jobs are the processes that run on.
func (l *live) jobs() []*event.Job {
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
