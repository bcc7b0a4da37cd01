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
	ses, said, err := s.decodePrompt(r)
	if err != nil {
		r.Fail(err)
		return
	}
	p := &prompt{request: r, ctx: ctx, said: said, submitted: make(chan struct{})}
	before := ses.last
	ses.last = p
	e := ses.prompts.Add("acp-"+uuid.NewString(), p)
	if !s.start(func() { ses.submit(e, before) }) {
		ses.fail(e, settle.ErrClosed)
	}
}

func (s *Server) decodePrompt(r *jsonrpc.Request) (*session, input, error) {
	var in promptParams
	if err := r.Decode(&in); err != nil {
		return nil, input{}, err
	}
	ses, err := s.find(in.SessionID)
	if err != nil {
		return nil, input{}, err
	}
	said, err := read(in.Prompt)
	return ses, said, err
}

// submit gives the session a prompt, after those that came before it.
func (ses *session) submit(e *entry, before *prompt) {
	p := e.Request
	defer close(p.submitted)
	if before != nil {
		select { // also where p has been answered: those behind it wait for both
		case <-before.submitted:
		case <-ses.server.life.Done():
		}
	}
	err := ses.wait(p.ctx)
	if e.Cancelled() { // C10: it is covered, and nothing of it is to start
		ses.drop(e, event.Abort(event.Interrupted, ses.server.clientName()))
		return
	}
	if err == nil {
		_, err = ses.opened.Submit(p.ctx, p.said.text,
			settle.WithID(e.Key), settle.WithImages(p.said.images...), settle.From(ses.server.clientName()))
	}
	switch {
	case errors.Is(err, settle.ErrClosed):
		ses.drop(e, event.Abort(event.Shutdown, ""))
	case err != nil:
		ses.fail(e, fmt.Errorf("cannot take the prompt: %w", err))
	}
}

// cancel interrupts the turns of the client's prompts that came so far.
func (s *Server) cancel(r *jsonrpc.Request) {
	var in sessionParams
	err := r.Decode(&in)
	if err == nil {
		var ses *session
		if ses, err = s.find(in.SessionID); err == nil {
			ses.cancel(func(*prompt) bool { return true })
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
func (ses *session) cancel(meant func(*prompt) bool) (found bool) {
	for _, e := range ses.prompts.Open() {
		if meant(e.Request) {
			found = true
			e.Cancel()
			ses.server.start(func() { ses.interrupt(e) })
		}
	}
	return found
}

// interrupt ends what has become of a prompt that is cancelled.
func (ses *session) interrupt(e *entry) {
	select {
	case <-ses.ready:
	default: // nothing has, and submit sees that nothing is to
		ses.drop(e, event.Abort(event.Interrupted, ses.server.clientName()))
		return
	}
	if ses.err != nil {
		return // submit says so
	}
	// How it ended, the follower sees; ctx ends when it has told it.
	_, _ = ses.opened.Interrupt(e.Request.ctx, settle.Interruption{By: ses.server.clientName(), Input: e.Key})
}

func (ses *session) fail(e *entry, err error) {
	if e.Answer() {
		e.Request.request.Fail(err)
	}
}

func (ses *session) answer(e *entry, result any) {
	if e.Answer() {
		e.Request.request.Reply(result)
	}
}

// drop answers a prompt that no turn takes.
func (ses *session) drop(e *entry, cause *event.Cause) {
	ses.answer(e, object{"stopReason": "cancelled", "_meta": object{"settle": ending(cause)}})
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
