package acp

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/settle-agent/settle/internal/client/pending"
	"github.com/settle-agent/settle/internal/client/rpc"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/redact"
)

// Server is an agent of one client.
type Server struct {
	*rpc.Server
	prompts  pending.Requests[*prompt] // that are not answered
	sessions rpc.Registry[session]
	can      atomic.Pointer[clientCapabilities]
}

// Serve answers the client until the client closes its end, a stop arrives, or the output is
// closed. Then it ends all work of every session, and still sends the last updates and answers. The
// error names the work that did not end.
func Serve(ctx context.Context, o rpc.Options) error {
	s := &Server{}
	s.can.Store(&clientCapabilities{})
	s.Server = rpc.New(o, rpc.Protocol{
		Dialect: jsonrpc.V2,
		Handler: s,
		Refusal: refusal,
		Busy:    jsonrpc.Errorf(jsonrpc.CodeInternal, "settle is busy: too many requests are open"),
	})
	_, err := s.Server.Serve(ctx)
	return err
}

// Handle implements [jsonrpc.Handler]. Prompts and cancels, which must keep their order, are
// recorded here before the next message is read; the work is done in lanes.
func (s *Server) Handle(ctx context.Context, r *jsonrpc.Request) {
	switch r.Method {
	case "initialize":
		s.initialize(r)
	case "session/prompt":
		s.prompt(ctx, r)
	case "session/cancel":
		s.cancel(r)
	case "$/cancel_request":
		s.cancelRequest(r)
	default:
		if r.Method == "session/close" || r.Method == "session/delete" {
			_ = s.cancelAll(r) // the request's method reports its errors
		}
		s.Dispatch(ctx, r, s.methods())
	}
}

// methods returns the methods whose order matters only within a session.
func (s *Server) methods() map[string]rpc.Method {
	return map[string]rpc.Method{
		"authenticate":              rpc.Of(s.authenticate),
		"session/new":               rpc.Later(s.newSession),
		"session/load":              rpc.Later(s.load),
		"session/resume":            rpc.Later(s.resume),
		"session/close":             rpc.Of(s.closeSession),
		"session/delete":            rpc.Of(s.deleteSession),
		"session/list":              rpc.Of(s.list),
		"session/set_mode":          rpc.Of(s.setMode),
		"session/set_config_option": rpc.Of(s.setOption),
	}
}

// refusal returns the error of a response: the client's cancellation of the request, or an error
// without secrets (C15).
func refusal(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		return cause
	}
	code := jsonrpc.CodeInternal
	if name := (*journal.NameError)(nil); errors.As(err, &name) {
		code = jsonrpc.CodeInvalidParams
	}
	if refused := (*jsonrpc.Error)(nil); errors.As(err, &refused) {
		code, err = refused.Code, errors.New(refused.Message)
	}
	e := jsonrpc.Errorf(code, "%s", redact.Diagnostic(err.Error()))
	if raw, failed := json.Marshal(object{"details": e.Message}); code == jsonrpc.CodeInternal && failed == nil {
		e.Data = raw // clients with words of their own for the code show the data
	}
	return e
}

// invalid is the answer to parameters that cannot be used.
func invalid(format string, a ...any) error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, format, a...)
}

func (s *Server) initialize(r *jsonrpc.Request) {
	var in initializeParams
	if err := r.Decode(&in); err != nil {
		r.Fail(err)
		return
	}
	s.SetClientName(in.ClientInfo.Name)
	s.can.Store(&in.ClientCapabilities)
	r.Reply(object{
		"protocolVersion": protocolVersion,
		"agentInfo":       object{"name": "settle", "title": "settle", "version": s.Version},
		"agentCapabilities": object{
			"loadSession":         true,
			"promptCapabilities":  object{"image": true, "audio": false, "embeddedContext": true},
			"mcpCapabilities":     object{"http": true, "sse": false},
			"sessionCapabilities": object{"list": object{}, "resume": object{}, "close": object{}, "delete": object{}},
		},
		"authMethods": []object{}, // keys come from the environment and the configuration
	})
}

func (s *Server) authenticate(_ context.Context, in authenticateParams) (any, error) {
	return nil, invalid(
		"there is no way %q to authenticate: settle takes keys from the environment and its configuration", in.MethodID,
	)
}

// find returns a session that the client has open.
func (s *Server) find(id string) (*session, error) {
	if found := s.sessions.Get(id); found != nil {
		return found, nil
	}
	return nil, jsonrpc.Errorf(
		codeNotFound, "there is no open session %q; session/new, session/load and session/resume open one", id,
	)
}
