package acp

import (
	"context"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/book"
	"github.com/settle-agent/settle/model"
)

// session is a session that the client has open, or is opening.
//
//	opening ─► open ─► closed
//	        └► failed
type session struct {
	server *Server
	id     string
	can    clientCapabilities

	wanted  int                     // load and resume that wait for it to open; guarded by the server's mu
	opening context.Context         //nolint:containedctx // of all of these
	abandon context.CancelCauseFunc // ends it

	ready  chan struct{} // closed when what follows is set
	err    error         // why it could not be opened
	opened *assemble.Opened
	policy *assemble.Policy
	// ceiling is the permission that the user configured; empty if none is.
	ceiling settle.Permission
	notes   []string // what the client is to know

	follower *follower       // set when it is ready
	followed chan struct{}   // closed when nothing more is said of it
	before   <-chan struct{} // gone of one with the same id that was being closed when this one came; or nil
	gone     chan struct{}   // closed when it has been closed

	choosing sync.Mutex // guards chosen; one choice at a time
	chosen   choices    // of the client

	prompts book.Book[*prompt] // that are not answered
	last    *prompt            // that came; for the reading of requests

	mu    sync.Mutex   // guards what follows
	model model.Config // that the next turn asks
}

// wait waits until the session is open.
func (ses *session) wait(ctx context.Context) error {
	select {
	case <-ses.ready:
		return ses.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// opened returns the session when it is open.
func (s *Server) opened(ctx context.Context, id string) (*session, error) {
	ses, err := s.find(id)
	if err != nil {
		return nil, err
	}
	return ses, ses.wait(ctx)
}

// send sends an update. It waits for a client that reads slowly; an error means
// that it does not read any more.
func (ses *session) send(update any) error {
	return ses.server.conn.Notify(ses.server.life, "session/update", sessionUpdate{ses.id, update})
}
