package policy_test

import (
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

// The effects of MCP tools are unknown: they need an approval, each tool or each server,
// for every form of the call.
func TestToolsOfServers(t *testing.T) {
	dir := newDir(t)
	inner := map[string]any{"title": "x", "path": "sub/a"}
	for _, tt := range []struct {
		rules []config.Rule
		tool  string
		want  event.Permission
	}{
		{nil, "github__issue", event.Ask},
		{[]config.Rule{rule("github__issue", "", event.Allow)}, "github__issue", event.Allow},
		{[]config.Rule{rule("github__issue", "", event.Allow)}, "github__other", event.Ask},
		{[]config.Rule{rule("github__*", "", event.Allow)}, "github__issue", event.Allow},
		{[]config.Rule{rule("github__*", "", event.Allow)}, "github2__issue", event.Ask},
		{[]config.Rule{rule("*", "", event.Allow), rule("github__*", "", event.Deny)}, "github__issue", event.Deny},
		{[]config.Rule{rule("tool_call", "", event.Allow)}, "github__issue", event.Ask},
	} {
		p := newPolicy(t, dir, policy.Config{Mode: mode(event.Ask), Rules: tt.rules})
		for through, r := range map[string]map[string]any{
			tt.tool:     inner,
			"tool_call": {"name": tt.tool, "arguments": inner},
		} {
			if j := p.Judge(request(t, through, r)); j.Decision != tt.want {
				t.Errorf("%v: %s through %s: %s (%s), want %s", tt.rules, tt.tool, through, j.Decision, j.Why, tt.want)
			}
		}
	}
	p := newPolicy(t, dir, policy.Config{Mode: mode(event.Ask)})
	p.Remember(request(t, "tool_call", map[string]any{"name": "github__issue", "arguments": inner}))
	if j := p.Judge(request(t, "github__issue", inner)); j.Decision != event.Allow {
		t.Errorf("what was approved: %s", j.Decision)
	}
	if j := p.Judge(request(t, "github__issue", map[string]any{"title": "y"})); j.Decision != event.Ask {
		t.Errorf("another call: %s", j.Decision)
	}
	// To read resources, the call sends a request to their server.
	for _, tt := range []struct {
		rules []config.Rule
		want  event.Permission
	}{
		{nil, event.Ask},
		{[]config.Rule{rule("github__*", "", event.Allow)}, event.Allow},
		{[]config.Rule{rule("github2__*", "", event.Allow)}, event.Ask},
		{[]config.Rule{rule("github__mcp_resources", "", event.Allow)}, event.Allow},
		{[]config.Rule{rule("mcp_resources", "", event.Allow)}, event.Allow},
		{[]config.Rule{rule("mcp_resources", "", event.Allow), rule("github__*", "", event.Deny)}, event.Deny},
		{[]config.Rule{rule("*", "", event.Allow), rule("mcp_resources", "", event.Deny)}, event.Deny},
	} {
		p := newPolicy(t, dir, policy.Config{Mode: mode(event.Ask), Rules: tt.rules})
		read := map[string]any{"server": "github", "uri": "file:///x"}
		for through, r := range map[string]map[string]any{"mcp_resources": read, "tool_call": {"name": "mcp_resources", "arguments": read}} {
			if j := p.Judge(request(t, through, r)); j.Decision != tt.want {
				t.Errorf("%v: through %s: %s (%s), want %s", tt.rules, through, j.Decision, j.Why, tt.want)
			}
		}
	}
	// Arguments that name no tool of a server have no further meaning.
	for _, args := range []map[string]any{{"name": "read", "arguments": map[string]any{"path": "sub/a"}}, {}, {"name": 1}} {
		if j := p.Judge(request(t, "tool_call", args)); j.Decision != event.Ask {
			t.Errorf("%v: %s", args, j.Decision)
		}
	}
}
