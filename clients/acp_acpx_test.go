//go:build clients && linux

package clients

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// acpxUser is a user of acpx in a directory.
type acpxUser struct {
	t     *testing.T
	srv   *modeltest.Server
	env   []string
	dir   string
	mark  string
	flags []string // of settle acp
}

func useAcpx(t *testing.T, srv *modeltest.Server, flags ...string) *acpxUser {
	t.Helper()
	u := &acpxUser{
		t:     t,
		srv:   srv,
		dir:   t.TempDir(),
		mark:  "ACPX_MARK=" + filepath.Base(t.TempDir()) + t.Name(),
		flags: flags,
	}
	u.env = home(t, u.mark, "OPENAI_API_KEY="+acpKey, "OPENAI_BASE_URL="+srv.OpenAI())
	t.Cleanup(func() {
		u.retire()
		_ = os.RemoveAll(u.sockets())
		if refused := srv.Refusals(); len(refused) > 0 {
			t.Errorf("the model server refused: %q", refused)
		}
	})
	return u
}

// sockets returns the folder of acpx's sockets, which acpx leaves behind.
func (u *acpxUser) sockets() string {
	home := strings.TrimPrefix(u.env[0], "HOME=")
	return filepath.Join("/tmp", fmt.Sprintf("acpx-%x", sha256.Sum256([]byte(home)))[:len("acpx-")+10])
}

// retire ends the process that acpx keeps for a session, and with it the agent.
func (u *acpxUser) retire() {
	u.t.Helper()
	for _, pid := range marked(u.t, u.mark) {
		line, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		if n, bad := strconv.Atoi(pid); err == nil && bad == nil && strings.Contains(string(line), "__queue-owner") {
			_ = syscall.Kill(n, syscall.SIGTERM) // it may have ended
		}
	}
	awaitNoProcess(u.t, u.mark, goneTimeout)
}

func (u *acpxUser) client(args ...string) client {
	u.t.Helper()
	agent := strings.Join(append([]string{settle(u.t), "acp", "-m", "openai/gpt-test"}, u.flags...), " ")
	c := bin(u.t, "acpx", append([]string{"--agent", agent, "--ttl", "60"}, args...)...)
	c.dir, c.env = u.dir, u.env
	return c
}

func (u *acpxUser) run(args ...string) result {
	u.t.Helper()
	return u.client(args...).run(u.t)
}

// ok runs acpx, which must succeed and say all of the words.
func (u *acpxUser) ok(args []string, words ...string) result {
	u.t.Helper()
	return u.ends(0, args, words...)
}

func (u *acpxUser) ends(code int, args []string, words ...string) result {
	u.t.Helper()
	r := u.run(args...)
	all := r.stdout + r.stderr
	if r.code != code || !has(all, words) {
		u.t.Errorf(
			"acpx %q ended with code %d; want %d, and the words %q\nstdout:\n%s\nstderr:\n%s", args, r.code, code,
			words, r.stdout, r.stderr,
		)
	}
	return r
}

func has(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

func (u *acpxUser) wrote(name string) bool {
	_, err := os.Stat(filepath.Join(u.dir, name))
	return err == nil
}

// started is a run of acpx that goes on.
type started struct {
	result chan result
	stop   func(os.Signal)
}

// start runs acpx beside the test, and waits until the model was asked n times.
func (u *acpxUser) start(n int, args ...string) started {
	u.t.Helper()
	c := u.client(args...)
	cmd := c.command(context.Background(), u.t)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	s := started{make(chan result, 1), func(sig os.Signal) { _ = cmd.Process.Signal(sig) }}
	begin := time.Now()
	go func() { // ends with acpx
		_ = cmd.Wait() // the code says it
		s.result <- result{out.String(), errs.String(), cmd.ProcessState.ExitCode(), time.Since(begin)}
	}()
	u.t.Cleanup(func() { _ = cmd.Process.Kill() })
	u.awaitRequests(n)
	return s
}

// awaitRequests waits until the model has received n requests.
func (u *acpxUser) awaitRequests(n int) {
	u.t.Helper()
	u.until("request of the model", func() bool { return len(u.srv.Exchanges()) >= n })
}

func (u *acpxUser) until(what string, is func() bool) {
	u.t.Helper()
	late := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			u.t.Fatalf("there was no %s", what)
		}
	}
}

func (u *acpxUser) end(s started) (r result) {
	u.t.Helper()
	select {
	case r = <-s.result:
	case <-time.After(time.Minute):
		u.t.Fatal("acpx does not end")
	}
	return r
}

func writeCall(name string) modeltest.Turn {
	return modeltest.Reply(modeltest.Text("I write."), modeltest.Call("write", `{"path":"`+name+`","content":"one\n"}`))
}

// Prompts with each of acpx's policies; files go through acpx, which has the
// capability, and without.
func TestAcpxPermissions(t *testing.T) {
	for name, tt := range map[string]struct {
		flags []string
		code  int
		wrote bool
	}{
		"all":           {[]string{"--approve-all"}, 0, true},
		"all, no fs":    {[]string{"--approve-all", "--no-fs", "--no-terminal"}, 0, true},
		"none":          {[]string{"--deny-all"}, 5, false},
		"reads":         {[]string{"--approve-reads"}, 5, false},
		"nobody to ask": {[]string{"--approve-reads", "--non-interactive-permissions", "fail"}, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			u := useAcpx(t, modeltest.NewServer(t, modeltest.Script(writeCall("a.txt"), modeltest.Say("Done."))))
			r := u.ends(tt.code, append(tt.flags, "exec", "write a.txt"), "I write.")
			if u.wrote("a.txt") != tt.wrote {
				t.Errorf("written: %v\n%s", !tt.wrote, r.stdout)
			}
		})
	}
}

// A session is made, used again by acpx's process and by a new one, and its
// options change.
func TestAcpxSession(t *testing.T) {
	u := useAcpx(
		t,
		modeltest.NewServer(
			t,
			modeltest.Script(
				modeltest.Say("One."),
				modeltest.Say("Two."),
				modeltest.Say("Three."),
				modeltest.Reply(shellCall("touch a.txt")),
				modeltest.Say("Four."),
			),
		),
	)
	u.ends(4, []string{"too early"}, "sessions new")
	id := strings.TrimSpace(u.ok([]string{"sessions", "new"}).stdout)
	u.ok([]string{"first"}, "One.", "[done] end_turn")
	u.ok([]string{"second"}, "Two.")
	u.retire()
	u.ok([]string{"third"}, "Three.", "session/resume")
	u.ok([]string{"set-mode", "allow"}, "allow")
	u.ok([]string{"set", "effort", "high"}, "effort=high")
	u.ok([]string{"--deny-all", "fourth"}, "Four.")
	if !u.wrote("a.txt") {
		t.Error("the mode did not take effect")
	}
	last := u.srv.Exchanges()[4]
	for _, said := range []string{"first", "One.", "second", "Two.", "third", "fourth", `"effort":"high"`} {
		if !strings.Contains(string(last.Body), said) {
			t.Errorf("the model was not told %q", said)
		}
	}
	u.ok([]string{"sessions", "list"}, id, "first")
	u.ok([]string{"sessions", "history"}, "first", "Three.")
	u.ok([]string{"status"}, id)
	u.ok([]string{"sessions", "close"}, id)
}

// The output of acpx has one ACP message a line, with the answer unchanged.
func TestAcpxJSON(t *testing.T) {
	u := useAcpx(
		t,
		modeltest.NewServer(
			t, modeltest.Script(modeltest.Reply(shellCall("echo out; exit 3")), modeltest.Say("Done.")),
		),
	)
	r := u.ok([]string{"--approve-all", "--format", "json", "exec", "go"})
	stop := ""
	for line := range strings.Lines(r.stdout) {
		var m struct {
			Result struct{ StopReason string }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if m.Result.StopReason != "" {
			stop = m.Result.StopReason
		}
	}
	if stop != "end_turn" || !strings.Contains(r.stdout, `"exit_code":3`) || !strings.Contains(r.stdout, "out\\n") {
		t.Errorf("stopped with %q:\n%s", stop, r.stdout)
	}
	if r := u.ok([]string{"--format", "quiet", "sessions", "list"}); r.stdout == "" {
		t.Error("there is no session")
	}
}

// A prompt that comes while another one runs waits for it.
func TestAcpxQueue(t *testing.T) {
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free)
	u := useAcpx(
		t,
		modeltest.NewServer(
			t,
			modeltest.Script(
				modeltest.Say("One.").With(modeltest.Hold(modeltest.BeforeHeaders, release)),
				modeltest.Say("Two."),
				modeltest.Say("Three."),
			),
		),
	)
	u.ok([]string{"sessions", "new"})
	first := u.start(1, "first")
	u.ok([]string{"prompt", "--no-wait", "second"})
	third := u.start(1, "third")
	free()
	if r := u.end(first); r.code != 0 || !strings.Contains(r.stdout, "One.") {
		t.Errorf("the first: %+v", r)
	}
	if r := u.end(third); r.code != 0 || !strings.Contains(r.stdout, "Three.") {
		t.Errorf("the third: %+v", r)
	}
	if n := len(u.srv.Exchanges()); n != 3 {
		t.Errorf("the model was asked %d times", n)
	}
}

// Ctrl-C ends a prompt without a session.
func TestAcpxInterrupt(t *testing.T) {
	for where, turn := range acpxTurns() {
		t.Run(where, func(t *testing.T) {
			u := useAcpx(t, modeltest.NewServer(t, modeltest.Script(turn)), "--permission", "allow")
			s := u.start(1, "exec", "go")
			u.until("command", func() bool { return u.wrote("begun") })
			s.stop(syscall.SIGINT)
			if r := u.end(s); r.code != 0 || !strings.Contains(r.stdout, "[done] cancelled") {
				t.Errorf("acpx ended with code %d\nstdout:\n%s\nstderr:\n%s", r.code, r.stdout, r.stderr)
			}
			awaitNoProcess(t, u.mark, goneTimeout)
		})
	}
}

// acpxTurns are turns that do not end by themselves.
func acpxTurns() map[string]modeltest.Turn {
	return map[string]modeltest.Turn{
		"tool": modeltest.Reply(modeltest.Text("I wait."), shellCall("touch begun; "+acpStubborn)),
		"model": modeltest.Reply(shellCall("touch begun"), modeltest.Text("and then")).
			With(modeltest.Silence(modeltest.AfterCall(1))),
	}
}

// Everything by which acpx ends a turn, in a tool that ignores TERM and while the
// model is silent: the turn is cancelled, nothing runs on, and the session goes on.
func TestAcpxCancel(t *testing.T) {
	ways := map[string]struct {
		flags []string
		end   func(u *acpxUser, s started)
		code  []int
	}{
		"acpx cancel": {end: func(u *acpxUser, _ started) { u.ok([]string{"cancel"}, "cancel") }, code: []int{0}},
		"two at once": {end: func(u *acpxUser, _ started) {
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() { u.run("cancel") })
			}
			both.Wait()
		}, code: []int{0}},
		"timeout": {flags: []string{"--timeout", "3"}, end: func(*acpxUser, started) {}, code: []int{3}},
	}
	for name, way := range ways {
		for where, turn := range acpxTurns() {
			t.Run(name+"/"+where, func(t *testing.T) {
				u := useAcpx(
					t, modeltest.NewServer(t, modeltest.Script(turn, modeltest.Say("I go on."))), "--permission",
					"allow",
				)
				u.ok([]string{"sessions", "new"})
				s := u.start(1, append(way.flags, "go")...)
				u.until("command", func() bool { return u.wrote("begun") })
				way.end(u, s)
				if r := u.end(s); !slices.Contains(way.code, r.code) {
					t.Errorf("acpx ended with code %d\nstdout:\n%s\nstderr:\n%s", r.code, r.stdout, r.stderr)
				}
				u.until("end of the command", func() bool { return len(acpCommandsOf(t, u.mark)) == 0 })
				u.ok([]string{"go on"}, "I go on.")
			})
		}
	}
}

// acpCommandsOf are the processes with the mark that a tool started.
func acpCommandsOf(t *testing.T, mark string) []string {
	t.Helper()
	return slices.DeleteFunc(
		acpCommands(t, mark),
		func(line string) bool { return !strings.Contains(line, "sleep 1000") },
	)
}

// Cancelling where nothing runs says so.
func TestAcpxCancelNothing(t *testing.T) {
	u := useAcpx(t, modeltest.NewServer(t, modeltest.Script(modeltest.Say("One."), modeltest.Say("Two."))))
	u.ok([]string{"sessions", "new"})
	u.ok([]string{"cancel"}, "nothing to cancel")
	u.ok([]string{"first"}, "One.")
	u.ok([]string{"cancel"}, "nothing to cancel")
	u.ok([]string{"second"}, "Two.")
}

// Faults of the provider.
func TestAcpxFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		turn  modeltest.Turn
		flags []string
		code  int
		words []string
	}{
		"reset":      {modeltest.Say("one two three").With(modeltest.Reset(modeltest.AfterDelta(2)).First(1)), nil, 0, []string{"three", "asking again"}},
		"stall":      {modeltest.Say("one two three").With(modeltest.Silence(modeltest.AfterDelta(2)).First(1)), []string{"--stall-timeout", "400ms"}, 0, []string{"three", "asking again"}},
		"exhaustion": {modeltest.Fail(modeltest.Status(500).First(modeltest.Always)), []string{"--retries", "1"}, 1, []string{"The turn failed", "500"}},
		"refused":    {modeltest.Fail(modeltest.Status(401)), nil, 1, []string{"The turn failed", "401"}},
	} {
		t.Run(name, func(t *testing.T) {
			u := useAcpx(t, modeltest.NewServer(t, modeltest.Script(tt.turn)), tt.flags...)
			u.ends(tt.code, []string{"exec", "go"}, tt.words...)
		})
	}
}

// Of an acpx that is killed nothing survives, and the session can go on.
func TestAcpxIsKilled(t *testing.T) {
	u := useAcpx(t, modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Text("I wait."),
			shellCall("touch begun; "+acpStubborn),
		),
		modeltest.Say("I go on."),
	)), "--permission", "allow")
	s := u.start(1, "exec", "go")
	u.until("command", func() bool { return u.wrote("begun") })
	s.stop(syscall.SIGKILL)
	u.end(s)
	awaitNoProcess(t, u.mark, goneTimeout)
	id := aborted(t, u.env, "shutdown")
	p := acpStart(t, u.srv, u.env)
	p.dir = u.dir
	p.open(id, nil)
	if a := p.stops(p.prompt(id, "go on"), "end_turn"); !strings.Contains(a.after, `"text":"I wait."`) {
		t.Error("what was said is lost")
	}
}
