package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/internal/jsonl"
)

const (
	methodCall      = "tools/call"
	methodCancelled = "notifications/cancelled"
	// placeName is where a request's place is among what goes with it.
	placeName = "settle/place"
	// ownPrefix begins the ids of requests that do not come from the SDK, whose
	// ids are numbers.
	ownPrefix = "settle-"
	// mostLine is the longest message that is read, in bytes: as much as an
	// input over HTTP.
	mostLine = 32 << 20
	// mostCalls is how many requests may wait for an answer at a time.
	mostCalls = 1024

	codeBusy = -32000
)

// conn is the connection over standard streams, as the SDK reads and writes
// it. What the SDK does not do is done here: it leaves cancelled requests
// unanswered, gives each request its place, takes the older interface's
// requests out, and holds the end of input back until what it ends has been
// told.
type conn struct {
	in    chan incoming
	eof   chan struct{} // closed when the client writes no more
	stop  chan struct{} // closed when nothing is to be read any more
	lost  chan struct{} // closed when nothing can be written
	order order
	older *older

	writing sync.Mutex // guards out
	out     io.Writer

	mu      sync.Mutex // guards what follows
	calls   map[jsonrpc.ID]*inbound
	asked   map[jsonrpc.ID]chan *jsonrpc.Response
	nextID  int
	quiet   chan struct{} // set while somebody waits for all calls to be answered
	stopped bool
	broken  bool
}

// incoming is a line, or why it could not be read.
type incoming struct {
	line jsonl.Line
	err  error
}

// inbound is a request that has not been answered.
type inbound struct {
	places    places // none if its order does not matter
	cancelled bool
}

func (f *Face) newConn(in io.Reader, out io.Writer) *conn {
	c := &conn{
		in: make(chan incoming), eof: make(chan struct{}), stop: make(chan struct{}), lost: make(chan struct{}), out: out,
		calls: map[jsonrpc.ID]*inbound{}, asked: map[jsonrpc.ID]chan *jsonrpc.Response{},
	}
	c.older = newOlder(f, c)
	go c.receive(jsonl.NewReader(in, mostLine)) // ends with the input or with finish; a read that blocks ends with the process
	return c
}

// receive reads lines, so that Read does not block where nothing comes.
func (c *conn) receive(in *jsonl.Reader) {
	for {
		line, err := in.Next()
		select {
		case c.in <- incoming{line, err}:
		case <-c.stop:
			return
		}
		if err != nil {
			return
		}
	}
}

// Connect implements [sdk.Transport].
func (c *conn) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID implements [sdk.Connection].
func (c *conn) SessionID() string { return "" }

// Read implements [sdk.Connection]: it returns the next message that is the
// SDK's.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var got incoming
		select {
		case got = <-c.in:
		case <-c.stop:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if got.err != nil {
			close(c.eof)
			<-c.stop // finish closes it, after what the end of input ends has been told
			return nil, io.EOF
		}
		if got.line.Cut {
			c.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message has more than %d bytes; nothing was done", mostLine))
			continue
		}
		for _, msg := range c.decode(got.line.Text) {
			if c.take(msg) {
				return msg, nil
			}
		}
	}
}

// decode returns the message in a line, or none. Batches, which one version of
// the protocol had, are refused.
func (c *conn) decode(line []byte) []jsonrpc.Message {
	id, err := idIn(line)
	broken := (*json.SyntaxError)(nil)
	switch {
	case errors.As(err, &broken):
		c.refuse(nil, jsonrpc.CodeParseError, "the line is not JSON; nothing was done")
		return nil
	case bytes.HasPrefix(line, []byte("[")):
		c.refuse(nil, jsonrpc.CodeInvalidRequest, "batches are not supported; send the requests one by one")
		return nil
	case err != nil:
		c.refuse(nil, jsonrpc.CodeInvalidRequest, "the message is not a JSON object; nothing was done")
		return nil
	case !bears(id):
		c.refuse(id, jsonrpc.CodeInvalidRequest, notWhole)
		return nil
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		c.refuse(id, jsonrpc.CodeInvalidRequest, err.Error())
		return nil
	}
	return []jsonrpc.Message{msg}
}

// refuse answers what could not be read.
func (c *conn) refuse(id json.RawMessage, code int, text string) {
	_ = c.print(refusal(id, code, text)) // the connection tells of its end itself
}

// take notes what a message means here, and reports whether the SDK gets it.
func (c *conn) take(msg jsonrpc.Message) bool {
	switch msg := msg.(type) {
	case *jsonrpc.Response:
		return !c.settle(msg)
	case *jsonrpc.Request:
		if !msg.IsCall() {
			if msg.Method == methodCancelled {
				c.cancel(msg.Params)
			}
			return true
		}
		return c.begin(msg)
	}
	return true
}

// begin registers a request, and reports whether the SDK gets it.
func (c *conn) begin(req *jsonrpc.Request) bool {
	older := c.older.takes(req.Method)
	c.mu.Lock()
	if _, twice := c.calls[req.ID]; twice {
		c.mu.Unlock()
		return !older // the SDK drops it: an answer would be taken for that of the first
	}
	if len(c.calls) >= mostCalls {
		c.mu.Unlock()
		_ = c.write(&jsonrpc.Response{ID: req.ID, Error: &jsonrpc.Error{
			Code: codeBusy, Message: fmt.Sprintf("%d requests wait for an answer already; nothing was done; try again later", mostCalls),
		}})
		return false
	}
	call := &inbound{}
	switch {
	case older:
		call.places = c.order.enterOlder(req.Method)
	case req.Method == methodCall:
		call.places = c.order.enterTool(toolOf(req))
	}
	c.calls[req.ID] = call
	c.mu.Unlock()
	if older {
		c.older.take(req, call.places)
		return false
	}
	if call.places.own != nil {
		req.Extra = &sdk.RequestExtra{TokenInfo: &auth.TokenInfo{Extra: map[string]any{placeName: call.places}}}
	}
	return true
}

// toolOf returns the tool that a request calls.
func toolOf(req *jsonrpc.Request) string {
	var params struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(req.Params, &params) // the SDK refuses what is not as it must be
	return params.Name
}

// cancelledID returns the id of the request that a notification cancels.
func cancelledID(raw json.RawMessage) (id jsonrpc.ID, ok bool) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	var value any
	if json.Unmarshal(raw, &params) != nil || !bears(params.RequestID) || json.Unmarshal(params.RequestID, &value) != nil {
		return id, false
	}
	id, err := jsonrpc.MakeID(value)
	return id, err == nil
}

// cancel notes that nobody wants the answer to a request any more.
func (c *conn) cancel(raw json.RawMessage) {
	id, ok := cancelledID(raw)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.calls[id]
	if call == nil {
		return // it was answered
	}
	call.cancelled = true
	if call.places.ending == nil && call.places.own != nil {
		call.places.ending = c.order.enter(ends) // until its turn has ended
	}
}

// Write implements [sdk.Connection]. The answer to a cancelled request is
// dropped.
func (c *conn) Write(_ context.Context, msg jsonrpc.Message) error {
	response, ok := msg.(*jsonrpc.Response)
	if !ok {
		return c.write(msg)
	}
	c.mu.Lock()
	call := c.calls[response.ID]
	wanted := call == nil || !call.cancelled
	c.mu.Unlock()
	if wanted {
		if err := c.write(msg); err != nil {
			return err
		}
	}
	c.answered(response.ID, call)
	return nil
}

// answered lets go of a request, after its answer is out.
func (c *conn) answered(id jsonrpc.ID, call *inbound) {
	if call == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	call.places.leave()
	delete(c.calls, id)
	if len(c.calls) == 0 && c.quiet != nil {
		close(c.quiet)
		c.quiet = nil
	}
}

func (c *conn) write(msg jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("cannot encode a message: %w", err)
	}
	return c.print(line)
}

func (c *conn) print(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.out.Write(append(jsonl.Escape(line), '\n')); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.broken {
			c.broken = true
			close(c.lost)
		}
		return fmt.Errorf("cannot write to the client: %w", err)
	}
	return nil
}

// notify sends a notification that is not the SDK's.
func (c *conn) notify(method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("cannot encode %s: %w", method, err)
	}
	return c.write(&jsonrpc.Request{Method: method, Params: raw})
}

// ask sends a request that is not the SDK's, and waits for the answer.
func (c *conn) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("cannot encode %s: %w", method, err)
	}
	answer := make(chan *jsonrpc.Response, 1)
	c.mu.Lock()
	c.nextID++
	id, err := jsonrpc.MakeID(fmt.Sprintf("%s%d", ownPrefix, c.nextID))
	if err == nil {
		c.asked[id] = answer
	}
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	defer func() {
		c.mu.Lock()
		delete(c.asked, id)
		c.mu.Unlock()
	}()
	if err := c.write(&jsonrpc.Request{ID: id, Method: method, Params: raw}); err != nil {
		return nil, err
	}
	select {
	case r := <-answer:
		return r.Result, r.Error
	case <-c.eof:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// settle takes an answer to a request of [conn.ask], and reports whether it
// was one: also of one that nobody waits for any more (C16).
func (c *conn) settle(r *jsonrpc.Response) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.asked[r.ID]; answer != nil {
		delete(c.asked, r.ID)
		answer <- r // never blocks: one answer, room for one
		return true
	}
	id, _ := r.ID.Raw().(string)
	return strings.HasPrefix(id, ownPrefix)
}

// admitted waits until the requests so far have taken effect, but not for long.
func (c *conn) admitted() {
	ctx, cancel := context.WithTimeout(context.Background(), admitTimeout)
	defer cancel()
	p := c.order.enter(touches)
	_ = p.wait(ctx) // what has not taken effect by then is refused
	p.admit()
}

// drain waits until all requests are answered, or ctx ends.
func (c *conn) drain(ctx context.Context) {
	c.mu.Lock()
	if len(c.calls) == 0 || c.broken {
		c.mu.Unlock()
		return
	}
	quiet := make(chan struct{})
	c.quiet = quiet
	c.mu.Unlock()
	select {
	case <-quiet:
	case <-c.lost:
	case <-ctx.Done():
	}
}

// finish ends the input.
func (c *conn) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped {
		c.stopped = true
		close(c.stop)
	}
}

// Close implements [sdk.Connection]. The streams are the process's.
func (c *conn) Close() error {
	c.finish()
	return nil
}
