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
	one, err := s.find(in.SessionID)
	if err == nil {
		s.leave(one)
	} else if r.Method == "session/close" {
		r.Fail(err)
		return
	}
	// It is not in its place any more: a client that cancels the request does not
	// get it back.
	s.answer(ctx, r, func(_ context.Context, r *jsonrpc.Request) (any, error) {
		if one != nil {
			defer s.releasePlace(one)
			if err := one.close(s.life); err != nil {
				return nil, err
			}
		}
		if r.Method == "session/delete" {
			return object{}, s.remove(s.life, one, in.SessionID)
		}
		return object{}, nil
	})
}

// leave takes a session out of its place, to be closed.
func (s *Server) leave(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveLocked(one)
}

func (s *Server) leaveLocked(one *session) {
	delete(s.sessions, one.id)
	s.leaving[one.id] = one
}

// releasePlace lets in whoever waits for a session to be closed, and for those that had
// its place before: it may not have waited for them itself.
func (s *Server) releasePlace(one *session) {
	_ = one.awaitPredecessor(s.life) // at the end of that, nobody is let in
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving[one.id] == one {
		delete(s.leaving, one.id)
	}
	close(one.gone)
}

// close ends everything of the session, and returns when all of that has been
// said.
func (one *session) close(ctx context.Context) error {
	one.cancel(func(*prompt) bool { return true })
	if err := one.wait(ctx); err != nil {
		return err
	}
	one.takeBack(ctx)
	if err := one.server.o.Sessions.Close(ctx, one.id, event.Interrupted, one.server.clientName()); err != nil {
		return err
	}
	select {
	case <-one.followed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takeBack takes back what waits to be run: once the session is closed, that is
// too late, and it would go along with a later prompt.
func (one *session) takeBack(ctx context.Context) {
	for _, e := range one.prompts.Open() {
		select {
		case <-e.Request.submitted:
		case <-ctx.Done():
			return
		}
		_, _ = one.opened.Drop(e.Key, one.server.clientName()) // a journal that fails has it held
	}
}

// remove deletes what is kept of a session that is closed.
func (s *Server) remove(ctx context.Context, one *session, id string) error {
	dir := s.o.Dir
	if one != nil {
		dir = one.opened.Spec.Dir
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
