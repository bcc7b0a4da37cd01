//go:build machine && linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// Every frontend: commands and files are on the executor's machine, people and programs learn that
// the connection was lost and is back, and nothing is left.
func TestExecutorServesEveryFrontend(t *testing.T) {
	for name, f := range executorFrontends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFrontendWithExecutor(t)
			f(s)
			for name, want := range map[string]string{"made.txt": "far\n", "new.txt": "hello\n"} {
				if text, err := os.ReadFile(filepath.Join(s.there, name)); string(text) != want {
					t.Errorf("%s is %q, %v", name, text, err)
				}
				if _, err := os.Stat(filepath.Join(s.work, name)); err == nil {
					t.Errorf("%s is here", name)
				}
			}
			if refused := s.server.Refusals(); len(refused) > 0 {
				t.Errorf("the model refused %v", refused)
			}
			s.nothing()
		})
	}
}

// frontendWithExecutor is a frontend with an executor whose connection a test cuts.
type frontendWithExecutor struct {
	*place
	server *modeltest.Server
	there  string // where the executor works
	way    string // to them; empty if there are none
	during func() // called while the turn runs

	mu    sync.Mutex // guards the fields below
	conns []*net.TCPConn
	text  string // of standard output
}

func newFrontendWithExecutor(t *testing.T) *frontendWithExecutor {
	t.Helper()
	s := &frontendWithExecutor{place: newPlace(t)}
	dir := filepath.Dir(s.work)
	s.there = filepath.Join(dir, "there")
	for _, name := range []string{s.there, filepath.Join(dir, "run")} {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.server = modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Call(
				"shell",
				`{"command":"echo ready > ready; while [ ! -e go ]; do sleep 0.05; done; echo far > made.txt"}`,
			),
		),
		modeltest.Reply(modeltest.Call("write", `{"path":"new.txt","content":"hello\n"}`)),
		modeltest.Say("Done."),
	))
	s.during = s.cut
	s.way = fmt.Sprintf(dialTo(listenEach(t, func(conn *net.TCPConn) *exec.Cmd {
		s.mu.Lock()
		s.conns = append(s.conns, conn)
		s.mu.Unlock()
		cmd := exec.Command("sh", "-c", wanted(conn))
		cmd.Env = s.env
		return kept(t, conn, cmd)
	})), fmt.Sprintf("cd %s && XDG_RUNTIME_DIR=%s exec settle executor", s.there, filepath.Join(dir, "run")))
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, conn := range s.conns {
			_ = conn.Close()
		}
	})
	return s
}

// kept is plugged, with a connection that the test can still cut.
func kept(t *testing.T, conn *net.TCPConn, cmd *exec.Cmd) *exec.Cmd {
	file, err := conn.File()
	if err == nil {
		defer file.Close()
		cmd.Stdin, cmd.Stdout, cmd.Stderr = file, file, os.Stderr
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	return cmd
}

// cut cuts the connection while the command runs, and lets that end when everybody
// knows.
func (s *frontendWithExecutor) cut() {
	s.t.Helper()
	s.until("the command runs", func() bool { _, err := os.Stat(filepath.Join(s.there, "ready")); return err == nil })
	s.mu.Lock()
	for _, conn := range s.conns {
		_, _ = conn.CloseRead(), conn.CloseWrite()
	}
	s.mu.Unlock()
	s.await(`the connection to the executor was lost: the stream ended; trying again for up to 35s`)
	s.await(`the connection to the executor is back`)
	if err := os.WriteFile(filepath.Join(s.there, "go"), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *frontendWithExecutor) until(what string, is func() bool) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond) // the operating system sends no notification
	defer tick.Stop()
	for over := time.After(patience); !is(); {
		select {
		case <-tick.C:
		case <-over:
			s.t.Fatalf("not in time: %s; it said %s", what, s.output())
		}
	}
}

func (s *frontendWithExecutor) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

// await waits until standard output matches the pattern, and returns its group.
func (s *frontendWithExecutor) await(pattern string) string {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	s.until(pattern, func() bool { return re.MatchString(s.output()) })
	found := re.FindStringSubmatch(s.output())
	return found[len(found)-1]
}

// executorFlags are the flags of the executor.
func (s *frontendWithExecutor) executorFlags() []string {
	if s.way == "" {
		return nil
	}
	return []string{"--executor", s.way}
}

// begin starts settle; say writes a line to it, and end ends that.
func (s *frontendWithExecutor) begin(args ...string) (cmd *exec.Cmd, say func(format string, args ...any), end func()) {
	s.t.Helper()
	cmd = s.command(slices.Concat(args, s.executorFlags(), []string{"--base-url", s.server.OpenAI()})...)
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	started(s.t, cmd)
	done := make(chan struct{})
	go func() { // ends with the output
		defer close(done)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			s.mu.Lock()
			s.text += lines.Text() + "\n"
			s.mu.Unlock()
		}
	}()
	say = func(format string, args ...any) {
		s.t.Helper()
		if _, err := io.WriteString(in, fmt.Sprintf(format, args...)+"\n"); err != nil {
			s.t.Fatal(err)
		}
	}
	return cmd, say, func() {
		s.t.Helper()
		_ = in.Close() // it may have ended
		<-done
		exited(s.t, cmd, 0)
	}
}

// nothing waits until no process of the test is left.
func (s *frontendWithExecutor) nothing() {
	s.t.Helper()
	dir := filepath.Dir(s.work)
	s.until("nothing is left", func() bool { return len(processes(dir)) == 0 })
}

func jsonOf(v any) string {
	raw, _ := json.Marshal(v) // never fails
	return string(raw)
}

func executorFrontends() map[string]func(s *frontendWithExecutor) {
	once := func(args ...string) func(s *frontendWithExecutor) {
		return func(s *frontendWithExecutor) {
			_, _, end := s.begin(args...)
			s.during()
			end()
			if !strings.Contains(s.output(), "Done.") {
				s.t.Errorf("it said %s", s.output())
			}
		}
	}
	const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	return map[string]func(s *frontendWithExecutor){
		"run":  once("run", "-m", "chat/m", "--json", "go"),
		"exec": once("exec", "-m", "chat/m", "-s", "danger-full-access", "--skip-git-repo-check", "--json", "go"),
		"claude": once(
			"claude", "-p", "--model", "chat/m", "--permission-mode", "bypassPermissions", "--output-format",
			"stream-json", "--verbose", "go",
		),
		"acp": func(s *frontendWithExecutor) {
			_, say, end := s.begin("acp", "-m", "chat/m", "--permission", "allow")
			say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`)
			say(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, s.work)
			id := s.await(`"sessionId":"([^"]+)"`)
			say(
				`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}}`,
				id,
			)
			s.during()
			s.await(`"stopReason":"end_turn"`)
			end()
		},
		"app-server": func(s *frontendWithExecutor) {
			_, say, end := s.begin("app-server", "-m", "chat/m", "--permission", "allow")
			say(`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"test","version":"1"}}}`)
			say(`{"method":"initialized"}`)
			say(
				`{"id":2,"method":"thread/start","params":%s}`,
				jsonOf(map[string]any{"cwd": s.work, "approvalPolicy": "never", "sandbox": "danger-full-access"}),
			)
			id := s.await(`"thread":\{[^{}]*"id":"([^"]+)"`)
			say(
				`{"id":3,"method":"turn/start","params":%s}`,
				jsonOf(map[string]any{"threadId": id, "input": []any{map[string]any{"type": "text", "text": "go"}}}),
			)
			s.during()
			s.await(`"method":"turn/completed"`)
			end()
		},
		"mcp": func(s *frontendWithExecutor) {
			_, say, end := s.begin("mcp", "-m", "chat/m", "--permission", "allow")
			say(
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
			)
			say(initialized)
			say(
				`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run","arguments":{"prompt":"go"},"_meta":{"progressToken":"p"}}}`,
			)
			s.during()
			s.await(`"id":2,"result"`)
			end()
		},
		"serve": func(s *frontendWithExecutor) {
			v := s.serve(s.server, append(s.executorFlags(), "--permission", "allow")...)
			session := "api/sessions/" + v.call("POST", "api/sessions", "", 201)["id"].(string)
			v.call("POST", session+"/inputs", `{"text":"go"}`, 202)
			res := v.open("GET", session+"/events", "", 0)
			ended := make(chan struct{})
			go func() { // ends with the server, or the turn
				defer close(ended)
				defer res.Body.Close()
				lines := bufio.NewScanner(res.Body)
				lines.Buffer(nil, 1<<24)
				for lines.Scan() && !strings.Contains(lines.Text(), `"kind":"turn.completed"`) {
					s.mu.Lock()
					s.text += lines.Text() + "\n"
					s.mu.Unlock()
				}
			}()
			s.during()
			<-ended
			signalled(s.t, v.cmd, os.Interrupt)
			<-v.done
			_ = v.cmd.Wait() // by the signal
		},
	}
}
