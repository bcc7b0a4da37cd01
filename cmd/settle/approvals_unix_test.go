//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/modeltest"
)

// heldCall starts a server whose model calls a command that needs approval, kills the server
// while the call waits, and returns the session and the id of the held call.
func (p *place) heldCall(s *modeltest.Server, flags ...string) (session, id string) {
	p.t.Helper()
	session, ids := p.heldCalls(s, 1, flags...)
	return session, ids[0]
}

// heldCalls is heldCall for n calls of one response.
func (p *place) heldCalls(s *modeltest.Server, n int, flags ...string) (session string, ids []string) {
	p.t.Helper()
	return p.held(s, "", "shell", n, flags...)
}

// heldIn is heldCall for a call of a tool in a mode.
func (p *place) heldIn(s *modeltest.Server, mode, tool string, flags ...string) (session, id string) {
	p.t.Helper()
	session, ids := p.held(s, mode, tool, 1, flags...)
	return session, ids[0]
}

// held kills a server whose session, in a mode if one is named, asks about n calls of a tool.
func (p *place) held(s *modeltest.Server, mode, tool string, n int, flags ...string) (session string, ids []string) {
	p.t.Helper()
	v := p.serve(s, flags...)
	session = v.call("POST", "api/sessions", "", 201)["id"].(string)
	if mode != "" {
		v.call("POST", "api/sessions/"+session+"/settings", `{"permission":"`+mode+`"}`, 200)
	}
	v.call("POST", "api/sessions/"+session+"/inputs", `{"text":"go"}`, 202)
	asked := 0
	v.follow("api/sessions/"+session, 0, func(e event.Event) bool {
		if e.Kind() == event.KindApprovalRequested {
			asked++
		}
		return asked == n
	})
	signalled(p.t, v.cmd, syscall.SIGKILL)
	_ = v.cmd.Wait()
	for text := range strings.Lines(p.says("approvals", "--json")) {
		var line struct{ ID, Session, State, Tool string }
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			p.t.Fatal(err)
		}
		if line.Session != session || line.State != "held" || line.Tool != tool || len(line.ID) != 64 {
			p.t.Fatalf("held: %+v", line)
		}
		ids = append(ids, line.ID)
	}
	if len(ids) != n {
		p.t.Fatalf("%d calls are held, not %d", len(ids), n)
	}
	return session, ids
}

// approves runs "settle approvals" and wants the exit code.
func (p *place) approves(code int, args ...string) (stdout, stderr string) {
	p.t.Helper()
	cmd := p.command(append([]string{"approvals"}, args...)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	started(p.t, cmd)
	exited(p.t, cmd, code)
	return out.String(), cmd.Stderr.(*bytes.Buffer).String()
}

// ran returns how often the command of appends ran.
func (p *place) ran() int {
	text, err := os.ReadFile(filepath.Join(p.work, "ran"))
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	return strings.Count(string(text), "x")
}

func appends(then string) modeltest.Turn {
	return modeltest.Reply(modeltest.Call("shell", `{"command":"echo x >> ran`+then+`"}`))
}

// C19: the call outlives a host that was killed. Approved from the command line, it runs once;
// a second verdict, also a late one to the question, runs nothing (C16).
func TestHeldCallIsApproved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := modeltest.NewServer(t, modeltest.Script(appends(""), modeltest.Say("It is done.")))
	session, id := p.heldCall(s, "--sandbox", "off")
	out, _ := p.approves(0, "show", id[:8])
	if !strings.Contains(out, "echo x >> ran") || !strings.Contains(out, session) {
		t.Errorf("the question: %s", out)
	}
	if p.ran() != 0 {
		t.Fatal("the call ran before it was approved")
	}
	if list := p.says("sessions"); !strings.Contains(list, "crashed, 1 held call") {
		t.Errorf("the list of sessions: %s", list)
	}
	model := []string{"--sandbox", "off", "-m", "chat/m", "--base-url", s.OpenAI()}
	out, errs := p.approves(0, append([]string{"approve", id[:12]}, model...)...)
	if !strings.Contains(out, "It is done.") || p.ran() != 1 {
		t.Errorf("it ran %d times; %s %s\n%+v", p.ran(), out, errs, p.log(session))
	}
	for _, verdict := range []string{"approve", "deny"} {
		_, errs := p.approves(1, verdict, id)
		if !strings.Contains(errs, "approved before by user, and the call ran: completed; this answer runs nothing") {
			t.Errorf("a second verdict: %s", errs)
		}
	}
	if out := p.says("approvals") + p.says("sessions"); strings.Contains(out, "held") || p.ran() != 1 {
		t.Errorf("still held: %s; it ran %d times", out, p.ran())
	}
	if _, errs := p.approves(1, "approve", "0000"); !strings.Contains(errs, "no held call") {
		t.Errorf("an unknown one: %s", errs)
	}
	if err := contract.Check(p.log(session)); err != nil {
		t.Error(err)
	}
}

// A held plan begins its work with a question, although the server allowed everything before plan mode: without
// a person, it stays held, unless a flag chooses the permission of the work.
func TestHeldPlanBeginsWithQuestions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("propose_plan", `{"plan":"Write."}`)),
		modeltest.Reply(
			modeltest.Call("write", `{"path":"made","content":"x"}`),
			modeltest.Call("shell", `{"command":"sh -c 'echo x >> ran'"}`),
		),
		modeltest.Say("It is done."),
	))
	session, id := p.heldIn(s, "plan", "propose_plan", "--permission", "allow")
	model := []string{"-m", "chat/m", "--base-url", s.OpenAI(), "--sandbox", "off"}
	_, errs := p.approves(2, append([]string{"approve", id}, model...)...)
	if !strings.Contains(errs, "it stays held") {
		t.Errorf("without a person: %s", errs)
	}
	if list := p.says("approvals"); !strings.Contains(list, "  held  ") || len(s.Exchanges()) != 1 {
		t.Errorf("after %d requests: %s", len(s.Exchanges()), list)
	}
	_, errs = p.approves(2, "approve", id, "--permission", "bogus")
	if !strings.Contains(errs, `"bogus": it is not one of ask, accept-edits, allow`) {
		t.Errorf("an unknown permission: %s", errs)
	}
	var out string
	out, errs = p.approves(0, append([]string{"approve", id, "--permission", "accept-edits"}, model...)...)
	if !strings.Contains(out, "It is done.") {
		t.Errorf("%s %s", out, errs)
	}
	if _, err := os.Stat(filepath.Join(p.work, "made")); err != nil || p.ran() > 0 {
		t.Errorf("%v; a command ran %d times: %s", err, p.ran(), errs)
	}
	p.acceptedForEdits(session)
}

// acceptedForEdits checks that the verdicts about held calls chose the permission accept-edits.
func (p *place) acceptedForEdits(session string) {
	p.t.Helper()
	for _, e := range p.log(session) {
		if d, ok := e.Data.(event.InputAccepted); ok && d.HeldCall != nil && d.HeldCall.Permission != "accept-edits" {
			p.t.Errorf("accepted with %q", d.HeldCall.Permission)
		}
	}
}

// Without a person, a held call that has changed since stays held, and the verdict is not spent. A call that
// does not run for another reason ends the command with 1.
func TestHeldCallThatChangedStaysHeld(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("write", `{"path":"made","content":"x"}`)), modeltest.Say("I see."),
	))
	_, id := p.heldIn(s, "", "write")
	made := filepath.Join(p.work, "made")
	if err := os.WriteFile(made, []byte("since"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"approve", id, "-m", "chat/m", "--base-url", s.OpenAI()}
	if _, errs := p.approves(2, args...); !strings.Contains(errs, "changed since the question; it stays held") {
		t.Errorf("changed: %s", errs)
	}
	if list := p.says("approvals"); !strings.Contains(list, "  held  ") || len(s.Exchanges()) != 1 {
		t.Errorf("after %d requests: %s", len(s.Exchanges()), list)
	}
	if err := os.Remove(made); err != nil {
		t.Fatal(err)
	}
	p.configure("[[hooks.PreToolUse]]\nmatcher = \"Write\"\ncommand = \"echo not today >&2; exit 2\"\n")
	_, errs := p.approves(1, args...)
	if !strings.Contains(errs, "the approved call did not run: denied: ") || !strings.Contains(errs, "not today") {
		t.Errorf("refused by a hook: %s", errs)
	}
	if out, _ := p.approves(0, "show", id); !strings.Contains(out, "before by user, and the call did not run") {
		t.Errorf("the question: %s", out)
	}
	if _, err := os.Stat(made); !os.IsNotExist(err) {
		t.Error("it ran:", err)
	}
}

// A held command whose script has changed since the question stays held without a person, and runs when the
// script is what it was.
func TestHeldCommandWithChangedScriptStaysHeld(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"./build.sh", "sh build.sh"} {
		p := newPlace(t)
		s := modeltest.NewServer(t, modeltest.Script(
			modeltest.Reply(modeltest.Call("shell", `{"command":"`+command+`"}`)), modeltest.Say("It is done."),
		))
		write := func(text string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(p.work, "build.sh"), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		write("echo x >> ran\n")
		_, id := p.heldCall(s, "--sandbox", "off")
		write("echo x >> ran; echo changed\n")
		args := []string{"approve", id, "-m", "chat/m", "--base-url", s.OpenAI(), "--sandbox", "off"}
		_, errs := p.approves(2, args...)
		if !strings.Contains(errs, "changed since the question; it stays held") || p.ran() != 0 {
			t.Errorf("%s: changed: it ran %d times: %s", command, p.ran(), errs)
		}
		write("echo x >> ran\n")
		if _, errs := p.approves(0, args...); p.ran() != 1 {
			t.Errorf("%s: unchanged: it ran %d times: %s", command, p.ran(), errs)
		}
	}
}

// The turn of a held call has the permission in which its question was asked, which can be stricter than the
// one with which the session was opened and than the configured one. A flag changes it.
func TestHeldCallKeepsPermissionOfItsQuestion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode, call string
		flags      []string
		writes     bool
	}{
		{"ask", `{"path":"first","content":"x"}`, nil, false},
		{"ask", `{"path":"first","content":"x"}`, []string{"--permission", "allow"}, true},
		{"plan", `{"path":"OUTSIDE"}`, nil, false},
		{"plan", `{"path":"OUTSIDE"}`, []string{"--permission", "allow"}, true},
	} {
		t.Run(test.mode+strings.Join(test.flags, " "), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.env = append(p.env, "SETTLE_PERMISSION=allow")
			outside := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(outside, []byte("text"), 0o600); err != nil {
				t.Fatal(err)
			}
			tool := map[string]string{"ask": "write", "plan": "read"}[test.mode]
			s := modeltest.NewServer(t, modeltest.Script(
				modeltest.Reply(modeltest.Call(tool, strings.ReplaceAll(test.call, "OUTSIDE", outside))),
				modeltest.Reply(modeltest.Call("write", `{"path":"made","content":"x"}`)),
				modeltest.Say("It is done."),
			))
			_, id := p.heldIn(s, test.mode, tool)
			args := append([]string{"approve", id, "-m", "chat/m", "--base-url", s.OpenAI()}, test.flags...)
			out, errs := p.approves(0, args...)
			if !strings.Contains(out, "It is done.") {
				t.Errorf("%s %s", out, errs)
			}
			if _, err := os.Stat(filepath.Join(p.work, "made")); os.IsNotExist(err) == test.writes {
				t.Errorf("the next call wrote %t, want %t: %s", err == nil, test.writes, errs)
			}
			request := string(s.Exchanges()[1].Body)
			if strings.Contains(request, "Plan mode is off") != (test.writes && test.mode == "plan") {
				t.Errorf("the request: %s", request)
			}
		})
	}
}

// The command that continues the session after a held call allows no more than the session did.
func TestHeldCallNamesCommandWithItsRights(t *testing.T) {
	origins := func(keys ...string) map[string]config.Origin {
		given := map[string]config.Origin{}
		for _, key := range keys {
			given[key] = config.Origin{Kind: config.Flag}
		}
		return given
	}
	for _, test := range []struct {
		name, tool, asked string
		begun             event.Permission
		sandboxed         bool
		settings          config.Settings
		origins           map[string]config.Origin
		want              string
	}{
		{"a terminal", "write", "ask", event.Ask, true, config.Settings{}, nil, "--permission ask --sandbox auto "},
		{"a server that allowed", "write", "ask", event.Allow, false, config.Settings{}, nil, "--permission ask "},
		{
			"accept edits", "shell", "accept-edits", event.Ask, true,
			config.Settings{},
			nil,
			"--permission ask --sandbox auto ",
		},
		{"an earlier version", "write", "", "", false, config.Settings{}, nil, "--permission ask "},
		{
			"a stricter configuration", "write", "ask", event.Ask, true,
			config.Settings{Permission: event.Deny, Sandbox: config.Sandbox{Use: "required"}},
			nil, "--permission deny ",
		},
		{
			"flags", "write", "ask", event.Ask, true,
			config.Settings{Permission: event.Allow, Sandbox: config.Sandbox{Use: "off"}},
			origins("permission", "sandbox.use"), "--permission allow --sandbox off ",
		},
		{"plan mode", "shell", "plan", event.Ask, true, config.Settings{}, nil, "--plan --sandbox auto "},
		{"a plan", "propose_plan", "plan", event.Allow, false, config.Settings{}, nil, "--permission ask "},
	} {
		f := runFlags{held: &store.HeldCall{Sandboxed: test.sandboxed, HeldCall: event.HeldCall{
			Turn: &event.Turn{Start: event.TurnStarted{Permission: test.begun}},
			Approval: &event.Approval{
				ApprovalRequested: event.ApprovalRequested{Tool: test.tool, Permission: test.asked},
			},
		}}}
		r := &config.Resolved{Settings: test.settings, Origins: test.origins}
		if got, want := f.resumeCommand(r)("ID"), "settle run --resume ID "+test.want+"PROMPT"; got != want {
			t.Errorf("%s: %q, want %q", test.name, got, want)
		}
	}
}

// The process that has the session open gets the permission of a plan's work. Other flags are refused.
func TestHeldPlanIsAcceptedInServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env = append(p.env, "SETTLE_PERMISSION=allow")
	s := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("propose_plan", `{"plan":"Write."}`)), modeltest.Say("Wait."),
		modeltest.Say("It is done."),
	))
	session, id := p.heldIn(s, "plan", "propose_plan")
	v := p.serve(s)
	v.call("POST", "api/sessions/"+session+"/inputs", `{"text":"wait"}`, 202)
	v.follow("api/sessions/"+session, 0, isKind(event.KindTurnCompleted))
	_, errs := p.approves(1, "approve", id, "--sandbox", "off", "-m", "chat/m")
	if !strings.Contains(errs, "with --model, --sandbox: ") {
		t.Errorf("other flags: %s", errs)
	}
	p.approves(0, "approve", id, "--permission", "accept-edits")
	done := 0
	v.follow("api/sessions/"+session, 0, func(e event.Event) bool {
		if e.Kind() == event.KindTurnCompleted {
			done++
		}
		return done == 2
	})
	signalled(t, v.cmd, syscall.SIGTERM)
	_ = v.cmd.Wait()
	p.acceptedForEdits(session)
}

// Two clients of a server answer at once: one is taken. A process that is killed while the call
// runs does not run it again.
func TestHeldCallIsApprovedByTwo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	awake := p.fifo("awake")
	s := modeltest.NewServer(t, modeltest.Script(appends("; echo > awake; sleep 86427"), modeltest.Say("Now?")))
	session, id := p.heldCall(s, "--sandbox", "off")
	v := p.serve(s, "--sandbox", "off")
	var codes [2]int
	var both sync.WaitGroup
	for n := range codes {
		both.Go(func() {
			res := v.open("POST", "api/sessions/"+session+"/approvals/"+id, `{"verdict":"approved"}`, 0)
			codes[n] = res.StatusCode
			_ = res.Body.Close()
		})
	}
	both.Wait()
	if codes[0]+codes[1] != 204+409 {
		t.Errorf("two clients receive %v", codes)
	}
	awake()
	if _, errs := p.approves(1, "approve", id); !strings.Contains(errs, "approved before") {
		t.Errorf("a third: %s", errs)
	}
	signalled(t, v.cmd, syscall.SIGKILL)
	_ = v.cmd.Wait()
	_, errs := p.approves(1, "approve", id, "-m", "chat/m", "--base-url", s.OpenAI())
	if !strings.Contains(errs, "approved before") {
		t.Errorf("after the crash: %s", errs)
	}
	exited(t, startedAt(t, p.run(s, "--resume", session, "and now?")), 0) // which ends everything that is open
	awaitNoProcess(t, "86427")
	if p.ran() != 1 {
		t.Errorf("it ran %d times", p.ran())
	}
}

// A denial calls no model; the next prompt carries it. A call that shows something else by now
// is asked about again, and without a person denied.
func TestHeldCallIsDenied(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := modeltest.NewServer(t, modeltest.Script(appends(""), modeltest.Say("I see.")))
	session, id := p.heldCall(s, "--sandbox", "off")
	if out, _ := p.approves(0, "deny", id, "--message", "use a branch"); !strings.HasPrefix(out, "denied "+id[:8]) {
		t.Errorf("it says %q", out)
	}
	if n := len(s.Exchanges()); n != 1 {
		t.Errorf("%d requests", n)
	}
	if _, errs := p.approves(1, "approve", id); !strings.Contains(errs, "denied before") {
		t.Errorf("a second verdict: %s", errs)
	}
	exited(t, startedAt(t, p.run(s, "--resume", session, "and now?")), 0)
	if body := string(s.Exchanges()[1].Body); !strings.Contains(body, "use a branch") || p.ran() != 0 {
		t.Errorf("it ran %d times; the request: %s", p.ran(), body)
	}
}

func startedAt(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	started(t, cmd)
	return cmd
}

// The approved call keeps the sandbox of its session, and runs without another question.
func TestHeldCallKeepsItsSandbox(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	made := filepath.Join(p.work, "build")
	if err := os.Mkdir(made, 0o700); err != nil {
		t.Fatal(err)
	}
	s := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("shell", `{"command":"rm -r build"}`)), modeltest.Say("It is done."),
	))
	_, id := p.heldCall(s)
	p.approves(0, "approve", id, "-m", "chat/m", "--base-url", s.OpenAI())
	if _, err := os.Stat(made); !os.IsNotExist(err) {
		t.Errorf("the approved command did not run: %v", err)
	}
}

// A process that runs one held call does not start another one, which it would end: the other
// one can be approved when the process has ended.
func TestHeldCallWaitsForProcessOfAnother(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	awake := p.fifo("awake")
	p.fifo("go")
	s := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Call("shell", `{"command":"echo x >> ran; echo > awake; read line < go"}`),
			modeltest.Call("shell", `{"command":"echo x >> ran"}`),
		),
		modeltest.Say("One."), modeltest.Say("Two."),
	))
	session, ids := p.heldCalls(s, 2, "--sandbox", "off")
	if !strings.Contains(p.says("approvals", "show", ids[0]), "awake") { // calls of a response are asked in any order
		slices.Reverse(ids)
	}
	model := []string{"--sandbox", "off", "-m", "chat/m", "--base-url", s.OpenAI()}
	first := startedAt(t, p.command(append([]string{"approvals", "approve", ids[0]}, model...)...))
	awake()
	_, errs := p.approves(1, "approve", ids[1])
	if !strings.Contains(errs, "starts no other; approve the call again when it has ended") {
		t.Errorf("the other call: %s", errs)
	}
	if _, errs = p.approves(1, "approve", ids[0]); !strings.Contains(errs, "approved before") {
		t.Errorf("the same call: %s", errs)
	}
	if err := os.WriteFile(filepath.Join(p.work, "go"), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	exited(t, first, 0)
	p.approves(0, append([]string{"approve", ids[1]}, model...)...)
	if p.ran() != 2 {
		t.Errorf("%d calls ran, not 2", p.ran())
	}
	if err := contract.Check(p.log(session)); err != nil {
		t.Error(err)
	}
}

// An approval that waited behind a turn is held when a person interrupts that turn. Given again,
// as "settle approvals show" says, it runs the call.
func TestHeldCallIsApprovedAgainAfterInterrupt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := modeltest.NewServer(t, modeltest.Script(
		appends(""), modeltest.Reply(modeltest.Call("shell", `{"command":"echo y >> other"}`)),
		modeltest.Say("It is done."),
	))
	session, id := p.heldCall(s, "--sandbox", "off")
	v := p.serve(s, "--sandbox", "off")
	v.call("POST", "api/sessions/"+session+"/inputs", `{"text":"go on"}`, 202)
	asked := 0
	v.follow("api/sessions/"+session, 0, func(e event.Event) bool {
		if e.Kind() == event.KindApprovalRequested {
			asked++
		}
		return asked == 2
	})
	if out, _ := p.approves(0, "approve", id); !strings.Contains(out, "has the session open") {
		t.Errorf("in the server: %s", out)
	}
	v.call("POST", "api/sessions/"+session+"/interrupt", `{}`, 200)
	signalled(t, v.cmd, syscall.SIGTERM)
	_ = v.cmd.Wait()
	if out, _ := p.approves(0, "show", id); !strings.Contains(out, "run it with: settle approvals approve "+id[:8]) {
		t.Errorf("the question: %s", out)
	}
	p.approves(0, "approve", id, "--sandbox", "off", "-m", "chat/m", "--base-url", s.OpenAI())
	if p.ran() != 1 {
		t.Errorf("it ran %d times", p.ran())
	}
	if _, errs := p.approves(1, "approve", id); !strings.Contains(errs, "approved before by user, and the call ran") {
		t.Errorf("once more: %s", errs)
	}
	if err := contract.Check(p.log(session)); err != nil {
		t.Error(err)
	}
}
