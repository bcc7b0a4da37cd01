package codex_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/frontend/compat/codex"
)

// FuzzUnderstand: every override of a client is applied, reported, or refused.
func FuzzUnderstand(f *testing.F) {
	for _, seed := range []string{
		`model="o3"`, "model_provider=x\nmodel_providers.x={base_url='http://h',wire_api='chat'}\nmodel=m", `a."b.c".d=[1,{e=2}]`, "sandbox_workspace_write.writable_roots=[1,'/a']",
		"settle.tools=[]\nsettle=1", "mcp_servers.a={}\nmcp_servers.a.b=1", "=", ".=1", "model_providers=3\nmodel_provider=x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := codex.Understand(
			codex.Flags{Config: strings.Split(text, "\n")},
			known("", map[string]string{"K": "v"}),
		)
		if (w == nil) == (err == nil) {
			t.Errorf("%v and %v", w, err)
		}
	})
}
