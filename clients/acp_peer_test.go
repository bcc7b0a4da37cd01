//go:build clients && linux

package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// acpPeer is a plain client that talks to the built binary, and checks each received message with
// the protocol's schema. It supports operations that acpx does not: a cancel in the same write, and
// every kind of disconnect.
type acpPeer struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	dir  string
	mark string // in the environment of everything that it starts
	env  []string
	err  acpText

	mu       sync.Mutex // guards the fields below
	ids      int
	methods  map[string]string // of requests, by id
	lines    []string
	arrived  chan struct{} // closed at the next line, or the end
	ended    bool
	permit   string // option by which requests for permission are answered; "" leaves them open
	problems []error
}

// acpText collects the output of a running process. It can be read while the process writes.
type acpText struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (x *acpText) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func (x *acpText) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

const acpKey = "sk-of-the-client-1234567890"

// acpStart starts the binary in a temporary directory. env is the environment of an earlier peer,
// whose sessions it must find, or nil.
func acpStart(t *testing.T, srv *modeltest.Server, env []string, args ...string) *acpPeer {
	t.Helper()
	return acpStartBy(t, nil, srv, env, args...)
}

// acpStartBy is acpStart by another program.
func acpStartBy(t *testing.T, starter []string, srv *modeltest.Server, env []string, args ...string) *acpPeer {
	t.Helper()
	p := &acpPeer{
		t:       t,
		mark:    "ACP_MARK=" + filepath.Base(t.TempDir()) + t.Name(),
		methods: map[string]string{},
		arrived: make(chan struct{}),
		permit:  "allow",
	}
	if env == nil {
		env = append(home(t), "OPENAI_API_KEY="+acpKey, "OPENAI_BASE_URL="+srv.OpenAI())
	}
	p.env = env
	argv := append(append(starter[:len(starter):len(starter)], settle(t), "acp", "-m", "openai/gpt-test"), args...)
	c := client{argv: argv, dir: t.TempDir(), env: append(env[:len(env):len(env)], p.mark)}
	p.dir = c.dir
	p.cmd = c.command(context.Background(), t)
	p.cmd.Stdin = nil
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in = in
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = &p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.read(out) // ends with the process
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, problem := range p.problems {
			t.Error(problem)
		}
		if t.Failed() {
			t.Logf("it said:\n%s\nstderr:\n%s", strings.Join(p.lines, "\n"), p.err.String())
		}
	})
	return p
}

func (p *acpPeer) read(out io.Reader) {
	oracle, err := acpSchemas()
	if err != nil {
		p.t.Error(err)
		return
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		p.mu.Lock()
		line := lines.Text()
		p.lines = append(p.lines, line)
		if err := oracle.message([]byte(line), func(id json.RawMessage) string { return p.methods[string(id)] }); err != nil {
			p.problems = append(p.problems, fmt.Errorf("%s\nis not what the schema has: %w", line, err))
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal([]byte(line), &m) // checked above
		permit := p.permit
		close(p.arrived)
		p.arrived = make(chan struct{})
		p.mu.Unlock()
		if m.Method == "session/request_permission" && permit != "" {
			p.write(
				map[string]any{
					"id":     m.ID,
					"result": map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": permit}},
				},
			)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	close(p.arrived)
	p.arrived = make(chan struct{})
}

// write writes messages in one piece.
func (p *acpPeer) write(messages ...map[string]any) {
	var all []byte
	for _, m := range messages {
		m["jsonrpc"] = "2.0"
		raw, err := json.Marshal(m)
		if err != nil {
			p.t.Error(err)
			return
		}
		all = append(append(all, raw...), '\n')
	}
	_, _ = p.in.Write(all) // if the process is gone, the awaited message does not come
}

// request makes a request, and returns its id.
func (p *acpPeer) request(method string, params map[string]any) (id string, message map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids++
	id = fmt.Sprint(p.ids)
	p.methods[id] = method
	return id, map[string]any{"id": p.ids, "method": method, "params": params}
}

func (p *acpPeer) send(method string, params map[string]any) (id string) {
	id, m := p.request(method, params)
	p.write(m)
	return id
}

// acpAnswer is the answer to a request.
type acpAnswer struct {
	Result map[string]any
	Error  *struct {
		Code    int
		Message string
		Data    map[string]any
	}
	after string // earlier message
}

// answer waits for the answer to a request.
func (p *acpPeer) answer(id string) (a acpAnswer) {
	p.t.Helper()
	at := p.until("the answer to "+p.methods[id], func(line string) bool {
		return strings.HasPrefix(line, `{"jsonrpc":"2.0","id":`+id+`,"result":`) ||
			strings.HasPrefix(line, `{"jsonrpc":"2.0","id":`+id+`,"error":`)
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := json.Unmarshal([]byte(p.lines[at]), &a); err != nil {
		p.t.Fatal(err)
	}
	a.after = strings.Join(p.lines[:at], "\n")
	return a
}

// until waits for a line, and returns its number.
func (p *acpPeer) until(what string, is func(line string) bool) int {
	p.t.Helper()
	late := time.After(30 * time.Second)
	for {
		p.mu.Lock()
		lines, arrived, ended := p.lines, p.arrived, p.ended
		p.mu.Unlock()
		for n, line := range lines {
			if is(line) {
				return n
			}
		}
		if ended {
			p.t.Fatalf("it ended without %s", what)
		}
		select {
		case <-arrived:
		case <-late:
			p.t.Fatalf("there was no %s", what)
		}
	}
}

// output is everything that the agent has written.
func (p *acpPeer) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n") + p.err.String()
}

func (p *acpPeer) call(method string, params map[string]any) map[string]any {
	p.t.Helper()
	a := p.answer(p.send(method, params))
	if a.Error != nil {
		p.t.Fatalf("%s: %+v", method, a.Error)
	}
	return a.Result
}

// open initializes and makes a session, or takes one up.
func (p *acpPeer) open(session string, capabilities map[string]any) string {
	p.t.Helper()
	p.call(
		"initialize",
		map[string]any{
			"protocolVersion":    1,
			"clientCapabilities": capabilities,
			"clientInfo":         map[string]any{"name": "peer", "version": "1"},
		},
	)
	if session != "" {
		p.call("session/load", map[string]any{"sessionId": session, "cwd": p.dir, "mcpServers": []any{}})
		return session
	}
	return p.call("session/new", map[string]any{"cwd": p.dir, "mcpServers": []any{}})["sessionId"].(string)
}

func sayPrompt(session, words string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": words}}}
}

func sayCancel(session string) map[string]any {
	return map[string]any{"method": "session/cancel", "params": map[string]any{"sessionId": session}}
}

func (p *acpPeer) prompt(session, words string) (id string) {
	return p.send("session/prompt", sayPrompt(session, words))
}

// stops waits for the answer to a prompt and compares its stop reason.
func (p *acpPeer) stops(id, want string) acpAnswer {
	p.t.Helper()
	a := p.answer(id)
	if a.Error != nil || a.Result["stopReason"] != want {
		p.t.Errorf("the prompt was answered with %v, %+v; want %q", a.Result, a.Error, want)
	}
	return a
}

// end waits for the process to end, within a time, with a code.
func (p *acpPeer) end(within time.Duration, code int) {
	p.t.Helper()
	done := make(chan struct{})
	begin := time.Now()
	go func() { // ends with the process
		_ = p.cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
		if got := p.cmd.ProcessState.ExitCode(); got != code {
			p.t.Errorf("it ended with code %d, want %d", got, code)
		}
		if took := time.Since(begin); took > within {
			p.t.Errorf("it took %v to end, more than %v", took, within)
		}
	case <-time.After(30 * time.Second):
		p.t.Fatal("it does not end")
	}
	p.awaitEnd(0)
}

// awaitEnd waits until no process of the agent is left.
func (p *acpPeer) awaitEnd(within time.Duration) {
	p.t.Helper()
	awaitNoProcess(p.t, p.mark, within)
}

func (p *acpPeer) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}
