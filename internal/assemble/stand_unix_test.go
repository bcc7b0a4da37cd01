//go:build unix

package assemble

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/hands"
)

// A path was judged by its name, on another machine. So a link does not lead to a
// file that the name does not tell of, unless everything is allowed.
func TestLinksAtTheHands(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "work")
	for name, content := range map[string]string{"work/file": "mine\n", "work/.env": "hidden\n", "outside": "hidden\n"} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"away": "../outside", "up": "..", "env": ".env", "near": "file"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	o := HandsOptions{Settings: resolve(t, "/", nil, nil, ""), Dir: dir, Getenv: func(string) string { return "" }}
	stand, discard := o.Stand()
	t.Cleanup(func() {
		if err := discard(); err != nil {
			t.Error(err)
		}
	})
	local := stand.Local(nil, "")
	ask := func(private bool, name, args string) string {
		raw, err := json.Marshal(farCall{Args: json.RawMessage(args), Private: private})
		if err != nil {
			t.Fatal(err)
		}
		out, err := local.Calls[name](context.Background(), hands.Request{Name: name, Dir: dir, Args: raw})
		if err != nil {
			return err.Error()
		}
		return string(out)
	}
	for args, name := range map[string]string{
		`{"path":"away"}`: "read", `{"path":"env"}`: "read", `{"path":"up/outside"}`: "read", `{"path":"up"}`: "list", `{"path":"up","pattern":"*"}`: "glob",
		`{"path":"away","pattern":"h"}`: "grep", `{"path":"away","content":"x"}`: "write", `{"path":"env","old_string":"hidden","new_string":"x"}`: "edit",
		`{"input":"*** Begin Patch\n*** Update File: away\n@@\n-hidden\n+x\n*** End Patch"}`: "apply_patch",
	} {
		if got := ask(true, name, args); !strings.Contains(got, "by a link") || strings.Contains(got, "hidden") {
			t.Errorf("%s %s: %s", name, args, got)
		}
	}
	for args, want := range map[string]string{`{"path":"near"}`: "mine", `{"path":"file"}`: "mine", `{"path":"../outside"}`: "hidden"} {
		if got := ask(true, "read", args); !strings.Contains(got, want) {
			t.Errorf("%s: %s", args, got)
		}
	}
	if got := ask(false, "read", `{"path":"away"}`); !strings.Contains(got, "hidden") {
		t.Errorf("with everything allowed: %s", got)
	}
}
