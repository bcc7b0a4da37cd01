package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdkrpc "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/scope"
)

const (
	methodCall      = "tools/call"
	methodCancelled = "notifications/cancelled"
	// placeName is the name under which the extra values of a request hold its places.
	placeName = "settle/place"
	// maxLine bounds a received message, in bytes: it is the bound of an input over HTTP.
	maxLine = 32 << 20
	// maxCalls bounds the number of unanswered requests.
	maxCalls = 1024

	codeBusy = -32000
)

// conn is the SDK's connection over standard streams. It adds to the SDK: it leaves
// cancelled requests unanswered, gives each request its place in order, and delays the
// end of input until the endings that it causes have been sent.
type conn struct {
	in    chan incoming
	eof   chan struct{} // closed when the client writes no more
	stop  chan struct{} // closed by finish when reading must stop
	lost  chan struct{} // closed when nothing can be written
	out   *stdio.Output
	order order
	calls calls

	finish func()
}

// incoming is a line, or why it could not be read.
type incoming struct {
	line jsonrpc.Line
	err  error
}

func newConn(in io.Reader, out io.Writer) *conn {
	c := &conn{in: make(chan incoming), eof: make(chan struct{}), stop: make(chan struct{}), lost: make(chan struct{})}
	c.out = stdio.NewOutput(out, func(error) { close(c.lost) })
	c.finish = sync.OnceFunc(func() { close(c.stop) })
	go scope.Shield(
		func(error) { c.finish() }, func() { c.receive(jsonrpc.NewLineReader(in, maxLine)) },
	)() // ends with the input or with finish; a read that blocks ends with the process
	return c
}

// receive reads lines, so that Read does not block where nothing comes.
func (c *conn) receive(in *jsonrpc.LineReader) {
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

// Close implements [sdk.Connection]. The streams are the process's.
func (c *conn) Close() error {
	c.finish()
	return nil
}

// Read implements [sdk.Connection].
func (c *conn) Read(ctx context.Context) (sdkrpc.Message, error) {
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
			<-c.stop // finish closes it, after the endings that the end of input causes have been sent
			return nil, io.EOF
		}
		if got.line.Cut {
			c.refuse(
				nil, sdkrpc.CodeInvalidRequest,
				fmt.Sprintf("the message has more than %d bytes; nothing was done", maxLine),
			)
			continue
		}
		if msg := c.decode(got.line.Text); msg != nil && c.take(msg) {
			return msg, nil
		}
	}
}

// decode returns the message in a line, or nil. Batches, which one version of
// the protocol had, are refused.
func (c *conn) decode(line []byte) sdkrpc.Message {
	id, err := idIn(line)
	broken := (*json.SyntaxError)(nil)
	switch {
	case errors.As(err, &broken):
		c.refuse(nil, sdkrpc.CodeParseError, "the line is not JSON; nothing was done")
		return nil
	case bytes.HasPrefix(line, []byte("[")):
		c.refuse(nil, sdkrpc.CodeInvalidRequest, "batches are not supported; send the requests one by one")
		return nil
	case err != nil:
		c.refuse(nil, sdkrpc.CodeInvalidRequest, "the message is not a JSON object; nothing was done")
		return nil
	case !canAnswer(id):
		c.refuse(id, sdkrpc.CodeInvalidRequest, invalidID)
		return nil
	}
	msg, err := sdkrpc.DecodeMessage(line)
	if err != nil {
		c.refuse(id, sdkrpc.CodeInvalidRequest, err.Error())
		return nil
	}
	return msg
}

// refuse answers a message that could not be read.
func (c *conn) refuse(id json.RawMessage, code int, text string) {
	c.answer(refusal(id, code, text))
}

// take records the meaning of a message here, and reports whether the SDK receives it.
func (c *conn) take(msg sdkrpc.Message) bool {
	req, ok := msg.(*sdkrpc.Request)
	switch {
	case !ok:
	case req.IsCall():
		return c.begin(req)
	case req.Method == methodCancelled:
		c.calls.cancel("", req.Params, func() *place { return c.order.enter(ends) })
	}
	return true
}

// begin notes a request, and reports whether the SDK gets it.
func (c *conn) begin(req *sdkrpc.Request) bool {
	one, fresh := c.calls.begin("", req.ID, maxCalls)
	switch {
	case !fresh:
		return true // the SDK drops it: the client would take an answer for the first request's
	case one == nil:
		_ = c.write(&sdkrpc.Response{ID: req.ID, Error: &sdkrpc.Error{
			Code: codeBusy,
			Message: fmt.Sprintf(
				"%d requests are already waiting for an answer; nothing was done; try again later", maxCalls,
			),
		}})
		return false
	case req.Method == methodCall:
		c.order.enterTool(toolOf(req), &one.Request.places)
		req.Extra = &sdk.RequestExtra{TokenInfo: &auth.TokenInfo{Extra: map[string]any{placeName: &one.Request.places}}}
	}
	return true
}

// toolOf returns the tool that a request calls.
func toolOf(req *sdkrpc.Request) string {
	var params struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(req.Params, &params) // the SDK refuses invalid parameters
	return params.Name
}

// Write implements [sdk.Connection]. The answer to a cancelled request is
// dropped.
func (c *conn) Write(_ context.Context, msg sdkrpc.Message) error {
	response, ok := msg.(*sdkrpc.Response)
	if !ok {
		return c.write(msg)
	}
	one := c.calls.Find(keyOf("", response.ID))
	if one == nil || !one.Cancelled() {
		if err := c.write(msg); err != nil {
			return err
		}
	}
	c.calls.answer("", response.ID) // after its answer is out
	return nil
}

// write sends a message. Notifications and requests wait while the client does not
// read; answers do not.
func (c *conn) write(msg sdkrpc.Message) error {
	line, err := sdkrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("cannot encode a message: %w", err)
	}
	if _, ok := msg.(*sdkrpc.Response); ok {
		c.answer(line)
	} else if !c.out.Write(func(b []byte) []byte { return append(append(b, event.OneLine(line)...), '\n') }) {
		return errors.New("cannot write to the client: it has closed the output")
	}
	return nil
}

func (c *conn) answer(line []byte) { c.out.Add(string(event.OneLine(line)) + "\n") }
