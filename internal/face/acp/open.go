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
	"github.com/settle-agent/settle/internal/agent"
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
	s.mu.Lock()
	s.sessions[one.id] = one
	s.mu.Unlock()
	one.begin(0)
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
		s.sessions[in.SessionID] = one
	}
	s.mu.Unlock()
	s.answer(ctx, r, func(ctx context.Context, r *jsonrpc.Request) (any, error) {
		var err error
		if again {
			err = one.again(ctx, in)
		} else if err = one.open(ctx, in); err != nil {
			s.forget(one)
		}
		if err != nil {
			return nil, err
		}
		return one.resumed(r.Method == "session/load", again)
	})
}

// again has a session that is open, or is being opened, taken up once more.
func (one *session) again(ctx context.Context, in setup) error {
	if err := one.wait(ctx); err != nil {
		return err
	}
	if err := checkDir(in.Cwd); err != nil {
		return err
	}
	return elsewhere(one.id, one.opened.Wish.Dir, in.Cwd)
}

// resumed tells of a session that was taken up: all that was said in it, if
// that is wanted, and then what goes on.
func (one *session) resumed(replay, again bool) (any, error) {
	switch {
	case again && replay:
		if err := one.follower.replay(); err != nil {
			return nil, err
		}
	case again:
	case replay:
		state := one.opened.State()
		if err := one.replay(state); err != nil {
			return nil, err
		}
		one.begin(state.Seq)
	default:
		one.begin(0)
	}
	return one.described(), nil
}

func (s *Server) place(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.placeLocked(id)
}

func (s *Server) placeLocked(id string) *session {
	return &session{
		server: s, id: id, can: s.can, ready: make(chan struct{}), followed: make(chan struct{}), before: s.leaving[id], gone: make(chan struct{}),
	}
}

// forget takes a session away that is not open, or not any more.
func (s *Server) forget(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[one.id] == one {
		delete(s.sessions, one.id)
	}
}

// open opens the session, and tells those that wait for it.
func (one *session) open(ctx context.Context, in setup) error {
	err := one.reach(ctx, in)
	if err != nil {
		one.err = err
		close(one.ready)
	}
	return err // else begin closes it
}

// begin has the session's events followed after the cursor, 0 for those to come,
// and lets its prompts in.
func (one *session) begin(cursor uint64) {
	titled := false
	one.opened.View(func(s event.State) {
		titled = len(s.Turns) > 0
		if cursor == 0 {
			cursor = s.Seq
		}
	})
	one.follower = newFollower(one, titled)
	if !one.server.start(func() { one.follower.follow(cursor) }) {
		close(one.followed)
	}
	close(one.ready)
}

// reach opens the session where the client wants it.
func (one *session) reach(ctx context.Context, in setup) error {
	s := one.server
	if one.before != nil {
		select {
		case <-one.before.gone:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := checkDir(in.Cwd); err != nil {
		return err
	}
	r, err := s.o.Hosts.Settings(in.Cwd, nil)
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
	permission := settle.Permission(r.Permission)
	if permission == "" {
		permission = s.o.Hosts.Base.Permission
	}
	one.policy = agent.NewPolicy(first(permission))
	system, more, err := in.system()
	if err != nil {
		return err
	}
	wish := agent.Wish{Dir: in.Cwd, Options: func(o *agent.Options) {
		o.Policy, o.Editor = one.policy, one.editor()
		if system != nil {
			o.System = system
		}
		o.Append = strings.TrimSpace(o.Append + "\n\n" + more)
	}}
	if one.opened, err = s.o.Hosts.OpenPatiently(ctx, one.id, wish); err != nil {
		return err
	}
	c := one.opened.Agent.Config
	one.brain = settle.Brain{ProviderName: c.ProviderName, Model: c.Model, Traits: c.Traits, Effort: c.Effort}
	one.note(in)
	return nil
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
			return elsewhere(id, opened.Dir, cwd)
		}
		return nil
	}
	return nil
}

func elsewhere(id, dir, cwd string) error {
	if same(dir, cwd) {
		return nil
	}
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "session %q works in %q, not in %q", id, dir, cwd)
}

// same reports whether two paths name one directory.
func same(a, b string) bool {
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
