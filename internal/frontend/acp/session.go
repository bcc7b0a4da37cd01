package acp

import (
	"context"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// session is a session that the client has open. Requests about it come one at a
// time, in its lane.
type session struct {
	*Server
	id     string
	can    clientCapabilities
	opened *assemble.Opened
	// offered has the commands that the client knows.
	offered offered
	policy  *assemble.Policy
	// ceiling is the permission that the user configured; empty if none is.
	ceiling settle.Permission
	notes   []string // notes for the client

	asker    *asker.Asker
	followed chan struct{} // closed after the last update about the session

	mu      sync.Mutex // guards the fields below; events come one by one, output also with a timer
	log     *transcript.Transcript
	readErr error            // the error of an output that the client no longer reads
	calls   map[string]*call // open calls, by item
	heard   map[string]bool  // waiting inputs that a replay has sent
	titled  bool
	noted   int         // number of notes that were sent
	flusher *time.Timer // runs while output waits to be shown
}

// newSession creates a session.
func (s *Server) newSession(ctx context.Context, r *jsonrpc.Request, in setup) error {
	ses, err := s.open(ctx, settle.NewSessionID(), in)
	if err != nil {
		return err
	}
	s.Go(ses.follow)
	result := ses.described()
	result["sessionId"] = ses.id
	r.Reply(result)
	s.Go(ses.offer)
	return nil
}

// resume takes up a session that was kept, or that is open.
func (s *Server) resume(ctx context.Context, r *jsonrpc.Request, in setup) error {
	ses, isNew, err := s.reopen(ctx, in)
	if err != nil {
		return err
	}
	if isNew {
		s.Go(ses.follow)
	}
	r.Reply(ses.described())
	s.Go(ses.offer)
	return nil
}

// load opens a session as resume does, and first sends its whole conversation.
func (s *Server) load(ctx context.Context, r *jsonrpc.Request, in setup) error {
	ses, isNew, err := s.reopen(ctx, in)
	if err != nil {
		return err
	}
	s.Go(func() { // beside the lane: it waits for a client that reads slowly
		if err := ses.replay(); err != nil {
			r.Fail(err)
		}
		r.Reply(ses.described())
		ses.offer()
		if isNew {
			ses.follow()
		}
	})
	return nil
}

// reopen returns a session that was kept, and whether it is opened just now.
func (s *Server) reopen(ctx context.Context, in setup) (ses *session, isNew bool, err error) {
	if in.SessionID == "" {
		return nil, false, invalid("sessionId is missing")
	}
	if _, err := assemble.WorkDir(in.Cwd); err != nil {
		return nil, false, invalid("%v", err)
	}
	if ses, err := s.find(in.SessionID); err == nil {
		return ses, false, checkSameDir(ses.id, ses.opened.Spec.Dir, in.Cwd)
	}
	if err := s.checkKept(ctx, in.SessionID, in.Cwd); err != nil {
		return nil, false, err
	}
	ses, err = s.open(ctx, in.SessionID, in)
	return ses, err == nil, err
}

// closeSession closes a session. It continues if the client cancels the request, since a
// half-closed session cannot be used.
func (s *Server) closeSession(_ context.Context, in about) (any, error) {
	ses, err := s.find(in.SessionID)
	if err != nil {
		return nil, err
	}
	return object{}, ses.close()
}

// close ends all work of the session, and returns when all endings have been sent. It
// drops waiting inputs, which would otherwise run with a later prompt.
func (ses *session) close() error {
	defer ses.sessions.Remove(ses.id)
	for _, e := range ses.given() {
		_, _ = ses.opened.Drop(e.Key, ses.Client()) // a journal that fails has it held
	}
	return ses.CloseSession(ses.id, event.Interrupted, ses.followed)
}

// given are the prompts that the session was given and that are not answered.
func (ses *session) given() (out []*entry) {
	for _, e := range ses.prompts.Open() {
		if e.Request.taker.Load() == ses {
			out = append(out, e)
		}
	}
	return out
}
