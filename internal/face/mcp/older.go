package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agent"
)

// The requests of the older interface: that of Codex's MCP server of 2025,
// beside MCP's own on the same connection
// (openai/codex, codex-rs/protocol/src/mcp_protocol.rs).
const (
	methodNew          = "newConversation"
	methodResume       = "resumeConversation"
	methodList         = "listConversations"
	methodMessage      = "sendUserMessage"
	methodTurn         = "sendUserTurn"
	methodInterrupt    = "interruptConversation"
	methodListen       = "addConversationListener"
	methodUnlisten     = "removeConversationListener"
	methodUserAgent    = "getUserAgent"
	methodAuth         = "getAuthStatus"
	methodAskCommand   = "execCommandApproval"
	methodAskPatch     = "applyPatchApproval"
	notificationPrefix = "codex/event/"
)

// byOlder says in the log who asked: the older interface has no names.
const byOlder = "codex-client"

// handler answers a request. It admits its place when those that come after
// may go on, at the latest by returning.
type handler func(ctx context.Context, params json.RawMessage) (any, error)

// older is the older interface on one connection.
type older struct {
	face *Face
	conn *conn
	ctx  context.Context //nolint:containedctx // of the connection, ended by close
	end  context.CancelFunc
	busy sync.WaitGroup // handlers, and what conversations do

	mu        sync.Mutex // guards what follows
	talks     map[string]*talk
	listeners map[string]*talk // by subscription
}

func newOlder(f *Face, c *conn) *older {
	o := &older{face: f, conn: c, talks: map[string]*talk{}, listeners: map[string]*talk{}}
	o.ctx, o.end = context.WithCancel(context.Background())
	return o
}

// handler returns what answers a method, or nil if it is not one of the older
// interface's.
func (o *older) handler(method string) handler {
	switch method {
	case methodNew:
		return decoded(o.begin)
	case methodResume:
		return decoded(o.resume)
	case methodList:
		return decoded(o.list)
	case methodMessage:
		return decoded(o.message)
	case methodTurn:
		return decoded(o.turn)
	case methodInterrupt:
		return decoded(o.interrupt)
	case methodListen:
		return decoded(o.listen)
	case methodUnlisten:
		return decoded(o.unlisten)
	case methodUserAgent:
		return func(context.Context, json.RawMessage) (any, error) {
			return userAgent{"settle/" + o.face.Version}, nil
		}
	case methodAuth:
		return func(context.Context, json.RawMessage) (any, error) { return authStatus{}, nil }
	}
	return nil
}

// decoded decodes a request's parameters.
func decoded[In any](f func(context.Context, In) (any, error)) handler {
	return func(ctx context.Context, params json.RawMessage) (any, error) {
		var in In
		if len(params) > 0 {
			if err := json.Unmarshal(params, &in); err != nil {
				return nil, invalid("cannot read the parameters: %v", err)
			}
		}
		return f(ctx, in)
	}
}

// takes reports whether a method is one of the older interface's.
func (o *older) takes(method string) bool { return o.handler(method) != nil }

// enterOlder takes the places of a request of the older interface.
func (o *order) enterOlder(method string) places {
	switch method {
	case methodNew, methodResume:
		return places{own: o.enter(starts)}
	case methodMessage, methodTurn:
		return places{own: o.enter(submits)}
	case methodInterrupt:
		return places{o.enter(touches), o.enter(ends)}
	}
	return places{own: o.enter(touches)}
}

// take answers a request, when it is its turn. It does not wait.
func (o *older) take(req *jsonrpc.Request, p places) {
	o.busy.Go(func() { // close waits for it, and ends it
		response := &jsonrpc.Response{ID: req.ID}
		err := p.own.wait(o.ctx)
		if err == nil {
			response.Result, err = o.serve(withPlace(o.ctx, p.own), req)
		}
		if err != nil {
			response.Error = wireError(err)
		}
		_ = o.conn.Write(o.ctx, response) // the connection tells of its end itself
	})
}

func (o *older) serve(ctx context.Context, req *jsonrpc.Request) (json.RawMessage, error) {
	out, err := o.handler(req.Method)(ctx, req.Params)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// invalid refuses a request.
func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf(format, args...)}
}

func wireError(err error) error {
	wire := (*jsonrpc.Error)(nil)
	if errors.As(err, &wire) {
		return wire
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

// close waits until everything is answered and told, or ctx ends, and then
// ends what is left. The sessions have been closed before.
func (o *older) close(ctx context.Context) {
	quiet := make(chan struct{})
	go func() { // ends with what it waits for, which end ends
		o.busy.Wait()
		close(quiet)
	}()
	select {
	case <-quiet:
	case <-ctx.Done():
	}
	o.end()
}

// keep takes a session for a conversation of this connection.
func (o *older) keep(s *agent.Opened, policy *agent.Policy) *talk {
	o.face.pin(s.ID())
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.talks[s.ID()]; t != nil && t.opened == s {
		return t
	}
	t := newTalk(o, s, policy)
	o.talks[s.ID()] = t
	o.busy.Go(t.pump) // ends with its session, or with the connection
	return t
}

// find returns a conversation.
func (o *older) find(id string) (*talk, error) {
	o.mu.Lock()
	t := o.talks[id]
	o.mu.Unlock()
	if t != nil && o.face.Hosts.Get(id) == t.opened {
		return t, nil
	}
	if s := o.face.Hosts.Get(id); s != nil { // of a tool's
		return o.keep(s, nil), nil
	}
	return nil, invalid("conversation not found: %s", id)
}

// begin answers newConversation.
func (o *older) begin(ctx context.Context, in newConversation) (any, error) {
	wish, policy, err := o.wish(ctx, in)
	if err != nil {
		return nil, err
	}
	s, err := o.face.begin(ctx, "", wish)
	if err != nil {
		return nil, fmt.Errorf("error creating conversation: %w", err)
	}
	o.keep(s, policy)
	return conversationOf(s), nil
}

// resume answers resumeConversation, by the file that newConversation named.
func (o *older) resume(ctx context.Context, in resumeConversation) (any, error) {
	id := in.session()
	if s := o.face.Hosts.Get(id); s != nil {
		return o.resumed(o.keep(s, nil)), nil
	}
	first, err := o.face.kept.First(ctx, id)
	if err != nil {
		return nil, invalid("conversation not found: %v", unknown(id, err))
	}
	if in.Overrides == nil {
		in.Overrides = &newConversation{}
	}
	if opened, ok := first.Data.(event.SessionOpened); ok && in.Overrides.Dir == "" {
		in.Overrides.Dir = opened.Dir
	}
	wish, policy, err := o.wish(ctx, *in.Overrides)
	if err != nil {
		return nil, err
	}
	s, err := o.face.begin(ctx, id, wish)
	if err != nil {
		return nil, fmt.Errorf("error resuming conversation: %w", err)
	}
	return o.resumed(o.keep(s, policy)), nil
}

func (o *older) resumed(t *talk) any {
	out := resumedConversation{conversation: conversationOf(t.opened)}
	t.opened.View(func(st event.State) { out.Messages = history(st) })
	return out
}

// message answers sendUserMessage: what is said joins the turn that runs, or
// begins one.
func (o *older) message(ctx context.Context, in sendMessage) (any, error) {
	t, err := o.find(in.Conversation)
	if err != nil {
		return nil, err
	}
	return empty{}, t.submit(ctx, in.Items)
}

// turn answers sendUserTurn: sendUserMessage with other settings from now on.
func (o *older) turn(ctx context.Context, in sendTurn) (any, error) {
	t, err := o.find(in.Conversation)
	if err != nil {
		return nil, err
	}
	if err := t.change(ctx, in); err != nil {
		return nil, err
	}
	return empty{}, t.submit(ctx, in.Items)
}

// interrupt answers interruptConversation when the turn has ended, or at once
// if nothing runs.
func (o *older) interrupt(ctx context.Context, in aboutConversation) (any, error) {
	t, err := o.find(in.Conversation)
	if err != nil {
		return nil, err
	}
	target, running := targetIn(t.opened)
	admit(ctx)
	out := interruptedConversation{AbortReason: event.Interrupted, Outcome: outcomeIdle}
	if !running {
		return out, nil
	}
	ended, err := target.end(ctx, byOlder)
	if err != nil || ended.Cause == nil {
		return out, err
	}
	out.Outcome = string(ended.Cause.Outcome)
	if ended.Cause.Reason != "" {
		out.AbortReason = ended.Cause.Reason
	}
	return out, nil
}

// listen answers addConversationListener. The listener hears what no other one
// has heard.
func (o *older) listen(_ context.Context, in aboutConversation) (any, error) {
	t, err := o.find(in.Conversation)
	if err != nil {
		return nil, err
	}
	id := uuid.NewString()
	o.mu.Lock()
	o.listeners[id] = t
	o.mu.Unlock()
	t.listeners(+1)
	return subscription{id}, nil
}

// unlisten answers removeConversationListener.
func (o *older) unlisten(_ context.Context, in subscription) (any, error) {
	o.mu.Lock()
	t := o.listeners[in.ID]
	delete(o.listeners, in.ID)
	o.mu.Unlock()
	if t == nil {
		return nil, invalid("subscription not found: %s", in.ID)
	}
	t.listeners(-1)
	return empty{}, nil
}

// submit sends an input.
func (t *talk) submit(ctx context.Context, items []inputItem) error {
	text, images, err := inputOf(items)
	if err != nil {
		return err
	}
	// Not bounded by the connection: whether it was accepted is to be known.
	_, err = t.opened.Submit(context.WithoutCancel(ctx), text, settle.WithImages(images...), settle.WithMode(event.Steer), settle.From(byOlder))
	return err
}
