//go:build clients && linux

package clients

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/settletest"
)

// said is a message as the client's user gets it, or a line of claude.mjs.
type said struct {
	Type       string          `json:"type"`
	Subtype    string          `json:"subtype"`
	Session    string          `json:"session_id"`
	UUID       string          `json:"uuid"`
	IsError    bool            `json:"is_error"`
	Result     string          `json:"result"`
	Structured json.RawMessage `json:"structured_output"`
	Errors     []string        `json:"errors"`
	Turns      int             `json:"num_turns"`
	Duration   int             `json:"duration_ms"`
	UserUUID   string          `json:"user_message_uuid"`
	Terminal   string          `json:"terminal_reason"`
	Denials    []struct {
		Tool  string         `json:"tool_name"`
		Call  string         `json:"tool_use_id"`
		Input map[string]any `json:"tool_input"`
	} `json:"permission_denials"`
	Usage struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
	} `json:"usage"`
	Message json.RawMessage `json:"message"`
	Error   string          `json:"error"`
	Attempt int             `json:"attempt"`

	// of system/init
	Model   string                          `json:"model"`
	Mode    string                          `json:"permissionMode"`
	Tools   []string                        `json:"tools"`
	Dir     string                          `json:"cwd"`
	Servers []struct{ Name, Status string } `json:"mcp_servers"`
	Content json.RawMessage                 `json:"content"`

	// of stream_event
	Event struct {
		Type  string `json:"type"`
		Delta struct {
			Type, Text string
			Partial    string `json:"partial_json"`
		} `json:"delta"`
	} `json:"event"`

	// of claude.mjs
	Name        string         `json:"name"`
	Kind        string         `json:"kind"`
	Input       map[string]any `json:"input"`
	Call        string         `json:"call"`
	Suggestions []any          `json:"suggestions"`
	Response    struct {
		Queued    []string `json:"still_queued"`
		Cancelled []string `json:"cancelled"`
	} `json:"response"`
	OK    bool            `json:"ok"`
	Value json.RawMessage `json:"value"`
	MS    int             `json:"ms"`
	Took  int             `json:"took"`
}

// part is a block of a message.
type part struct {
	Type    string         `json:"type"`
	Text    string         `json:"text"`
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	Input   map[string]any `json:"input"`
	Call    string         `json:"tool_use_id"`
	Content string         `json:"content"`
	IsError bool           `json:"is_error"`
}

func (s said) parts(t *testing.T) []part {
	t.Helper()
	var m struct{ Content []part }
	if err := json.Unmarshal(s.Message, &m); err != nil {
		t.Fatalf("%s: %v", s.Message, err)
	}
	return m.Content
}

// sdk is a run of claude.mjs.
type sdk struct {
	result
	all []said
	dir string
}

// agentSDK prepares what is to be done with the SDK, against a model.
func agentSDK(t *testing.T, srv *settletest.Server, what, options string, env ...string) client {
	t.Helper()
	c := node(t, "claude.mjs", what, options)
	c.env = home(t, append([]string{
		"CLAUDE=" + settle(t), "ANTHROPIC_BASE_URL=" + srv.Anthropic(), "ANTHROPIC_API_KEY=sk-ant-0123456789abcdef0123",
	}, env...)...)
	return c
}

// talk runs it.
func (c client) talk(t *testing.T) sdk {
	t.Helper()
	r := sdk{result: c.run(t), dir: c.dir}
	for line := range strings.Lines(r.stdout) {
		var s said
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		r.all = append(r.all, s)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("stdout:\n%s\nstderr:\n%s", r.stdout, r.stderr)
		}
	})
	return r
}

// of returns the messages of a type, or of a type and subtype: "system/init".
func (s sdk) of(kind string) (out []said) {
	kind, subtype, _ := strings.Cut(kind, "/")
	for _, m := range s.all {
		if m.Type == kind && (subtype == "" || m.Subtype == subtype) {
			out = append(out, m)
		}
	}
	return out
}

// results checks how the turns ended: "success", or the subtype of the error.
func (s sdk) results(t *testing.T, want ...string) []said {
	t.Helper()
	var got []string
	for _, r := range s.of("result") {
		got = append(got, r.Subtype)
		if r.IsError != (r.Subtype != "success") {
			t.Errorf("%s has is_error %t", r.Subtype, r.IsError)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Fatalf("results %q, want %q", got, want)
	}
	return s.of("result")
}

// text is what the model said, and outputs what its calls came to.
func (s sdk) parts(t *testing.T, kind, block string) (out []part) {
	t.Helper()
	for _, m := range s.of(kind) {
		for _, p := range m.parts(t) {
			if p.Type == block {
				out = append(out, p)
			}
		}
	}
	return out
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// write is a call that asks, and makes a file.
func write(name string) settletest.Item {
	return settletest.Call("shell", `{"command":"echo it > `+name+`; cat `+name+`; true && touch `+name+`.too"}`)
}

// stubborn is a call that ignores what asks it to end, and says that it runs.
func stubborn() settletest.Item {
	return settletest.Call("shell", `{"command":"trap '' TERM INT HUP; echo begun; touch running; sleep 1000"}`)
}

const bypass = `{"permissionMode":"bypassPermissions","allowDangerouslySkipPermissions":true}`

func TestClaudeQuery(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(
		settletest.Reply(settletest.Think("I look."), settletest.Text("Let me look."), write("a")), settletest.Say("Done."),
	))
	s := agentSDK(t, srv, "query", bypass).talk(t)
	r := s.results(t, "success")[0]
	if r.Result != "Done." || r.Turns != 2 || r.Usage.Output == 0 || r.Terminal != "completed" || len(r.Denials) != 0 {
		t.Errorf("result %+v", r)
	}
	start := s.of("system/init")
	if len(start) != 1 || start[0].Dir != s.dir || start[0].Mode != "bypassPermissions" || start[0].Model != "claude-opus-5-5" || start[0].Session != r.Session {
		t.Errorf("init %+v", start)
	}
	use, got := s.parts(t, "assistant", "tool_use"), s.parts(t, "user", "tool_result")
	if len(use) != 1 || use[0].Name != "Bash" || use[0].Input["command"] == nil {
		t.Errorf("calls %+v", use)
	}
	if len(got) != 1 || got[0].Call != use[0].ID || got[0].IsError || got[0].Content != "it\n" {
		t.Errorf("results of calls %+v", got)
	}
	if texts := s.parts(t, "assistant", "text"); len(texts) != 2 || texts[0].Text != "Let me look." {
		t.Errorf("texts %+v", texts)
	}
	if s.code != 0 || len(s.of("end")) != 1 || !exists(filepath.Join(s.dir, "a.too")) {
		t.Errorf("ended with %d, %+v", s.code, s.all[len(s.all)-1])
	}
}

func TestClaudePartialMessages(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(
		settletest.Reply(settletest.Text("Let me look around."), write("a")), settletest.Say("Done."),
	))
	s := agentSDK(t, srv, "query", `{"permissionMode":"bypassPermissions","allowDangerouslySkipPermissions":true,"includePartialMessages":true}`).talk(t)
	s.results(t, "success")
	var kinds, texts, inputs []string
	for _, m := range s.of("stream_event") {
		if m.Event.Type != "content_block_delta" {
			kinds = append(kinds, m.Event.Type)
		}
		texts, inputs = append(texts, m.Event.Delta.Text), append(inputs, m.Event.Delta.Partial)
	}
	want := "message_start content_block_start content_block_stop content_block_start content_block_stop message_delta message_stop " +
		"message_start content_block_start content_block_stop message_delta message_stop"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("stream events\n%s\nwant\n%s", got, want)
	}
	if got := strings.Join(texts, ""); got != "Let me look around.Done." {
		t.Errorf("streamed %q", got)
	}
	var input map[string]any
	if err := json.Unmarshal([]byte(strings.Join(inputs, "")), &input); err != nil || input["command"] == nil {
		t.Errorf("streamed input %q: %v", inputs, err)
	}
}

// canUseTool decides, sees Claude's names, and is shown in the result.
func TestClaudePermissions(t *testing.T) {
	script := func() settletest.Scenario {
		return settletest.Script(settletest.Reply(write("a")), settletest.Say("Done."))
	}
	for _, c := range []struct {
		what    string
		runs    bool
		asked   int
		denials int
		says    string // to the model
	}{
		{"allow", true, 1, 0, "it"},
		{"deny", false, 1, 1, "not today"},
		{"throwing", false, 1, 1, "callback broke"},
		{"always", true, 1, 0, "it"},
		{"query", false, 0, 1, "nobody to ask"}, // without canUseTool
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			srv := settletest.NewServer(t, script())
			s := agentSDK(t, srv, c.what, `{}`).talk(t)
			r := s.results(t, "success")[0]
			asked := s.of("asked")
			if len(asked) != c.asked || exists(filepath.Join(s.dir, "a")) != c.runs || len(r.Denials) != c.denials {
				t.Errorf("asked %d times, ran: %t, denials %+v", len(asked), exists(filepath.Join(s.dir, "a")), r.Denials)
			}
			use, got := s.parts(t, "assistant", "tool_use"), s.parts(t, "user", "tool_result")
			if c.asked > 0 && (asked[0].Name != "Bash" || asked[0].Input["command"] != use[0].Input["command"] || asked[0].Call != use[0].ID || len(asked[0].Suggestions) == 0) {
				t.Errorf("asked %+v about %+v", asked, use)
			}
			if len(got) != 1 || got[0].IsError == c.runs || !strings.Contains(got[0].Content, c.says) {
				t.Errorf("results of calls %+v", got)
			}
			if c.denials > 0 && (r.Denials[0].Tool != "Bash" || r.Denials[0].Call != use[0].ID) {
				t.Errorf("denials %+v", r.Denials)
			}
			if s.code != 0 {
				t.Errorf("ended with %d", s.code)
			}
		})
	}
}

// A client that changes what is to run gets that, made anew by the model.
func TestClaudeChangedInput(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(
		settletest.Reply(write("a")), settletest.Reply(settletest.Call("shell", `{"command":"echo changed > changed"}`)), settletest.Say("Done."),
	))
	s := agentSDK(t, srv, "change", `{}`).talk(t)
	s.results(t, "success")
	if exists(filepath.Join(s.dir, "a")) || !exists(filepath.Join(s.dir, "changed")) || len(s.of("asked")) != 1 {
		t.Errorf("asked %+v", s.of("asked"))
	}
	if got := s.parts(t, "user", "tool_result"); len(got) != 2 || !strings.Contains(got[0].Content, `{"command":"echo changed > changed"}`) || got[1].IsError {
		t.Errorf("results of calls %+v", got)
	}
}

// A denial may end the turn as well.
func TestClaudeDenyAndInterrupt(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(settletest.Reply(write("a"))))
	s := agentSDK(t, srv, "denyAndInterrupt", `{}`).talk(t)
	r := s.results(t, "error_during_execution")[0]
	if len(r.Denials) != 1 || !strings.Contains(strings.Join(r.Errors, " "), "interrupted") || exists(filepath.Join(s.dir, "a")) {
		t.Errorf("result %+v", r)
	}
	if thrown := s.of("thrown"); len(thrown) != 1 || !strings.Contains(string(thrown[0].Message), "interrupted") {
		t.Errorf("thrown %+v", thrown)
	}
}

// A question dies with its turn (C16).
func TestClaudeInterruptWhileAsking(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(settletest.Reply(write("a"))))
	s := agentSDK(t, srv, "unanswered", `{}`).talk(t)
	s.results(t, "error_during_execution")
	if len(s.of("asked")) != 1 || len(s.of("withdrawn")) != 1 || len(s.of("answer")) != 1 || exists(filepath.Join(s.dir, "a")) {
		t.Errorf("got %+v", s.all)
	}
}

// Each prompt gets a result of its own, whenever it comes.
func TestClaudeStreamingInput(t *testing.T) {
	for _, what := range []string{"several", "batch"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			srv := settletest.NewServer(t, settletest.Script(
				settletest.Reply(write("a")), settletest.Say("First."), settletest.Reply(write("b")), settletest.Say("Second."), settletest.Reply(write("c")), settletest.Say("Third."),
			))
			s := agentSDK(t, srv, what, `{}`).talk(t)
			all := s.results(t, "success", "success", "success")
			for n, want := range []string{"First.", "Second.", "Third."} {
				if all[n].Result != want {
					t.Errorf("result %d is %q, want %q", n+1, all[n].Result, want)
				}
			}
			if what == "several" && all[1].UserUUID != "11111111-1111-4111-8111-111111111111" {
				t.Errorf("the second result answers %q", all[1].UserUUID)
			}
			if len(s.of("asked")) != 3 || len(s.of("system/init")) != 3 || s.code != 0 || len(s.of("end")) != 1 {
				t.Errorf("asked %d times, %d turns, code %d", len(s.of("asked")), len(s.of("system/init")), s.code)
			}
		})
	}
}

// An interrupt ends a call that ignores TERM, is answered after the result, and
// the session goes on.
func TestClaudeInterrupt(t *testing.T) {
	for _, c := range []struct {
		what      string
		results   []string
		last      string
		answers   int
		queued    string
		cancelled string
	}{
		{"interrupt", []string{"error_during_execution", "success"}, "Next.", 1, "", ""},
		{"interruptAndMore", []string{"error_during_execution", "success", "success"}, "Last.", 1, "22222222-2222-4222-8222-222222222222", ""},
		{"interruptAndCancel", []string{"error_during_execution"}, "", 1, "", "22222222-2222-4222-8222-222222222222"},
		{"twice", []string{"error_during_execution", "success"}, "Next.", 3, "", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			srv := settletest.NewServer(t, settletest.Script(
				settletest.Reply(settletest.Text("I begin."), stubborn()), settletest.Say("Next."), settletest.Say("Last."),
			))
			run := agentSDK(t, srv, c.what, bypass)
			s := run.talk(t)
			all := s.results(t, c.results...)
			if got := strings.Join(all[0].Errors, " "); !strings.Contains(got, "interrupted") || all[0].Terminal != "aborted_tools" {
				t.Errorf("the interrupted turn ended with %q, %q", got, all[0].Terminal)
			}
			if last := all[len(all)-1]; last.Result != c.last {
				t.Errorf("the last result is %q, want %q", last.Result, c.last)
			}
			answers := s.of("answer")
			if len(answers) != c.answers {
				t.Fatalf("%d answers, want %d", len(answers), c.answers)
			}
			if got := strings.Join(answers[0].Response.Queued, " "); got != c.queued {
				t.Errorf("still queued %q, want %q", got, c.queued)
			}
			if got := strings.Join(answers[0].Response.Cancelled, " "); got != c.cancelled {
				t.Errorf("cancelled %q, want %q", got, c.cancelled)
			}
			if answers[0].Took > 2000 {
				t.Errorf("the answer took %d ms", answers[0].Took)
			}
			calls := s.parts(t, "user", "tool_result")
			if len(calls) != 1 || !calls[0].IsError || !strings.Contains(calls[0].Content, "begun") || !strings.Contains(calls[0].Content, "interrupted") {
				t.Errorf("the call came to %+v", calls)
			}
			if left := marked(t, "HOME="+homeOf(run)); len(left) > 0 {
				t.Errorf("left running: %v", left)
			}
		})
	}
}

// homeOf is the HOME of a client, which marks its processes.
func homeOf(c client) string {
	for _, e := range c.env {
		if dir, ok := strings.CutPrefix(e, "HOME="); ok {
			return dir
		}
	}
	return ""
}

// An interrupt that comes before the first turn has begun is not lost (C10).
func TestClaudeInterruptEarly(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(settletest.Say("This takes its time.").With(settletest.Silence(settletest.AfterHeaders))))
	s := agentSDK(t, srv, "early", `{}`).talk(t)
	if r := s.results(t, "error_during_execution")[0]; !strings.Contains(strings.Join(r.Errors, " "), "interrupted") {
		t.Errorf("result %+v", r)
	}
	if len(s.of("answer")) != 1 {
		t.Errorf("got %+v", s.all)
	}
}

// With nothing running an interrupt is answered at once, and what comes later
// is not covered.
func TestClaudeInterruptIdle(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(settletest.Say("Hello.")))
	s := agentSDK(t, srv, "idle", `{}`).talk(t)
	s.results(t, "success")
	if len(s.of("answer")) != 2 {
		t.Errorf("got %+v", s.all)
	}
}

// An aborted client ends everything within what the SDK waits (2 s) and 1.5 s.
// It reads nothing any more then: the last words are in the session.
func TestClaudeAbort(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(settletest.Reply(stubborn()), settletest.Say("I remember.")))
	run := agentSDK(t, srv, "abort", bypass)
	s := run.talk(t)
	if thrown := s.of("thrown"); len(thrown) != 1 || !strings.Contains(string(thrown[0].Message), "aborted by user") {
		t.Errorf("thrown %+v", thrown)
	}
	if took := s.of("took"); len(took) != 1 || took[0].MS > 3500 {
		t.Errorf("took %+v", took)
	}
	if left := marked(t, "HOME="+homeOf(run)); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	goesOn(t, run, s.of("system/init")[0].Session, "was shut down")
}

// goesOn resumes a session whose turn was ended, and looks at what the model is
// told of that.
func goesOn(t *testing.T, was client, session, cause string) {
	t.Helper()
	log := command(t, was, "sessions", "show", session)
	if !strings.Contains(log.stdout, cause) {
		t.Errorf("the session does not say %q:\n%s%s", cause, log.stdout, log.stderr)
	}
	next := node(t, "claude.mjs", "query", `{"resume":"`+session+`"}`)
	next.env, next.dir = was.env, was.dir
	s := next.talk(t)
	if r := s.results(t, "success")[0]; r.Session != session || r.Result == "" {
		t.Errorf("resumed: %+v", r)
	}
}

// command runs settle itself in the place of a client.
func command(t *testing.T, as client, args ...string) result {
	t.Helper()
	as.argv = append([]string{settle(t)}, args...)
	return as.run(t)
}

func TestClaudeSessions(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(
		settletest.Say("One."), settletest.Say("Two."), settletest.Say("Three."), settletest.Say("Four."), settletest.Say("Five."),
	))
	first := agentSDK(t, srv, "query", `{"sessionId":"33333333-3333-4333-8333-333333333333"}`)
	one := first.talk(t).results(t, "success")[0]
	again := func(options string) sdk {
		t.Helper()
		c := node(t, "claude.mjs", "query", options)
		c.env, c.dir = first.env, first.dir
		return c.talk(t)
	}
	if one.Session != "33333333-3333-4333-8333-333333333333" {
		t.Errorf("the session is %q", one.Session)
	}
	for _, options := range []string{`{"resume":"` + one.Session + `"}`, `{"continue":true}`} {
		if r := again(options).results(t, "success")[0]; r.Session != one.Session {
			t.Errorf("%s went on with %q, want %q", options, r.Session, one.Session)
		}
	}
	body := string(srv.Exchanges()[2].Body)
	for _, want := range []string{"One.", "Two."} {
		if !strings.Contains(body, want) {
			t.Errorf("the third request does not have %q: %s", want, body)
		}
	}
	if r := again(`{"persistSession":false}`).results(t, "success")[0]; r.Session == one.Session {
		t.Error("a session that is not kept is the one before")
	}
	for options, want := range map[string]string{
		`{"resume":"44444444-4444-4444-8444-444444444444"}`:    "no conversation found",
		`{"sessionId":"33333333-3333-4333-8333-333333333333"}`: "already in use",
	} {
		s := again(options)
		if r := s.results(t, "error_during_execution")[0]; !strings.Contains(strings.Join(r.Errors, " "), want) {
			t.Errorf("%s: %q", options, r.Errors)
		}
		if len(s.of("thrown")) != 1 || !strings.Contains(s.stderr, want) {
			t.Errorf("%s: stderr %q", options, s.stderr)
		}
	}
}

// Permission modes change while the session runs.
func TestClaudeModes(t *testing.T) {
	edit := func(name string) settletest.Turn {
		return settletest.Reply(settletest.Call("write", `{"path":"`+name+`","content":"x"}`))
	}
	srv := settletest.NewServer(t, settletest.Script(
		edit("default"), settletest.Say("1"), edit("acceptEdits"), settletest.Say("2"), edit("plan"), settletest.Say("3"),
		edit("dontAsk"), settletest.Say("4"), settletest.Reply(write("bypass")), settletest.Say("5"),
	))
	s := agentSDK(t, srv, "modes", `{"allowDangerouslySkipPermissions":true}`).talk(t)
	all := s.results(t, "success", "success", "success", "success", "success")
	for n, mode := range []string{"default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"} {
		allowed := mode == "acceptEdits" || mode == "bypassPermissions"
		if got := s.of("system/init")[n].Mode; got != mode {
			t.Errorf("turn %d is in mode %q, want %q", n+1, got, mode)
		}
		if denied := len(all[n].Denials) > 0; denied == allowed {
			t.Errorf("%s: denials %+v", mode, all[n].Denials)
		}
	}
	if len(s.of("asked")) != 1 || s.of("asked")[0].Name != "Write" || s.of("asked")[0].Input["file_path"] != filepath.Join(s.dir, "default") {
		t.Errorf("asked %+v", s.of("asked"))
	}
	for name, want := range map[string]bool{"default": false, "acceptEdits": true, "plan": false, "dontAsk": false, "bypass": true} {
		if exists(filepath.Join(s.dir, name)) != want {
			t.Errorf("%s was written: %t", name, !want)
		}
	}
	if len(s.of("system/permission_denied")) != 2 {
		t.Errorf("told of denials %+v", s.of("system/permission_denied"))
	}
}

// What settle does not have is answered clearly.
func TestClaudeRefusals(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(settletest.Say("Never.")))
	s := agentSDK(t, srv, "refusals", `{}`).talk(t)
	want := map[string]string{
		"bypass": "cannot set permission mode", "nonsense": `no permission mode "nonsense"`, "thinking": "does not have the control request",
		"context": "does not have the control request", "stop": "there is no job",
	}
	for _, m := range s.of("try") {
		if message := string(m.Message); want[m.Name] != "" && (m.OK || !strings.Contains(message, strings.ReplaceAll(want[m.Name], `"`, `\"`))) || want[m.Name] == "" && !m.OK {
			t.Errorf("%s: %t %s %s", m.Name, m.OK, message, m.Value)
		}
	}
	if len(s.of("try")) != 11 || len(s.of("result")) != 0 || s.code != 0 {
		t.Errorf("%d answers, %d results, code %d", len(s.of("try")), len(s.of("result")), s.code)
	}
}

func TestClaudeModelAndPrompt(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(settletest.Say("1"), settletest.Say("2")))
	s := agentSDK(t, srv, "model", `{"model":"sonnet","systemPrompt":"You are a pirate.","disallowedTools":["Bash","Edit(src/**)"],"effort":"low"}`).talk(t)
	s.results(t, "success", "success")
	all := srv.Exchanges()
	for n, model := range []string{"claude-sonnet-5-5", "claude-haiku-5-5"} {
		if !strings.Contains(string(all[n].Body), `"model":"`+model+`"`) {
			t.Errorf("request %d does not ask %q: %s", n+1, model, all[n].Body)
		}
	}
	if body := string(all[0].Body); !strings.Contains(body, "You are a pirate.") || strings.Contains(body, `"name":"shell"`) {
		t.Errorf("request %s", body)
	}
	if tools := strings.Join(s.of("system/init")[0].Tools, " "); strings.Contains(tools, "Bash") || !strings.Contains(tools, "Edit") {
		t.Errorf("tools %q", tools)
	}
}

func TestClaudeLimit(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(settletest.Reply(settletest.Call("list", `{}`)), settletest.Say("Never.")))
	s := agentSDK(t, srv, "query", `{"maxTurns":1,"systemPrompt":{"type":"preset","preset":"claude_code","append":"Be brief."}}`).talk(t)
	if r := s.results(t, "error_max_turns")[0]; r.Turns != 1 || r.Terminal != "max_turns" {
		t.Errorf("result %+v", r)
	}
	if body := string(srv.Exchanges()[0].Body); !strings.Contains(body, "Be brief.") {
		t.Errorf("request %s", body)
	}
}

func TestClaudeSchema(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(settletest.Say(`{"n":1}`)))
	s := agentSDK(t, srv, "query", `{"outputFormat":{"type":"json_schema","schema":{"type":"object","properties":{"n":{"type":"number"}},"required":["n"],"additionalProperties":false}}}`).talk(t)
	if r := s.results(t, "success")[0]; string(r.Structured) != `{"n":1}` {
		t.Errorf("structured output %s", r.Structured)
	}
}

func TestClaudeHooks(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(
		settletest.Reply(settletest.Call("write", `{"path":"a","content":"x"}`), write("b")), settletest.Say("Done."),
	))
	s := agentSDK(t, srv, "hooks", `{}`).talk(t)
	r := s.results(t, "success")[0]
	seen := map[string]int{}
	for _, h := range s.of("hook") {
		seen[h.Kind]++
	}
	if seen["writes"] != 1 || seen["bash"] != 1 || seen["after"] != 1 || seen["never"] != 0 {
		t.Errorf("hooks %v", seen)
	}
	if exists(filepath.Join(s.dir, "a")) || !exists(filepath.Join(s.dir, "b")) || len(r.Denials) != 1 || r.Denials[0].Tool != "Write" {
		t.Errorf("denials %+v", r.Denials)
	}
	if got := s.parts(t, "user", "tool_result"); !strings.Contains(got[0].Content+got[1].Content, "files are holy") {
		t.Errorf("results of calls %+v", got)
	}
	if !strings.Contains(s.stderr, "Notification") {
		t.Errorf("no warning of a hook that is not called: %q", s.stderr)
	}
}

// What settle does not have is told, and the rest works.
func TestClaudeServersAndAgents(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(settletest.Say("Without.")))
	s := agentSDK(t, srv, "servers", `{}`).talk(t)
	s.results(t, "success")
	got := s.of("system/init")[0].Servers
	if len(got) != 2 || got[0].Status != "failed" || got[1].Status != "failed" {
		t.Errorf("servers %+v", got)
	}
	if !strings.Contains(s.stderr, "MCP servers are left out") || !strings.Contains(s.stderr, "helper") || len(s.of("system/informational")) < 2 {
		t.Errorf("stderr %q", s.stderr)
	}
}

// Faults of the model's server.
func TestClaudeFaults(t *testing.T) {
	for _, c := range []struct {
		name    string
		turns   []settletest.Turn
		env     []string
		subtype string
		says    string
		retries int
	}{
		{"reset", []settletest.Turn{settletest.Say("It got through.").With(settletest.Reset(settletest.AfterDelta(1)).First(1))}, nil, "success", "It got through.", 1},
		{"stall", []settletest.Turn{settletest.Say("It got through.").With(settletest.Silence(settletest.AfterDelta(1)).First(1))}, []string{"SETTLE_STALL_TIMEOUT_MS=300"}, "success", "It got through.", 1},
		{"stalls", []settletest.Turn{settletest.Say("Never.").With(settletest.Silence(settletest.AfterDelta(1)).First(settletest.Always))}, []string{"SETTLE_STALL_TIMEOUT_MS=100"}, "error_during_execution", "stalled", 2},
		{"exhaustion", []settletest.Turn{settletest.Say("Never.").With(settletest.Status(529, settletest.RetrySeconds(3600)).First(settletest.Always))}, nil, "error_during_execution", "529", 0},
		{"refused", []settletest.Turn{settletest.Say("Never.").With(settletest.Status(401).First(settletest.Always))}, nil, "error_during_execution", "401", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := agentSDK(t, settletest.NewServer(t, settletest.Script(c.turns...)), "query", `{}`, c.env...).talk(t)
			r := s.results(t, c.subtype)[0]
			if text := r.Result + strings.Join(r.Errors, " "); !strings.Contains(text, c.says) {
				t.Errorf("ended with %q, want %q", text, c.says)
			}
			if got := len(s.of("system/api_retry")); got != c.retries {
				t.Errorf("told of %d retries, want %d", got, c.retries)
			}
			if thrown := len(s.of("thrown")); (c.subtype == "success") != (thrown == 0) {
				t.Errorf("thrown %d times", thrown)
			}
			if texts := s.parts(t, "assistant", "text"); len(texts) != 1 {
				t.Errorf("said %+v", texts)
			}
		})
	}
}

// A client that is killed leaves nothing, and its session goes on.
func TestClaudeKilled(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(settletest.Reply(stubborn()), settletest.Say("I remember.")))
	c := agentSDK(t, srv, "hold", bypass)
	cmd := c.command(t.Context(), t)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	session := ""
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s said
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		if s.Type == "running" {
			break
		}
		session = cmp.Or(s.Session, session)
	}
	killed := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	gone(t, "HOME="+homeOf(c), killed.Add(3*time.Second))
	goesOn(t, c, session, "was shut down")
}

// gone waits until no process has the text in its environment.
func gone(t *testing.T, text string, until time.Time) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		left := marked(t, text)
		if len(left) == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("left running: %v", left)
		}
		<-tick.C
	}
}

// A link named claude is settle claude, also to its wardens.
func TestClaudeByItsName(t *testing.T) {
	link := filepath.Join(t.TempDir(), "claude")
	if err := os.Symlink(settle(t), link); err != nil {
		t.Fatal(err)
	}
	srv := settletest.NewServer(t, settletest.Script(settletest.Reply(write("a")), settletest.Say("Done.")))
	s := agentSDK(t, srv, "query", bypass, "CLAUDE="+link)
	s.env = slices.DeleteFunc(s.env, func(e string) bool { return e == "CLAUDE="+settle(t) })
	r := s.talk(t)
	r.results(t, "success")
	if !exists(filepath.Join(r.dir, "a")) {
		t.Error("the call did not run")
	}
}

// Scripts call it with -p.
func TestClaudePrint(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  []string
		stdin string
		code  int
		want  string
	}{
		{"text", []string{"-p", "hello"}, "", 0, "Done.\n"},
		{"piped", []string{"--print", "--output-format", "text"}, "hello", 0, "Done.\n"},
		{"json", []string{"-p", "--output-format=json", "hello"}, "", 0, `"subtype":"success"`},
		{"stream", []string{"-p", "hello", "--output-format", "stream-json", "--verbose"}, "", 0, `"subtype":"init"`},
		{"unknown flag", []string{"-p", "hello", "--frobnicate=1"}, "", 0, "Done.\n"},
		{"limit", []string{"-p", "hello", "--max-turns", "1", "--output-format", "json"}, "", 3, `"subtype":"error_max_turns"`},
		{"bad format", []string{"-p", "hello", "--output-format", "xml"}, "", 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := settletest.NewServer(t, settletest.Script(settletest.Reply(settletest.Call("list", `{}`)), settletest.Say("Done.")))
			as := agentSDK(t, srv, "query", `{}`)
			as.stdin = c.stdin
			r := command(t, as, append([]string{"claude"}, c.args...)...)
			if r.code != c.code || !strings.Contains(r.stdout, c.want) {
				t.Errorf("code %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
			}
			if c.name == "unknown flag" && !strings.Contains(r.stderr, "--frobnicate has no effect") {
				t.Errorf("stderr %q", r.stderr)
			}
		})
	}
}
