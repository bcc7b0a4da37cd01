package appserver

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/rpc"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/frontend/compat/codex"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// Options configure a server.
type Options struct {
	rpc.Options
	DataDir string
	// Sandbox and Approval are the permissions of threads whose client requests none, in Codex's
	// words; empty means the configured permission.
	Sandbox  codex.Sandbox
	Approval codex.Approval
}

const codeOverloaded = -32001

// Server serves one client.
type Server struct {
	*rpc.Server
	disk     disk
	sandbox  codex.Sandbox  // of [Options]
	approval codex.Approval // as well
	threads  rpc.Registry[loadedThread]

	mu      sync.Mutex // guards the fields below
	ready   bool       // initialize was answered
	unasked []string   // notifications that the client does not want
}

// Serve answers the client until the client closes its end or a stop arrives, then ends everything,
// reports that, and returns the stop, if there was one. The error names the work that did not end.
func Serve(ctx context.Context, o Options) (*stdio.Stop, error) {
	s := &Server{disk: disk{catalogue.Shelf{Dir: o.DataDir}}, sandbox: o.Sandbox, approval: o.Approval}
	s.Server = rpc.New(o.Options, rpc.Protocol{
		Dialect: jsonrpc.Bare,
		Handler: s,
		Refusal: refusal,
		Busy:    jsonrpc.Errorf(codeOverloaded, "Server overloaded; retry later."),
	})
	stop, err := s.Server.Serve(ctx)
	return stop, errors.Join(err, s.disk.Close())
}

// Handle implements [jsonrpc.Handler].
func (s *Server) Handle(_ context.Context, r *jsonrpc.Request) {
	switch {
	case r.IsNotification(): // "initialized" is all there is
	case r.Method == "initialize":
		s.initialize(r)
	case !s.initialized():
		r.Fail(invalid("Not initialized"))
	default:
		s.Dispatch(s.Life, r, s.methods())
	}
}

// methods returns the methods that clients can call, except initialize.
func (s *Server) methods() map[string]rpc.Method {
	return map[string]rpc.Method{
		"config/read": rpc.Of(s.configRead),
		// No login is needed: keys come from the environment and the configuration.
		"account/read": rpc.Always(
			object{"account": nil, "userId": nil, "requiresOpenaiAuth": false},
		),
		"model/list":                           rpc.Of(s.modelList),
		"permissionProfile/list":               rpc.Always(profileList()),
		"skills/list":                          rpc.Of(s.skillsList),
		"mcpServerStatus/list":                 rpc.Of(s.serverList),
		"skills/extraRoots/set":                rpc.Always(object{}),
		"thread/start":                         rpc.Later(s.threadStart),
		"thread/resume":                        rpc.Later(s.threadResume),
		"thread/list":                          rpc.Of(s.threadList),
		"thread/loaded/list":                   rpc.Of(s.threadLoaded),
		"thread/read":                          rpc.Of(s.threadRead),
		"thread/archive":                       rpc.Later(s.threadArchive),
		"thread/unarchive":                     rpc.Later(s.threadUnarchive),
		"thread/unsubscribe":                   rpc.Later(s.threadUnsubscribe),
		"thread/name/set":                      rpc.Later(s.threadName),
		"thread/compact/start":                 ofLoaded(s, (*loadedThread).compact),
		"thread/goal/get":                      rpc.Always(object{"goal": nil}), // settle has none
		"thread/backgroundTerminals/list":      ofLoaded(s, (*loadedThread).listJobs),
		"thread/backgroundTerminals/terminate": ofLoaded(s, (*loadedThread).terminateJob),
		"turn/start":                           ofLoaded(s, (*loadedThread).startTurn),
		"turn/steer":                           ofLoaded(s, (*loadedThread).steerTurn),
		"turn/interrupt":                       ofLoaded(s, (*loadedThread).interruptTurn),
	}
}

func (s *Server) initialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}

// notify sends a notification, unless the client does not want it.
func (s *Server) notify(n note) {
	s.mu.Lock()
	unasked := slices.Contains(s.unasked, n.Method)
	s.mu.Unlock()
	if !unasked {
		_ = s.Notify(s.Life, n.Method, n.Params) // the connection notices a closed output
	}
}

// ofLoaded is a method of a thread that must be loaded.
func ofLoaded[P any](s *Server, serve func(*loadedThread, context.Context, *jsonrpc.Request, P) error) rpc.Method {
	return rpc.Later(func(ctx context.Context, r *jsonrpc.Request, p about) error {
		l := s.threads.Get(p.ThreadID)
		if l == nil {
			return invalid("thread not found: %s", p.ThreadID)
		}
		var params P
		if err := r.Decode(&params); err != nil {
			return err
		}
		return serve(l, ctx, r, params)
	})
}
