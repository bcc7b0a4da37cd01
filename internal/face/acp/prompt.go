package acp

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/book"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// prompt is a prompt that is to be answered.
type prompt struct {
	request   *jsonrpc.Request
	ctx       context.Context //nolint:containedctx // ends when it is answered, and with the connection
	said      input
	submitted chan struct{} // closed when the session has it, or will not
}

// entry is a prompt in the session's book, by the id of its input.
type entry = book.Entry[*prompt]

// prompt takes a prompt: from here on, a cancel finds it.
func (s *Server) prompt(ctx context.Context, r *jsonrpc.Request) {
	one, said, err := s.decodePrompt(r)
	if err != nil {
		r.Fail(err)
		return
	}
	p := &prompt{request: r, ctx: ctx, said: said, submitted: make(chan struct{})}
	before := one.last
	one.last = p
	e := one.prompts.Add("acp-"+uuid.NewString(), p)
	if !s.start(func() { one.submit(e, before) }) {
		one.fail(e, settle.ErrClosed)
	}
}

func (s *Server) decodePrompt(r *jsonrpc.Request) (*session, input, error) {
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
func (one *session) submit(e *entry, before *prompt) {
	p := e.Request
	defer close(p.submitted)
	if before != nil {
		select { // also where p has been answered: those behind it wait for both
		case <-before.submitted:
		case <-one.server.life.Done():
		}
	}
	err := one.wait(p.ctx)
	if e.Cancelled() { // C10: it is covered, and nothing of it is to start
		one.drop(e, event.Abort(event.Interrupted, one.server.clientName()))
		return
	}
	if err == nil {
		_, err = one.opened.Submit(p.ctx, p.said.text,
			settle.WithID(e.Key), settle.WithImages(p.said.images...), settle.From(one.server.clientName()))
	}
	switch {
	case errors.Is(err, settle.ErrClosed):
		one.drop(e, event.Abort(event.Shutdown, ""))
	case err != nil:
		one.fail(e, fmt.Errorf("cannot take the prompt: %w", err))
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
	for _, e := range one.prompts.Open() {
		if meant(e.Request) {
			found = true
			e.Cancel()
			one.server.start(func() { one.interrupt(e) })
		}
	}
	return found
}

// interrupt ends what has become of a prompt that is cancelled.
func (one *session) interrupt(e *entry) {
	select {
	case <-one.ready:
	default: // nothing has, and submit sees that nothing is to
		one.drop(e, event.Abort(event.Interrupted, one.server.clientName()))
		return
	}
	if one.err != nil {
		return // submit says so
	}
	// How it ended, the follower sees; ctx ends when it has told it.
	_, _ = one.opened.Interrupt(e.Request.ctx, settle.Interruption{By: one.server.clientName(), Input: e.Key})
}

func (one *session) fail(e *entry, err error) {
	if e.Answer() {
		e.Request.request.Fail(err)
	}
}

func (one *session) answer(e *entry, result any) {
	if e.Answer() {
		e.Request.request.Reply(result)
	}
}

// drop answers a prompt that no turn takes.
func (one *session) drop(e *entry, cause *event.Cause) {
	one.answer(e, object{"stopReason": "cancelled", "_meta": object{"settle": ending(cause)}})
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
