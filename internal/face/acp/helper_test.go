package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/settle-agent/settle/internal/face/acp"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/settletest/contract"
)

// patience is how long a test waits for what must happen. It is never waited
// out by a test that passes.
const patience = time.Minute

// client is a client of a server that runs in the test.
type client struct {
	*testing.T

	conn  *jsonrpc.Conn
	hosts *agent.Hosts
	model *script.Model
	stops chan stdio.Stop
	over  chan error // what Serve returned
	data  string     // data directory
	dir   string     // of sessions
	in    *io.PipeWriter
	valve *valve
	said  []string // to the person who started it

	mu      sync.Mutex // guards what follows
	lines   []string   // that came, in order
	part    string     // of the next one
	arrived chan struct{}
	answers map[string]func(params json.RawMessage) (any, error) // to the server's requests, by method
}

// start runs a server on a new data directory.
func start(t *testing.T, m *script.Model) *client {
	t.Helper()
	return startIn(t, m, t.TempDir(), t.TempDir())
}

func startIn(t *testing.T, m *script.Model, data, dir string) *client {
	t.Helper()
	c := &client{
		T: t, model: m, stops: make(chan stdio.Stop, 4), over: make(chan error, 1), data: data, dir: dir,
		arrived: make(chan struct{}), answers: map[string]func(json.RawMessage) (any, error){},
	}
	env := map[string]string{"HOME": dir, "SETTLE_DATA_DIR": data, "PATH": os.Getenv("PATH")}
	getenv := func(name string) string { return env[name] }
	c.hosts = &agent.Hosts{
		Base: agent.Options{
			Provider: m, Model: "m", Face: "acp", Permission: settle.Ask, Attended: true,
			Getenv: getenv, Environ: []string{"PATH=" + os.Getenv("PATH")},
		},
		Settings: func(dir string, given map[string]string) (*config.Resolved, error) {
			return config.Load(config.Input{Dir: dir, Flags: given, Getenv: getenv, GOOS: "linux"})
		},
	}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	c.in = toServer
	server := acp.New(acp.Options{
		In: fromClient, Out: toClient, Hosts: c.hosts, Dir: dir, Version: "test", Stops: c.stops,
		Say: func(err error) { c.said = append(c.said, err.Error()) },
	})
	go func() { // ends with the stop below
		c.over <- server.Serve(context.Background())
		_ = toClient.Close()
		_ = fromClient.Close()
	}()
	c.valve = &valve{from: fromServer}
	c.conn = jsonrpc.New(jsonrpc.Options{In: io.TeeReader(c.valve, recorder{c}), Out: toServer, Handler: c})
	c.conn.Start(t.Context())
	t.Cleanup(c.end)
	return c
}

// valve is what the client reads through; while it is shut, it does not.
type valve struct {
	from io.Reader
	shut sync.Mutex
}

func (v *valve) Read(p []byte) (int, error) {
	n, err := v.from.Read(p)
	v.shut.Lock()
	defer v.shut.Unlock()
	return n, err
}

// recorder keeps the lines that came.
type recorder struct{ c *client }

func (r recorder) Write(p []byte) (int, error) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	for line := range bytes.Lines(p) {
		r.c.part += string(line)
		if strings.HasSuffix(r.c.part, "\n") {
			r.c.lines = append(r.c.lines, strings.TrimSpace(r.c.part))
			r.c.part = ""
		}
	}
	close(r.c.arrived)
	r.c.arrived = make(chan struct{})
	return len(p), nil
}

// Handle implements [jsonrpc.Handler].
func (c *client) Handle(_ context.Context, r *jsonrpc.Request) {
	if r.IsNotification() {
		return
	}
	c.mu.Lock()
	answer := c.answers[r.Method]
	c.mu.Unlock()
	if answer == nil {
		r.Fail(jsonrpc.MethodNotFound(r.Method))
		return
	}
	go func() { // ends with the test, which waits for what it leads to
		result, err := answer(r.Params)
		switch {
		case err != nil:
			r.Fail(err)
		case result != nil:
			r.Reply(result)
		}
	}()
}

// answer has the server's requests answered; nil and nil is no answer.
func (c *client) answer(method string, f func(params json.RawMessage) (any, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[method] = f
}

// end closes the client's side, once, and holds every log against the contract.
func (c *client) end() {
	if c.in == nil {
		return
	}
	_ = c.in.Close()
	c.in = nil
	if err := wait(c, c.over); err != nil {
		c.Errorf("Serve: %v", err)
	}
	wait(c, c.conn.Ended())
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.conn.Close(now) // what the test did not answer, it does not answer now
	c.check()
}

// check holds every log against the contract.
func (c *client) check() {
	c.Helper()
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

func wait[T any](c *client, ch <-chan T) (got T) {
	c.Helper()
	select {
	case got = <-ch:
	case <-time.After(patience):
		c.Fatalf("nothing came within %v; so far:\n%s", patience, strings.Join(c.sofar(), "\n"))
	}
	return got
}

func (c *client) sofar() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.lines...)
}

// until waits until the lines so far are as they should be.
func (c *client) until(ok func(lines []string) bool) {
	c.Helper()
	timeout := time.After(patience)
	for {
		c.mu.Lock()
		arrived := c.arrived
		c.mu.Unlock()
		if ok(c.sofar()) {
			return
		}
		select {
		case <-arrived:
		case <-timeout:
			c.Fatalf("nothing came within %v; so far:\n%s", patience, strings.Join(c.sofar(), "\n"))
		}
	}
}

// seen waits for a line that contains the text.
func (c *client) seen(text string) {
	c.Helper()
	c.until(func(lines []string) bool { return strings.Contains(strings.Join(lines, "\n"), text) })
}

// call calls a method; what is wrong comes as the error.
func (c *client) call(method string, params any) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(c.Context(), patience)
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

// refused calls a method that must fail with the code.
func (c *client) refused(code int, method string, params any) string {
	c.Helper()
	result, err := c.call(method, params)
	refused, ok := err.(*jsonrpc.Error) //nolint:errorlint // it is answered as it is
	if !ok || refused.Code != code {
		c.Fatalf("%s: %v, %v; want an error %d", method, result, err, code)
	}
	return refused.Message
}

type object = map[string]any

func text(s string) []object { return []object{{"type": "text", "text": s}} }

// open makes a session.
func (c *client) open() string {
	c.Helper()
	return c.must("session/new", object{"cwd": c.dir, "mcpServers": []any{}})["sessionId"].(string)
}

// prompt sends a prompt; the channel gets its stop reason, or the error.
func (c *client) prompt(session, words string) <-chan string {
	c.Helper()
	sent, err := c.conn.Send(c.Context(), "session/prompt", object{"sessionId": session, "prompt": text(words)})
	if err != nil {
		c.Fatal(err)
	}
	return c.outcome(sent)
}

func (c *client) outcome(sent *jsonrpc.Outgoing) <-chan string {
	ended := make(chan string, 1)
	go func() { // ends with the connection
		var got struct{ StopReason string }
		if err := sent.Wait(context.Background(), &got); err != nil {
			ended <- err.Error()
			return
		}
		ended <- got.StopReason
	}()
	return ended
}

// accepted waits until the session has so many inputs.
func (c *client) accepted(session string, n int) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	for e, err := range c.hosts.Get(session).Events(ctx, 0) {
		if err != nil {
			c.Fatal(err)
		}
		if _, ok := e.Data.(event.InputAccepted); ok {
			n--
		}
		if n == 0 {
			return
		}
	}
	c.Fatal("the session ended")
}

func (c *client) cancel(session string) {
	c.Helper()
	if err := c.conn.Notify(c.Context(), "session/cancel", object{"sessionId": session}); err != nil {
		c.Fatal(err)
	}
}

// allow answers every request for permission with an option.
func (c *client) choose(option string) {
	c.answer("session/request_permission", func(json.RawMessage) (any, error) {
		return object{"outcome": object{"outcome": "selected", "optionId": option}}, nil
	})
}

// story is what the client was told, in short lines.
func (c *client) story() (out []string) {
	c.Helper()
	for _, line := range c.sofar() {
		var m struct {
			ID     *int
			Method string
			Params struct {
				Update   map[string]any
				ToolCall map[string]any
				Path     string
				Content  string
			}
			Result map[string]any
			Error  map[string]any
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			c.Fatalf("%s: %v", line, err)
		}
		switch {
		case m.Method == "session/update":
			out = append(out, tell(m.Params.Update))
			out = joined(out)
		case m.Method == "session/request_permission":
			out = append(out, "may it? "+tell(m.Params.ToolCall))
		case m.Method != "":
			out = append(out, m.Method+" "+filepath.Base(m.Params.Path)+" "+m.Params.Content)
		case m.Error != nil:
			out = append(out, fmt.Sprintf("error: %v", m.Error["message"]))
		case m.Result["stopReason"] != nil:
			out = append(out, fmt.Sprintf("end: %v", m.Result["stopReason"]))
		}
	}
	return out
}

// joined puts the last two lines together if they are pieces of one text.
func joined(lines []string) []string {
	n := len(lines)
	if n < 2 {
		return lines
	}
	before, after := strings.TrimSuffix(lines[n-2], `"`), lines[n-1]
	kind, text, _ := strings.Cut(after, ` "`)
	if !strings.HasSuffix(kind, "_chunk") || !strings.HasPrefix(before, kind+` "`) {
		return lines
	}
	return append(lines[:n-2], before+text)
}

// tell is an update in a short line.
func tell(u map[string]any) string {
	words := []string{}
	for _, key := range []string{"sessionUpdate", "toolCallId", "kind", "status", "title", "currentModeId"} {
		if word, ok := u[key].(string); ok {
			words = append(words, word)
		}
	}
	for _, l := range list(u["locations"]) {
		words = append(words, "at "+filepath.Base(fmt.Sprint(l["path"])))
	}
	contents := list(u["content"])
	if one, ok := u["content"].(map[string]any); ok {
		contents = []map[string]any{one}
	}
	for _, b := range contents {
		if inner, ok := b["content"].(map[string]any); ok {
			b = inner
		}
		switch b["type"] {
		case "diff":
			old := "none"
			if b["oldText"] != nil {
				old = fmt.Sprintf("%q", b["oldText"])
			}
			words = append(words, fmt.Sprintf("diff %s → %q", old, b["newText"]))
		case "terminal":
			words = append(words, fmt.Sprintf("terminal %v", b["terminalId"]))
		default:
			words = append(words, fmt.Sprintf("%q", b["text"]))
		}
	}
	return strings.Join(words, " ")
}

func list(v any) (out []map[string]any) {
	all, _ := v.([]any)
	for _, one := range all {
		if m, ok := one.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// tells compares the story with what it should be.
func (c *client) tells(want ...string) {
	c.Helper()
	if diff := cmp.Diff(want, c.story()); diff != "" {
		c.Errorf("(-want +got):\n%s", diff)
	}
}

// forget begins a new story.
func (c *client) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = nil
}
