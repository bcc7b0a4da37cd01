package acp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/redact"
)

// Handle implements [jsonrpc.Handler]. What must keep its order, prompts and
// cancels, is noted here, before anything else is read; the work is done beside.
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
	case "session/load", "session/resume":
		s.reopen(ctx, r)
	case "session/close", "session/delete":
		s.closing(ctx, r)
	default:
		s.dispatch(ctx, r)
	}
}

// dispatch answers requests whose order does not matter.
func (s *Server) dispatch(ctx context.Context, r *jsonrpc.Request) {
	methods := map[string]func(context.Context, *jsonrpc.Request) (any, error){
		"authenticate":              s.authenticate,
		"session/new":               s.newSession,
		"session/list":              s.list,
		"session/set_mode":          s.setMode,
		"session/set_config_option": s.setOption,
	}
	method := methods[r.Method]
	if method == nil {
		if !r.IsNotification() {
			r.Fail(jsonrpc.MethodNotFound(r.Method))
		}
		return
	}
	s.answer(ctx, r, method)
}

// answer answers a request beside the reading of others.
func (s *Server) answer(ctx context.Context, r *jsonrpc.Request, method func(context.Context, *jsonrpc.Request) (any, error)) {
	begun := s.start(func() {
		result, err := method(ctx, r)
		if err != nil {
			r.Fail(refusal(ctx, err))
			return
		}
		r.Reply(result)
	})
	if !begun {
		r.Fail(settle.ErrClosed)
	}
}

// refusal is how an error is answered: that the client cancelled the request,
// or what is wrong, without secrets (C15).
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
	if raw, failed := encode(object{"details": e.Message}); code == jsonrpc.CodeInternal && failed == nil {
		e.Data = raw // what clients show that have words of their own for the code
	}
	return e
}

func (s *Server) initialize(r *jsonrpc.Request) {
	var in initializeParams
	if err := r.Decode(&in); err != nil {
		r.Fail(err)
		return
	}
	s.mu.Lock()
	s.can = in.ClientCapabilities
	if in.ClientInfo != nil && in.ClientInfo.Name != "" {
		s.client = in.ClientInfo.Name
	}
	s.mu.Unlock()
	r.Reply(object{
		"protocolVersion": protocolVersion,
		"agentInfo":       implementation{Name: "settle", Title: "settle", Version: s.o.Version},
		"agentCapabilities": object{
			"loadSession":         true,
			"promptCapabilities":  object{"image": true, "audio": false, "embeddedContext": true},
			"mcpCapabilities":     object{"http": false, "sse": false},
			"sessionCapabilities": object{"list": object{}, "resume": object{}, "close": object{}, "delete": object{}},
		},
		"authMethods": []object{}, // keys come from the environment and the configuration
	})
}

func (s *Server) authenticate(_ context.Context, r *jsonrpc.Request) (any, error) {
	var in struct {
		MethodID string `json:"methodId"`
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no way %q to authenticate: settle takes keys from the environment and its configuration", in.MethodID)
}

// cancelRequest cancels a request of the client's. A prompt is answered as one
// that was cancelled with session/cancel.
func (s *Server) cancelRequest(r *jsonrpc.Request) {
	var in struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if r.Decode(&in) != nil || len(in.RequestID) == 0 {
		return
	}
	s.mu.Lock()
	all := slices.AppendSeq(slices.Collect(maps.Values(s.sessions)), maps.Values(s.leaving)) // a prompt may still wait in these
	s.mu.Unlock()
	for _, ses := range all {
		if ses.cancel(func(p *prompt) bool { return string(p.request.ID) == string(in.RequestID) }) {
			return
		}
	}
	s.conn.Cancel(in.RequestID)
}
