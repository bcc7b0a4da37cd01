//go:build clients && linux

package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// claudeSaid is a message as the client's user gets it, or a line of claude.mjs.
type claudeSaid struct {
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
	Parent  string          `json:"parent_tool_use_id"`
	Agent   string          `json:"agent_id"`

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
	OK     bool            `json:"ok"`
	Value  json.RawMessage `json:"value"`
	MS     int             `json:"ms"`
	Millis int             `json:"took"`
}

// claudePart is a block of a message.
type claudePart struct {
	Type    string         `json:"type"`
	Text    string         `json:"text"`
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	Input   map[string]any `json:"input"`
	Call    string         `json:"tool_use_id"`
	Content string         `json:"content"`
	IsError bool           `json:"is_error"`
}

func (s claudeSaid) parts(t *testing.T) []claudePart {
	t.Helper()
	var m struct{ Content []claudePart }
	if err := json.Unmarshal(s.Message, &m); err != nil {
		t.Fatalf("%s: %v", s.Message, err)
	}
	return m.Content
}

// claudeTalk is a run of claude.mjs.
type claudeTalk struct {
	result
	all []claudeSaid
	dir string
}

// agentSDK prepares a run of the SDK against a model.
func agentSDK(t *testing.T, srv *modeltest.Server, what, options string, env ...string) client {
	t.Helper()
	c := node(t, "claude.mjs", what, options)
	c.env = home(t, append([]string{
		"CLAUDE=" + settle(t), "ANTHROPIC_BASE_URL=" + srv.Anthropic(), "ANTHROPIC_API_KEY=sk-ant-0123456789abcdef0123",
	}, env...)...)
	return c
}

// talk runs it.
func (c client) talk(t *testing.T) claudeTalk {
	t.Helper()
	r := claudeTalk{result: c.run(t), dir: c.dir}
	for line := range strings.Lines(r.stdout) {
		var s claudeSaid
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
func (s claudeTalk) of(kind string) (out []claudeSaid) {
	kind, subtype, _ := strings.Cut(kind, "/")
	for _, m := range s.all {
		if m.Type == kind && (subtype == "" || m.Subtype == subtype) {
			out = append(out, m)
		}
	}
	return out
}

// results checks how the turns ended: "success", or the subtype of the error.
func (s claudeTalk) results(t *testing.T, want ...string) []claudeSaid {
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

// parts returns the parts of type block in all messages of type kind.
func (s claudeTalk) parts(t *testing.T, kind, block string) (out []claudePart) {
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

func claudeExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// claudeWrite is a call that asks, and makes a file.
func claudeWrite(name string) modeltest.Item {
	return modeltest.Call("shell", `{"command":"echo it > `+name+`; cat `+name+`; true && touch `+name+`.too"}`)
}

// claudeBypass lets everything run.
const claudeBypass = `{"permissionMode":"bypassPermissions","allowDangerouslySkipPermissions":true}`

func TestClaudeQuery(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Think("I look."),
			modeltest.Text("Let me look."),
			claudeWrite("a"),
		),
		modeltest.Say("Done."),
	))
	s := agentSDK(t, srv, "query", claudeBypass).talk(t)
	r := s.results(t, "success")[0]
	if r.Result != "Done." || r.Turns != 2 || r.Usage.Output == 0 || r.Terminal != "completed" || len(r.Denials) != 0 {
		t.Errorf("result %+v", r)
	}
	start := s.of("system/init")
	if len(start) != 1 || start[0].Dir != s.dir || start[0].Mode != "bypassPermissions" ||
		start[0].Model != "claude-opus-5-5" ||
		start[0].Session != r.Session {
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
	if s.code != 0 || len(s.of("end")) != 1 || !claudeExists(filepath.Join(s.dir, "a.too")) {
		t.Errorf("ended with %d, %+v", s.code, s.all[len(s.all)-1])
	}
}

func TestClaudePartialMessages(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Text("Let me look around."), claudeWrite("a")), modeltest.Say("Done."),
	))
	s := agentSDK(
		t, srv, "query",
		`{"permissionMode":"bypassPermissions","allowDangerouslySkipPermissions":true,"includePartialMessages":true}`,
	).talk(t)
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
	script := func() modeltest.Scenario {
		return modeltest.Script(modeltest.Reply(claudeWrite("a")), modeltest.Say("Done."))
	}
	for _, c := range []struct {
		what      string
		runs      bool
		questions int
		denials   int
		says      string // to the model
	}{
		{"allow", true, 1, 0, "it"},
		{"deny", false, 1, 1, "not today"},
		{"throwing", false, 1, 1, "callback broke"},
		{"always", true, 1, 0, "it"},
		{"query", false, 0, 1, "no person can be asked"}, // without canUseTool
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			srv := modeltest.NewServer(t, script())
			s := agentSDK(t, srv, c.what, `{}`).talk(t)
			r := s.results(t, "success")[0]
			asked := s.of("asked")
			if len(asked) != c.questions || claudeExists(filepath.Join(s.dir, "a")) != c.runs ||
				len(r.Denials) != c.denials {
				t.Errorf(
					"asked %d times, ran: %t, denials %+v",
					len(asked),
					claudeExists(filepath.Join(s.dir, "a")),
					r.Denials,
				)
			}
			use, got := s.parts(t, "assistant", "tool_use"), s.parts(t, "user", "tool_result")
			if c.questions > 0 &&
				(asked[0].Name != "Bash" || asked[0].Input["command"] != use[0].Input["command"] || asked[0].Call != use[0].ID || len(asked[0].Suggestions) == 0) {
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

// If a client changes a call, the model makes the changed call, and that call runs.
func TestClaudeChangedInput(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			claudeWrite("a"),
		),
		modeltest.Reply(modeltest.Call("shell", `{"command":"echo changed > changed"}`)),
		modeltest.Say("Done."),
	))
	s := agentSDK(t, srv, "change", `{}`).talk(t)
	s.results(t, "success")
	if claudeExists(filepath.Join(s.dir, "a")) || !claudeExists(filepath.Join(s.dir, "changed")) ||
		len(s.of("asked")) != 1 {
		t.Errorf("asked %+v", s.of("asked"))
	}
	if got := s.parts(t, "user", "tool_result"); len(got) != 2 ||
		!strings.Contains(got[0].Content, `{"command":"echo changed > changed"}`) ||
		got[1].IsError {
		t.Errorf("results of calls %+v", got)
	}
}

// A denial may end the turn as well.
// A question dies with its turn (C16).
// Each prompt gets a result of its own, whenever it comes.
func TestClaudeStreamingInput(t *testing.T) {
	for _, what := range []string{"several", "batch"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			srv := modeltest.NewServer(t, modeltest.Script(
				modeltest.Reply(
					claudeWrite("a"),
				),
				modeltest.Say("First."),
				modeltest.Reply(claudeWrite("b")),
				modeltest.Say("Second."),
				modeltest.Reply(claudeWrite("c")),
				modeltest.Say("Third."),
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
