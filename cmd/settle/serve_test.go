//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/modeltest"
)

// served is a settle serve that runs.
type served struct {
	*place

	cmd         *exec.Cmd
	link        *url.URL
	token       string
	first, rest string // of standard output
	done        chan struct{}
}

// serve starts settle serve and waits for its link.
func (p *place) serve(s *modeltest.Server, args ...string) *served {
	p.t.Helper()
	cmd := p.command(append([]string{"serve", "-m", "chat/m", "--base-url", s.OpenAI()}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	started(p.t, cmd)
	v := &served{place: p, cmd: cmd, done: make(chan struct{})}
	in := bufio.NewReader(out)
	if v.first, err = in.ReadString('\n'); err != nil {
		p.t.Fatalf("there is no link: %v; stderr: %s", err, cmd.Stderr)
	}
	if v.link, err = url.Parse(strings.TrimSpace(v.first)); err != nil {
		p.t.Fatal(err)
	}
	v.token = strings.TrimPrefix(v.link.Fragment, "token=")
	v.link.Fragment = ""
	go func() { // ends with the process
		defer close(v.done)
		rest, _ := io.ReadAll(in)
		v.rest = string(rest)
	}()
	return v
}

// exits waits for the end.
func (v *served) exits(code int) {
	v.t.Helper()
	<-v.done
	exited(v.t, v.cmd, code)
}

// call makes a request, checks the status, and returns the body.
func (v *served) call(method, path, body string, status int) map[string]any {
	v.t.Helper()
	res := v.open(method, path, body, 0)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		v.t.Fatalf("%s %s: %d %s, %v; want %d", method, path, res.StatusCode, text, err, status)
	}
	out := map[string]any{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			v.t.Fatalf("%v: %s", err, text)
		}
	}
	return out
}

func (v *served) open(method, path, body string, after uint64) *http.Response {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.ctx, method, v.link.JoinPath(path).String(), strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+v.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if after > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatUint(after, 10))
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	return res
}

// follow reads a session's events after the cursor until one is the one, or the
// connection ends.
func (v *served) follow(session string, after uint64, is func(event.Event) bool) (all []event.Event) {
	v.t.Helper()
	return v.read(v.open("GET", session+"/events", "", after), is)
}

func (v *served) read(res *http.Response, is func(event.Event) bool) (all []event.Event) {
	v.t.Helper()
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), `data: {"v"`)
		if !ok {
			continue
		}
		var e event.Event
		if err := e.UnmarshalJSON([]byte(`{"v"` + text)); err != nil {
			v.t.Fatal(err)
		}
		if all = append(all, e); is(e) {
			break
		}
	}
	return all
}

func isKind(kinds ...event.Kind) func(event.Event) bool {
	return func(e event.Event) bool { return slices.Contains(kinds, e.Kind()) }
}

// The link is the first thing that is printed, and lets in.
func TestServe(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	v := p.serve(modeltest.NewServer(t, modeltest.Script(modeltest.Say("Hello!"))))
	if len(v.token) < 32 || v.link.Hostname() != "127.0.0.1" || v.link.Path != "/" {
		t.Errorf("the link is %q", v.first)
	}
	session := "api/sessions/" + v.call("POST", "api/sessions", "", 201)["id"].(string)
	v.call("POST", session+"/inputs", `{"text":"hello"}`, 202)
	all := v.follow(session, 0, event.Event.Terminal)
	if last := all[len(all)-1]; last.Kind() != event.KindTurnCompleted {
		t.Errorf("it ended with %v", last.Data)
	}
	if opened, ok := all[0].Data.(event.SessionOpened); !ok || opened.Permission != "ask" ||
		opened.Frontend != "serve" {
		t.Errorf("it began with %+v", all[0].Data)
	}
	signalled(t, v.cmd, syscall.SIGTERM)
	v.exits(0)
	if v.rest != "" || stderr(v.cmd) != "" {
		t.Errorf("it also said %q and %q", v.rest, stderr(v.cmd))
	}
}

func stderr(cmd *exec.Cmd) string { return cmd.Stderr.(*bytes.Buffer).String() }

// SIGTERM ends a turn with the processes of its calls; a second one does not
// wait for them.
func TestServeIsStopped(t *testing.T) {
	t.Parallel()
	for _, signals := range []int{1, 2} {
		p := newPlace(t)
		awake := p.fifo("awake")
		v := p.serve(modeltest.NewServer(t, modeltest.Script(stubborn("awake", "86417"))), "--permission", "allow")
		session := "api/sessions/" + v.call("POST", "api/sessions", "", 201)["id"].(string)
		v.call("POST", session+"/inputs", `{"text":"hello"}`, 202)
		awake()
		stream := v.open("GET", session+"/events", "", 0)
		for range signals {
			signalled(t, v.cmd, syscall.SIGTERM)
		}
		all := v.read(stream, isKind(event.KindSessionClosed))
		v.exits(0)
		awaitNoProcess(t, "86417")
		if err := contract.Check(all); err != nil {
			t.Error(err)
		}
		end := all[len(all)-2]
		if d, ok := end.Data.(event.TurnAborted); !ok || d.Reason != event.Shutdown || end.By != "signal:SIGTERM" {
			t.Errorf("the turn ended with %+v by %s", end.Data, end.By)
		}
	}
}

// A server that is killed in mid-turn and started again: its processes are
// gone, the turn has its ending, and clients go on from where they were.
func TestServeIsKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	awake := p.fifo("awake")
	tokens := filepath.Join(p.work, "token")
	if err := os.WriteFile(tokens, []byte("0123456789abcdef0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := modeltest.NewServer(t, modeltest.Script(stubborn("awake", "86418"), modeltest.Say("Hello again!")))
	v := p.serve(s, "--permission", "allow", "--token-file", tokens)
	if v.token != "" {
		t.Errorf("a token of the user's is printed: %q", v.first)
	}
	v.token = "0123456789abcdef0123456789abcdef"
	session := "api/sessions/" + v.call("POST", "api/sessions", "", 201)["id"].(string)
	v.call("POST", session+"/inputs", `{"text":"hello"}`, 202)
	awake()
	var clients [3][]event.Event
	for n := range clients {
		clients[n] = v.follow(
			session, 0,
			isKind([]event.Kind{event.KindInputAccepted, event.KindAttemptStarted, event.KindCallStarted}[n]),
		)
	}
	signalled(t, v.cmd, syscall.SIGKILL)
	_ = v.cmd.Wait()

	again := p.serve(s, "--permission", "allow", "--token-file", tokens, "--addr", v.link.Host)
	again.token = v.token
	again.call("POST", session+"/inputs", `{"text":"go on"}`, 202)
	for n := range clients {
		after := clients[n][len(clients[n])-1].Seq
		clients[n] = append(clients[n], again.follow(session, after, isKind(event.KindTurnCompleted))...)
		if d := cmp.Diff(clients[0], clients[n]); d != "" {
			t.Errorf("client %d has another log (-first +its):\n%s", n, d)
		}
	}
	awaitNoProcess(t, "86418")
	if err := (contract.Checker{Unfinished: true}).Check(clients[0]); err != nil {
		t.Error(err)
	}
	recovered := slices.ContainsFunc(clients[0], isKind(event.KindSessionRecovered))
	if !recovered {
		t.Error("nothing says that it was recovered")
	}
	signalled(t, again.cmd, syscall.SIGINT)
	again.exits(0)
}

// A failed log is reported where a person sees it (C4): its own session, the diagnostic log and a
// disconnected client are no such places.
func TestServeSaysThatALogFailed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	awake := p.fifo("awake")
	s := modeltest.NewServer(t, modeltest.Script(stubborn("awake", "86419"), modeltest.Say("Hello!")))
	v := p.serve(s, "--permission", "allow")
	id := v.call("POST", "api/sessions", "", 201)["id"].(string)
	session := "api/sessions/" + id
	v.call("POST", session+"/inputs", `{"text":"hello"}`, 202)
	awake()
	all := v.read(v.open("GET", session+"/events", "", 0), func(e event.Event) bool {
		if e.Kind() == event.KindCallStarted { // earlier events have been read
			if err := os.Remove(filepath.Join(p.data, "sessions", id+".log")); err != nil {
				t.Fatal(err)
			}
			v.call("POST", session+"/inputs", `{"text":"more"}`, 500)
		}
		return e.Terminal()
	})
	if len(all) == 0 {
		t.Fatal("nothing was read")
	}
	if d, ok := all[len(all)-1].Data.(event.TurnFailed); !ok || d.Failure.Name != event.NameJournal ||
		!all[len(all)-1].Volatile {
		t.Errorf("the turn ends with %+v", all[len(all)-1])
	}
	awaitNoProcess(t, "86419")
	v.call("POST", session+"/inputs", `{"text":"and now?"}`, 404)
	signalled(t, v.cmd, syscall.SIGTERM)
	v.exits(0)
	if said := stderr(v.cmd); !strings.Contains(said, id) || !strings.Contains(said, "deleted or moved") {
		t.Errorf("standard error has %q", said)
	}
}

// Two servers do not have one session.
func TestServeHeldSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := modeltest.NewServer(t, modeltest.Script(modeltest.Say("Hello!")))
	one, two := p.serve(s), p.serve(s)
	session := one.call("POST", "api/sessions", "", 201)["id"].(string)
	held := two.call("POST", "api/sessions/"+session+"/inputs", `{"text":"hello"}`, 409)
	if holder, ok := held["holder"].(map[string]any); !ok || holder["pid"] != float64(one.cmd.Process.Pid) {
		t.Errorf("%v", held)
	}
	signalled(t, one.cmd, syscall.SIGTERM)
	one.exits(0)
	two.call("POST", "api/sessions/"+session+"/inputs", `{"text":"hello"}`, 202)
	signalled(t, two.cmd, syscall.SIGTERM)
	two.exits(0)
}

// An option that is unsafe or impossible is refused before anything is served.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := modeltest.NewServer(t, modeltest.Script())
	open := filepath.Join(p.work, "open")
	if err := os.WriteFile(open, []byte("0123456789abcdef0123456789abcdef"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--addr", "0.0.0.0:0"}, "--insecure"},
		{[]string{"--addr", "nonsense"}, "HOST:PORT"},
		{[]string{"--token-file", open}, "chmod 600"},
		{[]string{"--token-file", filepath.Join(p.work, "nothing")}, "openssl rand"},
		{[]string{"--tls-cert", "x"}, "tls-key"},
		{[]string{"--tls-cert", "x", "--tls-key", "y"}, "certificate"},
		{[]string{"more"}, "more"},
	} {
		cmd := p.command(append([]string{"serve", "-m", "chat/m", "--base-url", s.OpenAI()}, c.args...)...)
		var out bytes.Buffer
		cmd.Stdout = &out
		started(t, cmd)
		exited(t, cmd, 2)
		if !strings.Contains(stderr(cmd), c.says) || out.Len() > 0 {
			t.Errorf("%v: %q and %q", c.args, out.String(), stderr(cmd))
		}
	}
}
