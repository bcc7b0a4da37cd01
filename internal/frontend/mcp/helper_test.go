package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/mcp"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/modeltest/leak"
)

// TestMain makes the test binary a supervisor where a call starts a command.
func TestMain(m *testing.M) {
	settle.RunAsSupervisor()
	os.Exit(leak.Run(m))
}

// patience bounds the waits of a test.
const patience = 20 * time.Second

// message is one message of JSON-RPC, either way.
type message struct {
	ID     any             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// peer is a client at a frontend's standard streams.
type peer struct {
	t     *testing.T
	model *script.Model
	hosts *assemble.Sessions
	dir   string
	stops chan stdio.Stop
	in    *io.PipeWriter
	out   *io.PipeReader
	ended chan error

	mu   sync.Mutex
	seen []message
	more chan struct{} // closed and made anew with each message
	eof  bool
}

// hosts are the sessions of a frontend whose model follows a script. In the end, their
// logs are held against the contract.
func hosts(t *testing.T, model *script.Model, dir, policy string) *assemble.Sessions {
	t.Helper()
	p := clienttest.Place{Data: t.TempDir(), Dir: dir}
	t.Cleanup(func() { p.CheckLogs(t) })
	s := p.Sessions(model, "mcp")
	s.Base.Version, s.Base.Model.Name, s.Base.Environ, s.Base.Getenv = "test", "scripted", os.Environ(), os.Getenv
	settings := s.Settings
	s.Settings = func(dir string, given map[string]string) (*config.Resolved, error) {
		all := map[string]string{"tools": "shell,job,read,write,edit,apply_patch,glob,grep,list"}
		if policy != "" {
			all["permission"] = policy
		}
		maps.Copy(all, given)
		return settings(dir, all)
	}
	return s
}

// start serves a client at standard streams.
func start(t *testing.T, policy string, steps ...script.Step) *peer {
	t.Helper()
	b := &peer{
		t:     t,
		model: script.New(steps...),
		dir:   t.TempDir(),
		stops: make(chan stdio.Stop, 4),
		ended: make(chan error, 1),
		more:  make(chan struct{}),
	}
	b.hosts = hosts(t, b.model, b.dir, policy)
	frontend := mcp.New(mcp.Options{Sessions: b.hosts, Dir: b.dir, Version: "test"})
	in, stdin := io.Pipe()
	out, stdout := io.Pipe()
	b.in, b.out = stdin, out
	go func() { // ends with the input: the cleanup waits for it
		err := frontend.Stdio(in, stdout, b.stops)
		_ = stdout.Close()
		_ = frontend.Close()
		b.ended <- err
	}()
	go b.read(out) // ends with the output
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = b.leave()
		_ = in.Close()
	})
	return b
}

func (b *peer) read(out io.Reader) {
	scan := bufio.NewScanner(out)
	scan.Buffer(nil, 64<<20)
	for scan.Scan() {
		var m message
		if err := json.Unmarshal(scan.Bytes(), &m); err != nil {
			b.t.Errorf("%q: %v", scan.Text(), err)
		}
		b.mu.Lock()
		b.seen = append(b.seen, m)
		close(b.more)
		b.more = make(chan struct{})
		b.mu.Unlock()
	}
	b.mu.Lock()
	b.eof = true
	close(b.more)
	b.more = make(chan struct{})
	b.mu.Unlock()
}

// leave waits until the frontend has ended.
func (b *peer) leave() error {
	select {
	case err := <-b.ended:
		b.ended <- err
		return err
	case <-time.After(patience):
		b.t.Error("the frontend does not end")
		return nil
	}
}

// line sends a line as it is.
func (b *peer) line(text string) {
	b.t.Helper()
	if _, err := io.WriteString(b.in, text+"\n"); err != nil {
		b.t.Fatal(err)
	}
}

func (b *peer) send(m map[string]any) {
	b.t.Helper()
	m["jsonrpc"] = "2.0"
	raw, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	b.line(string(raw))
}

func (b *peer) request(id any, method string, params any) {
	b.t.Helper()
	b.send(map[string]any{"id": id, "method": method, "params": params})
}

func (b *peer) notify(method string, params any) {
	b.t.Helper()
	b.send(map[string]any{"method": method, "params": params})
}

// call calls a tool.
func (b *peer) call(id any, tool string, arguments map[string]any) {
	b.t.Helper()
	b.request(
		id,
		"tools/call",
		map[string]any{
			"name":      tool,
			"arguments": arguments,
			"_meta":     map[string]any{"progressToken": fmt.Sprint("p", id)},
		},
	)
}

// initialize shakes hands, with capabilities such as elicitation.
func (b *peer) initialize(capabilities ...string) {
	b.t.Helper()
	all := map[string]any{}
	for _, name := range capabilities {
		all[name] = map[string]any{}
	}
	b.request("init", "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": all, "clientInfo": map[string]any{"name": "tester", "version": "1"},
	})
	b.answer("init")
	b.notify("notifications/initialized", map[string]any{})
}

// find waits for the first message that is meant.
func (b *peer) find(what string, meant func(message) bool) message {
	b.t.Helper()
	late := time.After(patience)
	for {
		b.mu.Lock()
		seen, more, eof := slices.Clone(b.seen), b.more, b.eof
		b.mu.Unlock()
		for _, m := range seen {
			if meant(m) {
				return m
			}
		}
		if eof {
			b.t.Fatalf("there will be no %s; there was %s", what, dump(seen))
		}
		select {
		case <-more:
		case <-late:
			b.t.Fatalf("there is no %s; there is %s", what, dump(seen))
		}
	}
}

func dump(all []message) string {
	raw, _ := json.MarshalIndent(all, "", " ")
	return string(raw)
}

// answer waits for the answer to a request.
func (b *peer) answer(id any) message {
	b.t.Helper()
	return b.find(
		fmt.Sprintf("answer to %v", id),
		func(m message) bool { return m.Method == "" && fmt.Sprint(m.ID) == fmt.Sprint(id) },
	)
}

// heard returns the messages so far.
func (b *peer) heard() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.seen)
}

// silent checks that a request was not answered.
func (b *peer) silent(id any) {
	b.t.Helper()
	for _, m := range b.heard() {
		if m.Method == "" && fmt.Sprint(m.ID) == fmt.Sprint(id) {
			b.t.Errorf("request %v was answered: %s %s", id, m.Result, dump([]message{m}))
		}
	}
}

// outcome is the structured content of an answer.
type outcome struct {
	Session     string
	Turn        string
	Outcome     string
	AbortReason string
	Message     string
	Answer      string
	Value       any
	Denied      int
	State       string
	Doing       []string
	Approvals   []string
	Waiting     []struct{ Text string }
	Turns       []struct{ Session, Outcome, AbortReason string }
	Sessions    []struct{ Session, Title, State, Outcome string }
	Error       *struct{ Name, Kind string }
	isError     bool
	text        string
}

// outcome waits for the answer to a tool's call.
func (b *peer) outcome(id any) outcome {
	b.t.Helper()
	m := b.answer(id)
	if m.Error != nil {
		b.t.Fatalf("request %v failed: %+v", id, *m.Error)
	}
	var res struct {
		Content           []struct{ Text string }
		StructuredContent outcome
		IsError           bool
	}
	if err := json.Unmarshal(m.Result, &res); err != nil {
		b.t.Fatal(err)
	}
	out := res.StructuredContent
	out.isError = res.IsError
	for _, c := range res.Content {
		out.text += c.Text
	}
	return out
}

// begun waits until the model was asked n times.
func (b *peer) begun(ch <-chan struct{}) {
	b.t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		b.t.Fatalf("it has not begun; there is %s", dump(b.heard()))
	}
}

// waits is a turn of the model that says so when it has begun, and then
// nothing.
func waits() (script.Step, <-chan struct{}) {
	begun := make(chan struct{})
	return script.Turn(script.Text("one moment"), script.Do(func() { close(begun) }), script.Stall()), begun
}
