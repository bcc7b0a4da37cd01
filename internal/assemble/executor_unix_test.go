//go:build unix

package assemble

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/tool"
)

// The host judged a path by its name. The executor therefore follows no link in it, unless
// everything is allowed.
func TestExecutorFollowsNoLinks(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "work")
	for name, content := range map[string]string{
		"work/file": "mine\n", "work/.env": "hidden\n",
		"outside": "hidden\n",
	} {
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
	judge, err := policy.New(policy.Config{
		Mode: func() policy.Mode { return policy.Mode{Permission: event.Ask} },
		Dir:  dir, Remote: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	o := ExecutorOptions{Settings: resolve(t, "/", nil, nil, ""), Dir: dir, Getenv: func(string) string { return "" }}
	stand, discard := o.Stand()
	t.Cleanup(func() {
		if err := discard(); err != nil {
			t.Error(err)
		}
	})
	local := stand.Local(nil, "")
	ask := func(private bool, name, args string) string {
		call := remoteCall{Args: json.RawMessage(args), Private: private}
		if private {
			call.Places = judge.Judge(settle.Approval{Tool: tool.Spec{Name: name}, Arguments: args}).Places
		}
		raw, err := json.Marshal(call)
		if err != nil {
			t.Fatal(err)
		}
		out, err := local.Calls[name](context.Background(), executor.Request{Name: name, Dir: dir, Args: raw})
		if err != nil {
			return err.Error()
		}
		return string(out)
	}
	for args, name := range map[string]string{
		`{"path":"away"}`: "read", `{"path":"near"}`: "read", `{"path":"env"}`: "read",
		`{"path":"up/outside"}`: "read", `{"path":"up"}`: "list", `{"path":"up","pattern":"*"}`: "glob",
		`{"path":"away","pattern":"h"}`: "grep", `{"path":"away","content":"x"}`: "write",
		`{"path":"env","old_string":"hidden","new_string":"x"}`:                              "edit",
		`{"input":"*** Begin Patch\n*** Update File: away\n@@\n-hidden\n+x\n*** End Patch"}`: "apply_patch",
	} {
		if got := ask(true, name, args); !strings.Contains(got, "by a link") || strings.Contains(got, "hidden") ||
			strings.Contains(got, "mine") {
			t.Errorf("%s %s: %s", name, args, got)
		}
	}
	for args, want := range map[string]string{`{"path":"file"}`: "mine", `{"path":"../outside"}`: "hidden"} {
		if got := ask(true, "read", args); !strings.Contains(got, want) {
			t.Errorf("%s: %s", args, got)
		}
	}
	if got := ask(false, "read", `{"path":"away"}`); !strings.Contains(got, "hidden") {
		t.Errorf("with everything allowed: %s", got)
	}
}
