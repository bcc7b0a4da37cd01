package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/hostsocket"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// Owner has the rights of the terminal that started a host, beyond the rights of an attached
// client: choose any permission, end the session with a cause, and leave the host running. Its
// calls come over a connection that only these two processes have, so that no other program can
// make them.
type Owner struct {
	// Detach has the host live on after the end of the connection.
	Detach func()
	// Close ends the session. The error names the turns and processes that did not end.
	Close func(reason event.Reason, by string) error
}

// ServeOwner serves the terminal that started this host until the terminal disconnects or ctx
// ends.
func ServeOwner(ctx context.Context, s *settle.Session, conn net.Conn, o Owner) {
	line, err := hostsocket.ReadLine(conn, maxGreeting)
	var r request
	if err != nil || json.Unmarshal(line, &r) != nil {
		return
	}
	if _, _, err := sendHello(s, conn); err != nil {
		return
	}
	serveCalls(ctx, conn, &handler{session: s, owner: &o})
}

// OpenOwned joins the session of a host that this process has started, as its owner. It takes
// over conn, the connection to that host.
func OpenOwned(ctx context.Context, dataDir, id string, conn net.Conn) (*Session, error) {
	state, err := journal.Load(dataDir, id)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	state.Session = id
	s := &Session{dataDir: dataDir, state: state, conn: conn, accepted: map[string]bool{}}
	cut := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	var hello answer
	err = hostsocket.Ask(conn, request{Join: id}, &hello, maxGreeting)
	if !cut() || err != nil || hello.Host == nil {
		err = fmt.Errorf("cannot join session %q: %w", id, hostsocket.ErrNoAnswer)
		return nil, errors.Join(err, conn.Close())
	}
	s.begin(hello)
	return s, nil
}

// SetMode changes the permission mode of the host's next calls, as its owner.
func (s *Session) SetMode(ctx context.Context, mode string) error {
	return s.adjust(ctx, methodMode, tightening{mode})
}

// Detach has the host live on when its owner disconnects.
func (s *Session) Detach(ctx context.Context) error {
	return s.call(ctx, answerTimeout, methodDetach, nil, nil)
}

// End ends the session and its host, as the host's owner, and disconnects. [Session.Events] still
// yields the events that the host has written. The error names the turns and processes that did not
// end before ctx.
func (s *Session) End(ctx context.Context, reason event.Reason, by string) error {
	err := s.call(ctx, 0, methodClose, closing{reason, by}, nil)
	if half, ok := s.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the host has ended, or ends now
	}
	select {
	case <-s.calls.Ended():
	case <-ctx.Done():
	}
	_ = s.conn.Close() // the same
	if silent, ok := errors.AsType[*SilentError](err); ok && !silent.Stopped {
		return fmt.Errorf("%s is still ending the session", s.host)
	}
	if _, ended := errors.AsType[*GoneError](err); ended {
		return nil
	}
	return err
}

// own executes the calls that only the host's owner can make.
func (h *handler) own(r *jsonrpc.Request) (any, error) {
	if h.owner == nil {
		return nil, errors.New("only the terminal that started the host can do that")
	}
	switch r.Method {
	case methodDetach:
		h.owner.Detach()
		return done{true}, nil
	case methodClose:
		return call(r, func(p closing) (any, error) { return done{true}, h.owner.Close(p.Reason, p.By) })
	}
	return call(r, func(p tightening) (any, error) {
		opened, err := h.opened()
		if err != nil {
			return nil, err
		}
		mode, err := assemble.ModeNamed(p.Mode)
		if err != nil {
			return nil, err
		}
		if opened.Agent.Policy() == nil {
			return nil, errors.New("the host of this session fixes its permission")
		}
		opened.Agent.Policy().Set(mode)
		return h.settings(), nil
	})
}
