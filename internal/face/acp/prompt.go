package acp

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// prompt is a prompt that is to be answered.
type prompt struct {
	request   *jsonrpc.Request
	ctx       context.Context //nolint:containedctx // ends when it is answered, and with the connection
	input     string          // id
	said      input
	submitted chan struct{} // closed when the session has it, or will not
	turn      string        // that took it; the follower's
	cancelled bool          // by the client; guarded by the session's mu
}

// prompt takes a prompt: from here on, a cancel finds it.
func (s *Server) prompt(ctx context.Context, r *jsonrpc.Request) {
	one, said, err := s.prompted(r)
	if err != nil {
		r.Fail(err)
		return
	}
	p := &prompt{request: r, ctx: ctx, input: "acp-" + uuid.NewString(), said: said, submitted: make(chan struct{})}
	one.mu.Lock()
	before := one.last
	one.last = p
	one.prompts = append(one.prompts, p)
	one.mu.Unlock()
	if !s.start(func() { one.submit(p, before) }) {
		one.fail(p, settle.ErrClosed)
	}
}

func (s *Server) prompted(r *jsonrpc.Request) (*session, input, error) {
	var in promptParams
	if err := r.Decode(&in); err != nil {
		return nil, input{}, err
	}
	one, err := s.find(in.SessionID)
	if err != nil {
		return nil, input{}, err
	}
	said, err := read(in.Prompt)
	return one, said, err
}

// submit gives the session a prompt, after those that came before it.
func (one *session) submit(p, before *prompt) {
	defer close(p.submitted)
	if before != nil {
		select { // also where p has been answered: those behind it wait for both
		case <-before.submitted:
		case <-one.server.life.Done():
		}
	}
	err := one.wait(p.ctx)
	if one.unwanted(p) { // C10: it is covered, and nothing of it is to start
		one.drop(p, event.Abort(event.Interrupted, one.server.clientName()))
		return
	}
	if err == nil {
		_, err = one.opened.Submit(p.ctx, p.said.text,
			settle.WithID(p.input), settle.WithImages(p.said.images...), settle.From(one.server.clientName()))
	}
	switch {
	case errors.Is(err, settle.ErrClosed):
		one.drop(p, event.Abort(event.Shutdown, ""))
	case err != nil:
		one.fail(p, fmt.Errorf("cannot take the prompt: %w", err))
	}
}

// cancel interrupts the turns of the client's prompts that came so far.
func (s *Server) cancel(r *jsonrpc.Request) {
	var in sessionParams
	err := r.Decode(&in)
	if err == nil {
		var one *session
		if one, err = s.find(in.SessionID); err == nil {
			one.cancel(func(*prompt) bool { return true })
		}
	}
	if r.IsNotification() {
		return
	}
	if err != nil { // some send it as a request
		r.Fail(err)
		return
	}
	r.Reply(object{})
}

// cancel interrupts what is meant of the prompts that came so far (C10), and
// reports whether there was any. They are answered when that has ended.
func (one *session) cancel(meant func(*prompt) bool) (found bool) {
	one.mu.Lock()
	defer one.mu.Unlock()
	for _, p := range one.prompts {
		if meant(p) {
			found, p.cancelled = true, true
			one.server.start(func() { one.interrupt(p) })
		}
	}
	return found
}

// unwanted reports whether the client has cancelled a prompt.
func (one *session) unwanted(p *prompt) bool {
	one.mu.Lock()
	defer one.mu.Unlock()
	return p.cancelled
}

// interrupt ends what has become of a prompt that is cancelled.
func (one *session) interrupt(p *prompt) {
	select {
	case <-one.ready:
	default: // nothing has, and submit sees that nothing is to
		one.drop(p, event.Abort(event.Interrupted, one.server.clientName()))
		return
	}
	if one.err != nil {
		return // submit says so
	}
	// How it ended, the follower sees; ctx ends when it has told it.
	_, _ = one.opened.Interrupt(p.ctx, settle.Interruption{By: one.server.clientName(), Input: p.input})
}

// take takes a prompt away that is being answered now, and reports whether it
// was there.
func (one *session) take(p *prompt) bool {
	one.mu.Lock()
	defer one.mu.Unlock()
	for n, other := range one.prompts {
		if other == p {
			one.prompts = append(one.prompts[:n:n], one.prompts[n+1:]...)
			return true
		}
	}
	return false
}

func (one *session) fail(p *prompt, err error) {
	if one.take(p) {
		p.request.Fail(err)
	}
}

func (one *session) answer(p *prompt, result any) {
	if one.take(p) {
		p.request.Reply(result)
	}
}

// drop answers a prompt that no turn takes.
func (one *session) drop(p *prompt, cause *event.Cause) {
	one.answer(p, object{"stopReason": "cancelled", "_meta": object{"settle": ending(cause)}})
}

// ending says how a turn ended, for those who want to know more than the
// protocol can say.
func ending(c *event.Cause) object {
	o := object{"outcome": c.Outcome}
	if c.Outcome == event.Completed {
		return o
	}
	o["message"] = c.Error()
	if c.Reason != "" {
		o["reason"] = c.Reason
	}
	if c.Limit != "" {
		o["limit"] = c.Limit
	}
	if c.By != "" {
		o["by"] = c.By
	}
	return o
}
