package appserver

import (
	"testing"

	"github.com/settle-agent/settle/internal/client/asker/askertest"
	"github.com/settle-agent/settle/model/script"
)

// A client can only tighten the user's configuration: with a thread, a turn, or overrides of the
// configuration.
func TestRightsWithinTheUsersPermission(t *testing.T) {
	full := map[string]any{"type": "dangerFullAccess"}
	for _, test := range askertest.Ceilings() {
		for name, c := range map[string]struct{ thread, turn map[string]any }{
			"thread":    {map[string]any{"approvalPolicy": "on-request", "sandbox": "danger-full-access"}, nil},
			"turn":      {nil, map[string]any{"approvalPolicy": "on-request", "sandboxPolicy": full}},
			"config":    {map[string]any{"approvalPolicy": nil, "sandbox": nil, "config": map[string]any{"approval_policy": "on-request", "sandbox_mode": "danger-full-access"}}, nil},
			"profile":   {map[string]any{"approvalPolicy": "on-request", "permissions": ":danger-full-access"}, nil},
			"both ways": {map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"}, map[string]any{"approvalPolicy": "on-request", "sandboxPolicy": full}},
		} {
			t.Run(test.User+" "+name, func(t *testing.T) {
				client := start(t, script.New(script.Call("shell", askertest.Touch), script.Text("Done.")))
				test.Configure(t, client.Dir)
				client.answer("decline")
				client.turn(client.thread(orNone(c.thread)), "go", orNone(c.turn))
				client.Seen(`"method":"turn/completed"`, 1)
				test.Check(t, client.Dir, client.Count("/requestApproval"))
			})
		}
	}
}

// A folder with settle's own files is refused where the client names it: with a thread or
// with a turn, which then does not begin (C22).
func TestWritableRootsWithProtectedFiles(t *testing.T) {
	client := start(t, script.New(script.Text("Done.")))
	home := map[string]any{"type": "workspaceWrite", "writableRoots": []string{client.Dir}}
	client.refuse(-32600, "it contains your home directory", "thread/start", map[string]any{
		"sandbox": "workspace-write",
		"config":  map[string]any{"sandbox_workspace_write": map[string]any{"writable_roots": []string{client.Dir}}},
	})
	thread := client.thread()
	client.refuse(-32600, "it contains your home directory", "turn/start", map[string]any{
		"threadId": thread, "input": say("hi"), "sandboxPolicy": home,
	})
	client.turn(thread, "hi") // with the rights of before
	client.Seen(`"method":"turn/completed"`, 1)
}

func orNone(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{"approvalPolicy": nil}
	}
	return m
}
