package task_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/tool/task"
)

func TestKindRestrictsServersTools(t *testing.T) {
	all := []string{"read", "shell", "github__get", "github__merge", "git__log", "github__mcp_resources", "tool_call"}
	for want, k := range map[string]task.Kind{
		"read shell github__get git__log github__mcp_resources tool_call": {Without: []string{"github__merge"}},
		"read shell git__log tool_call":                                   {Without: []string{"github__*"}},
		"read shell git__log tool_call ":                                  {Without: []string{"github_*"}},
		"read shell tool_call":                                            {Without: []string{"*__*"}},
		"":                                                                {Without: []string{task.All}},
		"read github__get":                                                {Tools: []string{"read", "github__get"}},
		"github__get github__mcp_resources": {
			Tools: []string{"github__*"}, Without: []string{"github_merge"},
		},
	} {
		if got := strings.Join(k.Allowed(all), " "); got != strings.TrimSpace(want) {
			t.Errorf("tools %q without %q: %q, want %q", k.Tools, k.Without, got, want)
		}
	}
}
