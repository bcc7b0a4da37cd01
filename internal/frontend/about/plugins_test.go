package about

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/plugins"
	"github.com/settle-agent/settle/internal/config/plugin"
)

// The question about another content of a plugin has all that differs, and how to read the files.
func TestPluginChange(t *testing.T) {
	of := func(version, digest, root, commit, command string) ShownPlugin {
		p := plugin.Plugin{
			Record: plugin.Record{Name: "demo", Digest: digest, Commit: commit}, Root: root,
			Parts: plugin.Manifest{Version: version},
		}
		return ShownPlugin{Plugin: p, Inventory: []plugins.Part{{Kind: "hook", Name: "Stop", Runs: command}}}
	}
	trusted := t.TempDir()
	before := of("1.2", "sha256:a", trusted, "c1", "sh guard.sh")
	now := of("1.3", "sha256:b", "/new copy", "c1", "sh x.sh")
	var b strings.Builder
	if err := PluginChange(&b, before, now, []string{"changed: x.sh"}, "/new copy"); err != nil {
		t.Fatal(err)
	}
	want := `Plugin demo: what differs from what you trusted (- before, + now):
  - version   1.2
  + version   1.3
  - digest    sha256:a
  + digest    sha256:b
  - copy      ` + trusted + `
  + copy      /new copy
`
	end := "To read the change: diff -r " + trusted + " '/new copy'\n"
	if got := b.String(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, end) ||
		!strings.Contains(got, "  file changed: x.sh\n") || !strings.Contains(got, "sh guard.sh") {
		t.Errorf("got\n%s", got)
	}
	b.Reset()
	err := PluginChange(&b, before, now, []string{"changed: x.sh"}, "")
	if err != nil || strings.Contains(b.String(), "diff -r") {
		t.Errorf("%v: %s", err, b.String())
	}
}
