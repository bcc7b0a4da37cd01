package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// newSession creates a session.
func (s *Server) newSession(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var in setup
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	in.SessionID = "" // the protocol has none here
	ses := s.place(settle.NewSessionID())
	if err := ses.open(ctx, in); err != nil {
		return nil, err
	}
	ses.follower = newFollower(ses, ses.opened.State())
	ses.begin()
	s.mu.Lock()
	s.sessions[ses.id] = ses
	s.mu.Unlock()
	result := ses.described()
	result["sessionId"] = ses.id
	return result, nil
}

// reopen takes up a session that was kept. It is in its place before anything
// else is read, so that a prompt may follow at once.
func (s *Server) reopen(ctx context.Context, r *jsonrpc.Request) {
	var in setup
	if err := r.Decode(&in); err != nil {
		r.Fail(err)
		return
	}
	if in.SessionID == "" {
		r.Fail(jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "sessionId is missing"))
		return
	}
	s.mu.Lock()
	ses, again := s.sessions[in.SessionID]
	if !again {
		ses = s.placeLocked(in.SessionID)
		ses.opening, ses.abandon = context.WithCancelCause(s.life)
		s.sessions[in.SessionID] = ses
	}
	ses.wanted++
	s.mu.Unlock()
	load := r.Method == "session/load"
	if !again { // for all who ask meanwhile
		s.start(func() { ses.takeUp(ctx, in, load) })
	}
	s.answer(ctx, r, func(ctx context.Context, _ *jsonrpc.Request) (any, error) {
		if err := ses.awaitOpen(ctx); err != nil {
			return nil, err
		}
		if again {
			if err := ses.rejoin(in, load); err != nil {
				return nil, err
			}
		}
		return ses.described(), nil
	})
}

// takeUp opens the session, and tells all that was said in it, if the one who asks
// first wants that.
func (ses *session) takeUp(asks context.Context, in setup, load bool) {
	defer ses.abandon(nil)
	if err := ses.open(ses.opening, in); err != nil {
		ses.server.forget(ses)
		ses.failOpening(err)
		return
	}
	ses.follower = newFollower(ses, ses.opened.State())
	if load && asks.Err() == nil {
		if err := ses.follower.replay(); err != nil {
			ses.failOpening(err)
			return
		}
	}
	ses.begin()
}

// awaitOpen waits until the session is open. Where nobody waits for that any more, it
// is not opened, or closed again.
func (ses *session) awaitOpen(ctx context.Context) error {
	err := ses.wait(ctx)
	s := ses.server
	if s.giveUp(ses) {
		ses.abandon(err)
		s.start(func() {
			defer s.releasePlace(ses)
			_ = ses.close(s.life) // nobody asked for it
		})
	}
	return err
}

// giveUp takes note that one more does not wait for a session any more, and
// takes it out of its place where that was the last one, and too early.
func (s *Server) giveUp(ses *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses.wanted--
	select {
	case <-ses.ready:
		return false
	default:
	}
	if ses.wanted > 0 || s.sessions[ses.id] != ses {
		return false
	}
	s.leaveLocked(ses)
	return true
}

// rejoin has a session that is open taken up once more.
func (ses *session) rejoin(in setup, load bool) error {
	if err := checkDir(in.Cwd); err != nil {
		return err
	}
	if err := checkSameDir(ses.id, ses.opened.Spec.Dir, in.Cwd); err != nil || !load {
		return err
	}
	return ses.follower.replay()
}

func (s *Server) place(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.placeLocked(id)
}

func (s *Server) placeLocked(id string) *session {
	ses := &session{server: s, id: id, can: s.can, ready: make(chan struct{}), followed: make(chan struct{}), gone: make(chan struct{})}
	if before := s.leaving[id]; before != nil {
		ses.before = before.gone
	}
	return ses
}

// forget takes a session away that is not open, or not any more.
func (s *Server) forget(ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[ses.id] == ses {
		delete(s.sessions, ses.id)
	}
}

// failOpening tells those who wait for the session that it could not be opened.
func (ses *session) failOpening(err error) {
	ses.err = err
	close(ses.ready)
}

// begin has the session followed, and lets its prompts in.
func (ses *session) begin() {
	if !ses.server.start(ses.follower.follow) {
		close(ses.followed)
	}
	close(ses.ready)
}

// open opens the session where the client wants it. Then it begins, or fails.
func (ses *session) open(ctx context.Context, in setup) error {
	s := ses.server
	if err := ses.awaitPredecessor(ctx); err != nil {
		return err
	}
	if err := checkDir(in.Cwd); err != nil {
		return err
	}
	r, err := s.o.Sessions.Settings(in.Cwd, nil)
	if err != nil {
		return err
	}
	if in.SessionID != "" {
		dir, err := r.NeedDataDir()
		if err != nil {
			return err
		}
		if err := openable(ctx, dir, in.SessionID, in.Cwd); err != nil {
			return err
		}
	}
	permission := r.Permission
	if permission == "" {
		permission = s.o.Sessions.Base.Permission
	}
	ses.policy, ses.ceiling = assemble.NewPolicy(initialMode(permission)), r.Permission
	system, more, err := in.system()
	if err != nil {
		return err
	}
	wish := assemble.SessionSpec{Dir: in.Cwd, Options: func(o *assemble.Options) {
		o.Policy, o.Editor = ses.policy, ses.editor()
		if system != nil {
			o.System = system
		}
		o.Append = strings.TrimSpace(o.Append + "\n\n" + more)
	}}
	if ses.opened, err = s.o.Sessions.Open(ctx, ses.id, wish); err != nil {
		return err
	}
	ses.model = ses.opened.Agent.Session.Model
	ses.note(in)
	return nil
}

// awaitPredecessor waits until the session that had its place before is closed.
func (ses *session) awaitPredecessor(ctx context.Context) error {
	if ses.before == nil {
		return nil
	}
	select {
	case <-ses.before:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func checkDir(dir string) error {
	if !filepath.IsAbs(dir) {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "cwd must be an absolute path, not %q", dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "cwd: there is no directory %q", dir)
	}
	return nil
}

// openable refuses a session that is not there, or that works elsewhere: its
// tools would work in the wrong place.
func openable(ctx context.Context, dataDir, id, cwd string) error {
	for e, err := range journal.Read(ctx, dataDir, id, 0) {
		if damage := (*journal.DamageError)(nil); errors.As(err, &damage) {
			return nil // opening it says what can be had
		}
		if errors.Is(err, os.ErrNotExist) {
			return jsonrpc.Errorf(codeNotFound, "%v", err)
		}
		if err != nil {
			return err
		}
		if opened, ok := e.Data.(event.SessionOpened); ok {
			return checkSameDir(id, opened.Dir, cwd)
		}
		return nil
	}
	return nil
}

func checkSameDir(id, dir, cwd string) error {
	if sameDir(dir, cwd) {
		return nil
	}
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "session %q works in %q, not in %q", id, dir, cwd)
}

// sameDir reports whether two paths name one directory.
func sameDir(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// system is what the client says for the system prompt: instead of settle's
// own, or after it. It is a convention of several agents'.
func (in setup) system() (instead *string, more string, err error) {
	raw := in.Meta.SystemPrompt
	if len(raw) == 0 || string(raw) == "null" {
		return nil, "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return &text, "", nil
	}
	var object struct{ Append string }
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, `_meta.systemPrompt must be a text or {"append": text}`)
	}
	return nil, object.Append, nil
}

// note notes what the client asked for that cannot be had.
func (ses *session) note(in setup) {
	var servers []string
	for _, m := range in.MCPServers {
		servers = append(servers, m.Name)
	}
	if len(servers) > 0 {
		ses.notes = append(ses.notes, fmt.Sprintf(
			"The MCP servers of this session (%s) are not used: settle cannot use MCP servers yet. Its own tools work as usual.", strings.Join(servers, ", ")))
	}
	if len(in.AdditionalDirectories) > 0 {
		ses.notes = append(ses.notes, "Additional directories are not supported: the session works in "+in.Cwd+".")
	}
	ses.notes = append(ses.notes, ses.opened.Agent.Notes...)
	for _, n := range ses.notes {
		ses.server.say(errors.New(n))
	}
}

// described is what a client is told of a session that it has opened.
func (ses *session) described() object {
	o := object{"modes": ses.modes(), "configOptions": ses.options()}
	if len(ses.notes) > 0 {
		o["_meta"] = object{"settle": object{"warnings": ses.notes}}
	}
	return o
}
