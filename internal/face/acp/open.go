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
	one := s.place(settle.NewSessionID())
	if err := one.open(ctx, in); err != nil {
		return nil, err
	}
	one.follower = newFollower(one, one.opened.State())
	one.begin()
	s.mu.Lock()
	s.sessions[one.id] = one
	s.mu.Unlock()
	result := one.described()
	result["sessionId"] = one.id
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
	one, again := s.sessions[in.SessionID]
	if !again {
		one = s.placeLocked(in.SessionID)
		one.opening, one.abandon = context.WithCancelCause(s.life)
		s.sessions[in.SessionID] = one
	}
	one.wanted++
	s.mu.Unlock()
	load := r.Method == "session/load"
	if !again { // for all who ask meanwhile
		s.start(func() { one.takeUp(ctx, in, load) })
	}
	s.answer(ctx, r, func(ctx context.Context, _ *jsonrpc.Request) (any, error) {
		if err := one.awaitOpen(ctx); err != nil {
			return nil, err
		}
		if again {
			if err := one.rejoin(in, load); err != nil {
				return nil, err
			}
		}
		return one.described(), nil
	})
}

// takeUp opens the session, and tells all that was said in it, if the one who asks
// first wants that.
func (one *session) takeUp(asks context.Context, in setup, load bool) {
	defer one.abandon(nil)
	if err := one.open(one.opening, in); err != nil {
		one.server.forget(one)
		one.failOpening(err)
		return
	}
	one.follower = newFollower(one, one.opened.State())
	if load && asks.Err() == nil {
		if err := one.follower.replay(); err != nil {
			one.failOpening(err)
			return
		}
	}
	one.begin()
}

// awaitOpen waits until the session is open. Where nobody waits for that any more, it
// is not opened, or closed again.
func (one *session) awaitOpen(ctx context.Context) error {
	err := one.wait(ctx)
	s := one.server
	if s.giveUp(one) {
		one.abandon(err)
		s.start(func() {
			defer s.releasePlace(one)
			_ = one.close(s.life) // nobody asked for it
		})
	}
	return err
}

// giveUp takes note that one more does not wait for a session any more, and
// takes it out of its place where that was the last one, and too early.
func (s *Server) giveUp(one *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.wanted--
	select {
	case <-one.ready:
		return false
	default:
	}
	if one.wanted > 0 || s.sessions[one.id] != one {
		return false
	}
	s.leaveLocked(one)
	return true
}

// rejoin has a session that is open taken up once more.
func (one *session) rejoin(in setup, load bool) error {
	if err := checkDir(in.Cwd); err != nil {
		return err
	}
	if err := checkSameDir(one.id, one.opened.Spec.Dir, in.Cwd); err != nil || !load {
		return err
	}
	return one.follower.replay()
}

func (s *Server) place(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.placeLocked(id)
}

func (s *Server) placeLocked(id string) *session {
	one := &session{server: s, id: id, can: s.can, ready: make(chan struct{}), followed: make(chan struct{}), gone: make(chan struct{})}
	if before := s.leaving[id]; before != nil {
		one.before = before.gone
	}
	return one
}

// forget takes a session away that is not open, or not any more.
func (s *Server) forget(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[one.id] == one {
		delete(s.sessions, one.id)
	}
}

// failOpening tells those who wait for the session that it could not be opened.
func (one *session) failOpening(err error) {
	one.err = err
	close(one.ready)
}

// begin has the session followed, and lets its prompts in.
func (one *session) begin() {
	if !one.server.start(one.follower.follow) {
		close(one.followed)
	}
	close(one.ready)
}

// open opens the session where the client wants it. Then it begins, or fails.
func (one *session) open(ctx context.Context, in setup) error {
	s := one.server
	if err := one.awaitPredecessor(ctx); err != nil {
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
	one.policy, one.ceiling = assemble.NewPolicy(initialMode(permission)), r.Permission
	system, more, err := in.system()
	if err != nil {
		return err
	}
	wish := assemble.SessionSpec{Dir: in.Cwd, Options: func(o *assemble.Options) {
		o.Policy, o.Editor = one.policy, one.editor()
		if system != nil {
			o.System = system
		}
		o.Append = strings.TrimSpace(o.Append + "\n\n" + more)
	}}
	if one.opened, err = s.o.Sessions.Open(ctx, one.id, wish); err != nil {
		return err
	}
	one.model = one.opened.Agent.Session.Model
	one.note(in)
	return nil
}

// awaitPredecessor waits until the session that had its place before is closed.
func (one *session) awaitPredecessor(ctx context.Context) error {
	if one.before == nil {
		return nil
	}
	select {
	case <-one.before:
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
func (one *session) note(in setup) {
	var servers []string
	for _, m := range in.MCPServers {
		servers = append(servers, m.Name)
	}
	if len(servers) > 0 {
		one.notes = append(one.notes, fmt.Sprintf(
			"The MCP servers of this session (%s) are not used: settle cannot use MCP servers yet. Its own tools work as usual.", strings.Join(servers, ", ")))
	}
	if len(in.AdditionalDirectories) > 0 {
		one.notes = append(one.notes, "Additional directories are not supported: the session works in "+in.Cwd+".")
	}
	one.notes = append(one.notes, one.opened.Agent.Notes...)
	for _, n := range one.notes {
		one.server.say(errors.New(n))
	}
}

// described is what a client is told of a session that it has opened.
func (one *session) described() object {
	o := object{"modes": one.modes(), "configOptions": one.options()}
	if len(one.notes) > 0 {
		o["_meta"] = object{"settle": object{"warnings": one.notes}}
	}
	return o
}
