package appserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agent"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/settletest/contract"
)

// patience is how long a test waits for what must happen; one that passes never
// waits it out.
const patience = time.Minute

// client is a client of a server that runs in the test.
type client struct {
	*testing.T

	conn  *jsonrpc.Conn
	model *script.Model
	stops chan stdio.Stop
	over  chan error // what Serve returned
	data  string
	dir   string
	in    *io.PipeWriter
	block func() // called wherever settings are read; may be nil

	mu      sync.Mutex // guards what follows
	lines   []string   // that came, in order
	part    []byte     // of the next one
	arrived chan struct{}
	decide  func(method string) any // answers the server's requests; nil leaves them open
}

// start runs a server on a new data directory, and greets it.
func start(t *testing.T, m *script.Model, change ...func(*Options)) *client {
	t.Helper()
	c := serve(t, m, t.TempDir(), change...)
	c.must("initialize", map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"}})
	return c
}

func serve(t *testing.T, m *script.Model, data string, change ...func(*Options)) *client {
	t.Helper()
	c := &client{T: t, model: m, stops: make(chan stdio.Stop, 4), over: make(chan error, 1), data: data, dir: t.TempDir(), arrived: make(chan struct{})}
	env := map[string]string{"HOME": c.dir, "SETTLE_DATA_DIR": data, "PATH": os.Getenv("PATH")}
	getenv := func(name string) string { return env[name] }
	hosts := &agent.Hosts{
		Base: agent.Options{
			Provider: m, Model: "m", Face: "app-server", Permission: settle.Ask, Attended: true,
			Getenv: getenv, Environ: []string{"PATH=" + os.Getenv("PATH")},
		},
		Settings: func(dir string, given map[string]string) (*config.Resolved, error) {
			if c.block != nil {
				c.block()
			}
			return config.Load(config.Input{Dir: dir, Flags: given, Getenv: getenv, GOOS: "linux"})
		},
	}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	c.in = toServer
	o := Options{In: fromClient, Out: toClient, Hosts: hosts, Dir: c.dir, DataDir: data, Version: "test", Getenv: getenv}
	for _, f := range change {
		f(&o)
	}
	go func() { // ends with the stop below
		_, err := Serve(context.Background(), o, c.stops)
		c.over <- err // never blocks: room for one
		_ = toClient.Close()
		_ = fromClient.Close()
	}()
	c.conn = jsonrpc.New(jsonrpc.Options{In: io.TeeReader(fromServer, recorder{c}), Out: toServer, Dialect: jsonrpc.Bare, Handler: c, MaxInFlight: 1000})
	c.conn.Start(context.Background()) // not the test's, which ends before the clean-up
	t.Cleanup(c.end)
	return c
}

// recorder keeps the lines that came.
type recorder struct{ c *client }

func (r recorder) Write(p []byte) (int, error) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.part = append(r.c.part, p...)
	for {
		line, rest, whole := bytes.Cut(r.c.part, []byte("\n"))
		if !whole {
			break
		}
		r.c.lines, r.c.part = append(r.c.lines, strings.TrimSpace(string(line))), rest
	}
	close(r.c.arrived)
	r.c.arrived = make(chan struct{})
	return len(p), nil
}

// Handle implements [jsonrpc.Handler].
func (c *client) Handle(_ context.Context, r *jsonrpc.Request) {
	c.mu.Lock()
	decide := c.decide
	c.mu.Unlock()
	if decide != nil && !r.IsNotification() {
		r.Reply(map[string]any{"decision": decide(r.Method)})
	}
}

func (c *client) answer(decide func(method string) any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.decide = decide
}

// end closes the client's side and holds every log against the contract.
func (c *client) end() {
	if c.in != nil {
		_ = c.in.Close()
		c.in = nil
		c.ended()
	}
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.conn.Close(now) // what the test did not answer, it does not answer now
	c.check()
}

// ended waits for Serve.
func (c *client) ended() {
	c.Helper()
	select {
	case err := <-c.over:
		if err != nil {
			c.Errorf("Serve: %v", err)
		}
	case <-time.After(patience):
		c.Fatalf("Serve goes on; so far:\n%s", strings.Join(c.sofar(), "\n"))
	}
	select {
	case <-c.conn.Ended():
	case <-time.After(patience):
		c.Fatal("the connection goes on")
	}
}

func (c *client) check() {
	kept, err := journal.List(c.data)
	if err != nil {
		c.Fatal(err)
	}
	for _, entry := range kept {
		var all []event.Event
		for e, err := range journal.Read(context.Background(), c.data, entry.Session, 0) {
			if err != nil {
				c.Fatal(err)
			}
			all = append(all, e)
		}
		if err := contract.Check(all); err != nil {
			c.Error(err)
		}
	}
}

func (c *client) sofar() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.lines...)
}

// seen waits until n lines contain the text.
func (c *client) seen(text string, n int) {
	c.Helper()
	timeout := time.After(patience)
	for {
		c.mu.Lock()
		arrived := c.arrived
		c.mu.Unlock()
		if c.count(text) >= n {
			return
		}
		select {
		case <-arrived:
		case <-timeout:
			c.Fatalf("%q came %d times within %v, not %d; so far:\n%s", text, c.count(text), patience, n, strings.Join(c.sofar(), "\n"))
		}
	}
}

func (c *client) count(text string) (n int) {
	for _, line := range c.sofar() {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// call calls a method; what is wrong comes as the error.
func (c *client) call(method string, params any) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var result map[string]any
	err := c.conn.Call(ctx, method, params, &result)
	return result, err
}

// must calls a method that must succeed.
func (c *client) must(method string, params any) map[string]any {
	c.Helper()
	result, err := c.call(method, params)
	if err != nil {
		c.Fatalf("%s: %v", method, err)
	}
	return result
}

// refused calls a method that must fail with the code and the words.
func (c *client) refused(code int, words, method string, params any) {
	c.Helper()
	result, err := c.call(method, params)
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message, words) {
		c.Errorf("%s: %v, %v; want %d %q", method, result, err, code, words)
	}
}

// begin sends a request, whose answer is waited for later.
func (c *client) begin(method string, params any) *jsonrpc.Outgoing {
	c.Helper()
	sent, err := c.conn.Send(c.Context(), method, params)
	if err != nil {
		c.Fatal(err)
	}
	return sent
}

// thread starts a thread in which everything may run, unless more says otherwise.
func (c *client) thread(more ...map[string]any) string {
	c.Helper()
	p := map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access"}
	for _, m := range more {
		for name, value := range m {
			p[name] = value
		}
	}
	return field(c, c.must("thread/start", p), "thread.id").(string)
}

// turn says something in the thread, and returns the turn's id.
func (c *client) turn(thread, text string, more ...map[string]any) string {
	c.Helper()
	p := map[string]any{"threadId": thread, "input": say(text)}
	for _, m := range more {
		for name, value := range m {
			p[name] = value
		}
	}
	return field(c, c.must("turn/start", p), "turn.id").(string)
}

func say(text string) []any { return []any{map[string]any{"type": "text", "text": text}} }

// field returns a field of an answer by its path.
func field(c *client, v any, path string) any {
	c.Helper()
	for name := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			c.Fatalf("there is no %q in %v", path, v)
		}
		v = m[name]
	}
	return v
}

func (c *client) diff(what string, want, got any) {
	c.Helper()
	if d := cmp.Diff(want, got); d != "" {
		c.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// methods are those of the messages that came, of those that are asked for.
func (c *client) methods(of ...string) []string {
	var out []string
	for _, line := range c.sofar() {
		var m struct{ Method string }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			c.Fatal(err)
		}
		for _, method := range of {
			if m.Method == method {
				out = append(out, m.Method)
			}
		}
	}
	return out
}

// file writes a file into the working directory.
func (c *client) file(name, text string) {
	c.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
}
