package codex

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/tool"
)

// judge returns the decisions of the rights about calls that read, run a command, and write files
// inside and outside of the working directory: the first two letters of each.
func judge(t *testing.T, r Rights) string {
	t.Helper()
	mode := r.Mode("/var/tmp/mine")
	p, err := policy.New(
		policy.Config{Mode: func() policy.Mode { return mode }, Dir: "/w", Environ: []string{"PATH=/usr/bin:/bin"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for _, call := range [][2]string{
		{"shell", `{"command":"ls"}`},
		{"shell", `{"command":"make"}`},
		{"write", `{"path":"a"}`},
		{"write", `{"path":"/etc/a"}`},
		{"write", `{"path":"/var/tmp/mine/a"}`},
		{"write", `{"path":"/roots/[a]/b"}`},
	} {
		got := p.Judge(settle.Approval{Tool: tool.Spec{Name: call[0]}, Arguments: call[1]})
		out += string(got.Decision)[:2] + " "
	}
	return out[:len(out)-1]
}

func TestRights(t *testing.T) {
	for _, c := range []struct{ approval, sandbox, want string }{
		{`"untrusted"`, `{"type":"readOnly"}`, "al as as as as as"},
		{`"untrusted"`, `{"type":"dangerFullAccess"}`, "al as as as as as"},
		{`"on-request"`, `{"type":"readOnly"}`, "al as as as as as"},
		{`"on-request"`, `{"type":"workspaceWrite","writableRoots":["/roots/[a]"]}`, "al as al as al al"},
		{`"on-request"`, `{"type":"workspaceWrite","excludeTmpdirEnvVar":true}`, "al as al as as as"},
		{`{"granular":{"rules":true}}`, `{"type":"workspaceWrite"}`, "al as al as al as"},
		{`"on-request"`, `{"type":"dangerFullAccess"}`, "al al al al al al"},
		{`"never"`, `{"type":"readOnly"}`, "al de de de de de"},
		{`"never"`, `{"type":"workspaceWrite"}`, "al al al de al de"},
		{`"never"`, `{"type":"externalSandbox"}`, "al al al al al al"},
		{`"on-failure"`, `{"type":"dangerFullAccess"}`, "al al al al al al"},
	} {
		var r Rights
		var sandbox SandboxPolicy
		if err := json.Unmarshal([]byte(c.sandbox), &sandbox); err != nil {
			t.Fatal(err)
		}
		if err := r.Set(RequestedRights{
			ApprovalPolicy: json.RawMessage(c.approval), SandboxPolicy: &sandbox,
		}); err != nil {
			t.Fatal(err)
		}
		if got := judge(t, r); got != c.want {
			t.Errorf("%s, %s: %s; want %s", c.approval, c.sandbox, got, c.want)
		}
	}
}

func TestWrongRights(t *testing.T) {
	for name, set := range map[string]func(*Rights) error{
		"policy": func(r *Rights) error { return r.Set(RequestedRights{ApprovalPolicy: json.RawMessage(`"sometimes"`)}) },
		"object": func(r *Rights) error {
			return r.Set(RequestedRights{ApprovalPolicy: json.RawMessage(`{"other":1}`)})
		},
		"mode":    func(r *Rights) error { return r.Set(RequestedRights{Sandbox: "write-everything"}) },
		"sandbox": func(r *Rights) error { return r.Set(RequestedRights{SandboxPolicy: &SandboxPolicy{Type: "box"}}) },
		"profile": func(r *Rights) error { return r.Set(RequestedRights{Permissions: ":other"}) },
	} {
		var r Rights
		if set(&r) == nil {
			t.Errorf("%s: taken as %+v", name, r)
		}
	}
}

// Where a client says nothing, the configured permission does.
func TestDefaults(t *testing.T) {
	got := map[settle.Permission]string{}
	for _, p := range []settle.Permission{settle.Allow, settle.Ask, settle.Deny} {
		r := DefaultRights(p)
		got[p] = string(r.Asks()) + " " + string(r.SandboxMode())
	}
	want := map[settle.Permission]string{
		settle.Allow: "never danger-full-access",
		settle.Ask:   "untrusted read-only",
		settle.Deny:  "never read-only",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
