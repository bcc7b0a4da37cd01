package claude

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/model/script"
)

// Commands and skills are listed as Claude Code lists its own, and called by a prompt.
func TestSlashCommands(t *testing.T) {
	s := serve(t, func(c *Config) { clienttest.WriteCommands(t, c.Dir) }, script.Text("Tidied."))
	s.say(control("1", `{"subtype":"initialize"}`))
	answer := s.next("control_response")["response"].(map[string]any)["response"].(map[string]any)
	want := []any{
		map[string]any{"name": "review", "description": "Review it", "argumentHint": ""},
		map[string]any{"name": "tidy", "description": "Tidy up", "argumentHint": "DIR"},
	}
	if diff := cmp.Diff(want, answer["commands"]); diff != "" {
		t.Error(diff)
	}
	s.say(user("/tidy src", uuid1))
	init := s.next("system/init")
	if diff := cmp.Diff([]any{[]any{"review", "tidy"}, []any{"tidy"}}, []any{init["slash_commands"], init["skills"]}); diff != "" {
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
