package execservertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// Patience bounds the wait of a test for an event. A test that passes never waits that long.
const Patience = time.Minute

// Client is a client of an exec-server. Its methods fail the test.
type Client struct {
	t    testing.TB
	ctx  context.Context // the test's
	conn *websocket.Conn

	mu       sync.Mutex // guards the rest
	next     int
	answers  map[int]chan Answer
	stray    []Answer // errors that belong to no request
	done     map[string]*Done
	changed  chan struct{}
	received error // why nothing comes any more
	reading  sync.WaitGroup
}

// Answer is the response to a request.
type Answer struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// Done is the output and the end of a process, from its notifications.
type Done struct {
	Text   string
	Seqs   []uint64
	Exited *int
	Closed bool
	Denied bool
}

type message struct {
	Answer

	ID     *int
	Method string
	Params struct {
		Process string `json:"processId"`
		Seq     uint64
		Chunk   []byte
		Code    *int `json:"exitCode"`
		Denied  bool `json:"sandboxDenied"`
	}
}

// Dial connects, and closes the connection with the test.
func Dial(t testing.TB, url string, header http.Header) *Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*Patience)
	conn, answer, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: header})
	if answer != nil && answer.Body != nil {
		_ = answer.Body.Close() // the connection is conn's now
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	c := New(t, ctx, conn)
	t.Cleanup(func() {
		cancel()
		c.Cut()
	})
	return c
}

// New returns the client on a connection, which [Client.Cut] closes.
func New(t testing.TB, ctx context.Context, conn *websocket.Conn) *Client { //nolint:revive // the test comes first
	conn.SetReadLimit(-1)
	c := &Client{
		t:       t,
		ctx:     ctx,
		conn:    conn,
		answers: map[int]chan Answer{},
		done:    map[string]*Done{},
		changed: make(chan struct{}),
	}
	c.reading.Go(c.read) // ends with the connection
	return c
}

// Cut drops the connection without a word.
func (c *Client) Cut() {
	_ = c.conn.CloseNow()
	c.reading.Wait()
}

func (c *Client) read() {
	for {
		_, data, err := c.conn.Read(c.ctx)
		var m message
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		c.mu.Lock()
		if err != nil {
			c.received = err
		} else {
			c.take(m)
		}
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *Client) take(m message) {
	if m.Method == "" {
		if m.ID != nil && c.answers[*m.ID] != nil {
			c.answers[*m.ID] <- m.Answer // there is room for it
			return
		}
		c.stray = append(c.stray, m.Answer)
		return
	}
	d := c.done[m.Params.Process]
	if d == nil {
		d = &Done{}
		c.done[m.Params.Process] = d
	}
	d.Seqs = append(d.Seqs, m.Params.Seq)
	switch m.Method {
	case "process/output":
		d.Text += string(m.Params.Chunk)
	case "process/exited":
		d.Exited, d.Denied = m.Params.Code, m.Params.Denied
	case "process/closed":
		d.Closed = true
	}
}

// Send sends a message unchanged.
func (c *Client) Send(text string) {
	c.t.Helper()
	if err := c.conn.Write(c.ctx, websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// Begin sends a request, and returns a function that waits for the answer.
func (c *Client) Begin(method string, params any) func() Answer {
	c.t.Helper()
	c.mu.Lock()
	c.next++
	id, answer := c.next, make(chan Answer, 1)
	c.answers[id] = answer
	c.mu.Unlock()
	raw, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	c.Send(string(raw))
	return func() Answer {
		c.t.Helper()
		var a Answer
		c.Await(fmt.Sprintf("the answer to %s", method), func() bool {
			select {
			case a = <-answer:
				return true
			default:
				return false
			}
		})
		return a
	}
}

// Try returns the response to a request.
func (c *Client) Try(method string, params any) Answer {
	c.t.Helper()
	return c.Begin(method, params)()
}

// Call returns the result of a request that must succeed.
func (c *Client) Call(method string, params, result any) {
	c.t.Helper()
	a := c.Try(method, params)
	if a.Error != nil {
		c.t.Fatalf("%s %v: %d %s", method, params, a.Error.Code, a.Error.Message)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(a.Result, result); err != nil {
		c.t.Fatal(err)
	}
}

// Hello begins a session, or resumes one, and returns its id.
func (c *Client) Hello(resume string) string {
	c.t.Helper()
	params := map[string]any{"clientName": "test"}
	if resume != "" {
		params["resumeSessionId"] = resume
	}
	var welcome struct {
		Session string `json:"sessionId"`
	}
	c.Call("initialize", params, &welcome)
	c.Send(`{"method":"initialized","params":{}}`)
	return welcome.Session
}

// Await waits until something is true, which is looked at whenever a message came.
func (c *Client) Await(what string, is func() bool) {
	c.t.Helper()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	for {
		c.mu.Lock()
		ok, changed, err := is(), c.changed, c.received
		c.mu.Unlock()
		if ok {
			return
		}
		if err != nil {
			c.t.Fatalf("the connection ended before %s: %v", what, err)
		}
		select {
		case <-changed:
		case <-timer.C:
			c.t.Fatalf("%s did not come within %v", what, Patience)
		}
	}
}

// AwaitEnd waits for the end of the connection, and returns why it ended.
func (c *Client) AwaitEnd() error {
	c.reading.Wait()
	return c.received
}

// Until waits until the state of a process satisfies is, and returns the state.
func (c *Client) Until(process, what string, is func(Done) bool) (done Done) {
	c.t.Helper()
	c.Await(what+" of "+process, func() bool {
		if d := c.done[process]; d != nil {
			done = *d
		}
		return is(done)
	})
	return done
}

// Stray returns the errors that belonged to no request.
func (c *Client) Stray() []Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Answer(nil), c.stray...)
}
