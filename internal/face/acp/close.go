package acp

import (
	"context"
	"errors"
	"io/fs"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// closing closes a session, or deletes one. It is not in its place any more when
// the next message is read, so that it may be taken up again at once.
func (s *Server) closing(ctx context.Context, r *jsonrpc.Request) {
	var in sessionParams
	if err := r.Decode(&in); err != nil {
		r.Fail(err)
		return
	}
	ses, err := s.find(in.SessionID)
	if err == nil {
		s.leave(ses)
	} else if r.Method == "session/close" {
		r.Fail(err)
		return
	}
	// It is not in its place any more: a client that cancels the request does not
	// get it back.
	s.answer(ctx, r, func(_ context.Context, r *jsonrpc.Request) (any, error) {
		if ses != nil {
			defer s.releasePlace(ses)
			if err := ses.close(s.life); err != nil {
				return nil, err
			}
		}
		if r.Method == "session/delete" {
			return object{}, s.remove(s.life, ses, in.SessionID)
		}
		return object{}, nil
	})
}

// leave takes a session out of its place, to be closed.
func (s *Server) leave(ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveLocked(ses)
}

func (s *Server) leaveLocked(ses *session) {
	delete(s.sessions, ses.id)
	s.leaving[ses.id] = ses
}

// releasePlace lets in whoever waits for a session to be closed, and for those that had
// its place before: it may not have waited for them itself.
func (s *Server) releasePlace(ses *session) {
	_ = ses.awaitPredecessor(s.life) // at the end of that, nobody is let in
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving[ses.id] == ses {
		delete(s.leaving, ses.id)
	}
	close(ses.gone)
}

// close ends everything of the session, and returns when all of that has been
// said.
func (ses *session) close(ctx context.Context) error {
	ses.cancel(func(*prompt) bool { return true })
	if err := ses.wait(ctx); err != nil {
		return err
	}
	ses.takeBack(ctx)
	if err := ses.server.o.Sessions.Close(ctx, ses.id, event.Interrupted, ses.server.clientName()); err != nil {
		return err
	}
	select {
	case <-ses.followed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takeBack takes back what waits to be run: once the session is closed, that is
// too late, and it would go along with a later prompt.
func (ses *session) takeBack(ctx context.Context) {
	for _, e := range ses.prompts.Open() {
		select {
		case <-e.Request.submitted:
		case <-ctx.Done():
			return
		}
		_, _ = ses.opened.Drop(e.Key, ses.server.clientName()) // a journal that fails has it held
	}
}

// remove deletes what is kept of a session that is closed.
func (s *Server) remove(ctx context.Context, ses *session, id string) error {
	dir := s.o.Dir
	if ses != nil {
		dir = ses.opened.Spec.Dir
	}
	r, err := s.o.Sessions.Settings(dir, nil)
	if err != nil {
		return err
	}
	data, err := r.NeedDataDir()
	if err != nil {
		return err
	}
	err = store.Delete(ctx, data, id)
	if errors.Is(err, fs.ErrNotExist) {
		return jsonrpc.Errorf(codeNotFound, "%v", err)
	}
	return err
}
