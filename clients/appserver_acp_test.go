//go:build clients && linux

package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/sandbox"
	"github.com/settle-agent/settle/modeltest"
)

// adapted runs a plan with a client of codex-acp, which runs settle.
func (s *appStage) adapted(steps ...appStep) appTranscript {
	s.t.Helper()
	if !slices.ContainsFunc(s.env, func(v string) bool { return strings.HasPrefix(v, "CODEX_PATH=") }) {
		s.env = append(s.env, "CODEX_PATH="+settle(s.t))
	}
	return s.play(true, []string{filepath.Join(packages(s.t), "node_modules", ".bin", "codex-acp")}, steps)
}

// overheard has codex-acp run settle through a recorder of their messages, and returns a function
// that reads the record.
func (s *appStage) overheard() func() appTranscript {
	s.t.Helper()
	dir := s.t.TempDir()
	script := filepath.Join(dir, "codex")
	text := fmt.Sprintf("#!/bin/sh\ntee %[1]s/said | %[2]s \"$@\" | tee %[1]s/answered\n", dir, settle(s.t))
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.env = append(s.env, "CODEX_PATH="+script)
	return func() appTranscript {
		var all, answers []appLine
		for name, dir := range map[string]string{"said": "out", "answered": "in"} {
			raw, err := os.ReadFile(filepath.Join(filepath.Dir(script), name))
			if err != nil {
				s.t.Fatal(err)
			}
			for line := range strings.Lines(string(raw)) {
				l := appLine{Dir: dir}
				if err := json.Unmarshal([]byte(line), &l.Msg); err != nil {
					s.t.Fatal(err)
				}
				if l.Msg.Method == "" {
					answers = append(answers, l)
				} else {
					all = append(all, l)
				}
			}
		}
		return appTranscript{t: s.t, lines: append(all, answers...)} // a request, then its answer
	}
}

// acpGreet begins a session in the mode.
func acpGreet(mode string, more ...appStep) []appStep {
	return append([]appStep{
		{
			"call",
			"initialize",
			appParams{
				"protocolVersion":    1,
				"clientCapabilities": appParams{},
				"clientInfo":         appParams{"name": "editor", "version": "1"},
			},
		},
		{"call", "session/new", appParams{"cwd": "DIR", "mcpServers": []any{}}, appParams{"session": "sessionId"}},
		{"call", "session/set_mode", appParams{"sessionId": "${session}", "modeId": mode}},
	}, more...)
}

// at puts the working directory into a plan.
func (s *appStage) at(steps []appStep) []appStep {
	for _, step := range steps {
		if len(step) > 2 {
			if p, ok := step[2].(appParams); ok && p["cwd"] == "DIR" {
				p["cwd"] = s.dir
			}
		}
	}
	return steps
}

func acpPrompt(how, text string) appStep {
	return appStep{
		how,
		"session/prompt",
		appParams{"sessionId": "${session}", "prompt": []any{appParams{"type": "text", "text": text}}},
	}
}

func acpCancel() appStep {
	return appStep{"notify", "session/cancel", appParams{"sessionId": "${session}"}}
}

// acpOutput waits for the first output of a command.
func acpOutput() appStep {
	return appStep{"await", "session/update", appParams{"update": appParams{"sessionUpdate": "tool_call_update"}}}
}

// stops returns the stop reasons of the prompts.
func (tr appTranscript) stops() []string {
	var out []string
	for _, l := range tr.answers("session/prompt") {
		var r struct{ StopReason string }
		switch {
		case l.Msg.Error != nil:
			out = append(out, fmt.Sprint(l.Msg.Error.Code))
		case json.Unmarshal(l.Msg.Result, &r) == nil:
			out = append(out, r.StopReason)
		}
	}
	return out
}

// agentText is the text of the agent to the user.
func (tr appTranscript) agentText() string {
	var out strings.Builder
	for _, l := range tr.notes("session/update") {
		var p struct {
			Update struct {
				SessionUpdate string
				Content       json.RawMessage
			}
		}
		if json.Unmarshal(l.Msg.Params, &p) == nil && p.Update.SessionUpdate == "agent_message_chunk" {
			var c struct{ Text string }
			_ = json.Unmarshal(p.Update.Content, &c)
			out.WriteString(c.Text)
		}
	}
	return out.String()
}

// calls are the tool calls with their last status.
func (tr appTranscript) calls() map[string]string {
	out := map[string]string{}
	for _, l := range tr.notes("session/update") {
		var p struct {
			Update struct{ ToolCallID, Status string }
		}
		if json.Unmarshal(l.Msg.Params, &p) == nil && p.Update.Status != "" {
			out[p.Update.ToolCallID] = p.Update.Status
		}
	}
	return out
}

// TestCodexACP: an editor's afternoon through codex-acp.
func TestCodexACP(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Think("I look first."),
			modeltest.Text("Let me look. "),
			modeltest.Call("shell", `{"command":"python3 -c 'print(6*7)'; exit 3"}`),
			modeltest.Call("write", `{"path":"a.txt","content":"one\ntwo\n"}`),
			modeltest.Call("read", `{"path":"b.txt"}`),
		),
		modeltest.Say("Done. "),
		modeltest.Say(`{"title":"Fix what is broken"}`), // codex-acp asks in a thread of its own
		modeltest.Say("Loaded."),
	))
	s := newAppStage(t, srv)
	if err := os.WriteFile(filepath.Join(s.dir, "b.txt"), []byte("b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	wire := s.overheard()
	load := appStep{"call", "session/load", appParams{"cwd": "DIR", "mcpServers": []any{}, "sessionId": "${session}"}}
	tr := s.adapted(s.at(acpGreet("read-only",
		acpCancel(), // with nothing running
		appStep{"decide", "allow_once"},
		acpPrompt("call", "fix it"),
		appStep{"await", "session/update", appParams{"update": appParams{"title": "Fix what is broken"}}},
		appStep{"call", "session/list", appParams{"cwd": "DIR"}},
		appStep{"call", "session/close", appParams{"sessionId": "${session}"}},
		load,
		appStep{"call", "session/set_mode", appParams{"sessionId": "${session}", "modeId": "agent-full-access"}},
		acpPrompt("call", "and then"),
		appStep{"call", "session/delete", appParams{"sessionId": "${session}"}},
		appStep{"call", "session/list", appParams{"cwd": "DIR"}},
	))...)
	tr.exitsWith(0)
	wire().valid()
	tr.diff("stops", []string{"end_turn", "end_turn"}, tr.stops())
	asked := 2 // for the command, and for the edit
	if sandbox.Check() == nil {
		asked = 1 // the command runs in a sandbox
	}
	tr.diff("permission was asked", asked, len(tr.notes("session/request_permission")))
	if said := tr.agentText(); said != "Let me look. Done. Let me look. Done. Loaded." { // live, and from the history
		t.Errorf("it said %q", said)
	}
	ends := map[string]int{}
	for _, status := range tr.calls() {
		ends[status]++
	}
	tr.diff("calls", map[string]int{"completed": 2, "failed": 1}, ends)
	for n, want := range []string{"Fix what is broken", `"sessions":[]`} {
		if got := string(tr.answers("session/list")[n].Msg.Result); !strings.Contains(got, want) {
			t.Errorf("list %d: %s", n, got)
		}
	}
	for _, method := range []string{"session/new", "session/close", "session/load", "session/set_mode", "session/delete"} {
		for _, l := range tr.answers(method) {
			if l.Msg.Error != nil {
				t.Errorf("%s: %s", method, appFailure(l))
			}
		}
	}
	s.alone(goneTimeout)
}

// TestCodexACPCancel: a command that does not want to end, cancelled twice at once.
func TestCodexACPCancel(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(appStubborn()), modeltest.Say("Fine.")))
	s := newAppStage(t, srv)
	tr := s.adapted(s.at(acpGreet("agent-full-access",
		acpPrompt("begin", "go"), acpOutput(), acpCancel(), acpCancel(), appStep{"finish"},
		acpPrompt("call", "go on"),
	))...)
	tr.exitsWith(0)
	s.alone(goneTimeout)
	tr.diff("stops", []string{"cancelled", "end_turn"}, tr.stops())
	var asked appLine
	for _, l := range tr.lines {
		if l.Dir == "out" && l.Msg.Method == "session/cancel" {
			asked = l
		}
	}
	if took := tr.between(asked, tr.answers("session/prompt")[0]); took > 1500*time.Millisecond {
		t.Errorf("the prompt was answered %s after the cancel", took)
	}
	for id, status := range tr.calls() {
		if status != "failed" {
			t.Errorf("call %s is %s at the end", id, status)
		}
	}
}

// TestCodexACPFaults: users see each failure, as an error or in words; clients
// that take the sessionFailure extension get that.
func TestCodexACPFaults(t *testing.T) {
	stall := modeltest.Silence(modeltest.AfterDelta(1)).First(modeltest.Always)
	for name, c := range map[string]struct {
		fault modeltest.Fault
		env   []string
		stop  string
		says  string
		// category is the category that the sessionFailure extension reports.
		category string
	}{
		"stall":      {stall, []string{"SETTLE_STALL_TIMEOUT_MS=200"}, "end_turn", "no tokens received", "connection"},
		"reset":      {modeltest.Reset(modeltest.AfterDelta(1)).First(1), nil, "end_turn", "several pieces.", ""},
		"exhaustion": {modeltest.Status(500).First(modeltest.Always), nil, "end_turn", "500", "connection"},
		"rate limit": {modeltest.Status(429).First(modeltest.Always), nil, "-32603", "429", "limit"},
		"key":        {modeltest.Status(401).First(modeltest.Always), nil, "-32000", "", ""},
		"refused":    {modeltest.Status(400).First(modeltest.Always), nil, "end_turn", "400", "request"},
	} {
		for _, typed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, extension %v", name, typed), func(t *testing.T) {
				srv := modeltest.NewServer(
					t, modeltest.Script(modeltest.Say("A rather long answer, in several pieces.").With(c.fault)),
				)
				s := newAppStage(t, srv, c.env...)
				s.limit(1)
				plan := s.at(acpGreet("agent-full-access", acpPrompt("call", "go")))
				if typed {
					air := appParams{"version": 1, "capabilities": []string{"sessionFailure"}}
					plan[0][2].(appParams)["clientCapabilities"] = appParams{
						"_meta": appParams{"jetbrains": appParams{"air": air}},
					}
				}
				tr := s.adapted(plan...)
				tr.exitsWith(0)
				end := tr.answers("session/prompt")[0]
				if typed && c.category != "" {
					var r struct {
						Meta struct {
							Jetbrains struct {
								Air struct {
									SessionFailure struct{ Category, Severity, Title string }
								}
							}
						} `json:"_meta"`
					}
					if err := json.Unmarshal(end.Msg.Result, &r); err != nil {
						t.Fatalf("%v: %s", err, appFailure(end))
					}
					failure := r.Meta.Jetbrains.Air.SessionFailure
					tr.diff("failure", []string{c.category, "error"}, []string{failure.Category, failure.Severity})
					if !strings.Contains(failure.Title, c.says) {
						t.Errorf("it says %q", failure.Title)
					}
					return
				}
				tr.diff("stops", []string{c.stop}, tr.stops())
				if !strings.Contains(tr.agentText(), c.says) {
					t.Errorf("it says %q", tr.agentText())
				}
			})
		}
	}
}

// limit bounds the attempts after a failed one, which codex-acp has no word for.
func (s *appStage) limit(retries int) {
	s.t.Helper()
	dir := filepath.Join(strings.TrimPrefix(s.env[0], "HOME="), ".config", "settle")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(fmt.Sprintf("retries = %d\n", retries)), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// TestCodexACPKilled: of an editor, or an adapter, that is killed nothing is left,
// and the session goes on.
func TestCodexACPKilled(t *testing.T) {
	for name, end := range map[string][]appStep{
		"the editor":  {{"kill"}},
		"the adapter": {{"signal", "SIGKILL"}, {"exited"}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.NewServer(
				t, modeltest.Script(modeltest.Reply(appStubborn()), modeltest.Say("Where were we?")),
			)
			s := newAppStage(t, srv)
			dead := s.adapted(
				append(s.at(acpGreet("agent-full-access", acpPrompt("begin", "go"), acpOutput())), end...)...)
			s.alone(goneTimeout)
			aborted(t, s.env, "shutdown", "interrupted") // an adapter without an editor interrupts
			var began struct{ SessionID string }
			if err := json.Unmarshal(dead.answers("session/new")[0].Msg.Result, &began); err != nil {
				t.Fatal(err)
			}
			plan := s.at(acpGreet("agent-full-access", acpPrompt("call", "well?")))
			plan[1] = appStep{
				"call",
				"session/load",
				appParams{"cwd": s.dir, "mcpServers": []any{}, "sessionId": began.SessionID},
			}
			plan[2] = appStep{
				"call",
				"session/set_mode",
				appParams{"sessionId": began.SessionID, "modeId": "agent-full-access"},
			}
			plan[3][2].(appParams)["sessionId"] = began.SessionID
			tr := s.adapted(plan...)
			tr.exitsWith(0)
			tr.diff("stops", []string{"end_turn"}, tr.stops())
			if said := tr.agentText(); said != "Where were we?" {
				t.Errorf("it said %q", said)
			}
		})
	}
}
