package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/internal/scope"
)

// Relay reaches a server that runs in a client of settle, over the client's connection.
type Relay struct {
	send func(message json.RawMessage) Await

	mu   sync.Mutex // guards the fields below
	open map[*relayed]bool
}

// Await returns a server's answer to a message. For a message that is no request, the
// answer has no meaning.
type Await func(ctx context.Context) (json.RawMessage, error)

// NewRelay returns a relay. send sends a message to the server, in order, and does not
// block.
func NewRelay(send func(message json.RawMessage) Await) *Relay {
	return &Relay{send: send, open: map[*relayed]bool{}}
}

// Deliver receives an unrequested message of the server. It does not block: beyond a limit,
// it drops messages.
func (r *Relay) Deliver(message json.RawMessage) {
	messages, err := decode(message)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.open {
		for _, m := range messages {
			if _, isRequest := m.(*jsonrpc.Request); !isRequest {
				continue // answers come through Await
			}
			select {
			case c.incoming <- m:
			default:
			}
		}
	}
}

// connect returns another connection.
func (r *Relay) connect() *relayed {
	life, cut := context.WithCancelCause(context.Background())
	c := &relayed{
		relay: r, life: life, cut: cut, incoming: make(chan jsonrpc.Message, maxWaiting),
		calls: map[any]context.CancelFunc{},
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[c] = true
	return c
}

// relayed is the connection to a server through a relay.
type relayed struct {
	filter

	relay    *Relay
	life     context.Context // it is the connection's own, no request's
	cut      context.CancelCauseFunc
	incoming chan jsonrpc.Message
	work     sync.WaitGroup // goroutines that wait for answers

	mu    sync.Mutex // guards the fields below
	calls map[any]context.CancelFunc
}

// Connect implements sdk.Transport.
func (c *relayed) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID implements sdk.Connection.
func (c *relayed) SessionID() string { return "" }

// Close implements sdk.Connection.
func (c *relayed) Close() error {
	c.relay.mu.Lock()
	defer c.relay.mu.Unlock()
	delete(c.relay.open, c)
	c.cut(errClosed)
	return nil
}

// failure implements connection.
func (c *relayed) failure() error { return context.Cause(c.life) }

// end implements connection.
func (c *relayed) end(ctx context.Context) error {
	_ = c.Close()
	ended := make(chan struct{})
	go func() { // ends with the goroutines that wait for answers, which the cancelled life ends
		defer close(ended)
		c.work.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("cannot wait for the client's answers: %w", context.Cause(ctx))
	}
}

// Read implements sdk.Connection.
func (c *relayed) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case m := <-c.incoming:
			pass, why := c.admit(m)
			if why != nil {
				c.cut(why)
				return nil, io.EOF
			}
			if pass {
				return m, nil
			}
		case <-c.life.Done():
			return nil, io.EOF
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Write implements sdk.Connection. It does not wait for the answer.
func (c *relayed) Write(_ context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("cannot encode a message: %w", err)
	}
	c.sent(m)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return sdk.ErrConnectionClosed
	}
	ctx, cancel := context.WithCancel(c.life)
	request, isRequest := m.(*jsonrpc.Request)
	switch {
	case isRequest && request.IsCall():
		c.calls[request.ID.Raw()] = cancel
	case isRequest && request.Method == "notifications/cancelled":
		c.giveUp(request.Params)
	}
	var await Await
	if err := scope.Guard(func() error { await = c.relay.send(data); return nil }); err != nil {
		cancel()
		return fmt.Errorf("cannot hand a message to the client: %w", err)
	}
	c.work.Go(func() { // ends with the answer, or with the connection
		defer cancel()
		var answer json.RawMessage
		err := scope.Guard(func() (err error) { answer, err = await(ctx); return err })
		if isRequest && request.IsCall() {
			c.answered(request, answer, err)
		}
	})
	return nil
}

// giveUp ends the wait for the answer to a cancelled call. The caller holds the lock.
func (c *relayed) giveUp(params json.RawMessage) {
	var p struct {
		ID any `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(p.ID); err == nil {
		if cancel := c.calls[id.Raw()]; cancel != nil {
			cancel()
		}
	}
}

// answered delivers the answer to a call; an invalid answer is an error.
func (c *relayed) answered(to *jsonrpc.Request, answer json.RawMessage, err error) {
	c.mu.Lock()
	delete(c.calls, to.ID.Raw())
	c.mu.Unlock()
	var response *jsonrpc.Response
	if err == nil {
		var messages []jsonrpc.Message
		if len(answer) == 0 {
			err = errors.New("the client sent no answer of the server's")
		} else if messages, err = decode(answer); err == nil {
			response, _ = messages[0].(*jsonrpc.Response)
		}
	}
	switch {
	case err == nil && response == nil:
		err = errors.New("what the client sent is no answer of the server's")
	case err == nil && response.ID.Raw() != to.ID.Raw():
		err = errors.New("the client sent the answer to something else")
	}
	if err != nil {
		response = &jsonrpc.Response{
			ID:    to.ID,
			Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()},
		}
	}
	select {
	case c.incoming <- response:
	case <-c.life.Done():
	}
}
