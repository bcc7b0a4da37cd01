package about

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/tool/mcp"
)

// The tools and the prompts of a server are listed, one a line whatever they are called.
func TestServerTools(t *testing.T) {
	list := []assemble.Configured{
		{Server: config.Server{Name: "new"}},
		{Server: config.Server{Name: "docs"}, Known: &mcp.Catalogue{
			Tools:   []mcp.Tool{{Name: "find", Description: "Finds\nall"}},
			Prompts: []mcp.Prompt{{Name: "sty\nle", Description: "The style"}},
		}},
	}
	var got strings.Builder
	if err := ServerTools(&got, list); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(
		"\nDOCS TOOL  WHAT IT DOES\nfind       Finds\n\nDOCS PROMPT  WHAT IT DOES\nsty le       The style\n",
		got.String(),
	); diff != "" {
		t.Error(diff)
	}
	if lines := servers(list, redact.New()); len(lines[0].Prompts) != 0 || !cmp.Equal(
		lines[1].Prompts, []string{"sty\nle"},
	) {
		t.Errorf("%+v", lines)
	}
}

// The servers of a project's file that is not trusted are listed as such.
func TestUntrustedServers(t *testing.T) {
	o := assemble.Options{Settings: &config.Resolved{ProjectServers: []config.ProjectServers{
		{Path: "/w/.mcp.json", Servers: []config.Server{{Name: "docs", Command: []string{"docs-server"}}}},
		{Path: "/w/x/.mcp.json", Servers: []config.Server{{Name: "mine"}}, Trusted: true},
	}}}
	var got strings.Builder
	if err := Servers(&got, o.UntrustedServers(), redact.New()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.String(), "docs    untrusted  ") || strings.Contains(got.String(), "mine") {
		t.Errorf("the list is:\n%s", got.String())
	}
}
