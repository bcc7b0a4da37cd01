package claude

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/config/plugin"
	"github.com/settle-agent/settle/model/script"
)

// Commands and skills are listed as Claude Code lists its own, and called by a prompt.
func TestSlashCommands(t *testing.T) {
	s := serve(t, func(c *Config) { clienttest.WriteCommands(t, c.Dir) }, script.Text("Tidied."))
	s.say(control("1", `{"subtype":"initialize"}`))
	answer := s.next("control_response")["response"].(map[string]any)["response"].(map[string]any)
	want := []any{
		map[string]any{
			"name": "init", "description": "have the model write AGENTS.md from the repository", "argumentHint": "",
		},
		map[string]any{"name": "review", "description": "Review it", "argumentHint": ""},
		map[string]any{"name": "tidy", "description": "Tidy up", "argumentHint": "DIR"},
	}
	if diff := cmp.Diff(want, answer["commands"]); diff != "" {
		t.Error(diff)
	}
	s.say(user("/tidy src", uuid1))
	init := s.next("system/init")
	names := []any{[]any{"init", "review", "tidy"}, []any{"tidy"}}
	if diff := cmp.Diff(names, []any{init["slash_commands"], init["skills"]}); diff != "" {
		t.Error(diff)
	}
	if r := s.next("result"); r["result"] != "Tidied." {
		t.Errorf("%v", r)
	}
	_ = s.in.Close()
	if code := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The first message has the contents of the session: each tool that the model receives, once, the
// kinds of child agents and the plugins.
func TestInitHasWhatTheSessionHas(t *testing.T) {
	s := serve(t, func(c *Config) {
		clienttest.WriteCommands(t, c.Dir)
		look := filepath.Join(c.Dir, ".claude", "agents", "look.md")
		err := os.MkdirAll(filepath.Dir(look), 0o700)
		if err == nil {
			err = os.WriteFile(look, []byte("---\nname: look\ndescription: It looks\n---\nLook.\n"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		settings := c.Sessions.Settings
		c.Sessions.Settings = func(dir string, given map[string]string) (*config.Resolved, error) {
			r, err := settings(dir, given)
			if err == nil {
				off := plugin.Record{Name: "off", Disabled: true}
				r.Plugins = []plugin.Plugin{{Record: plugin.Record{Name: "demo"}, Root: "/p"}, {Record: off}}
			}
			return r, err
		}
	}, script.Text("Done."))
	s.say(control("1", `{"subtype":"initialize"}`))
	answer := s.next("control_response")["response"].(map[string]any)["response"].(map[string]any)
	const about = "An agent with the tools of this session"
	if diff := cmp.Diff([]any{
		map[string]any{"name": "general-purpose", "description": about},
		map[string]any{"name": "look", "description": "It looks"},
	}, answer["agents"]); diff != "" {
		t.Error(diff)
	}
	s.say(user("hello", uuid1))
	init := s.next("system/init")
	got := []any{init["agents"], init["plugins"], init["tools"]}
	want := []any{
		[]any{"general-purpose", "look"},
		[]any{map[string]any{"name": "demo", "path": "/p"}},
		[]any{
			"Bash", "Job", "Read", "Write", "Edit", "Glob", "Grep", "TodoWrite", "AskUserQuestion", "Skill", "WebFetch",
			"ExitPlanMode", "Task", "check_task", "message_task", "cancel_task",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s.next("result")
	_ = s.in.Close()
	if code := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// An interrupt gives up a prompt for which a server is asked, and is answered after its
// result, as often as it comes; the session goes on.
func TestAPromptThatIsGivenUp(t *testing.T) {
	asked, over := make(chan struct{}, 1), make(chan struct{})
	server := sdk.NewServer(&sdk.Implementation{Name: "docs", Version: "1"}, nil)
	server.AddPrompt(
		&sdk.Prompt{Name: "hang"},
		func(ctx context.Context, _ *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			asked <- struct{}{}
			select {
			case <-ctx.Done():
			case <-over:
			}
			return &sdk.GetPromptResult{}, nil
		},
	)
	web := httptest.NewServer(
		sdk.NewStreamableHTTPHandler(
			func(*http.Request) *sdk.Server { return server },
			&sdk.StreamableHTTPOptions{Stateless: true},
		),
	)
	t.Cleanup(func() { // after the client, which has connections to it
		close(over)
		web.Close()
	})
	s := serve(t, nil, script.Text("Done."))
	s.say(control("1", fmt.Sprintf(`{"subtype":"initialize","mcpServers":{"docs":{"type":"http","url":%q}}}`, web.URL)))
	s.until("control_response")
	s.say(user("/docs__hang", uuid1), user("go on", uuid2))
	<-asked
	s.say(control("i1", `{"subtype":"interrupt","cancel_queued":true}`), control("i2", `{"subtype":"interrupt"}`))
	for _, m := range s.until("result") {
		if m["type"] == "control_response" {
			t.Errorf("the interrupt was answered before the result: %v", m)
		}
		if m["type"] == "result" && (m["is_error"] != true || m["user_message_uuid"] != uuid1) {
			t.Errorf("%v", m)
		}
	}
	for range 2 {
		s.until("control_response")
	}
	s.say(user("go on", uuid3))
	if r := s.next("result"); r["result"] != "Done." {
		t.Errorf("%v", r)
	}
	s.say(user("/docs__hang", uuid1[:35]+"2"))
	<-asked
	s.say(control("i3", `{"subtype":"interrupt"}`))
	_ = s.in.Close()
	s.until("control_response")
	if code := s.exit(); code != stdio.CodeFailed { // the code of an interrupted turn
		t.Errorf("exit code %d", code)
	}
}

// A client that says twice who it is, while its servers are asked, is answered.
func TestASecondInitializeIsAnswered(t *testing.T) {
	s := serve(t, nil)
	s.say(control("1", `{"subtype":"initialize","sdkMcpServers":["mine"]}`), control("2", `{"subtype":"initialize"}`))
	if r := s.next("control_response")["response"].(map[string]any); r["request_id"] != "2" ||
		r["subtype"] != "success" {
		t.Errorf("%v", r)
	}
}
