package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/mcp"
)

// patience bounds a test's wait.
const patience = time.Minute

// server returns a fake server of the mode.
func server(t *testing.T, mode string, env ...string) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{
		Name: "fake", Argv: []string{self}, Env: append(env, fakeMode+"="+mode), StartTimeout: patience,
		CallTimeout: patience,
	}
}

// session has servers and the tools that a session has of them.
type session struct {
	*mcp.Servers
	t     *testing.T
	tools *tool.Set
	dir   string
	ask   func(context.Context, event.Form) (json.RawMessage, error)
}

// open opens a session with the servers, whose catalogues are in the directory.
func open(t *testing.T, cache string, servers ...mcp.Server) *session {
	t.Helper()
	s := &session{t: t, dir: t.TempDir(), ask: tool.NobodyToAsk}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s.Servers = mcp.Open(mcp.Config{
		Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: s.dir, CacheDir: cache,
		SpoolDir: filepath.Join(s.dir, "spool"), Version: "test",
		Client: &http.Client{Transport: transport},
	}, mcp.Read(cache, servers))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("cannot close: %v", err)
		}
	})
	var err error
	if s.tools, err = tool.NewSet(s.Tools()...); err != nil {
		t.Fatal(err)
	}
	return s
}

// known opens a session with servers whose catalogues are known.
func known(t *testing.T, servers ...mcp.Server) *session {
	t.Helper()
	cache := t.TempDir()
	s := open(t, cache, servers...)
	s.call("tool_search", map[string]string{"query": ""})
	return open(t, cache, servers...)
}

func (s *session) run(ctx context.Context, name string, args any, progress func(string)) (tool.Result, error) {
	s.t.Helper()
	if args == nil {
		args = struct{}{}
	}
	if progress == nil {
		progress = func(string) {}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.tools.Run(ctx, tool.Call{ID: "call", Name: name, Args: raw, Dir: s.dir, Progress: progress, Ask: s.ask})
}

// call calls a tool, which must succeed.
func (s *session) call(name string, args any) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := s.run(ctx, name, args, nil)
	if err != nil || r.Failed || r.Aborted {
		s.t.Fatalf("%s: %+v, %v", name, r, err)
	}
	return r.Output
}

// failing calls a tool, which must fail with the words.
func (s *session) failing(name string, words ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := s.run(ctx, name, map[string]string{}, nil)
	if err == nil {
		s.t.Fatalf("%s: %+v; want an error", name, r)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			s.t.Errorf("%s: %v; want %q in it", name, err, word)
		}
	}
}

func echo(text string) map[string]string { return map[string]string{"text": text} }

func TestCalls(t *testing.T) {
	for _, mode := range []string{"normal", "modern", "greets"} {
		t.Run(mode, func(t *testing.T) {
			s := known(t, server(t, mode, "PASSED=yes"))
			if got := s.call("fake__echo", echo("hello")); got != "hello" {
				t.Errorf("got %q", got)
			}
			if got := s.call("fake__env", echo("PASSED")); got != "yes" {
				t.Errorf("its environment: got %q", got)
			}
			if got := s.call("fake__structure", nil); got != `{"a":1}` {
				t.Errorf("structured content: got %q", got)
			}
			if got := s.call("fake__link",
				nil); got != "[resource link: x, file:///x, text/plain]\n[resource: file:///y]\ninside" {
				t.Errorf("resources: got %q", got)
			}
			s.failing("fake__unknown", "there is no tool")
		})
	}
}

func TestResults(t *testing.T) {
	s := known(t, server(t, "normal"))
	ctx := t.Context()
	r, err := s.run(ctx, "fake__big", nil, nil)
	if err != nil || len(r.Output) > 34<<10 || !strings.HasPrefix(r.Output, "begin z") ||
		!strings.Contains(r.Output, "z end\n[The whole result is in ") || r.OutputBytes != 100_010 {
		t.Errorf("a long result: %d bytes of %d, %v", len(r.Output), r.OutputBytes, err)
	}
	if whole, err := os.ReadFile(r.OutputFile); err != nil || int64(len(whole)) != r.OutputBytes {
		t.Errorf("its file has %d bytes, %v", len(whole), err)
	}
	r, err = s.run(ctx, "fake__image", nil, nil)
	path := filepath.Join(s.dir, "spool", "call-1.png")
	if data, _ := os.ReadFile(path); err != nil || string(data) != "hello" ||
		r.Output != "a picture:\n[image, image/png, 5 bytes, kept in "+path+"]" {
		t.Errorf("an image: %+v, %v; its file has %q", r, err, data)
	}
	if r, err = s.run(ctx, "fake__fail", nil, nil); err != nil || !r.Failed || r.Output != "no such file" {
		t.Errorf("a failure: %+v, %v", r, err)
	}
	var shown strings.Builder
	if r, err = s.run(ctx, "fake__step", nil, func(text string) { shown.WriteString(text) }); err != nil ||
		r.Output != "stepped" || shown.String() != "1/2 half\n" {
		t.Errorf("progress: %+v, %v; shown %q", r, err, shown.String())
	}
	s.failing("fake__garble", `"fake"`, "cannot be used")
	s.call("fake__echo", echo("still there"))
}

// A server's faults affect its own calls, and no others.
func TestFaults(t *testing.T) {
	s := known(t, server(t, "normal"), func() mcp.Server { o := server(t, "normal"); o.Name = "other"; return o }())
	if got := s.call("tool_call", map[string]any{"name": "fake__echo", "arguments": echo("found")}); got != "found" {
		t.Errorf("got %q", got)
	}
	call := func(server, name, text string) string {
		return s.call("tool_call", map[string]any{"name": server + "__" + name, "arguments": echo(text)})
	}
	fails := func(name string, words ...string) {
		t.Helper()
		_, err := s.run(t.Context(), "tool_call",
			map[string]any{"name": "fake__" + name, "arguments": map[string]string{}}, nil)
		for _, word := range words {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v; want %q in it", name, err, word)
			}
		}
	}
	fails("die", "exited with code 7", "out of memory", "is not known")
	if got := call("other", "echo", "untouched"); got != "untouched" {
		t.Errorf("the other server: %q", got)
	}
	if got := call("fake", "echo", "it was started again"); got != "it was started again" {
		t.Errorf("got %q", got)
	}
	if got := call("fake", "flood", ""); got != "flooded" {
		t.Errorf("got %q", got)
	}
	if got := call("fake", "ask", ""); got != "asked" {
		t.Errorf("got %q", got)
	}
	if got := call("fake", "echo", "after"); got != "after" {
		t.Errorf("got %q", got)
	}
}

func TestStartsThatFail(t *testing.T) {
	for mode, want := range map[string]string{
		"dies at start":  "exited with code 3; its standard error ends: no such database",
		"garbage":        "no JSON-RPC",
		"endless line":   "a line of more than",
		"asks and asks":  "flooded",
		"hangs at start": "did not answer in time",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			broken := server(t, mode)
			if mode == "hangs at start" {
				broken.StartTimeout = time.Second
			}
			fine := server(t, "normal")
			fine.Name = "fine"
			s := open(t, t.TempDir(), broken, fine)
			got := s.call("tool_search", map[string]string{"query": "fine echo"})
			if !strings.Contains(got, "## fine__echo") || !strings.Contains(got, want) {
				t.Errorf("got %s; want the other server's tools, and %q", got, want)
			}
			if got := s.call("tool_call",
				map[string]any{"name": "fine__echo", "arguments": echo("hello")}); got != "hello" {
				t.Errorf("the other server: %q", got)
			}
		})
	}
}

// Servers older than 2026-07-28 should refuse its first request. Some do not.
func TestSilenceToDiscover(t *testing.T) {
	quiet := server(t, "says nothing to discover")
	quiet.StartTimeout = 2 * time.Second
	s := open(t, t.TempDir(), quiet)
	if got := s.call("tool_search", map[string]string{"query": "echo"}); !strings.Contains(got, "## fake__echo") {
		t.Errorf("got %s", got)
	}
}

func TestCancellation(t *testing.T) {
	dir := t.TempDir()
	cancelled, hanging := filepath.Join(dir, "cancelled"), filepath.Join(dir, "hanging")
	s := known(t, server(t, "normal", "CANCELLED="+cancelled, "HANGING="+hanging))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() { // ends when the server has the call, or with the test's context
		await(ctx, hanging)
		cancel(errors.New("interrupted"))
	}()
	r, err := s.run(ctx, "fake__hang", nil, nil)
	if err != nil || !r.Aborted || !strings.Contains(r.Output, "effects of the call are unknown") {
		t.Errorf("got %+v, %v", r, err)
	}
	if !await(t.Context(), cancelled) {
		t.Error("the server was not told")
	}
	if got := s.call("fake__echo", echo("on")); got != "on" {
		t.Errorf("the connection afterwards: %q", got)
	}
}

// await waits for a file, and reports whether it appeared.
func await(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if _, err := os.Stat(path); err == nil {
			return true
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
}

func TestTimeout(t *testing.T) {
	cache := t.TempDir()
	first := open(t, cache, server(t, "normal"))
	first.call("tool_search", map[string]string{"query": ""})
	slow := server(t, "normal")
	slow.CallTimeout = 200 * time.Millisecond
	s := open(t, cache, slow)
	s.failing("fake__hang", "did not end within", "was cancelled")
}

// A session keeps its initial tools; a change is discovered, and applies to the next
// session.
func TestListChanges(t *testing.T) {
	cache := t.TempDir()
	s := open(t, cache, server(t, "normal"))
	names := s.tools.Names()
	if !slices.Equal(names, []string{"tool_search", "tool_call"}) {
		t.Errorf("before anything is known: %q", names)
	}
	s.call("tool_search", map[string]string{"query": "change"})
	s.call("tool_call", map[string]any{"name": "fake__change", "arguments": echo("")})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !slices.Contains(mcp.Read(cache, []mcp.Server{server(t, "normal")}).Names(), "fake__late") {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("the new tool does not become known")
		}
	}
	if got := s.call("tool_search", map[string]string{"query": "late"}); !strings.Contains(got, "## fake__late") {
		t.Errorf("the session does not find it: %s", got)
	}
	if got := s.tools.Names(); !slices.Equal(got, names) {
		t.Errorf("the session's tools changed: %q", got)
	}
}

func TestManyTools(t *testing.T) {
	s := known(t, server(t, "many"))
	var others []string
	deferred := 0
	for _, spec := range s.tools.Specs() {
		switch {
		case spec.Deferred == "fake" && !spec.Finder:
			deferred++
		case spec.Finder:
			others = append(others, spec.Name)
		}
	}
	if names := s.tools.Names(); !slices.Equal(others, []string{"tool_search", "tool_call"}) || deferred < 40 ||
		deferred+2 != len(names) || !slices.Equal(s.Names(), names) {
		t.Errorf("%d deferred, %q of %q", deferred, others, names)
	}
	if got := s.call("tool_search", map[string]string{"query": "number39"}); !strings.HasPrefix(got,
		"## fake__number39\ndoes number39\nArguments: {") {
		t.Errorf("got %s", got)
	}
}

// C7: when a server ends, its child processes end.
func TestNothingIsLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("only supervisors promise it")
		return
	}
	mark := "mcp-" + filepath.Base(t.TempDir()) + "-" + time.Now().Format("150405.000000000")
	cache := t.TempDir()
	s := open(t, cache, server(t, "stubborn", "STUBBORN="+mark))
	s.call("tool_search", map[string]string{"query": ""})
	if n := marked(t, mark); n == 0 {
		t.Fatal("nothing runs, so that nothing can end")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if n := marked(t, mark); n > 0 {
		t.Errorf("%d processes are left", n)
	}
}

// marked counts the processes with the text in their environment.
func marked(t *testing.T, text string) (n int) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if environ, err := os.ReadFile(path); err == nil && strings.Contains(string(environ), text) {
			n++
		}
	}
	return n
}

// TestPanicInACallbackEndsItsCall: the goroutine that reads the server's messages runs the
// callbacks for progress and for the user's input. A panic there ends the call and not the
// host, and the server stays usable.
func TestPanicInACallbackEndsItsCall(t *testing.T) {
	s := known(t, server(t, "normal"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := s.run(ctx, "fake__step", nil, func(string) { panic("in progress") })
	if err == nil || !strings.Contains(err.Error(), "in progress") {
		t.Errorf("progress: %+v, %v", r, err)
	}
	s.ask = func(context.Context, event.Form) (json.RawMessage, error) { panic("in a form") }
	r, err = s.run(ctx, "fake__form", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "in a form") {
		t.Errorf("a form: %+v, %v", r, err)
	}
	s.ask = tool.NobodyToAsk
	if got := s.call("fake__echo", echo("hello")); got != "hello" {
		t.Errorf("got %q", got)
	}
}
