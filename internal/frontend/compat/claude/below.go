package claude

import (
	"context"
	"iter"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/scope"
)

// parent names the sender of a child agent's message: the call that started the child. In settle's
// own messages it is null.
type parent struct {
	Call  *string `json:"parent_tool_use_id"`
	Agent string  `json:"agent_id,omitempty"`
	Task  string  `json:"task_description,omitempty"`

	full bool // also the child's texts, besides its calls
}

// from returns the sender of the encoder's messages.
func (t *encoder) from() parent {
	if t.parent == nil {
		return parent{}
	}
	return *t.parent
}

// below follows the child agents of a session. The goroutine of the encoder owns it, and
// waits for its goroutines.
type below struct {
	events func(ctx context.Context, child string) iter.Seq2[event.Event, error]
	// panicked is called with the panic of a goroutine that follows a child.
	panicked func(error)
	full     bool            // forwardSubagentText
	life     context.Context // bounds the goroutines that follow children
	end      context.CancelFunc
	children map[string][]chan struct{} // by call; each is closed when all events of a child were sent
}

func newBelow(
	ctx context.Context, events func(context.Context, string) iter.Seq2[event.Event, error], panicked func(error),
) *below {
	b := &below{events: events, panicked: panicked, children: map[string][]chan struct{}{}}
	b.life, b.end = context.WithCancel(ctx)
	return b
}

// kidTimeout bounds the wait for the last messages of a child that has ended.
const kidTimeout = 5 * time.Second

// await waits until all events of the call's ended children were sent, so that the call's
// result follows them.
func (b *below) await(call *event.Item) {
	if b == nil || call.Status == event.ItemAborted {
		return
	}
	for _, done := range b.children[call.ID] {
		b.wait(done)
	}
	delete(b.children, call.ID)
}

func (b *below) wait(done chan struct{}) {
	bound := time.NewTimer(kidTimeout)
	defer bound.Stop()
	select {
	case <-done:
	case <-bound.C:
	}
}

// close ends it. The session's children have ended by then.
func (b *below) close() {
	if b == nil {
		return
	}
	for _, list := range b.children {
		for _, done := range list {
			b.wait(done)
		}
	}
	b.end()
}

// child has a child agent followed, from its start on.
func (t *encoder) child(c transcript.Change) {
	if c.What != transcript.Started || t.below == nil {
		return
	}
	turn := c.State.Running()
	if turn == nil {
		return
	}
	call := turn.Item(c.Child.Call)
	if call == nil {
		return
	}
	t.upTo(turn, call)
	id := callID(call)
	kid := &encoder{
		session: t.session,
		dir:     t.dir,
		out:     t.out,
		log:     transcript.New(event.State{}, transcript.Live),
		usage:   map[string]modelUsage{},
		sent:    map[string]*sentItem{},
		parent:  &parent{Call: &id, Agent: c.Child.Child, Task: c.Child.Title, full: t.below.full},
	}
	done := make(chan struct{})
	key := call.ID
	if c.Child.Background() { // its call does not wait for it
		key = ""
	}
	t.below.children[key] = append(t.below.children[key], done)
	b := t.below
	go scope.Shield(b.panicked, func() { // ends with the child, or with close
		defer close(done)
		kid.follow(b, c.Child.Child)
	})()
}

// follow sends the events of a child of another encoder's session.
func (t *encoder) follow(b *below, child string) {
	for e, err := range b.events(b.life, child) {
		if err != nil || t.take(e) != nil {
			return // its own log says more
		}
	}
}

// childChanged sends a change of a child's session: its calls, and, if the client wants them, its
// texts.
func (t *encoder) childChanged(c transcript.Change) {
	switch c.Thing {
	case transcript.Session:
		t.dir = c.State.Host.Dir
	case transcript.Turn:
		if c.What == transcript.Started {
			t.sent, t.dropped = map[string]*sentItem{}, nil
		}
	case transcript.Input:
		if c.What == transcript.Ended && c.Turn != nil && t.parent.full {
			m := chatMessage{header: newHeader(t.session, "user", ""), parent: t.from()}
			m.Message = userMessage{"user", []block{textBlock(c.Input.Text)}}
			t.out.send(m)
		}
	case transcript.Item:
		if c.Item.Type() != event.Note {
			t.itemChanged(c)
		}
	}
}
