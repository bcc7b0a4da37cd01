//go:build clients && linux

package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/modeltest"
)

// appStep is a step of a plan of appserver.mjs.
type appStep = []any

// appParams are parameters.
type appParams = map[string]any

// appStage is the environment in which a client drives settle: a model server, a working directory,
// and a home that keeps sessions from one run to the next.
type appStage struct {
	t    *testing.T
	dir  string
	env  []string
	mark string // in the environment of all that the client starts
	// flags are settle's.
	flags []string
}

func newAppStage(t *testing.T, srv *modeltest.Server, more ...string) *appStage {
	t.Helper()
	mark := "SETTLE_TEST_MARK=" + filepath.Base(t.TempDir()) + strings.ReplaceAll(t.Name(), "/", "-")
	env := append(home(t), mark, "OPENAI_API_KEY=sk-test-0123456789abcdef", "OPENAI_BASE_URL="+srv.OpenAI())
	return &appStage{t: t, dir: t.TempDir(), env: append(env, more...), mark: mark}
}

// plain runs a plan with settle as the server.
func (s *appStage) plain(steps ...appStep) appTranscript {
	s.t.Helper()
	return s.play(false, append([]string{settle(s.t), "app-server"}, s.flags...), steps)
}

func (s *appStage) play(marked bool, command []string, steps []appStep) appTranscript {
	s.t.Helper()
	raw, err := json.Marshal(appParams{"jsonrpc": marked, "steps": steps})
	if err != nil {
		s.t.Fatal(err)
	}
	plan := filepath.Join(s.t.TempDir(), "plan.json")
	if err := os.WriteFile(plan, raw, 0o644); err != nil {
		s.t.Fatal(err)
	}
	c := node(s.t, "appserver.mjs", append([]string{plan}, command...)...)
	c.dir, c.env = s.dir, s.env
	r := c.run(s.t)
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("%s\n%s", r.stdout, r.stderr)
		}
	})
	return readAppTranscript(s.t, r)
}

// alone waits until nothing runs any more that the client started.
func (s *appStage) alone(within time.Duration) {
	s.t.Helper()
	awaitNoProcess(s.t, s.mark, within)
}

// appGreet initializes and starts a thread with all rights.
func appGreet(more ...appStep) []appStep {
	return append([]appStep{
		{"call", "initialize", appParams{"clientInfo": appParams{"name": "plain", "title": nil, "version": "1"}, "capabilities": appParams{"experimentalApi": true, "requestAttestation": false}}},
		{"notify", "initialized", nil},
		{"call", "thread/start", appParams{"approvalPolicy": "never", "sandbox": "danger-full-access"}, appParams{"thread": "thread.id"}},
	}, more...)
}

func appSays(text string) []any {
	return []any{appParams{"type": "text", "text": text, "text_elements": []any{}}}
}

func appTurn(text string) appStep {
	return appStep{"call", "turn/start", appParams{"threadId": "${thread}", "input": appSays(text)}, appParams{"turn": "turn.id"}}
}

func appTurnEnd() appStep { return appStep{"await", "turn/completed", nil} }

func appInterrupt(how string) appStep {
	return appStep{how, "turn/interrupt", appParams{"threadId": "${thread}", "turnId": "${turn}"}, nil}
}

// appStubborn is a command that does not end when it is asked to.
func appStubborn() modeltest.Item {
	return modeltest.Call("shell", `{"command":"trap '' TERM; echo on it; sleep 1000; sleep 1000"}`)
}

// appPatch calls apply_patch, which models of OpenAI know as a tool of free text.
func appPatch(text string) modeltest.Item {
	return modeltest.Item{Call: "apply_patch", Input: text}
}

// appItem is an item of the turn that began last.
func appItem(kind string) appParams {
	return appParams{"turnId": "${turn}", "item": appParams{"type": kind}}
}

// appFailure is the error of an answer.
func appFailure(l appLine) string {
	if l.Msg.Error == nil {
		return "none"
	}
	return fmt.Sprintf("%d %s", l.Msg.Error.Code, l.Msg.Error.Message)
}

// ends returns the statuses of the turns, with the kind of error.
func (tr appTranscript) ends() []string {
	var out []string
	for _, l := range tr.notes("turn/completed") {
		var p struct {
			Turn struct {
				Status string
				Error  *struct{ CodexErrorInfo json.RawMessage }
			}
		}
		if err := json.Unmarshal(l.Msg.Params, &p); err != nil {
			tr.t.Fatal(err)
		}
		end := p.Turn.Status
		if p.Turn.Error != nil {
			end += " " + string(p.Turn.Error.CodexErrorInfo)
		}
		out = append(out, end)
	}
	return out
}

func (tr appTranscript) diff(what string, want, got any) {
	tr.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		tr.t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// exitsWith checks the exit code of the server.
func (tr appTranscript) exitsWith(code int) {
	tr.t.Helper()
	last := tr.lines[len(tr.lines)-1]
	if last.Dir != "exit" || last.Msg.Code == nil || *last.Msg.Code != code {
		tr.t.Errorf("the last line is %+v; want exit code %d\n%s", last, code, tr.stderr)
	}
}

// TestAppServer: the requests of a typical client.
func TestAppServer(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Think("I look first."), modeltest.Text("Let me look."),
			modeltest.Call("shell", `{"command":"python3 -c 'print(6*7)'; exit 3"}`), modeltest.Call("write", `{"path":"a.txt","content":"one\ntwo\n"}`),
		),
		modeltest.Say("Done."),
		modeltest.Reply(appPatch("*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+three\n*** End Patch"), modeltest.Call("shell", `{"command":"sleep 2"}`)),
		modeltest.Say("Steered."),
		modeltest.Say("Again."),
	))
	s := newAppStage(t, srv)
	tr := s.plain(
		appStep{"call", "thread/list", nil},
		appStep{"call", "initialize", appParams{"clientInfo": appParams{"name": "plain", "title": nil, "version": "1"}, "capabilities": appParams{"experimentalApi": true, "requestAttestation": false, "optOutNotificationMethods": []string{"thread/tokenUsage/updated"}}}},
		appStep{"notify", "initialized", nil},
		appStep{"call", "config/read", appParams{"includeLayers": true, "cwd": s.dir}},
		appStep{"call", "account/read", appParams{"refreshToken": false}},
		appStep{"call", "model/list", nil},
		appStep{"call", "permissionProfile/list", appParams{"cwd": s.dir}},
		appStep{"call", "skills/list", appParams{"cwds": []string{s.dir}}},
		appStep{"call", "review/start", appParams{"threadId": "x", "target": appParams{"type": "uncommittedChanges"}}},
		appStep{"call", "thread/start", appParams{"approvalPolicy": "untrusted", "sandbox": "workspace-write"}, appParams{"thread": "thread.id"}},
		appStep{"decide", "accept"},
		appTurn("fix it"), appTurnEnd(),
		appStep{"decide", "acceptForSession"},
		appTurn("and this"), appStep{"await", "item/completed", appItem("fileChange")}, appStep{"await", "item/started", appItem("commandExecution")},
		appStep{"call", "turn/steer", appParams{"threadId": "${thread}", "expectedTurnId": "${turn}", "clientUserMessageId": "mine", "input": appSays("in a hurry")}},
		appTurnEnd(),
		appStep{"call", "thread/backgroundTerminals/list", appParams{"threadId": "${thread}"}},
		appStep{"call", "thread/read", appParams{"threadId": "${thread}", "includeTurns": true}},
		appStep{"call", "thread/unsubscribe", appParams{"threadId": "${thread}"}},
		appStep{"call", "thread/list", appParams{"cwd": s.dir, "searchTerm": "fix"}},
		appStep{"call", "thread/resume", appParams{"threadId": "${thread}"}},
		appTurn("once more"), appTurnEnd(),
		appStep{"call", "thread/archive", appParams{"threadId": "${thread}"}},
		appStep{"call", "thread/list", nil},
		appStep{"call", "thread/resume", appParams{"threadId": "${thread}"}},
		appStep{"call", "thread/read", appParams{"threadId": "missing"}},
	)
	tr.valid()
	tr.settled()
	tr.exitsWith(0)
	tr.diff("ends", []string{"completed", "completed", "completed"}, tr.ends())
	tr.diff("before initialize", "-32600 Not initialized", appFailure(tr.answers("thread/list")[0]))
	tr.diff("an unknown method", `-32601 there is no method "review/start"`, appFailure(tr.answers("review/start")[0]))
	tr.diff("a thread that is not there", "-32600 no rollout found for thread id missing", appFailure(tr.answers("thread/read")[1]))
	if n := len(tr.notes("thread/tokenUsage/updated")); n > 0 {
		t.Errorf("%d notifications came that were not wanted", n)
	}
	tr.tour()
	if text, err := os.ReadFile(filepath.Join(s.dir, "a.txt")); err != nil || string(text) != "one\nthree\n" {
		t.Errorf("a.txt is %q, %v", text, err)
	}
	if srv.Close(); len(marked(t, s.mark)) > 0 {
		t.Error("something runs on")
	}
}

// tour checks the first turn of TestAppServer, and the later reports of its thread.
func (tr appTranscript) tour() {
	tr.t.Helper()
	var first []string
	for _, l := range tr.brief("item/agentMessage/delta", "item/reasoning/summaryTextDelta", "item/commandExecution/outputDelta", "thread/status/changed", "serverRequest/resolved") {
		if first = append(first, l); strings.HasPrefix(l, "turn/completed") {
			break
		}
	}
	count := map[string]int{}
	for _, l := range first { // calls run side by side, so the order is not one
		count[l]++
	}
	tr.diff("the first turn", map[string]int{
		"thread/started": 1, "turn/started inProgress": 1,
		"item/started userMessage": 1, "item/completed userMessage": 1,
		"item/started reasoning": 1, "item/reasoning/summaryPartAdded": 1, "item/completed reasoning": 1,
		"item/started agentMessage": 2, "item/completed agentMessage": 2,
		"item/started commandExecution inProgress": 1, "item/commandExecution/requestApproval": 1, "item/completed commandExecution failed": 1,
		"item/started fileChange inProgress": 1, "item/fileChange/requestApproval": 1, "item/fileChange/patchUpdated": 1, "item/completed fileChange completed": 1,
		"turn/completed completed": 1,
	}, count)
	var read struct {
		Thread struct {
			Preview string
			Turns   []struct {
				Items []struct{ Type, ClientID, Text, AggregatedOutput string }
			}
		}
	}
	if err := json.Unmarshal(tr.answers("thread/read")[0].Msg.Result, &read); err != nil {
		tr.t.Fatal(err)
	}
	var kinds []string
	for _, turn := range read.Thread.Turns {
		for _, i := range turn.Items {
			kinds = append(kinds, strings.TrimSpace(i.Type+" "+i.ClientID))
		}
	}
	tr.diff("what was read", []string{
		"userMessage", "reasoning", "agentMessage", "commandExecution", "fileChange", "agentMessage",
		"userMessage", "fileChange", "commandExecution", "userMessage mine", "agentMessage",
	}, kinds)
	var lists []int
	for _, l := range tr.answers("thread/list")[1:] {
		var p struct{ Data []any }
		if err := json.Unmarshal(l.Msg.Result, &p); err != nil {
			tr.t.Fatal(err)
		}
		lists = append(lists, len(p.Data))
	}
	tr.diff("threads listed before and after archiving", []int{1, 0}, lists)
	if got := appFailure(tr.answers("thread/resume")[1]); !strings.Contains(got, "is archived") {
		tr.t.Errorf("resuming an archived thread: %s", got)
	}
}

// TestAppServerInterrupt: a command that does not want to end, two interrupts at
// once, one more, and then one with nothing running.
func TestAppServerInterrupt(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(modeltest.Text("I try."), appStubborn()), modeltest.Say("Fine.")))
	s := newAppStage(t, srv)
	tr := s.plain(appGreet(
		appStep{"call", "turn/interrupt", appParams{"threadId": "${thread}", "turnId": ""}},
		appTurn("go"), appStep{"await", "item/commandExecution/outputDelta", nil},
		appStep{"call", "turn/interrupt", appParams{"threadId": "${thread}", "turnId": "another"}},
		appInterrupt("begin"), appInterrupt("begin"), appStep{"finish"}, appInterrupt("begin"),
		appTurnEnd(), appStep{"finish"}, appInterrupt("call"),
		appTurn("go on"), appTurnEnd(),
	)...)
	tr.valid()
	tr.settled()
	tr.exitsWith(0)
	s.alone(0)
	tr.diff("ends", []string{"interrupted", "completed"}, tr.ends())
	var answers []string
	for _, l := range tr.answers("turn/interrupt") {
		answers = append(answers, appFailure(l))
	}
	if late := answers[4]; late != "none" && late != "-32600 no active turn to interrupt" {
		t.Errorf("the third one was answered %q", late)
	}
	answers[4] = ""
	tr.diff("answers", []string{
		"-32600 no active turn to interrupt", "-32600 expected active turn id another but found t000001",
		"none", "none", "", "-32600 no active turn to interrupt",
	}, answers)
	cut := tr.notes("item/completed")
	answered, ended := tr.answers("turn/interrupt")[2], tr.notes("turn/completed")[0]
	if took := tr.between(answered, ended); took < 0 || took > 100*time.Millisecond {
		t.Errorf("the turn ended %s after the answer, as Codex 0.169: at once", took)
	}
	var last string
	for _, l := range cut {
		if l.At <= answered.At && strings.Contains(string(l.Msg.Params), "commandExecution") {
			last = string(l.Msg.Params)
		}
	}
	if !strings.Contains(last, "on it") || !strings.Contains(last, `"status":"failed"`) {
		t.Errorf("the command ended with %s", last)
	}
}

// TestAppServerApprovals: each of the answers, and none.
func TestAppServerApprovals(t *testing.T) {
	ask := modeltest.Reply(modeltest.Call("shell", `{"command":"python3 -c 'print(1)'"}`))
	srv := modeltest.NewServer(t, modeltest.Script(
		ask, modeltest.Say("Declined."), // decline
		ask,                                   // cancel ends the turn
		ask,                                   // nothing, then an interrupt
		ask, ask, modeltest.Say("Ran twice."), // acceptForSession
	))
	s := newAppStage(t, srv)
	tr := s.plain(appGreet(
		appStep{"call", "thread/start", appParams{"approvalPolicy": "untrusted", "sandbox": "workspace-write"}, appParams{"thread": "thread.id"}},
		appStep{"decide", "decline"}, appTurn("1"), appTurnEnd(),
		appStep{"decide", "cancel"}, appTurn("2"), appTurnEnd(),
		appStep{"decide", "nothing"}, appTurn("3"), appStep{"await", "item/commandExecution/requestApproval", nil}, appStep{"await", "item/commandExecution/requestApproval", nil},
		appStep{"await", "item/commandExecution/requestApproval", nil}, appInterrupt("call"), appTurnEnd(),
		appStep{"decide", "acceptForSession"}, appTurn("4"), appTurnEnd(),
	)...)
	tr.valid()
	tr.settled()
	tr.exitsWith(0)
	tr.diff("ends", []string{"completed", "interrupted", "interrupted", "completed"}, tr.ends())
	tr.diff("asked", 4, len(tr.notes("item/commandExecution/requestApproval")))
	tr.diff("resolved", 4, len(tr.notes("serverRequest/resolved")))
	var how []string
	for _, l := range tr.brief() {
		if strings.HasPrefix(l, "item/completed commandExecution") {
			how = append(how, strings.TrimPrefix(l, "item/completed commandExecution "))
		}
	}
	tr.diff("commands", []string{"declined", "declined", "failed", "completed", "completed"}, how)
}

// TestAppServerRights: the denied calls of a client that forbids questions.
func TestAppServerRights(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("shell", `{"command":"ls && touch made"}`), modeltest.Call("shell", `{"command":"ls"}`)), modeltest.Say("1"),
		modeltest.Reply(modeltest.Call("shell", `{"command":"touch other"}`), modeltest.Call("write", `{"path":"/etc/settle-test","content":"x"}`)), modeltest.Say("2"),
	))
	s := newAppStage(t, srv)
	tr := s.plain(appGreet(
		appStep{"call", "thread/start", appParams{"approvalPolicy": "never", "sandbox": "read-only"}, appParams{"thread": "thread.id"}},
		appTurn("1"), appTurnEnd(),
		appStep{"call", "turn/start", appParams{
			"threadId": "${thread}", "input": appSays("2"), "model": "gpt-5.2-codex", "effort": "high",
			"sandboxPolicy": appParams{"type": "workspaceWrite", "writableRoots": []any{}, "networkAccess": false, "excludeTmpdirEnvVar": false, "excludeSlashTmp": false},
		}}, appTurnEnd(),
		appStep{"call", "thread/resume", appParams{"threadId": "${thread}", "excludeTurns": true}},
	)...)
	tr.valid()
	tr.settled()
	tr.exitsWith(0)
	how := map[string]int{}
	for _, l := range tr.brief() {
		if strings.HasPrefix(l, "item/completed commandExecution") || strings.HasPrefix(l, "item/completed fileChange") {
			l = strings.Replace(l, "commandExecution failed", "commandExecution declined", 1) // by the kernel, where it has a sandbox
			how[strings.TrimPrefix(l, "item/completed ")]++
		}
	}
	tr.diff("calls", map[string]int{"commandExecution declined": 1, "commandExecution completed": 2, "fileChange declined": 1}, how)
	var now struct {
		Model, ReasoningEffort string
		Sandbox                struct{ Type string }
	}
	if err := json.Unmarshal(tr.answers("thread/resume")[0].Msg.Result, &now); err != nil {
		t.Fatal(err)
	}
	tr.diff("in force", []string{"openai/gpt-5.2-codex", "high", "workspaceWrite"}, []string{now.Model, now.ReasoningEffort, now.Sandbox.Type})
	requests := srv.Exchanges()
	var last struct {
		Model     string
		Reasoning struct{ Effort string }
	}
	if err := json.Unmarshal(requests[len(requests)-1].Body, &last); err != nil {
		t.Fatal(err)
	}
	tr.diff("asked of the model", []string{"gpt-5.2-codex", "high"}, []string{last.Model, last.Reasoning.Effort})
}

// TestAppServerFlood: each request of a flood is answered, if only with a refusal, and an invalid
// message does not end the connection.
func TestAppServerFlood(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Say("Still here.")))
	s := newAppStage(t, srv)
	tr := s.plain(appGreet(
		appStep{"line", `{"id":"broken","method":`}, appStep{"line", "[]"},
		appStep{"many", 1000, "thread/read", appParams{"threadId": "missing"}},
		appTurn("go"), appTurnEnd(),
	)...)
	tr.valid()
	tr.settled()
	tr.exitsWith(0)
	tr.diff("ends", []string{"completed"}, tr.ends())
	answers := tr.answers("thread/read")
	tr.diff("answers", 1000, len(answers))
	for _, l := range answers {
		if got := appFailure(l); got != "-32600 no rollout found for thread id missing" && got != "-32001 Server overloaded; retry later." {
			t.Fatalf("one was answered %q", got)
		}
	}
}

// TestAppServerFaults: the client receives faults of the model while settle retries, and as the
// error of the turn.
func TestAppServerFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault modeltest.Fault
		flags []string
		ends  string
		tries int
	}{
		"stall":            {modeltest.Silence(modeltest.AfterDelta(1)).First(modeltest.Always), []string{"--stall-timeout", "300ms", "--retries", "1"}, `failed {"responseTooManyFailedAttempts":{"httpStatusCode":null}}`, 1},
		"stall, then well": {modeltest.Silence(modeltest.AfterDelta(1)).First(1), []string{"--stall-timeout", "300ms"}, "completed", 1},
		"reset":            {modeltest.Reset(modeltest.AfterDelta(1)).First(1), nil, "completed", 1},
		"exhaustion":       {modeltest.Status(500).First(modeltest.Always), []string{"--retries", "2"}, `failed {"responseTooManyFailedAttempts":{"httpStatusCode":500}}`, 2},
		"rate limit":       {modeltest.Status(429).First(modeltest.Always), []string{"--retries", "0"}, `failed "usageLimitExceeded"`, 0},
		"key":              {modeltest.Status(401).First(modeltest.Always), nil, `failed "unauthorized"`, 0},
		"refused":          {modeltest.Status(400).First(modeltest.Always), nil, `failed "badRequest"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.NewServer(t, modeltest.Script(modeltest.Say("A rather long answer, in several pieces.").With(c.fault)))
			s := newAppStage(t, srv)
			s.flags = c.flags
			tr := s.plain(appGreet(appTurn("go"), appTurnEnd())...)
			tr.valid()
			tr.settled()
			tr.exitsWith(0)
			tr.diff("ends", []string{c.ends}, tr.ends())
			again, last := 0, 0
			for _, l := range tr.brief() {
				switch l {
				case "error retry=true":
					again++
				case "error retry=false":
					last++
				}
			}
			want := 0
			if strings.HasPrefix(c.ends, "failed") {
				want = 1
			}
			tr.diff("errors on the way, and at the end", []int{c.tries, want}, []int{again, last})
		})
	}
}

// TestAppServerStops: each kind of stop ends the running work and reports its end.
func TestAppServerStops(t *testing.T) {
	for name, c := range map[string]struct {
		stop appStep
		code int
	}{
		"standard input ends": {appStep{"close"}, 0},
		"SIGTERM":             {appStep{"signal", "SIGTERM"}, 143},
	} {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(appStubborn())))
			s := newAppStage(t, srv)
			tr := s.plain(appGreet(appTurn("go"), appStep{"await", "item/commandExecution/outputDelta", nil}, c.stop, appStep{"exited"})...)
			tr.valid()
			tr.settled()
			tr.exitsWith(c.code)
			s.alone(0)
			tr.diff("ends", []string{`interrupted "other"`}, tr.ends())
			if took := tr.between(tr.notes("item/commandExecution/outputDelta")[0], tr.lines[len(tr.lines)-1]); took > 1500*time.Millisecond {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestAppServerUnheard: a client that does not read any more, but keeps standard
// input open, is gone.
func TestAppServerUnheard(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(appStubborn())))
	s := newAppStage(t, srv)
	tr := s.plain(appGreet(appTurn("go"), appStep{"await", "item/commandExecution/outputDelta", nil}, appStep{"deafen"}, appStep{"exited"})...)
	tr.exitsWith(141)
	s.alone(0)
	if took := tr.between(tr.notes("item/commandExecution/outputDelta")[0], tr.lines[len(tr.lines)-1]); took > 3*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestAppServerKilled: of a client that is killed nothing is left, and its
// thread can be resumed.
func TestAppServerKilled(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(appStubborn()), modeltest.Say("Where were we?")))
	s := newAppStage(t, srv)
	dead := s.plain(appGreet(appTurn("go"), appStep{"await", "item/commandExecution/outputDelta", nil}, appStep{"kill"})...)
	s.alone(goneTimeout)
	aborted(t, s.env, "shutdown")
	var began struct{ Thread struct{ ID string } }
	if err := json.Unmarshal(dead.answers("thread/start")[0].Msg.Result, &began); err != nil {
		t.Fatal(err)
	}
	tr := s.plain(
		appGreet()[0],
		appStep{"call", "thread/resume", appParams{"threadId": began.Thread.ID}, appParams{"thread": "thread.id"}},
		appTurn("well?"), appTurnEnd(),
	)
	tr.valid()
	tr.settled()
	tr.diff("ends", []string{"completed"}, tr.ends())
	var resumed struct {
		Thread struct{ Turns []struct{ Status string } }
	}
	if err := json.Unmarshal(tr.answers("thread/resume")[0].Msg.Result, &resumed); err != nil {
		t.Fatal(err)
	}
	if len(resumed.Thread.Turns) != 1 || resumed.Thread.Turns[0].Status != "interrupted" {
		t.Errorf("what was resumed: %+v", resumed)
	}
}
