package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/client/image"
	"github.com/settle-agent/settle/internal/client/pending"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// prompt is a prompt that waits for its answer.
type prompt struct {
	request *jsonrpc.Request
	ctx     context.Context // ends when it is answered, and with the connection
	session string
	text    string
	files   image.Attached
	taker   atomic.Pointer[session] // that it was given to
}

// entry is a prompt in the book, by the id of its input.
type entry = pending.Entry[*prompt]

// prompt takes a prompt: from here on, a cancel finds it.
func (s *Server) prompt(ctx context.Context, r *jsonrpc.Request) {
	var in promptParams
	err := r.Decode(&in)
	if err != nil {
		r.Fail(err)
		return
	}
	p := &prompt{request: r, ctx: ctx, session: in.SessionID}
	if p.text, p.files, err = read(in.Prompt); err != nil {
		r.Fail(err)
		return
	}
	e := s.prompts.Add("acp-"+uuid.NewString(), p)
	if !s.Lane(p.session, func() { s.submit(e) }) {
		fail(e, settle.ErrClosed)
	}
}

// submit gives the session a prompt, in the order of arrival.
func (s *Server) submit(e *entry) {
	p := e.Request
	ses, err := s.find(p.session)
	if err != nil {
		fail(e, err)
		return
	}
	p.taker.Store(ses)
	if e.Cancelled() { // C10: it is covered, and nothing of it is to start
		drop(e, event.Abort(event.Interrupted, s.Client()))
		return
	}
	if commands.Async(p.text) { // others do not wait for a server
		s.Go(func() { s.give(ses, e) }) // ends with the prompt's context, or the session
		return
	}
	s.give(ses, e)
}

// give submits a prompt to the session, expanded if it is a command.
func (s *Server) give(ses *session, e *entry) {
	p := e.Request
	_, err := ses.opened.Submit(
		p.ctx, p.text, settle.WithID(e.Key), settle.WithImages(p.files.Images...),
		settle.WithDocuments(p.files.Documents...), settle.From(s.Client()),
		commands.Expander(ses.opened.Commands()),
	)
	failed, cause := (*commands.FailedError)(nil), (*event.Cause)(nil)
	switch {
	case errors.As(err, &failed):
		fail(e, invalid("%v", err))
	case errors.As(err, &cause): // the command could not be expanded yet
		drop(e, cause)
	case errors.Is(err, settle.ErrClosed):
		drop(e, event.Abort(event.Shutdown, ""))
	case err != nil:
		fail(e, fmt.Errorf("cannot take the prompt: %w", err))
	}
}

// cancel interrupts the turns of the client's prompts that came so far.
func (s *Server) cancel(r *jsonrpc.Request) {
	if err := s.cancelAll(r); err != nil { // some send it as a request
		r.Fail(err)
		return
	}
	r.Reply(object{})
}

// cancelAll interrupts all prompts so far of the session that a request names.
func (s *Server) cancelAll(r *jsonrpc.Request) error {
	var in about
	if err := r.Decode(&in); err != nil {
		return err
	}
	if s.interruptAll(func(p *prompt) bool { return p.session == in.SessionID }) {
		return nil
	}
	_, err := s.find(in.SessionID)
	return err
}

// cancelRequest cancels a request of the client's. A prompt is answered as one
// that was cancelled with session/cancel.
func (s *Server) cancelRequest(r *jsonrpc.Request) {
	var in struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if r.Decode(&in) != nil || len(in.RequestID) == 0 {
		return
	}
	if !s.interruptAll(func(p *prompt) bool { return string(p.request.ID) == string(in.RequestID) }) {
		s.Cancel(in.RequestID)
	}
}

// interruptAll interrupts the prompts so far that meant selects (C10), and reports whether there
// were any. They are answered when they have ended.
func (s *Server) interruptAll(meant func(*prompt) bool) (found bool) {
	for _, e := range s.prompts.Open() {
		if meant(e.Request) {
			found = true
			e.Cancel()
			s.Lane("interrupt "+e.Key, func() { s.interrupt(e) })
		}
	}
	return found
}

// interrupt ends the turn of a cancelled prompt, or drops the prompt. The session's follow
// sees the outcome and answers; then the prompt's context ends.
func (s *Server) interrupt(e *entry) {
	by := s.Client()
	ses, err := s.find(e.Request.session)
	if err != nil { // it is still to open, and submit sees that nothing is to start
		drop(e, event.Abort(event.Interrupted, by))
		return
	}
	_, _ = ses.opened.Interrupt(e.Request.ctx, settle.Interruption{By: by, Input: e.Key})
}

func fail(e *entry, err error) {
	if e.Answer() {
		e.Request.request.Fail(err)
	}
}

func answer(e *entry, result any) {
	if e.Answer() {
		e.Request.request.Reply(result)
	}
}

// drop answers a prompt that no turn takes.
func drop(e *entry, cause *event.Cause) {
	answer(e, object{"stopReason": "cancelled", "_meta": meta(ending{Cause: *cause})})
}

// ending is the cause of a turn's end, for clients that need more details than the protocol has.
type ending struct {
	event.Cause
	Turn string `json:"turn,omitempty"`
}

func meta(e ending) object {
	if e.Outcome != event.Completed {
		e.Message = e.Error()
	}
	return object{"settle": e}
}
